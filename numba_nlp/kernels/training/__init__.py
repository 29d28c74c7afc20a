"""Kernels of training: words are counted, pairs are counted and merged."""
