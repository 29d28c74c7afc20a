"""Small random vocabularies of byte-level BPE, each with what the plain twin needs to know of it."""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from numba_nlp._encoders.byte_bpe import ByteBpeEncoder
from numba_nlp._fastcall import NOTHING_WATCHED
from numba_nlp.kernels.segment.bpe import ENCODE_ROWS
from numba_nlp.kernels.segment.bpe_memory import ByteBpeTables, Scratch, new_scratch
from numba_nlp.kernels.tables.word_cache import SPARE_IDS, WordCache
from numba_nlp.reference.segment import bpe as plain
from numba_nlp.vocabulary import Vocabulary
from tests.scan_texts import texts as scan_texts
from vocab_tools.compiler.byte_bpe import build_arrays
from vocab_tools.formats.description import KIND_ABSENT, KIND_BYTE, KIND_NORMAL, Description

N_CASES = 24
#: Characters whose bytes take part in merges.
MERGED = "ethand s'1\n\u00e9\u65e5\u672c"
PATTERNS = tuple(ENCODE_ROWS)
#: What must not be written to keeps this.
UNWRITTEN = -7
NO_FIXED = np.zeros(0, np.int32)


class Case(NamedTuple):
    """A compiled vocabulary, and the same as dictionaries."""

    tables: ByteBpeTables
    vocabulary: Vocabulary
    n_merges: int
    ordered: bool
    merges: dict[tuple[int, int], tuple[int, int]]
    symbol_ids: dict[int, int]
    whole_pieces: dict[bytes, int]

    def scratch(self, capacity: int = 2048) -> Scratch:
        return new_scratch(self.n_merges, self.ordered, capacity)

    def expected(self, pattern: str, rows: list[str | int]) -> list[list[int]]:
        tables = self.tables.class_index, self.tables.class_blocks
        return plain.encode_rows(pattern, *tables, self.merges, self.symbol_ids, self.whole_pieces, rows)

    def merged(self, piece: bytes) -> list[int]:
        return plain.merge_piece(piece, self.merges, self.symbol_ids, self.whole_pieces)


class Rows(NamedTuple):
    """Rows of text in one buffer, with bytes between them that belong to no row."""

    texts: list[str | int]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fixed: NDArray[np.int32]

    @property
    def room(self) -> int:
        return int((self.ends - self.starts).sum()) + len(self.texts) + SPARE_IDS


@cache
def case(number: int) -> Case:
    """One of ``N_CASES`` vocabularies.

    Of each three, one has its merges in random order; of each four, one has pieces that merging does not reach; of
    each five, one has a product of several merges. Ids are in random order with gaps. Number 0 has no merges at all.
    """
    rng = random.Random(number)
    parts = sorted({bytes([byte]) for byte in MERGED.encode()})
    pairs: list[tuple[bytes, bytes]] = []
    if number % 5 == 3:
        # two ways to make b"eth"
        pairs += [(b"e", b"t"), (b"t", b"h"), (b"et", b"h"), (b"e", b"th")]
        parts += [b"et", b"th", b"eth"]
    for _ in range(0 if number == 0 else rng.choice((6, 40, 160))):
        # what was made late is taken more often, so that long pieces come about
        left, right = (parts[max(rng.randrange(len(parts)), rng.randrange(len(parts)))] for _ in range(2))
        if (left, right) not in pairs and len(left + right) <= 70:
            pairs.append((left, right))
            if left + right not in parts:
                parts.append(left + right)
    if number % 3 == 1:
        rng.shuffle(pairs)
    products = list(dict.fromkeys(left + right for left, right in pairs))
    pieces = [bytes([byte]) for byte in range(256)] + products
    ignore_merges = number % 4 == 2
    if ignore_merges:
        joined = (b"".join(rng.choices(parts, k=rng.randint(2, 4))) for _ in range(20))
        pieces += sorted(set(joined) - set(pieces))
    return _compiled(pieces, pairs, ignore_merges, rng)


def _compiled(pieces: list[bytes], pairs: list[tuple[bytes, bytes]], ignore_merges: bool, rng: random.Random) -> Case:
    by_id: list[bytes | None] = [*pieces, None, None]
    rng.shuffle(by_id)
    ids = {piece: number for number, piece in enumerate(by_id) if piece is not None}
    kinds = [KIND_ABSENT if piece is None else KIND_BYTE if len(piece) == 1 else KIND_NORMAL for piece in by_id]
    arrays, metadata = build_arrays(
        Description(
            name="random",
            source_format="gpt2",
            source_digest="0" * 64,
            reference="tokenizers",
            pieces=by_id,
            decoded=[piece or b"" for piece in by_id],
            kinds=np.array(kinds, np.uint8),
            merges=np.array([[ids[a], ids[b], ids[a + b]] for a, b in pairs], np.int32).reshape(-1, 3),
            added_tokens=(),
            pattern="gpt2",
            pattern_regex="gpt2",
            ignore_merges=ignore_merges,
        )
    )
    vocabulary = Vocabulary(arrays, metadata)
    encoder = ByteBpeEncoder(vocabulary, NOTHING_WATCHED)
    # the symbols of the twin: bytes, then the products in any order
    symbols = {bytes([byte]): byte for byte in range(256)}
    for left, right in pairs:
        symbols.setdefault(left + right, len(symbols))
    merges = {
        (symbols[left], symbols[right]): (number, symbols[left + right]) for number, (left, right) in enumerate(pairs)
    }
    return Case(
        tables=encoder.tables,
        vocabulary=vocabulary,
        n_merges=encoder._n_merges,
        ordered=encoder.ordered,
        merges=merges,
        symbol_ids={symbol: ids[piece] for piece, symbol in symbols.items()},
        whole_pieces=ids if ignore_merges else {},
    )


cases = st.integers(0, N_CASES - 1).map(case)
#: Texts that the vocabularies have merges for, with runs up to beyond every limit on the length of a pre-token.
merged_texts = st.lists(
    st.one_of(
        st.text(st.sampled_from(MERGED), max_size=20),
        st.builds(
            lambda part, n: (part * n)[:n],
            st.text(st.sampled_from(MERGED.replace("\n", "")), min_size=1, max_size=4),
            st.one_of(st.integers(1, 70), st.sampled_from((127, 129, 200, 511, 512, 513, 700))),
        ),
        st.sampled_from(("the", " the", " and", "then", " \u65e5\u672c", "an's", "111", "\n\n", " ")),
    ),
    max_size=12,
).map("".join)
texts = st.one_of(merged_texts, scan_texts)


def as_rows(parts: list[tuple[str | int, str]], before: str = "") -> Rows:
    """Rows from texts or ids, each with what stands behind it in the buffer."""
    data = bytearray(before.encode())
    bounds = []
    for row, gap in parts:
        start = len(data)
        # an id takes the place of the row's text, which is there all the same
        data += row.encode() if isinstance(row, str) else b"<id>"
        bounds.append((start, len(data)))
        data += gap.encode()
    found = [row for row, _ in parts]
    has_fixed = any(isinstance(row, int) for row in found)
    return Rows(
        texts=found,
        data=np.frombuffer(bytes(data), np.uint8),
        starts=np.array([start for start, _ in bounds], np.int64),
        ends=np.array([end for _, end in bounds], np.int64),
        fixed=np.array([row if isinstance(row, int) else -1 for row in found], np.int32) if has_fixed else NO_FIXED,
    )


row_parts = st.lists(
    st.tuples(st.one_of(texts, texts, st.just(""), st.integers(0, 2**28 - 1)), st.sampled_from(("", "", "\n", "the"))),
    max_size=6,
)
rows = st.builds(as_rows, row_parts, st.sampled_from(("", "", "th")))


def encode(
    case: Case,
    pattern: str,
    rows: Rows,
    cache: WordCache,
    scratch: Scratch,
    first_row: int = 0,
    last_row: int | None = None,
    out: int = 0,
) -> list[list[int]]:
    """Ids of rows by the kernel, with all memory from ``scratch`` on when its lists are too short."""
    last_row = len(rows.texts) if last_row is None else last_row
    ids = np.full(out + rows.room, UNWRITTEN, np.int32)
    offsets = np.full(len(rows.texts) + 1, UNWRITTEN, np.int64)
    offsets[first_row] = out
    row, place = first_row, out
    while True:
        end = int(
            ENCODE_ROWS[pattern](
                case.tables, cache, rows.data, rows.starts, rows.ends, rows.fixed, row, last_row, scratch, ids,
                offsets, place,
            )
        )  # fmt: skip
        if end >= 0:
            break
        assert -end > scratch.list_symbols.size
        done, place = int(scratch.progress[0]), int(scratch.progress[1])
        assert row <= done < last_row
        assert place == offsets[done]
        row = done
        scratch = case.scratch(-end)
    assert end == offsets[last_row]
    assert np.all(ids[:out] == UNWRITTEN)
    assert np.all(ids[end + SPARE_IDS :] == UNWRITTEN)
    assert np.all(offsets[:first_row] == UNWRITTEN)
    assert np.all(offsets[last_row + 1 :] == UNWRITTEN)
    return [ids[offsets[r] : offsets[r + 1]].tolist() for r in range(first_row, last_row)]
