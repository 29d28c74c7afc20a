"""SentencePiece's Unigram, word and character models: tables from a vocabulary, spans, n-best lists and sampling."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall, unigram_sampling
from numba_nlp._encoders.rows import Segments, frozen, whole_segments
from numba_nlp._encoders.segmentations import Pieces, given_tokens, join
from numba_nlp._encoders.sentencepiece_rows import SentencePieceRowEncoder
from numba_nlp._fastcall import Watched
from numba_nlp._fastcall.families import sentencepiece
from numba_nlp.errors import VocabularyFormatError
from numba_nlp.kernels.segment import normalizer_tables
from numba_nlp.kernels.segment.aligned_spans import fill_aligned_spans
from numba_nlp.kernels.segment.normalize_charsmap import WHOLE_ROW, normalize, normalized_room
from numba_nlp.kernels.segment.renumber import name_unknown
from numba_nlp.kernels.segment.sentencepiece_numbers import number_words_sentencepiece
from numba_nlp.kernels.segment.sentencepiece_unigram import encode_rows_spaced, encode_rows_whole
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import (
    CHARACTERS,
    UNIGRAM,
    WORDS,
    SentencePieceScratch,
    SentencePieceTables,
    new_scratch,
    with_low_spaces,
)
from numba_nlp.kernels.segment.spanned_families import SPANNED_UNIGRAM
from numba_nlp.kernels.segment.spanned_rows_memory import MOST_IDS
from numba_nlp.kernels.segment.unigram_lattice import Lattice
from numba_nlp.kernels.segment.unigram_memory import (
    RESET,
    UNKNOWN_SCORE,
    UnigramTables,
    lattice_tables,
    new_tables,
)
from numba_nlp.unigram_sampling import Segmentation
from numba_nlp.vocabulary import Vocabulary

__all__ = ["SentencePieceEncoder"]

_MODELS = {"unigram": UNIGRAM, "sentencepiece_word": WORDS, "sentencepiece_char": CHARACTERS}
_ROWS = {"spaced": encode_rows_spaced, "whole": encode_rows_whole}
_KINDS = {
    "unigram": "a Unigram model of SentencePiece",
    "sentencepiece_word": "a word model of SentencePiece",
    "sentencepiece_char": "a character model of SentencePiece",
}
_UNKNOWN, _BYTE = 1, 5
NO_TEXT = np.zeros(0, np.uint8)


class SentencePieceEncoder(SentencePieceRowEncoder):
    """Encodes with a vocabulary of algorithm ``unigram``, ``sentencepiece_word`` or ``sentencepiece_char``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    #: Positions of normalised text have 32 bits.
    capacity_limit: ClassVar[int] = (1 << 31) // 4

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        metadata = vocabulary.metadata
        self._algorithm: str = metadata["algorithm"]
        self.kind = _KINDS[self._algorithm]
        self.ids_per_byte = int(metadata["ids_per_byte"])
        self._normalizer = normalizer_tables.new_tables(
            vocabulary["charsmap_units"],
            vocabulary["charsmap_text"],
            vocabulary["symbol_units"],
            int(metadata["normalizer_flags"]),
            int(metadata["growth"]),
        )
        self._unigram = _unigram_tables(vocabulary)
        pattern: str = metadata["pattern"]
        options = np.array([_MODELS[self._algorithm], pattern == "whole", self.ids_per_byte], np.int64)
        replayed = _for_replay(self._unigram, vocabulary["piece_kinds"])
        if "piece_ids" in vocabulary:
            # given ids stand among the numbers of pieces (numba_nlp.kernels.segment.renumber)
            scores = np.concatenate((replayed.piece_scores, np.zeros(vocabulary.size, np.float32)))
            replayed = replayed._replace(piece_scores=scores)
        parts = (
            *replayed,
            *self._normalizer,
            with_low_spaces(vocabulary["byte_traits"]),
            options,
        )
        super().__init__(vocabulary, SentencePieceTables(*map(frozen, parts)), watched)

    def family(self) -> _fastcall.Family:
        return sentencepiece()

    def encode_rows(self, pattern: str) -> Any:
        return _ROWS[pattern]

    @property
    def fill_aligned_spans(self) -> Any:
        return fill_aligned_spans

    @property
    def number_words(self) -> Any:
        return number_words_sentencepiece

    @property
    def splits_words(self) -> bool:
        return True

    @property
    def name_unknown(self) -> Any:
        return name_unknown

    def spanned_kernel(self) -> Any | None:
        return SPANNED_UNIGRAM.get(self._pattern) if self._vocabulary.size <= MOST_IDS else None

    def new_scratch(self, capacity: int) -> SentencePieceScratch:
        return new_scratch(capacity)

    # --- n-best lists and sampling -------------------------------------------------------------------------------

    def lattice_tables(self) -> UnigramTables:
        return self._lattice if self._algorithm == "unigram" else super().lattice_tables()

    def pieces_of(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
    ) -> Pieces:
        parts = whole_segments(starts, ends, segments)
        return join(
            (self._normalized(data[start:end]) if given < 0 else NO_TEXT, given)
            for start, end, given in zip(*(array.tolist() for array in parts[:3]), strict=True)
        )

    def final_ids(self, pieces: Pieces, found: Segmentation) -> NDArray[np.int32]:
        if self._renumbering is None:
            return found.ids
        is_text = ~given_tokens(pieces, found.token_ends)
        return self._renumbering.named(pieces.text, found.ids, found.token_ends, is_text)

    def numbers_of(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        return ids if self._renumbering is None else self._renumbering.numbers_of(ids)

    def lattice(self, text: bytes) -> tuple[bytes, Lattice, NDArray[np.int64]]:
        """All segmentations of a text.

        Parameters
        ----------
        text : bytes
            UTF-8.

        Returns
        -------
        normalized : bytes
        lattice : Lattice
        token_ends : int64[k]
            Where the tokens of the best segmentation end, in bytes of ``normalized``.
        """
        tables = self.lattice_tables()
        normalized = self._normalized(np.frombuffer(text, np.uint8))
        (best,) = unigram_sampling.nbest(self._unigram, normalized, 1)
        return normalized.tobytes(), unigram_sampling.new_lattice(tables, normalized), best.token_ends

    @cached_property
    def _lattice(self) -> UnigramTables:
        vocabulary = self._vocabulary
        leads = np.concatenate(([0], np.cumsum((vocabulary["piece_bytes"] & 0xC0) != 0x80)))
        characters = np.diff(leads[vocabulary["piece_offsets"]])
        return lattice_tables(self._unigram, characters, vocabulary["piece_kinds"])

    def _normalized(self, text: NDArray[np.uint8]) -> NDArray[np.uint8]:
        data = frozen(text.view())
        out = np.empty(int(normalized_room(self._normalizer, data.size)), np.uint8)
        no_alignment = np.zeros(0, np.int32)
        n = int(normalize(self._normalizer, data, 0, data.size, WHOLE_ROW, out, no_alignment, no_alignment))
        if n < 0:
            raise VocabularyFormatError(
                f"the vocabulary says that this text has at most {out.size} bytes once it is normalised, and it has "
                "more; compile the vocabulary again from its source"
            )
        return frozen(out[:n])


def _unigram_tables(vocabulary: Vocabulary) -> UnigramTables:
    """Tables of a model's pieces; those of the others have no scores, which never start again."""
    kinds, metadata = vocabulary["piece_kinds"], vocabulary.metadata
    is_unigram = metadata["algorithm"] == "unigram"
    byte_ids = np.flatnonzero(kinds == _BYTE)
    scores = vocabulary["piece_scores"]
    tables = new_tables(
        vocabulary["trie_units"],
        np.diff(vocabulary["piece_offsets"]),
        scores if is_unigram else np.zeros_like(scores),
        kinds if is_unigram else None,
        unknown_id=int(np.flatnonzero(kinds == _UNKNOWN)[0]),
        byte_ids=_by_byte(vocabulary, byte_ids) if byte_ids.size else None,
    )
    if not is_unigram:
        tables.scores[RESET] = np.inf
    return UnigramTables(*map(frozen, tables))


def _by_byte(vocabulary: Vocabulary, byte_ids: NDArray[np.int64]) -> NDArray[np.int32]:
    """Ids of the byte pieces, which are written ``<0x0A>``, in the order of their bytes."""
    offsets, content = vocabulary["piece_offsets"], vocabulary["piece_bytes"]
    digits = [content[offsets[i] + 3 : offsets[i] + 5].tobytes() for i in byte_ids.tolist()]
    ordered = np.empty(256, np.int32)
    ordered[[int(pair, 16) for pair in digits]] = byte_ids
    return ordered


def _for_replay(tables: UnigramTables, kinds: NDArray[np.uint8]) -> UnigramTables:
    """The tables, with scores and lengths of the unknown token and of bytes as they are added up from ids.

    A character without a piece adds its score once, so the byte that begins it has that score, the others 0.
    """
    scores, lengths = tables.piece_scores.copy(), tables.piece_lengths.copy()
    scores[kinds == _UNKNOWN] = tables.scores[UNKNOWN_SCORE]
    if (kinds == _BYTE).any():
        scores[tables.byte_ids] = tables.scores[UNKNOWN_SCORE]
        scores[tables.byte_ids[0x80:0xC0]] = 0
        lengths[tables.byte_ids] = 1
    return tables._replace(piece_scores=scores, piece_lengths=lengths)
