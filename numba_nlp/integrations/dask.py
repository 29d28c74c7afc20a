"""dask: ids and counts of bags, of text columns of dataframes, and of corpora of files.

Tasks carry a tokenizer's digest, not its vocabulary. A cluster gives each worker the tokenizer once: functions here do
that when a ``distributed.Client`` is there as they are called, :func:`share` does it for any other. The names of the
tasks of collections follow from the input, the options and the digest, so the same call gives the same names in every
process.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from numba_nlp._arguments import choice, flag
from numba_nlp._extras import extra
from numba_nlp._version import __version__
from numba_nlp.integrations.handles import TokenizerHandle
from numba_nlp.integrations.row_lists import rows_or_none
from numba_nlp.integrations.shards import (
    Corpus,
    CorpusSettings,
    Shard,
    ShardFailure,
    ShardResult,
    check_folder,
    finish_corpus,
    plan_shards,
    try_shard,
)
from numba_nlp.tokenizer import Special, Tokenizer

if TYPE_CHECKING:
    from numba_nlp.ragged import Ragged

__all__ = ["count", "encode", "encode_corpus", "share"]

#: Digests that clusters were given, by client.
_SHARED: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def share(tokenizer: Tokenizer, client: Any = None) -> Any:
    """Give every worker of a cluster a tokenizer, now and when it starts later; once a cluster, whoever asks.

    Functions of this module do it by themselves when a client is there; call it for a client that is made after the
    graph, or (with ``await``) for an asynchronous one.

    Parameters
    ----------
    tokenizer : Tokenizer
    client : distributed.Client, optional
        Default: the current one.

    Returns
    -------
    None, or an awaitable of an asynchronous client

    Raises
    ------
    ValueError
        There is no client.
    """
    extra("distributed")
    import distributed

    from numba_nlp.integrations.dask_plugin import TokenizerPlugin, plugin_name

    handle = TokenizerHandle(tokenizer)
    chosen = distributed.Client.current() if client is None else client
    given = _SHARED.setdefault(chosen, set())
    if chosen.asynchronous:
        return _share_later(chosen, tokenizer, given)
    if handle.digest not in given:
        chosen.register_plugin(TokenizerPlugin(tokenizer), name=plugin_name(tokenizer))
        given.add(handle.digest)
    return None


async def _share_later(client: Any, tokenizer: Tokenizer, given: set[str]) -> None:
    from numba_nlp.integrations.dask_plugin import TokenizerPlugin, plugin_name

    if tokenizer.vocabulary.digest not in given:
        await client.register_plugin(TokenizerPlugin(tokenizer), name=plugin_name(tokenizer))
        given.add(tokenizer.vocabulary.digest)


def _handle_of(tokenizer: Any) -> TokenizerHandle:
    """What tasks carry; the cluster of the current client, if there is one, gets the tokenizer.

    Raises
    ------
    RuntimeError
        The client is asynchronous and was not given the tokenizer: only its owner can wait for that.
    """
    handle = TokenizerHandle(tokenizer)
    # without the module there is no client, and importing it takes half a second
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return handle
    try:
        client = distributed.Client.current()
    except ValueError:
        return handle
    if not client.asynchronous:
        share(tokenizer, client)
    elif handle.digest not in _SHARED.get(client, ()):
        raise RuntimeError(
            "the current dask client is asynchronous: `await numba_nlp.integrations.dask.share(tokenizer)` first"
        )
    return handle


# --- bags and columns ------------------------------------------------------------------------------------------


def encode(
    texts: Any,
    tokenizer: Tokenizer,
    *,
    add_special_tokens: bool = False,
    special: Special = None,
    errors: Literal["strict", "replace"] = "strict",
    nulls: Literal["error", "empty", "null"] = "null",
) -> Any:
    """Ids of a bag of texts, or of a text column of a dataframe; lazy, a task a partition on one thread.

    Parameters
    ----------
    texts : dask.bag.Bag of str or bytes, or dask.dataframe.Series of text
    tokenizer : Tokenizer
    add_special_tokens, special, errors, nulls
        As of :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch`, but missing rows stay missing unless asked otherwise.

    Returns
    -------
    dask.bag.Bag or dask.dataframe.Series
        A bag of int32 arrays (None: a missing row); or a column of pandas' ``list<int32>[pyarrow]`` with the name and
        the index of the texts, which goes to Parquet as it is.

    Raises
    ------
    TypeError, ValueError
        Another collection or option. What is wrong with texts is raised when they are computed, by row of the
        partition.
    """
    options = _options(add_special_tokens, special, errors, nulls)
    return _mapped(texts, _EncodeItems, _EncodeColumn, "list", _handle_of(tokenizer), options)


def count(
    texts: Any,
    tokenizer: Tokenizer,
    *,
    add_special_tokens: bool = False,
    special: Special = None,
    errors: Literal["strict", "replace"] = "strict",
    nulls: Literal["error", "empty", "null"] = "null",
) -> Any:
    """Number of ids of each text of a bag or a column; arguments and errors as of :func:`encode`.

    Returns
    -------
    dask.bag.Bag of int (None: a missing row), or dask.dataframe.Series of ``int64[pyarrow]``
    """
    options = _options(add_special_tokens, special, errors, nulls)
    return _mapped(texts, _CountItems, _CountColumn, "int64", _handle_of(tokenizer), options)


def _options(add_special_tokens: Any, special: Any, errors: Any, nulls: Any) -> dict[str, Any]:
    if special is not None and not isinstance(special, str):
        special = tuple(sorted(special))
    return {
        "add_special_tokens": flag("add_special_tokens", add_special_tokens),
        "special": special,
        "errors": choice("errors", errors, ("strict", "replace")),
        "nulls": choice("nulls", nulls, ("error", "empty", "null")),
    }


def _mapped(
    texts: Any, of_items: Any, of_column: Any, kind: str, handle: TokenizerHandle, options: dict[str, Any]
) -> Any:
    """A bag or a column through the function for it."""
    extra("dask")
    from dask.bag import Bag

    if isinstance(texts, Bag):
        return texts.map_partitions(of_items(handle, options))
    # whoever has a column has imported this
    frames = sys.modules.get("dask.dataframe")
    if frames is not None and isinstance(texts, frames.Series):
        function = of_column(handle, options)
        return texts.map_partitions(function, meta=_column(kind, texts.name))
    way_out = ""
    if frames is not None and isinstance(texts, frames.DataFrame):
        way_out = f"; pass one of its columns ({', '.join(map(str, texts.columns[:5]))})"
    raise TypeError(f"`texts` must be a dask Bag or a dask Series of text, got {type(texts).__name__}{way_out}")


def _column(kind: str, name: Any) -> Any:
    """An empty column of a type: what dask knows of a result before it is computed."""
    import pandas as pd
    import pyarrow as pa

    arrow = pa.list_(pa.int32()) if kind == "list" else pa.int64()
    return pd.Series([], dtype=pd.ArrowDtype(arrow), name=name)


class _Step:
    """What is done to each partition; named by the digest and the options, however the object came about."""

    def __init__(self, handle: TokenizerHandle, options: dict[str, Any]) -> None:
        self._handle, self._options = handle, options

    def _encode(self, texts: Any) -> Ragged:
        return self._handle.tokenizer().encode_batch(texts, num_threads=1, **self._options)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return type(self).__name__, __version__, self._handle.digest, tuple(sorted(self._options.items()))


class _EncodeItems(_Step):
    __name__ = "encode"

    def __call__(self, items: Iterable[Any]) -> list[Any]:
        return rows_or_none(self._encode(list(items)))


class _CountItems(_Step):
    __name__ = "count"

    def __call__(self, items: Iterable[Any]) -> list[int | None]:
        encoded = self._encode(list(items))
        return rows_or_none(encoded, encoded.row_lengths)


class _EncodeColumn(_Step):
    __name__ = "encode"

    def __call__(self, column: Any) -> Any:
        import pandas as pd
        import pyarrow as pa

        ids = self._encode(column).to_arrow().cast(pa.list_(pa.int32()))
        return pd.Series(pd.arrays.ArrowExtensionArray(ids), index=column.index, name=column.name)


class _CountColumn(_Step):
    __name__ = "count"

    def __call__(self, column: Any) -> Any:
        import pandas as pd
        import pyarrow as pa

        encoded = self._encode(column)
        missing = None if encoded.valid is None else ~encoded.valid
        lengths = pa.array(encoded.row_lengths, mask=missing)
        return pd.Series(pd.arrays.ArrowExtensionArray(lengths), index=column.index, name=column.name)


# --- corpora of files ------------------------------------------------------------------------------------------


def encode_corpus(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    tokenizer: Tokenizer,
    *,
    shard_bytes: int = 1 << 28,
    **settings: Any,
) -> Corpus:
    """:func:`numba_nlp.integrations.shards.encode_corpus` with dask's current scheduler, a task a shard.

    Sources and folder must be where every worker sees them. A worker that dies costs the shards it was at, which others
    make; one that was thought dead makes the same files. Run again after it was stopped, it makes what is missing.

    Parameters
    ----------
    sources, folder, tokenizer, shard_bytes, **settings
        As there.

    Returns
    -------
    Corpus

    Raises
    ------
    CorpusError, FileNotFoundError, TypeError, ValueError
        As there.
    """
    extra("dask")
    import dask

    chosen = CorpusSettings(**settings)
    shards = plan_shards(sources, column=chosen.column, shard_bytes=shard_bytes)
    handle = _handle_of(tokenizer)
    target = check_folder(folder, shards)
    task = dask.delayed(_encode_shard)
    # new names in each run: what a task does depends on the files that are there, which no name says, and a cluster
    # would give the result that it still holds of a name
    run = secrets.token_hex(8)
    tasks = [
        task(shard, str(target), handle, chosen, dask_key_name=f"encode_shard-{run}-{shard.number}") for shard in shards
    ]
    return finish_corpus(target, dask.compute(*tasks))


def _encode_shard(
    shard: Shard, folder: str, handle: TokenizerHandle, settings: CorpusSettings
) -> ShardResult | ShardFailure:
    return try_shard(shard, folder, handle.tokenizer(), settings)
