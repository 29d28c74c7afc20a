"""WordPiece and BPE with marks behind general stages."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.rows import NO_IDS, frozen
from numba_nlp._encoders.staged import StagedEncoder
from numba_nlp._encoders.tables import for_any_bytes
from numba_nlp._fastcall import Watched
from numba_nlp._fastcall.families import staged_marked_bpe, staged_wordpiece
from numba_nlp.kernels.segment.dropout_rows import drop_marked
from numba_nlp.kernels.segment.staged_spans import fill_staged_marked_spans, fill_staged_wordpiece_spans
from numba_nlp.kernels.segment.staged_word_memory import (
    StagedMarkedTables,
    StagedWordPieceTables,
    new_marked_scratch,
    new_wordpiece_scratch,
)
from numba_nlp.kernels.segment.staged_word_models import ENCODE_MARKED_ROWS, ENCODE_WORDPIECE_ROWS
from numba_nlp.vocabulary import Vocabulary

__all__ = ["StagedMarkedBpeEncoder", "StagedWordPieceEncoder"]


class StagedWordPieceEncoder(StagedEncoder):
    """Encodes with a vocabulary of algorithm ``staged_wordpiece``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    kind = "WordPiece"
    #: Places are 32-bit.
    capacity_limit: ClassVar[int] = (1 << 31) - 2

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        tables = StagedWordPieceTables(vocabulary["trie_units"], vocabulary["wordpiece"])
        super().__init__(vocabulary, watched, tables, "whole")

    def family(self) -> _fastcall.Family:
        return staged_wordpiece()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_WORDPIECE_ROWS[pattern]

    def new_scratch(self, capacity: int) -> Any:
        return new_wordpiece_scratch()

    def _span_kernel(self) -> Any:
        return fill_staged_wordpiece_spans

    def _piece_widths(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        """Of pieces that go on in a word the width is not known: a word of the text may begin with the prefix."""
        widths = np.diff(vocabulary["piece_offsets"]).astype(np.int32)
        prefix = vocabulary.metadata["prefix"].encode()
        if prefix:
            content, bounds = vocabulary["piece_bytes"].tobytes(), vocabulary["piece_offsets"].tolist()
            widths[[content.startswith(prefix, start) for start in bounds[:-1]]] = 0
        widths[vocabulary.metadata["unknown_id"]] = 0
        return frozen(widths)


class StagedMarkedBpeEncoder(StagedEncoder):
    """Encodes with a vocabulary of algorithm ``staged_marked_bpe``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    kind = "pieces with marks of BPE behind general stages"
    drops = True
    #: The heap of a word holds three entries a character.
    capacity_limit: ClassVar[int] = (1 << 31) // 3 - 2

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        arrays = {name: vocabulary[name] for name in StagedMarkedTables._fields if name in vocabulary.arrays}
        arrays["character_index"] = for_any_bytes(arrays["character_index"])
        takes_whole = vocabulary.metadata["ignore_merges"]
        tables = StagedMarkedTables(**arrays, whole_lookup=vocabulary["piece_lookup"] if takes_whole else NO_IDS)
        super().__init__(vocabulary, watched, tables, "whole")

    def family(self) -> _fastcall.Family:
        return staged_marked_bpe()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_MARKED_ROWS[pattern]

    def new_scratch(self, capacity: int) -> Any:
        return new_marked_scratch(capacity)

    def _dropping(self) -> tuple[Any, Any]:
        return drop_marked, self.tables

    def _span_kernel(self) -> Any:
        return fill_staged_marked_spans

    def _piece_widths(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        """A mark may be text as well, so no width is known: words are segmented once more."""
        return frozen(np.zeros(vocabulary.size, np.int32))
