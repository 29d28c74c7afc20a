"""Models behind general stages and their spans: as the twins say, with and without the word cache."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import staged_models as kernels
from numba_nlp.kernels.segment import staged_spans as span_kernels
from numba_nlp.kernels.segment import staged_word_models as word_kernels
from numba_nlp.kernels.segment.normalize_text import Aligned
from numba_nlp.kernels.segment.spans import UNIT_BYTE, UNIT_CHAR
from numba_nlp.kernels.tables.word_cache import SPARE_IDS, new_word_cache
from numba_nlp.reference.segment import staged_models as plain
from numba_nlp.reference.segment import staged_spans as plain_spans
from tests.staged_tokenizers import SPACE, staged

PARTS = [
    SPACE,
    "the",
    "question",
    "be",
    "a",
    "\u00e9",
    "\u0416",
    "<unk>",
    "<0x41>",
    "...",
    "never merged",
    "\U0001f600",
]
pieces = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join)


#: Segmenter and what fills spans, by the first word of the name.
MODELS = {
    "unigram": (kernels.segment_unigram, span_kernels.fill_staged_unigram_spans),
    "bpe": (kernels.segment_bpe, span_kernels.fill_staged_bpe_spans),
    "wordpiece": (word_kernels.segment_wordpiece, span_kernels.fill_staged_wordpiece_spans),
    "marked": (word_kernels.segment_marked, span_kernels.fill_staged_marked_spans),
}


class Model:
    """Tables of one of the staged tokenizers, and its segmenter on bytes."""

    def __init__(self, name: str) -> None:
        encoder: Any = staged(name).ours._encoder
        self.tables, self.scratch, self.widths = encoder.tables, encoder.new_scratch(4096), encoder._widths
        self.segment_kernel, self.spans = MODELS[name.split(maxsplit=1)[0]]
        self.rows = encoder.encode_rows(encoder._pattern)
        self.whole: dict[bytes, int] = {}
        vocabulary = staged(name).ours.vocabulary
        if vocabulary.metadata.get("ignore_merges", False):
            lookup = vocabulary["piece_lookup"]
            bounds, content = vocabulary["piece_offsets"], vocabulary["piece_bytes"].tobytes()
            self.whole = {content[bounds[i] : bounds[i + 1]]: int(i) for i in lookup[lookup >= 0].tolist()}

    def segment(self, piece: bytes) -> plain.Tokens:
        """Tokens of a piece, one call of the kernel; that of tokenizers in ``tests/reference_parity`` is the judge."""
        data = frozen(np.frombuffer(piece, np.uint8).copy())
        ids, ends = np.zeros(len(piece) + SPARE_IDS, np.int32), np.zeros(len(piece) + 1, np.int64)
        n = int(self.segment_kernel(self.tables, data, 0, len(piece), self.scratch, ids, ends, 0))
        assert n >= 0
        return list(zip(ids[:n].tolist(), ends[:n].tolist(), strict=True))


def frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


@cache
def model(name: str) -> Model:
    return Model(name)


NAMES = (
    "unigram", "unigram bytes", "bpe bytes fused", "bpe", "bpe cut whole", "wordpiece", "marked fused",
    "marked bert whole", "marked prefix",
)  # fmt: skip
any_name = st.sampled_from(NAMES)


@given(name=any_name, piece=pieces)
def test_a_piece_that_is_taken_whole(name, piece):
    found = model(name).segment(piece.encode())
    ends = [end for _, end in found]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(piece.encode())
    if piece.encode() in model(name).whole:
        assert found == plain.segment_bpe(None, model(name).whole, piece.encode())


@given(name=any_name, row=st.lists(pieces, max_size=8))
def test_rows_give_the_ids_of_their_pieces(name, row):
    used = model(name)
    content = [piece.encode() for piece in row]
    bounds = np.cumsum([0, *map(len, content)], dtype=np.int64)
    data = frozen(np.frombuffer(b"".join(content) or b" ", np.uint8).copy())
    starts, ends = frozen(bounds[:-1].copy()), frozen(bounds[1:].copy())
    cache = new_word_cache()
    expected = plain.encode_pieces(used.segment, content)
    for _ in range(2):  # solved, and recalled
        ids, offsets = np.zeros(data.size + SPARE_IDS, np.int32), np.zeros(len(row) + 1, np.int64)
        n = int(
            used.rows(
                used.tables, cache, data, starts, ends, frozen(np.zeros(0, np.int32)), 0, len(row), used.scratch, ids,
                offsets, 0,
            )
        )  # fmt: skip
        assert ids[:n].tolist() == expected


@given(name=any_name, row=st.lists(st.tuples(pieces, st.booleans()), max_size=6), in_characters=st.booleans())
def test_spans(name, row, in_characters):
    """Pieces side by side, each character with its own range; given ids between them."""
    used = model(name)
    text = "".join(piece for piece, _ in row).encode()
    places, given_pieces, fixed = [], [], []
    at = 0
    for piece, is_fixed in row:
        content = piece.encode()
        places.append((at, at + len(content)))
        ranges = []
        for character in piece:
            width, start = len(character.encode()), at + len(ranges)
            ranges += [(start, start + width)] * width
        fixed.append(7 if is_fixed else -1)
        given_pieces.append(plain_spans.Piece(content, [places[-1]] if is_fixed else ranges, fixed[-1]))
        at += len(content)
    ids = [
        number
        for piece in given_pieces
        for number in ([7] if piece.fixed >= 0 else [token for token, _ in used.segment(piece.text)])
    ]
    expected = plain_spans.fill_staged_unigram_spans(used.segment, text, given_pieces, in_characters)
    data = frozen(np.frombuffer(text or b" ", np.uint8).copy())
    source_text = b"".join(b"" if piece.fixed >= 0 else piece.text for piece in given_pieces)
    ranges = [pair for piece in given_pieces if piece.fixed < 0 for pair in piece.ranges]
    source = Aligned(
        frozen(np.frombuffer(source_text, np.uint8).copy()),
        frozen(np.array([a for a, _ in ranges], np.int32)),
        frozen(np.array([b for _, b in ranges], np.int32)),
    )
    lengths = [0 if piece.fixed >= 0 else len(piece.text) for piece in given_pieces]
    bounds = np.cumsum([0, *lengths], dtype=np.int64)
    n = len(row)
    starts, ends, where = np.full(len(ids), -7, np.int64), np.full(len(ids), -7, np.int64), np.zeros(1, np.int64)
    arguments = [
        used.tables, used.scratch, used.widths, data, frozen(np.zeros(1, np.int64)), source,
        frozen(np.zeros(n, np.int64)), frozen(bounds[:-1].copy()), frozen(bounds[1:].copy()),
        frozen(np.array(fixed, np.int32)), frozen(np.array([a for a, _ in places], np.int64)),
        frozen(np.array([b for _, b in places], np.int64)), frozen(np.array([0, n], np.int64)),
    ]  # fmt: skip
    status = used.spans(
        *arguments, np.array(ids, np.int32), np.array([0, len(ids)], np.int64),
        UNIT_CHAR if in_characters else UNIT_BYTE, np.empty(400, np.int32), np.empty(400, np.int64), starts, ends,
        where,
    )  # fmt: skip
    assert status == len(ids)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected
    if ids:
        # ids that do not make up the text
        fewer = np.array(ids[:-1], np.int32)
        status = used.spans(
            *arguments, fewer, np.array([0, len(ids) - 1], np.int64), UNIT_BYTE, np.empty(400, np.int32),
            np.empty(400, np.int64), starts, ends, where,
        )  # fmt: skip
        assert status < 0


@pytest.mark.parametrize("text", ["a\u00e9\u65e5b"])
def test_counting_characters(text):
    data = np.frombuffer(text.encode(), np.uint8)
    byte, character = 0, 0
    for target in (0, 3, 1, 7, 6, 0):
        byte, character = span_kernels.count_to(data, byte, character, target)
        assert (byte, character) == (target, plain_spans.count_to(text.encode(), target))
