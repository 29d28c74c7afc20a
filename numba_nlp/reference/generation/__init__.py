"""Twins of ``numba_nlp.kernels.generation``."""
