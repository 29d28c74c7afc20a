"""Character BPE: ids to text, each token in the form that it has before others or at the end of a text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp._decoders.decoder import Decoder
from numba_nlp._decoders.ids import known_id, read_only, refuse_in_rows
from numba_nlp.kernels.segment.decode import decode_rows, decoded_length
from numba_nlp.kernels.segment.decode_character import choose_last_forms, finish_rows
from numba_nlp.kernels.tables.hashing import find_piece
from numba_nlp.vocabulary import Vocabulary

__all__ = ["CharacterBpeDecoder"]

#: Spare bytes that let the kernel copy 16 at a time.
_SPARE = 16


class CharacterBpeDecoder(Decoder):
    """Decodes with a vocabulary of algorithm ``character_bpe``; tokens are spelled as the vocabulary writes them."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        kinds = vocabulary["piece_kinds"]
        # one kind a form
        self._kinds = read_only(np.concatenate((kinds, kinds)))
        metadata = vocabulary.metadata
        suffix = metadata["suffix"].encode() if metadata["decoder_spaces_suffix"] else b""
        self._suffix = np.frombuffer(suffix, np.uint8)
        self._strips = int(metadata["decoder_strips"])

    def text_of_rows(
        self, values: NDArray[np.int32], offsets: NDArray[np.int64], skip_special: bool, single: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        where = np.zeros(1, np.int64)
        forms = np.zeros(values.size, np.int32)
        choose_last_forms(self.vocabulary["piece_kinds"], values, offsets, int(skip_special), forms)
        forms = read_only(forms)
        pieces = self.vocabulary["decoded_offsets"], self._kinds
        first, last = int(offsets[0]), int(offsets[-1])
        n = int(decoded_length(*pieces, forms, first, last, int(skip_special), where))
        if n < 0:
            refuse_in_rows(self.vocabulary, values, offsets, int(where[0]), single)
        out = np.empty(n + _SPARE, np.uint8)
        ends = np.empty(offsets.size, np.int64)
        decode_rows(self.vocabulary["decoded_bytes"], *pieces, forms, offsets, int(skip_special), out, ends, where)
        if self._strips or self._suffix.size:
            finish_rows(out, ends, self._suffix, self._strips)
        return out, ends

    def settled_length(self, ids: NDArray[np.int32], text: str, skip_special: bool) -> int:
        return super().settled_length(ids, self._shared_with_more(ids, text, skip_special), skip_special)

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
        content = token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token
        if not content:
            return -1
        array = np.frombuffer(content, np.uint8)
        lookup, piece_bytes, piece_offsets = map(
            self.vocabulary.__getitem__, ("piece_lookup", "piece_bytes", "piece_offsets")
        )
        return int(find_piece(lookup, piece_bytes, piece_offsets, array, 0, array.size))
