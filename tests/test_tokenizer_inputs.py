"""Whatever text can come in: each kind of input gives the ids of the same texts in a list."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import numba_nlp as nlp
from tests.made_tokenizers import HAMLET, REPOSITORY, TEXTS, gpt2

#: Without U+0000, which numpy's fixed-width arrays cannot hold at the end of a text.
ROWS = [text for text in TEXTS if "\x00" not in text]


def _chunks(rows: list[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(rows[:3]), pa.array([], pa.string()), pa.array(rows[3:])])


def _sliced(rows: list[str], kind: pa.DataType) -> pa.Array:
    return pa.array(["before", "é", *rows, "behind"], kind).slice(2, len(rows))


def _text_rows_in_a_larger_buffer(rows: list[str]) -> nlp.TextRows:
    encoded = [row.encode() for row in rows]
    data = np.frombuffer("日本".encode() + b"".join(encoded) + b"\xff\xff", np.uint8)
    return nlp.TextRows(data, np.cumsum([6, *map(len, encoded)], dtype=np.int64))


def _strided(rows: list[str]) -> np.ndarray[Any, Any]:
    array = np.empty(2 * len(rows), object)
    array[::2] = rows
    array[1::2] = b"\xff"
    return array[::2]


INPUTS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda rows: (row for row in rows),
    "bytes": lambda rows: [row.encode() for row in rows],
    "str and bytes": lambda rows: [row.encode() if i % 2 else row for i, row in enumerate(rows)],
    "numpy objects": lambda rows: np.array(rows, object),
    "numpy objects, strided": _strided,
    "numpy U": lambda rows: np.array(rows, "U"),
    "numpy U, reversed twice": lambda rows: np.array(rows[::-1], "U")[::-1],
    "numpy S": lambda rows: np.array([row.encode() for row in rows], "S"),
    "numpy StringDType": lambda rows: np.array(rows, np.dtypes.StringDType()),
    "numpy read-only": lambda rows: np.frombuffer(np.array(rows, "U").tobytes(), f"U{max(map(len, rows))}"),
    "arrow string": lambda rows: pa.array(rows, pa.string()),
    "arrow large_string": lambda rows: pa.array(rows, pa.large_string()),
    "arrow string_view": lambda rows: pa.array(rows, pa.string_view()),
    "arrow binary": lambda rows: pa.array([row.encode() for row in rows], pa.binary()),
    "arrow dictionary": lambda rows: pa.array(rows).dictionary_encode(),
    "arrow chunked": _chunks,
    "arrow chunked dictionary": lambda rows: _chunks(rows).dictionary_encode(),
    "arrow string, sliced": lambda rows: _sliced(rows, pa.string()),
    "arrow large_string, sliced": lambda rows: _sliced(rows, pa.large_string()),
    "arrow string_view, sliced": lambda rows: _sliced(rows, pa.string_view()),
    "arrow dictionary, sliced": lambda rows: (
        pa.array(["before", *rows, "behind"]).dictionary_encode().slice(1, len(rows))
    ),
    "polars": pl.Series,
    "polars categorical": lambda rows: pl.Series(rows, dtype=pl.Categorical),
    "pandas object": lambda rows: pd.Series(rows, dtype=object),
    "pandas string": lambda rows: pd.Series(rows, dtype="string"),
    "pandas arrow": lambda rows: pd.Series(rows, dtype=pd.ArrowDtype(pa.string())),
    "pandas categorical": lambda rows: pd.Series(rows, dtype="category"),
    "pandas index": pd.Index,
    "TextRows": nlp.TextRows.from_strings,
    "TextRows in a larger buffer": _text_rows_in_a_larger_buffer,
    "TextRows, sliced": lambda rows: nlp.TextRows.from_strings(["é", *rows, "x"])[1:-1],
}


@pytest.mark.parametrize("name", INPUTS)
def test_kinds_of_input(name: str) -> None:
    ours = gpt2().ours
    rows = list(dict.fromkeys(ROWS))
    expected = ours.encode_batch(rows, spans=True)
    for threads in (1, 3):
        assert ours.encode_batch(INPUTS[name](rows), spans=True, num_threads=threads).equals(expected)
    # twice, since a cache may hold what was wrong the first time
    assert ours.encode_batch(INPUTS[name](rows), spans=True).equals(expected)
    assert ours.count_batch(INPUTS[name](rows)).tolist() == expected.row_lengths.tolist()


MISSING: dict[str, Callable[[], Any]] = {
    "list": lambda: ["a", None, float("nan"), "b", np.float64("nan"), pd.NA],
    "numpy": lambda: np.array(["a", None, np.nan, "b", None, None], object),
    "numpy StringDType": lambda: np.array(["a", None, None, "b", None, None], np.dtypes.StringDType(na_object=None)),
    "arrow": lambda: pa.array(["x", None, "a", None, None, "b", None, None, "y"]).slice(2, 6),
    "arrow large": lambda: pa.array(["x", "a", None, None, "b", None, None], pa.large_string()).slice(1),
    "arrow view": lambda: pa.array(["x", "a", None, None, "b", None, None], pa.string_view()).slice(1),
    "arrow dictionary": lambda: pa.array(["x", "a", None, None, "b", None, None]).dictionary_encode().slice(1),
    "arrow chunked": lambda: pa.chunked_array([["a", None], pa.array([None, "b"]), pa.nulls(2, pa.string())]),
    "polars": lambda: pl.Series(["a", None, None, "b", None, None]),
    "pandas object": lambda: pd.Series(["a", None, np.nan, "b", pd.NA, pd.NaT], dtype=object),
    "pandas string": lambda: pd.Series(["a", None, np.nan, "b", pd.NA, None], dtype="string"),
    "TextRows": lambda: nlp.TextRows.from_strings(["a", None, None, "b", None, None], nulls="null"),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_rows_of_each_kind(name: str) -> None:
    ours = gpt2().ours
    with pytest.raises(nlp.errors.MissingRowError, match="row 1 "):
        ours.encode_batch(MISSING[name]())
    assert ours.encode_batch(MISSING[name](), nulls="empty").to_list() == [[64], [], [], [65], [], []]
    assert ours.encode_batch(MISSING[name](), nulls="null").to_list() == [[64], None, None, [65], None, None]


def test_all_rows_missing() -> None:
    ours = gpt2().ours
    for rows in ([None, None], pa.nulls(2), pa.nulls(2, pa.string()), np.array([None, None], object)):
        assert ours.encode_batch(rows, nulls="null", spans=True).to_list() == [None, None]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "`texts` is one str; pass a list of texts, or use encode"),
        (b"one text", "`texts` is one bytes"),
        (None, "got NoneType"),
        (5, "got int"),
        ({"a": 1}, "got dict"),
        ({"a"}, "got set"),
        (bytearray(b"ab"), "got bytearray"),
        (memoryview(b"ab"), "got memoryview"),
        (["a", 5], "row 1 must be str, bytes or missing .*, got int"),
        (["a", ["b"]], "row 1 must be .*, got list"),
        ([bytearray(b"ab")], "row 0 must be .*, got bytearray"),
        (["a", float("inf")], "row 1 must be .*, got float"),
        (np.array([1, 2]), "one-dimensional of kind O, U, S or T, got int64"),
        (np.array([["a"]]), r"got <U1\[1, 1\]"),
        (np.array("a"), r"got <U1\[\]"),
        (np.array(["2020-01-01"], "M8[D]"), "kind O, U, S or T"),
        (pa.array([1]), "string or binary type, got int64"),
        (pa.array([["a"]]), "string or binary type, got list"),
        (pa.table({"a": ["x"]}), "pick one column"),
        (pl.DataFrame({"a": ["x"]}), "string or binary type, got struct"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_inputs_that_are_no_texts(texts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        gpt2().ours.encode_batch(texts)


@pytest.mark.parametrize("text", [None, 5, ["a"], bytearray(b"a"), memoryview(b"a"), np.array("a"), float("nan")])
def test_what_is_no_text(text: Any) -> None:
    for options in ({}, {"spans": True}, {"special": "plain"}):
        with pytest.raises(TypeError, match=r"`text` must be str or bytes, got .*encode_batch takes many texts"):
            gpt2().ours.encode(text, **options)


class Lying(str):
    """A ``str`` that tells nothing true about itself."""

    def __len__(self) -> int:
        return 1 << 40

    def encode(self, *arguments: Any, **options: Any) -> bytes:
        return b"lie"

    def isascii(self) -> bool:
        return True

    def __str__(self) -> str:
        return "lie"


class LyingBytes(bytes):
    """The same of ``bytes``."""

    def __len__(self) -> int:
        return 1 << 40

    def __bytes__(self) -> bytes:
        return b"lie"


@pytest.mark.parametrize("fast", [True, False])
def test_subclasses_are_what_they_hold(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = gpt2().ours
    if not fast:
        monkeypatch.setattr("numba_nlp._fastcall.AVAILABLE", False)
    text = "the café 日本"
    expected = ours.encode(text).tolist()
    assert ours.encode(Lying(text)).tolist() == expected
    assert ours.encode(LyingBytes(text.encode())).tolist() == expected
    for rows in ([Lying(text), "x"], [Lying("ascii"), "x"], [LyingBytes(text.encode()), Lying(text)], [np.str_(text)]):
        plain = [bytes.decode(row) if isinstance(row, bytes) else "".join([row]) for row in rows]
        assert {type(row) for row in plain} == {str}
        assert ours.encode_batch(rows).equals(ours.encode_batch(plain))
    assert ours.encode_batch([Lying("\ud800a")], errors="replace").equals(ours.encode_batch(["\ufffda"]))


def test_lines_of_a_file() -> None:
    ours = gpt2().ours
    lines = HAMLET.read_bytes().decode().split("\n")
    lines = [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    rows = nlp.TextRows.from_file(HAMLET)
    expected = ours.encode_batch(lines, spans=True)
    for threads in (1, 4):
        assert ours.encode_batch(rows, spans=True, num_threads=threads).equals(expected)
    assert ours.encode_batch(rows[100:200]).equals(ours.encode_batch(lines[100:200]))
    assert (
        b"".join(
            ours.decode_bytes(row) for row in ours.encode_batch(nlp.TextRows.from_file(HAMLET, keep_line_ends=True))
        )
        == HAMLET.read_bytes()
    )


def test_arrow_buffers_that_are_not_aligned() -> None:
    ours = gpt2().ours
    rows = ["ab", "", "é x"]
    for kind, width in ((pa.string(), np.int32), (pa.large_string(), np.int64)):
        offsets = np.cumsum([0, *(len(row.encode()) for row in rows)], dtype=width)
        raw = pa.py_buffer(b"\0" + offsets.tobytes()).slice(1)
        array = pa.Array.from_buffers(kind, 3, [None, raw, pa.py_buffer("".join(rows).encode())])
        assert ours.encode_batch(array, spans=True).equals(ours.encode_batch(rows, spans=True))


# --- sizes ---------------------------------------------------------------------------------------------------------


def test_100_000_tiny_rows() -> None:
    ours = gpt2().ours
    words = ["a", "", " b", "é", "the", "\n", "7"]
    rows = [words[i % 7] for i in range(100_000)]
    batch = ours.encode_batch(rows, spans=True)
    few = ours.encode_batch(words, spans=True)
    assert batch[: 7 * 100].equals(nlp.Ragged.concatenate([few] * 100))
    assert batch.row_lengths.tolist() == [int(few.row_lengths[i % 7]) for i in range(100_000)]
    assert ours.decode_batch(batch) == rows


def test_one_row_of_5_megabytes() -> None:
    ours = gpt2().ours
    text = HAMLET.read_text(encoding="utf-8")
    # whole words meet at the seams, so the ids of the parts follow each other
    part = "\n" + text.strip() + "\n\n."
    n = 5_000_000 // len(part) + 1
    ids = ours.encode(part * n)
    first = ours.encode(part)
    assert len(part) * n >= 5_000_000
    assert ids.tolist() == np.tile(first, n).tolist()
    assert ours.decode(ids) == part * n


@pytest.mark.parametrize("letter", ["a", " ", "é", "=", "日"])
def test_pre_tokens_of_300_kilobytes(letter: str) -> None:
    ours = gpt2().ours
    long = letter * (300_000 // len(letter.encode()))
    alone = ours.encode(long)
    assert ours.decode(alone) == long
    assert ours.encode(long).tolist() == alone.tolist()
    rows = ["normal row", long, "x" * 5000, "", long, "another, é", long + "b"]
    for threads in (1, 2):
        batch = ours.encode_batch(rows, spans=True, num_threads=threads)
        assert batch[1].tolist() == batch[4].tolist() == alone.tolist()
        assert ours.decode_batch(batch) == rows
        assert batch[0].tolist() == ours.encode("normal row").tolist()
        assert batch[5].tolist() == ours.encode("another, é").tolist()
    assert ours.encode("a short one").tolist() == [64, 1790, 530]


_PAGE_END = """
import ctypes, mmap, sys
import numpy as np
import numba_nlp as nlp
tok = nlp.load_tokenizer(sys.argv[1])
page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
whole = np.frombuffer(memory, np.uint8)
protect = ctypes.CDLL(None, use_errno=True).mprotect
assert protect(ctypes.c_void_p(whole.ctypes.data + page), ctypes.c_size_t(page), 0) == 0
texts = ["a", "ab cd", "é", "日本", "😀", "x" * 63, "a b " * 16, "word " * 30, "'s", "1", " ", "abc\\n", "ab " * 200]
for text in texts:
    content = text.encode()
    start = page - len(content)
    whole[start:page] = np.frombuffer(content, np.uint8)
    parts = (whole[:page], [start, page]), (whole[start:page], [0, page - start])
    for rows in (nlp.TextRows(data, np.array(offsets)) for data, offsets in parts):
        for spans in (False, True):
            for special in ("plain", "match"):
                got = tok.encode_batch(rows, spans=spans, special=special)
                assert got[0].tolist() == tok.encode(text).tolist(), text
    # as `str` objects are encoded where they lie: positions are addresses, and a row anywhere in a block may be the
    # last of its page
    other = np.frombuffer(b"some other rows, before and after", np.uint8)
    last = whole[start:page], len(content)
    places = [(other, 33), last, (other, 4), last, (other, 10)]
    starts = np.array([array.ctypes.data for array, _ in places])
    ends = starts + np.array([n for _, n in places])
    found = tok._encoder.encode_segments(None, starts, ends, np.zeros(0, np.int32), None, ends - starts, 1, None)
    ids, offsets = found.values, found.offsets
    for row in (1, 3):
        assert ids[offsets[row] : offsets[row + 1]].tolist() == tok.encode(text).tolist(), text
print("reached the end")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="protects a page with mprotect")
def test_rows_that_end_where_memory_ends(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.safetensors"
    gpt2().ours.vocabulary.save(path)
    done = subprocess.run(
        [sys.executable, "-c", _PAGE_END, str(path)], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "reached the end\n"), done.stderr


def test_bytes_written_into_the_buffer_afterwards_do_no_harm() -> None:
    """The ids are those of no text then, but nothing outside a table is read."""
    for byte in (0xF4, 0xF5, 0xF7, 0xFF):
        buffer = np.full(4096, 0x20, np.uint8)
        rows = nlp.TextRows(buffer, np.array([0, 4000]))
        buffer[:] = byte
        assert gpt2().ours.encode_batch(rows).offsets[0] == 0
