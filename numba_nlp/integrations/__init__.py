"""Tokenizers where scientists work: one module a library, each imported by the one who has that library.

- :mod:`numba_nlp.integrations.shards`: a corpus of files to Parquet files of ids, each done once (pyarrow)
- :mod:`numba_nlp.integrations.dask`: bags, dataframes and such corpora, on threads, processes and clusters
- :mod:`numba_nlp.integrations.sklearn`: ``TokenCountVectorizer`` and ``EncodeTransformer``
- :mod:`numba_nlp.integrations.datasets`: functions for ``datasets.Dataset.map`` with a stable fingerprint
- :mod:`numba_nlp.integrations.torch_data`: a dataset and a collate function for ``torch.utils.data.DataLoader``

NumPy, Arrow, pandas, polars, awkward and xarray need no module of their own: ``docs/integrations.md``.
"""
