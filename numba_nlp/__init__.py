"""An NLP engine on flat arrays: exact tokenizers, compiled by Numba."""
