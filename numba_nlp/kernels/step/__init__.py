"""Kernels of one step of a decoder: products with packed weights."""
