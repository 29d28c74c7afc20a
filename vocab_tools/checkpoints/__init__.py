"""Checkpoint folders: the tokenizer that transformers 5 gives for them, as a description of a vocabulary."""
