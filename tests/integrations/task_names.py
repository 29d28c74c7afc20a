"""What tasks and functions are called in a process; imports little, for processes of its own."""

from __future__ import annotations

from typing import Any

import pandas as pd

import numba_nlp as nlp


def names(tokenizer: nlp.Tokenizer) -> list[Any]:
    """Names of dask's tasks and fingerprints of functions for datasets."""
    import dask.bag
    import dask.dataframe
    from datasets.fingerprint import Hasher

    from numba_nlp.integrations import dask as nlp_dask
    from numba_nlp.integrations.datasets import encode_map, inputs_map

    texts = dask.bag.from_sequence(["a", "b"], npartitions=2)
    column = dask.dataframe.from_pandas(pd.DataFrame({"text": ["a", "b"]}), npartitions=2)["text"]
    special = frozenset({"<|endoftext|>"})
    collections = [nlp_dask.encode(texts, tokenizer, special=special), nlp_dask.count(column, tokenizer)]
    mappers = [encode_map(tokenizer, special=special), inputs_map(tokenizer, truncation=True, max_length=9)]
    return [*(sorted(map(str, one.__dask_keys__())) for one in collections), *map(Hasher.hash, mappers)]
