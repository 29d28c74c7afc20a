"""General decoders: ids to tokens, and those through an array program to text."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from numba_nlp._decoders.decoder import Decoder
from numba_nlp._decoders.ids import known_id, read_only, refuse_in_rows
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.decode import decoded_length
from numba_nlp.kernels.segment.decode_tokens import (
    DECODE_ALPHABET,
    DECODE_BYTES,
    DECODE_FUSE,
    DECODE_REPLACE,
    DECODE_STEP,
    decode_step,
    gather_tokens,
)
from numba_nlp.kernels.tables.hashing import find_piece

__all__ = ["StagedDecoder"]

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class StagedDecoder(Decoder):
    """Decodes with a vocabulary of an algorithm ``staged_*``; tokens are spelled as they are."""

    def text_of_rows(
        self, values: NDArray[np.int32], offsets: NDArray[np.int64], skip_special: bool, single: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        where = np.zeros(1, np.int64)
        pieces = self.vocabulary["piece_offsets"], self.vocabulary["piece_kinds"]
        first, last = int(offsets[0]), int(offsets[-1])
        n = int(decoded_length(*pieces, values, first, last, int(skip_special), where))
        if n < 0:
            refuse_in_rows(self.vocabulary, values, offsets, int(where[0]), single)
        n_rows = offsets.size - 1
        # some step may make a token of a row without any
        room = last - first + n_rows + 1
        text = np.empty(n, np.uint8)
        token_offsets, row_tokens = np.empty(room, np.int64), np.empty(n_rows + 1, np.int64)
        gather_tokens(
            self.vocabulary["piece_bytes"], *pieces, values, offsets, int(skip_special), text, token_offsets, row_tokens
        )
        strings = self.vocabulary["decoder_strings"], self.vocabulary["decoder_string_offsets"]
        out_text = np.empty(n + n // 2 + 64, np.uint8)
        out_offsets, out_rows = np.empty_like(token_offsets), np.empty_like(row_tokens)
        for step in self.vocabulary["decoder_program"].reshape(-1, DECODE_STEP):
            while True:
                n = int(decode_step(step, *strings, text, token_offsets, row_tokens, out_text, out_offsets, out_rows))
                if n != STATUS_OUTPUT_FULL:
                    break
                out_text = np.empty(2 * out_text.size, np.uint8)
            text, out_text = out_text, text
            if out_text.size < text.size:
                out_text = np.empty_like(text)
            token_offsets, out_offsets = out_offsets, token_offsets
            row_tokens, out_rows = out_rows, row_tokens
        return text, token_offsets[row_tokens]

    def settled_length(self, ids: NDArray[np.int32], text: str, skip_special: bool) -> int:
        if self._rewrites_text:
            return 0
        if self._joins_bytes:
            # one more byte may make a run of them no text, all of it
            n = ids.size
            while n and (self._is_byte(int(ids[n - 1])) or not self.decode_bytes(ids[n - 1 : n], skip_special)):
                n -= 1
            if n < ids.size:
                ids = ids[:n]
                text = self.decode_bytes(ids, skip_special).decode("utf-8", "replace")
        return super().settled_length(ids, self._shared_with_more(ids, text, skip_special), skip_special)

    def _is_byte(self, token_id: int) -> bool:
        return _BYTE.fullmatch(self.spelling(token_id)) is not None

    @cached_property
    def _rewrites_text(self) -> bool:
        """Whether steps replace within what the tokens were put together to."""
        operations = self.vocabulary["decoder_program"][::DECODE_STEP].tolist()
        whole = [place for place, operation in enumerate(operations) if operation in (DECODE_FUSE, DECODE_ALPHABET)]
        return bool(whole) and DECODE_REPLACE in operations[whole[0] :]

    def bytes_of(self, token_id: int) -> bytes:
        number = known_id(self.vocabulary, token_id)
        byte = _BYTE.fullmatch(self.spelling(number)) if self._joins_bytes else None
        if byte is not None:
            return bytes([int(byte[1], 16)])
        if self._letter is None:
            return self.decode_bytes([number], False)
        letter, before, behind = self._letter
        whole = self.decode_bytes([letter, number, letter], False)
        # the clean-up of decoded text may take the space before the last one
        end = next((end for end in (behind, behind.strip()) if whole.endswith(end)), None)
        if end is None or not whole.startswith(before):
            return self.decode_bytes([number], False)
        return whole[len(before) : len(whole) - len(end)]

    @cached_property
    def _joins_bytes(self) -> bool:
        """Whether tokens like ``<0x0A>`` stand for bytes."""
        return DECODE_BYTES in self.vocabulary["decoder_program"][::DECODE_STEP]

    @cached_property
    def _letter(self) -> tuple[int, bytes, bytes] | None:
        """Id of a letter, which no decoder changes, and what it is first in a text and behind others."""
        for letter in "eaiotn":
            number = self.id_of(letter)
            if number >= 0:
                before, twice = (self.decode_bytes([number] * n, False) for n in (1, 2))
                return number, before, twice[len(before) :]
        return None

    def spelling(self, token_id: int) -> str:
        number = known_id(self.vocabulary, token_id)
        start, stop = self.vocabulary["piece_offsets"][number : number + 2].tolist()
        return self.vocabulary["piece_bytes"][start:stop].tobytes().decode("utf-8", "replace")

    def id_of(self, token: str | bytes) -> int:
        content = token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token
        array = read_only(np.frombuffer(content, np.uint8))
        lookup, piece_bytes, piece_offsets = map(
            self.vocabulary.__getitem__, ("piece_lookup", "piece_bytes", "piece_offsets")
        )
        return int(find_piece(lookup, piece_bytes, piece_offsets, array, 0, array.size))
