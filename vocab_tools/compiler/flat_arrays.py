"""Lists of strings and of added tokens as flat arrays: what the compilers of all algorithms need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vocab_tools.formats.description import AddedToken

__all__ = ["FlatStrings", "flatten", "special_arrays"]


class FlatStrings(NamedTuple):
    """Byte strings one after the other: string ``i`` is ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]


def flatten(strings: Sequence[bytes]) -> FlatStrings:
    """Put byte strings one after the other."""
    offsets = np.zeros(len(strings) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, strings), dtype=np.int64, count=len(strings)), out=offsets[1:])
    return FlatStrings(np.frombuffer(b"".join(strings), dtype=np.uint8), offsets)


def special_arrays(added_tokens: Iterable[AddedToken]) -> dict[str, NDArray[Any]]:
    """The arrays ``special_*`` of ``docs/data_contracts.md``: added tokens in the order of their bytes."""
    ordered = sorted(added_tokens, key=lambda token: token.content.encode())
    contents = flatten([token.content.encode() for token in ordered])
    flags = [
        token.special | token.lstrip << 1 | token.rstrip << 2 | token.single_word << 3 | token.normalized << 4
        for token in ordered
    ]
    return {
        "special_bytes": contents.data,
        "special_offsets": contents.offsets,
        "special_ids": np.array([token.id for token in ordered], dtype=np.int32),
        "special_flags": np.array(flags, dtype=np.uint8),
    }
