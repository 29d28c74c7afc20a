"""Byte-level BPE: ids to the bytes of their pieces, one behind the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp._decoders.decoder import Decoder
from numba_nlp._decoders.ids import checked_ids, refuse_in_rows
from numba_nlp.byte_alphabet import bytes_of, written
from numba_nlp.kernels.segment.decode import decode_ids, decode_rows, decoded_length
from numba_nlp.kernels.tables.hashing import find_piece

__all__ = ["ByteBpeDecoder"]

#: Spare bytes that let the kernel copy 16 at a time.
_SPARE = 16
#: Bytes of an id that one text has room for at first.
_BYTES_PER_ID = 8


class ByteBpeDecoder(Decoder):
    """Decodes with a vocabulary of algorithm ``byte_bpe``; tokens are spelled in GPT-2's byte alphabet."""

    def text_of_rows(
        self, values: NDArray[np.int32], offsets: NDArray[np.int64], skip_special: bool, single: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        where = np.zeros(1, np.int64)
        pieces = self.vocabulary["piece_offsets"], self.vocabulary["piece_kinds"]
        first, last = int(offsets[0]), int(offsets[-1])
        n = int(decoded_length(*pieces, values, first, last, int(skip_special), where))
        if n < 0:
            refuse_in_rows(self.vocabulary, values, offsets, int(where[0]), single)
        out = np.empty(n + _SPARE, np.uint8)
        ends = np.empty(offsets.size, np.int64)
        decode_rows(self.vocabulary["piece_bytes"], *pieces, values, offsets, int(skip_special), out, ends, where)
        return out, ends

    def decode_bytes(self, ids: ArrayLike, skip_special: bool) -> bytes:
        given = checked_ids(self.vocabulary, ids, None)
        vocabulary, where = self.vocabulary, np.zeros(1, np.int64)
        # most texts have fewer bytes than this: one call where two would measure first
        out = np.empty(_BYTES_PER_ID * given.size + _SPARE, np.uint8)
        n = int(
            decode_ids(
                vocabulary["piece_bytes"], vocabulary["piece_offsets"], vocabulary["piece_kinds"], given, 0, given.size,
                int(skip_special), 0, out, where,
            )
        )  # fmt: skip
        if n < 0 or self._cleans_up:
            return super().decode_bytes(given, skip_special)
        return out[:n].tobytes()

    def spelling(self, token_id: int) -> str:
        return written(self.decode_bytes([token_id], False))

    def id_of(self, token: str | bytes) -> int:
        content = bytes_of(token) if isinstance(token, str) else token
        if not content:
            return -1
        array = np.frombuffer(content, np.uint8)
        lookup, piece_bytes, piece_offsets = map(
            self.vocabulary.__getitem__, ("piece_lookup", "piece_bytes", "piece_offsets")
        )
        return int(find_piece(lookup, piece_bytes, piece_offsets, array, 0, array.size))
