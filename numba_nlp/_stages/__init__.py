"""Stages of tokenizers before the model, over whole batches: array programs, with regular expressions between them."""
