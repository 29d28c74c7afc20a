"""Plain twins of the kernels of training."""
