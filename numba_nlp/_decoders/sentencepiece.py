"""SentencePiece: ids to text, control pieces and bytes included, and the model's denormaliser."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from numba_nlp._decoders.decoder import Decoder
from numba_nlp._decoders.ids import read_only, refuse_in_rows
from numba_nlp.kernels.segment import decode_sentencepiece, normalizer_tables
from numba_nlp.kernels.segment.decode_sentencepiece import (
    DROP_FIRST_SPACE,
    DROP_FIRST_SPACES,
    DecoderTables,
    decode_rows,
    decoded_room,
)
from numba_nlp.kernels.segment.normalize_charsmap import normalize_rows
from numba_nlp.kernels.segment.normalizer_tables import ADD_DUMMY_PREFIX, REMOVE_EXTRA_WHITESPACES, NormalizerTables
from numba_nlp.kernels.tables.double_array import find

__all__ = ["SentencePieceDecoder"]

_RESERVED = (1, 2, 5)
_IN_TEXT = (0, 3)
_ABSENT = 255
_NO_UNITS = read_only(np.zeros(0, np.uint32))


class SentencePieceDecoder(Decoder):
    """Decodes with a vocabulary of a SentencePiece model; tokens are spelled as in the file, U+2581 for a space."""

    @cached_property
    def _tables(self) -> DecoderTables:
        metadata = self.vocabulary.metadata
        flags = int(metadata["normalizer_flags"])
        drop = DROP_FIRST_SPACES if flags & REMOVE_EXTRA_WHITESPACES else 0
        if not drop and flags & ADD_DUMMY_PREFIX:
            drop = DROP_FIRST_SPACE
        pieces, offsets, kinds = (self.vocabulary[f"piece_{name}"] for name in ("bytes", "offsets", "kinds"))
        return decode_sentencepiece.new_tables(pieces, offsets, kinds, metadata["unk_surface"].encode(), drop)

    @cached_property
    def _denormalizer(self) -> NormalizerTables | None:
        units = self.vocabulary["denormalizer_units"]
        if not units.size:
            return None
        metadata = self.vocabulary.metadata
        return normalizer_tables.new_tables(
            units,
            self.vocabulary["denormalizer_text"],
            _NO_UNITS,
            int(metadata["denormalizer_flags"]),
            int(metadata["denormalizer_growth"]),
        )

    def text_of_rows(
        self, values: NDArray[np.int32], offsets: NDArray[np.int64], skip_special: bool, single: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        tables = self._tables
        where = np.zeros(1, np.int64)
        n = int(decoded_room(tables, values, int(offsets[0]), int(offsets[-1]), where))
        if n < 0:
            refuse_in_rows(self.vocabulary, values, offsets, int(where[0]), single)
        # a character of bytes is written four at a time
        out = np.empty(n + 4, np.uint8)
        ends = np.empty(offsets.size, np.int64)
        n = int(decode_rows(tables, values, offsets, int(skip_special), out, ends, where))
        assert n >= 0, "the room is enough for all ids, which were checked"
        denormalizer = self._denormalizer
        if denormalizer is None:
            return out, ends
        room = n * int(denormalizer.settings[1]) + 16 * offsets.size
        written, places = np.empty(room, np.uint8), np.empty(offsets.size, np.int64)
        n = int(
            normalize_rows(denormalizer, read_only(out), read_only(ends[:-1]), read_only(ends[1:]), written, places)
        )
        assert n >= 0, "the room is enough for the rules that were checked"
        return written, places

    def settled_length(self, ids: NDArray[np.int32], text: str, skip_special: bool) -> int:
        # rules of a denormaliser may reach over any number of pieces
        return super().settled_length(ids, text, skip_special) if self._denormalizer is None else 0

    def bytes_of(self, token_id: int) -> bytes:
        self.decode_bytes([token_id], False)  # refuses unknown ids
        tables = self._tables
        start, stop = tables.text_offsets[token_id : token_id + 2]
        content: bytes = tables.text_bytes[start:stop].tobytes()
        return content

    def spelling(self, token_id: int) -> str:
        self.decode_bytes([token_id], False)
        return self._piece(token_id).decode()

    def _piece(self, token_id: int) -> bytes:
        start, stop = self.vocabulary["piece_offsets"][token_id : token_id + 2]
        return self.vocabulary["piece_bytes"][start:stop].tobytes()

    @cached_property
    def _others(self) -> dict[bytes, int]:
        """Pieces that no text gives; unknown, control and byte pieces come before others of their spelling."""
        kinds = self.vocabulary["piece_kinds"]
        wanted = np.flatnonzero(~np.isin(kinds, (*_IN_TEXT, _ABSENT)))
        order = wanted[np.argsort(np.isin(kinds[wanted], _RESERVED), kind="stable")]
        return {self._piece(i): i for i in order.tolist()}

    def id_of(self, token: str | bytes) -> int:
        content = token.encode() if isinstance(token, str) else token
        other = self._others.get(content, -1)
        if other >= 0 and self.vocabulary["piece_kinds"][other] in _RESERVED:
            return other
        data = read_only(np.frombuffer(content, np.uint8))
        found = int(find(self.vocabulary["trie_units"], data, 0, data.size)) if content else -1
        return found if found >= 0 else other
