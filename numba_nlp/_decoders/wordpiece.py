"""WordPiece: ids to text, each token in the form that the decoder gives it first in a text or behind others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp._decoders.decoder import Decoder
from numba_nlp._decoders.ids import known_id, read_only, refuse_in_rows
from numba_nlp.kernels.segment.decode import decode_rows, decoded_length
from numba_nlp.kernels.segment.decode_wordpiece import choose_forms
from numba_nlp.kernels.segment.wordpiece_memory import FURTHER_BYTE
from numba_nlp.kernels.tables.double_array import find
from numba_nlp.vocabulary import Vocabulary

__all__ = ["WordPieceDecoder"]

#: Spare bytes that let the kernel copy 16 at a time.
_SPARE = 16


class WordPieceDecoder(Decoder):
    """Decodes with a vocabulary of algorithm ``wordpiece``; tokens are spelled with their prefix."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        kinds = vocabulary["piece_kinds"]
        # one kind a form
        self._kinds = read_only(np.concatenate((kinds, kinds)))

    def text_of_rows(
        self, values: NDArray[np.int32], offsets: NDArray[np.int64], skip_special: bool, single: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        where = np.zeros(1, np.int64)
        forms = np.zeros(values.size, np.int32)
        choose_forms(self.vocabulary["piece_kinds"], values, offsets, int(skip_special), forms)
        forms = read_only(forms)
        pieces = self.vocabulary["decoded_offsets"], self._kinds
        first, last = int(offsets[0]), int(offsets[-1])
        n = int(decoded_length(*pieces, forms, first, last, int(skip_special), where))
        if n < 0:
            refuse_in_rows(self.vocabulary, values, offsets, int(where[0]), single)
        out = np.empty(n + _SPARE, np.uint8)
        ends = np.empty(offsets.size, np.int64)
        decode_rows(self.vocabulary["decoded_bytes"], *pieces, forms, offsets, int(skip_special), out, ends, where)
        return out, ends

    def bytes_of(self, token_id: int) -> bytes:
        number = known_id(self.vocabulary, token_id)
        start, stop = self.vocabulary["decoded_offsets"][number : number + 2].tolist()
        content: bytes = self.vocabulary["decoded_bytes"][start:stop].tobytes()
        return content

    def spelling(self, token_id: int) -> str:
        number = known_id(self.vocabulary, token_id)
        start, stop = self.vocabulary["piece_offsets"][number : number + 2].tolist()
        return self.vocabulary["piece_bytes"][start:stop].tobytes().decode("utf-8", "replace")

    def id_of(self, token: str | bytes) -> int:
        content = np.frombuffer(token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token, np.uint8)
        if not content.size or content[0] == FURTHER_BYTE:
            return -1
        return int(find(self.vocabulary["trie_units"], content, 0, content.size))
