"""Generation by torch alone, on the device of the model: fixed shapes, and no step waits for the host.

The functions here do on tensors what ``numba_nlp.kernels.generation`` does on arrays, under the same names.
"""
