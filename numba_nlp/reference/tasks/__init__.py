"""Twins of ``numba_nlp.kernels.tasks``."""
