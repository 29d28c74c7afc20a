"""Plain twins of the kernels of a decoder's step."""
