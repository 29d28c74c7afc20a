"""torch's ``DataLoader``: a dataset that encodes in its workers, each row once, and a collate function that pads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from numba_nlp._arguments import choice, flag, shown, whole
from numba_nlp.ragged import Ragged
from numba_nlp.text_rows import TextRows
from numba_nlp.tokenizer import Special, Tokenizer

__all__ = ["EncodedTexts", "PadCollate", "collate_blocks"]


class EncodedTexts(IterableDataset):
    """Texts that are encoded as they are asked for, in whichever worker asks.

    Blocks of rows go to the workers in turn, so that each row is given once whatever their number: with
    ``num_workers=n`` worker ``w`` encodes blocks ``w``, ``w + n`` and so on. Training on several machines or devices,
    give ``rank`` and ``world_size``, which take turns in the same way before. A worker encodes on one thread; it may be
    forked or spawned.

    Parameters
    ----------
    texts : TextRows, list, numpy or Arrow array, Series, or function
        A function without arguments gives an iterable of texts each time it is called, in every worker: for texts that
        are read from files or the network. It must be importable, or picklable, where workers are spawned.
    tokenizer : Tokenizer
    add_special_tokens : bool, default True
    special, errors, nulls
        As of :meth:`~numba_nlp.tokenizer.Tokenizer.encode_batch`.
    max_length : int, optional
        Longer rows are cut, the special tokens included in the count.
    block_rows : int, default 256
        Rows that are encoded together.
    rank, world_size : int

    Yields
    ------
    dict
        ``input_ids``, an int32 array of the row's ids, and ``row``, its number.
    """

    def __init__(
        self,
        texts: Any,
        tokenizer: Tokenizer,
        *,
        add_special_tokens: bool = True,
        special: Special = None,
        errors: Literal["strict", "replace"] = "strict",
        nulls: Literal["error", "empty"] = "error",
        max_length: int | None = None,
        block_rows: int = 256,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(
                f"`tokenizer` must be a Tokenizer, got {type(tokenizer).__name__}; load_tokenizer makes one"
            )
        self._errors = choice("errors", errors, ("strict", "replace"))
        self._nulls = choice("nulls", nulls, ("error", "empty"))
        # here, once: workers that are forked share the memory
        self._rows = None if callable(texts) else TextRows.from_any(texts, errors=errors, nulls=nulls)
        self._read: Callable[[], Iterable[Any]] | None = texts if callable(texts) else None
        self._tokenizer = tokenizer
        self._add = flag("add_special_tokens", add_special_tokens)
        self._special = special
        self._length = None if max_length is None else whole("max_length", max_length, 1)
        self._block_rows = whole("block_rows", block_rows, 1)
        self._world_size = whole("world_size", world_size, 1)
        self._rank = whole("rank", rank, 0, self._world_size - 1)

    def __len__(self) -> int:
        """Rows that this rank gives.

        Raises
        ------
        TypeError
            Nobody knows how many a function gives.
        """
        if self._rows is None:
            raise TypeError("the texts come from a function, so their number is not known")
        return sum(min(self._block_rows, len(self._rows) - first) for first in self._firsts())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        turn, n_workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        blocks = self._blocks() if self._rows is None else self._blocks_of(self._rows)
        for first_row, texts in islice(blocks, turn, None, n_workers):
            ids = self._tokenizer(
                texts, add_special_tokens=self._add, truncation=self._length is not None, max_length=self._length,
                special=self._special, errors=self._errors, nulls=self._nulls, num_threads=1,
            )["input_ids"]  # fmt: skip
            for place in range(len(ids)):
                yield {"input_ids": ids[place], "row": first_row + place}

    def _firsts(self) -> range:
        """First rows of the blocks of this rank."""
        assert self._rows is not None
        return range(self._rank * self._block_rows, len(self._rows), self._block_rows * self._world_size)

    def _blocks_of(self, rows: TextRows) -> Iterator[tuple[int, Any]]:
        """First row and texts of each block of this rank."""
        for first in self._firsts():
            yield first, rows[first : first + self._block_rows]

    def _blocks(self) -> Iterator[tuple[int, Any]]:
        """The same of texts that come one by one."""
        assert self._read is not None
        texts = iter(self._read())
        number = 0
        while block := list(islice(texts, self._block_rows)):
            if number % self._world_size == self._rank:
                yield number * self._block_rows, block
            number += 1


class PadCollate:
    """Rows of ids to matrices, as wide as the longest row of the batch: ``collate_fn`` of a ``DataLoader``.

    Parameters
    ----------
    pad_id : int
        Fills short rows.
    max_length : int, optional
        Longer rows are cut.
    side : {"right", "left"}
        Where short rows are filled; left for generation.
    pad_to_multiple_of : int, optional
        Round the width up.
    """

    def __init__(
        self,
        pad_id: int,
        *,
        max_length: int | None = None,
        side: Literal["right", "left"] = "right",
        pad_to_multiple_of: int | None = None,
    ) -> None:
        self._pad_id = whole("pad_id", pad_id, 0)
        self._options = {"max_length": max_length, "side": side, "pad_to_multiple_of": pad_to_multiple_of}
        # wrong ones are refused here, not by a worker
        Ragged(np.zeros(0, np.int32), np.zeros(1, np.int64)).to_padded(self._pad_id, **self._options)  # type: ignore[arg-type]

    def __call__(self, samples: Sequence[Any]) -> dict[str, Any]:
        """A batch.

        Parameters
        ----------
        samples : sequence of dict, or of arrays of ids
            As :class:`EncodedTexts` gives them; what else a dict holds (a label, say) must be numbers of one shape.

        Returns
        -------
        dict of torch.Tensor
            ``input_ids`` and ``attention_mask``, int64[rows, width], and the other entries.
        """
        rows = [sample if isinstance(sample, dict) else {"input_ids": sample} for sample in samples]
        names = list(rows[0]) if rows else []
        for number, row in enumerate(rows):
            if set(row) != set(names) or "input_ids" not in row:
                raise ValueError(
                    f"sample {number} has {sorted(row)}, the first one {sorted(names)}; all need the same, 'input_ids' "
                    "among them"
                )
        ids = [_int32_row(row["input_ids"], number) for number, row in enumerate(rows)]
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum([one.size for one in ids], out=offsets[1:])
        values = np.concatenate(ids) if ids else np.zeros(0, np.int32)
        input_ids, mask = Ragged(values, offsets).to_padded(self._pad_id, **self._options)  # type: ignore[arg-type]
        batch = {"input_ids": torch.from_numpy(input_ids), "attention_mask": torch.from_numpy(mask)}
        if "attention_mask" in names:
            counts = Ragged(np.concatenate([_mask_row(row, number) for number, row in enumerate(rows)]), offsets)
            own = counts.to_padded(0, **self._options)[0]  # type: ignore[arg-type]
            batch["attention_mask"] = torch.from_numpy(own)
        for name in names:
            if name not in batch:
                batch[name] = torch.from_numpy(np.stack([np.asarray(row[name]) for row in rows]))
        return batch


def _int32_row(given: Any, number: int) -> Any:
    """Ids of a sample."""
    found = np.asarray(given)
    if found.size and (
        found.ndim != 1 or found.dtype.kind not in "iu" or not -(2**31) <= int(found.min()) <= int(found.max()) < 2**31
    ):
        raise ValueError(f"sample {number} must hold rows of whole numbers of 32 bits, got {shown(given)}")
    return found.astype(np.int32).reshape(-1)


def _mask_row(row: dict[str, Any], number: int) -> Any:
    """Mask of a sample, one number for each id."""
    found = _int32_row(row["attention_mask"], number)
    if found.size != np.size(row["input_ids"]):
        raise ValueError(
            f"`attention_mask` of sample {number} has {found.size} numbers, `input_ids` {np.size(row['input_ids'])}"
        )
    return found


def collate_blocks(blocks: Sequence[Any]) -> Any:
    """Blocks of :class:`numba_nlp.packing.PackedBlocks` to one matrix: ``collate_fn`` for training.

    Parameters
    ----------
    blocks : sequence of uint16 or uint32 arrays of one length

    Returns
    -------
    torch.Tensor
        int64[blocks, block_size]
    """
    return torch.from_numpy(np.stack(blocks).astype(np.int64))
