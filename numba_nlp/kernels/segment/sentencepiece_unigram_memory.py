"""Memory of SentencePiece's Unigram, word and character models: a vocabulary's tables, a thread's scratch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.segment.cached_loops import new_spans

__all__ = [
    "CHARACTERS",
    "ID_GROWTH",
    "LOW_SPACES",
    "MODEL",
    "SOLID",
    "SPACE",
    "UNIGRAM",
    "WHOLE",
    "WORDS",
    "SentencePieceScratch",
    "SentencePieceTables",
    "new_scratch",
    "with_low_spaces",
]

#: Bits of ``byte_traits``: a byte that becomes a space whatever stands around it; one after which text may be cut.
SPACE, SOLID = 1, 2
#: Bit of ``byte_traits[0]`` that says that no byte above 0x20 is a ``SPACE`` (:func:`with_low_spaces`).
LOW_SPACES = 4
#: Places in ``SentencePieceTables.options``.
MODEL, WHOLE, ID_GROWTH = range(3)
#: How normalised text is cut into pieces.
UNIGRAM, WORDS, CHARACTERS = range(3)


class SentencePieceTables(NamedTuple):
    """The arrays of a SentencePiece vocabulary that encoding reads.

    The first seven are those of :class:`numba_nlp.kernels.segment.unigram_memory.UnigramTables`, except that
    ``piece_scores`` and ``piece_lengths`` hold for the unknown token and for bytes what a step over them adds; the next
    seven are those of :class:`numba_nlp.kernels.segment.normalizer_tables.NormalizerTables`.
    """

    units: NDArray[np.uint32]  # [n]
    node_scores: NDArray[np.float32]  # [n]
    piece_scores: NDArray[np.float32]  # [V]
    piece_lengths: NDArray[np.int32]  # [V]
    byte_ids: NDArray[np.int32]  # [256]
    numbers: NDArray[np.int64]  # [4]
    scores: NDArray[np.float32]  # [4]
    rule_units: NDArray[np.uint32]  # [k]
    rule_strings: NDArray[np.uint8]  # [s]
    symbol_units: NDArray[np.uint32]  # [u]
    words: NDArray[np.uint32]  # [256]
    steps: NDArray[np.uint8]  # [512]
    after: NDArray[np.int64]  # [256]
    settings: NDArray[np.int64]  # [2]
    byte_traits: NDArray[np.uint8]  # [256]: SPACE, SOLID, LOW_SPACES
    options: NDArray[np.int64]  # [3]: MODEL; WHOLE, whether each row is one chunk; ID_GROWTH, most ids of a byte


class SentencePieceScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]: row to go on with, and where its ids start, when the capacity is too small
    text: NDArray[np.uint8]  # [room]: normalised text
    best: NDArray[np.float32]  # [room + 1], as of UnigramScratch; so are the next five
    second: NDArray[np.float32]  # [room + 1]
    nodes: NDArray[np.int32]  # [room + 1]
    path: NDArray[np.int32]  # [room + 1]
    origins: NDArray[np.int32]  # [room + 1]
    since: NDArray[np.int32]  # [room + 1]
    running: NDArray[np.float64]  # [2]: score before ids[known[0]] of a row, bound of its absolute value behind the ids
    known: NDArray[np.int64]  # [1]


def with_low_spaces(byte_traits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Traits of bytes with ``LOW_SPACES`` where it holds, so that spaces can be looked for 64 bytes at a time.

    Parameters
    ----------
    byte_traits : uint8[256]
        Of a vocabulary.
    """
    traits = byte_traits.copy()
    if not (traits[0x21:] & SPACE).any():
        traits[0] |= LOW_SPACES
    return traits


def text_room(capacity: int) -> int:
    """Bytes of normalised text that scratch of a capacity holds; more only come of rare characters."""
    return 3 * capacity + 32


def new_scratch(capacity: int = 1 << 12) -> SentencePieceScratch:
    """Working memory for chunks of up to ``capacity`` bytes.

    Parameters
    ----------
    capacity : int
        Longest chunk, in bytes before normalisation, that fits; the kernels ask for more where a chunk becomes more
        than three times as long.
    """
    room = text_room(capacity)
    return SentencePieceScratch(
        **new_spans(),
        masks=key_masks(),
        progress=np.zeros(3, np.int64),
        text=np.zeros(room, np.uint8),
        best=np.zeros(room + 1, np.float32),
        second=np.zeros(room + 1, np.float32),
        nodes=np.zeros(room + 1, np.int32),
        path=np.zeros(room + 1, np.int32),
        origins=np.zeros(room + 1, np.int32),
        since=np.zeros(room + 1, np.int32),
        running=np.zeros(2, np.float64),
        known=np.zeros(1, np.int64),
    )
