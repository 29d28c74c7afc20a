"""Data, batches, training and model cards of the package's own small models (``numba_nlp/models/data``)."""
