"""Ids of a SentencePiece model whose pieces another file numbers (Marian, M2M100): to text."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from numba_nlp._decoders.decoder import Decoder
from numba_nlp._decoders.ids import read_only, refuse_in_rows
from numba_nlp._schemas.renumbered import ABSENT, FOREIGN, KEPT, SILENT, SPECIAL
from numba_nlp.kernels.segment import decode_sentencepiece
from numba_nlp.kernels.segment.decode_character import finish_rows
from numba_nlp.kernels.segment.decode_sentencepiece import KIND_CONTROL, DecoderTables, decode_rows, decoded_room

__all__ = ["RenumberedDecoder"]

_MARK = "\u2581".encode()


class RenumberedDecoder(Decoder):
    """Decodes as the Python classes of transformers: the tokens between special ones go to sentencepiece together."""

    @cached_property
    def _tables(self) -> DecoderTables:
        """What tokens are written as: pieces of the model as sentencepiece writes them, others as they are."""
        metadata = self.vocabulary.metadata
        content, bounds = self.vocabulary["token_bytes"].tobytes(), self.vocabulary["token_offsets"].tolist()
        kinds = self.vocabulary["token_kinds"]
        written = [content[start:stop] for start, stop in pairwise(bounds)]
        suffix = metadata["special_suffix"].encode()
        for number in np.flatnonzero(np.isin(kinds, (SPECIAL, KEPT))).tolist():
            written[number] += suffix
        for number in np.flatnonzero(kinds == SILENT).tolist():
            written[number] = b""
        offsets = np.cumsum([0, *map(len, written)], dtype=np.int64)
        as_written = np.isin(kinds, (SPECIAL, KEPT, FOREIGN, SILENT))
        return decode_sentencepiece.new_tables(
            np.frombuffer(b"".join(written), np.uint8),
            offsets,
            np.where(as_written, KIND_CONTROL, kinds).astype(np.uint8),
            metadata["unk_surface"].encode(),
            int(metadata["decoder_drop"]),
        )

    def text_of_rows(
        self, values: NDArray[np.int32], offsets: NDArray[np.int64], skip_special: bool, single: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        tables = self._tables
        where = np.zeros(1, np.int64)
        if int(decoded_room(tables, values, int(offsets[0]), int(offsets[-1]), where)) < 0:
            refuse_in_rows(self.vocabulary, values, offsets, int(where[0]), single)
        values, offsets = values[offsets[0] : offsets[-1]], offsets - offsets[0]
        kinds = self.vocabulary["token_kinds"]
        if skip_special:
            stays = kinds[values] != SPECIAL
            offsets = np.concatenate(([0], np.cumsum(stays)))[offsets]
            values = values[stays]
        # special tokens, and what stands between them, are decoded by themselves
        places = np.flatnonzero(np.isin(kinds[values], (SPECIAL, KEPT)))
        cuts = np.unique(np.concatenate((offsets, places, places + 1)))
        values, cuts = read_only(np.ascontiguousarray(values)), read_only(cuts)
        room = int(decoded_room(tables, values, 0, values.size, where))
        # a character of bytes is written four at a time
        out = np.empty(room + 4, np.uint8)
        cut_ends = np.empty(cuts.size, np.int64)
        n = int(decode_rows(tables, values, cuts, 0, out, cut_ends, where))
        assert n >= 0, "the room is enough for all ids, which were checked"
        ends = np.ascontiguousarray(cut_ends[np.searchsorted(cuts, offsets)])
        mark = _MARK if self.vocabulary.metadata["marks_are_spaces"] else b""
        finish_rows(out, ends, np.frombuffer(mark, np.uint8), 1)
        return out, ends

    def bytes_of(self, token_id: int) -> bytes:
        self.decode_bytes([token_id], False)  # refuses unknown ids
        tables = self._tables
        start, stop = tables.text_offsets[token_id : token_id + 2]
        content: bytes = tables.text_bytes[start:stop].tobytes()
        return content

    def spelling(self, token_id: int) -> str:
        self.decode_bytes([token_id], False)
        start, stop = self.vocabulary["token_offsets"][token_id : token_id + 2]
        return self.vocabulary["token_bytes"][start:stop].tobytes().decode()

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        content, bounds = self.vocabulary["token_bytes"].tobytes(), self.vocabulary["token_offsets"].tolist()
        there = self.vocabulary["token_kinds"] != ABSENT
        ids: dict[bytes, int] = {}
        for number in np.flatnonzero(there).tolist():
            ids.setdefault(content[bounds[number] : bounds[number + 1]], number)
        return ids

    def id_of(self, token: str | bytes) -> int:
        return self._ids.get(token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token, -1)
