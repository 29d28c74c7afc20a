"""SentencePiece BPE: tables from a vocabulary, and spans."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.dropout import drop_until_done, every_split
from numba_nlp._encoders.rows import Segments, frozen, whole_segments
from numba_nlp._encoders.sentencepiece_rows import SentencePieceRowEncoder
from numba_nlp._encoders.tables import for_any_bytes
from numba_nlp._fastcall import Watched
from numba_nlp._fastcall.families import sentencepiece_bpe
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment import normalizer_tables
from numba_nlp.kernels.segment.dropout_rows import drop_normalized
from numba_nlp.kernels.segment.fill_bridged import white_masks
from numba_nlp.kernels.segment.renumber import name_unknown_bpe
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import SentencePieceBpeTables
from numba_nlp.kernels.segment.sentencepiece_bpe_rows import ENCODE_ROWS
from numba_nlp.kernels.segment.sentencepiece_bpe_rows_memory import (
    BRIDGED,
    SPACED,
    WHOLE,
    SentencePieceBpeRowScratch,
    SentencePieceBpeRowTables,
    new_row_scratch,
)
from numba_nlp.kernels.segment.sentencepiece_bpe_spans import fill_aligned_spans_bpe
from numba_nlp.kernels.segment.sentencepiece_numbers import number_words_sentencepiece_bpe
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import with_low_spaces
from numba_nlp.kernels.segment.spanned_families import SPANNED_BPE
from numba_nlp.kernels.segment.spanned_rows_memory import MOST_IDS
from numba_nlp.vocabulary import Vocabulary

__all__ = ["SentencePieceBpeEncoder"]

_MODES = {"bridged": BRIDGED, "spaced": SPACED, "whole": WHOLE}
_NORMAL, _USER_DEFINED, _UNUSED, _BYTE = 0, 3, 4, 5


class SentencePieceBpeEncoder(SentencePieceRowEncoder):
    """Encodes with a vocabulary of algorithm ``sentencepiece_bpe``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    kind = "a BPE model of SentencePiece"
    drops = True
    #: Positions of normalised text have 32 bits.
    capacity_limit: ClassVar[int] = (1 << 31) // 4

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        metadata = vocabulary.metadata
        pattern: str = metadata["pattern"]
        self.ids_per_byte = int(metadata["ids_per_byte"])
        normalizer = normalizer_tables.new_tables(
            vocabulary["charsmap_units"],
            vocabulary["charsmap_text"],
            vocabulary["symbol_units"],
            int(metadata["normalizer_flags"]),
            int(metadata["growth"]),
        )
        bpe = {name: vocabulary[name] for name in SentencePieceBpeTables._fields}
        bpe["character_index"] = for_any_bytes(bpe["character_index"])
        lengths = np.diff(vocabulary["piece_offsets"]).astype(np.int32)
        lengths[vocabulary["piece_kinds"] == _BYTE] = 1
        parts = (
            *bpe.values(),
            *normalizer,
            with_low_spaces(vocabulary["byte_traits"]),
            white_masks(bpe["bridge"], bpe["flags"], metadata["cuts_before_spaces"]),
            lengths,
            np.array([_MODES[pattern], self.ids_per_byte], np.int64),
        )
        super().__init__(vocabulary, SentencePieceBpeRowTables(*map(frozen, parts)), watched)

    def family(self) -> _fastcall.Family:
        return sentencepiece_bpe()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_ROWS[pattern]

    @property
    def fill_aligned_spans(self) -> Any:
        return fill_aligned_spans_bpe

    @property
    def number_words(self) -> Any:
        return number_words_sentencepiece_bpe

    @property
    def splits_words(self) -> bool:
        return False

    @property
    def name_unknown(self) -> Any:
        return name_unknown_bpe

    def spanned_kernel(self) -> Any | None:
        return SPANNED_BPE.get(self._pattern) if self._vocabulary.size <= MOST_IDS else None

    def new_scratch(self, capacity: int) -> SentencePieceBpeRowScratch:
        return new_row_scratch(capacity)

    def drop_rows(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        probability: float,
        state: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if self._renumbering is not None:
            raise UnsupportedFeatureError(
                "dropout is that of a SentencePiece model, but here another file gives the ids of its pieces; load the "
                ".spm or .model file by itself"
            )
        parts = whole_segments(starts, ends, segments)
        tables = self._with_every_merge
        sizes = np.where(parts.fixed >= 0, 0, parts.ends - parts.starts)
        # an id a byte of normalised text, with the space in front of it
        ids = np.empty(int(sizes.sum()) * max(int(tables.settings[1]), 3) + 4 * sizes.size, np.int32)
        offsets = np.zeros(starts.size + 1, np.int64)

        def drop(first: int, capacity: int) -> int:
            scratch = self.new_scratch(capacity)
            return int(
                drop_normalized(
                    tables, data, *parts[:4], first, probability, state, (scratch, np.empty_like(scratch.heap)), ids,
                    offsets,
                )
            )  # fmt: skip

        drop_until_done(drop, starts.size, self.kept_capacity, self.capacity_limit)
        return ids[: offsets[-1]].copy(), offsets

    @cached_property
    def _with_every_merge(self) -> SentencePieceBpeRowTables:
        """Tables for dropout: any two neighbours merge whose text is a piece, wherever they stand."""
        tables: SentencePieceBpeRowTables = self.tables
        vocabulary = self._vocabulary
        content, bounds = vocabulary["piece_bytes"].tobytes(), vocabulary["piece_offsets"].tolist()
        kinds = vocabulary["piece_kinds"]
        pieces = [content[start:end].decode() for start, end in pairwise(bounds[: kinds.size + 1])]
        user = [pieces[number] for number in np.flatnonzero(kinds == _USER_DEFINED).tolist()]
        symbols = self._symbol_texts(pieces)
        ranks = np.unique(-vocabulary["piece_scores"], return_inverse=True)[1].tolist()
        formable = (
            (piece, number, ranks[number])
            for number, piece in enumerate(pieces)
            if len(piece) > 1
            and (kinds[number] == _NORMAL or (kinds[number] == _UNUSED and piece in symbols))
            and not any(symbol in piece for symbol in user)
        )
        made = every_split(symbols, tables.symbol_ids, formable)
        # any two characters may come to stand in one piece
        return tables._replace(**made._asdict(), bridge=frozen(np.full(1024, ~np.uint64(0))))

    def _symbol_texts(self, pieces: list[str]) -> dict[str, int]:
        """The symbols of characters and merges by their texts; U+2581 stands for a space."""
        tables = self.tables
        code_points = np.arange(0x110000)
        blocks = tables.character_index[code_points >> 7].astype(np.int64)
        numbers = tables.character_symbols[blocks << 7 | code_points & 127]
        unknown = tables.symbol_ids.size - 1
        known = np.flatnonzero((numbers != unknown) & (code_points != ord(" ")))
        texts = {int(numbers[code_point]): chr(code_point) for code_point in known.tolist()}
        for symbol, number in enumerate(tables.symbol_ids.tolist()):
            if number >= 0:
                texts.setdefault(symbol, pieces[number])
        # unused pieces have no id of their own, but parts
        waiting = list(zip(tables.merge_pairs.tolist(), tables.merge_symbols.tolist(), strict=True))
        while waiting:
            left_over = []
            for pair, product in waiting:
                left, right = texts.get(pair >> 20), texts.get(pair & 0xFFFFF)
                if left is None or right is None:
                    left_over.append((pair, product))
                else:
                    texts.setdefault(product, left + right)
            if len(left_over) == len(waiting):
                break
            waiting = left_over
        return {text: symbol for symbol, text in texts.items()}
