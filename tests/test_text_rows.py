"""TextRows: every way in and out, against Python's codecs and pyarrow."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import InvalidTextError, MissingRowError
from numba_nlp.text_rows import TextRows
from tests.byte_texts import bytes_array, nearly_utf8
from tests.shared_data import shared

TEXTS = ["To be,", "", "or not: é ∀ 𝔸", "naïve\n", "日本語" * 20, "x" * 100]

any_str = st.text(st.characters(exclude_categories=[]), max_size=12)  # surrogates too


# --- lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "stripped", "kept"),
    [
        (b"", [], []),
        (b"\n", [""], ["\n"]),
        (b"a", ["a"], ["a"]),
        (b"a\nb", ["a", "b"], ["a\n", "b"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"], ["a\r\n", "\r\n", "b\r\n"]),
        (b"a\rb\n\rc\r", ["a\rb", "\rc\r"], ["a\rb\n", "\rc\r"]),
        (b"\r\r\n", ["\r"], ["\r\r\n"]),
        ("\ufeffé\u2028x\n".encode(), ["\ufeffé\u2028x"], ["\ufeffé\u2028x\n"]),
    ],
)
def test_lines_of_a_file(tmp_path: Path, content: bytes, stripped: list[str], kept: list[str]) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(content)
    assert TextRows.from_file(path).to_list() == stripped
    assert TextRows.from_file(path, keep_line_ends=True).to_list() == kept


def test_file_is_mapped_not_read(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    base = TextRows.from_file(path).data
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)


def test_bad_line_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"good\nab\xffc\r\nlast")
    with pytest.raises(InvalidTextError, match="row 1, byte 2") as caught:
        TextRows.from_file(path)
    assert (caught.value.row, caught.value.byte) == (1, 2)
    assert TextRows.from_file(path, errors="replace").to_list() == ["good", "ab\ufffdc", "last"]


def test_whole_play_of_a_file() -> None:
    path = shared("text/hamlet.txt")
    expected = path.read_bytes().decode().split("\n")
    rows = TextRows.from_file(path).to_list()
    assert rows == [line.removesuffix("\r") for line in (expected if expected[-1] else expected[:-1])]


# --- Python strings --------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.text(max_size=20), st.text(max_size=20).map(str.encode))))
def test_strings_and_bytes_round_trip(items: list[str | bytes]) -> None:
    rows = TextRows.from_strings(items)
    assert rows.to_list() == [item if isinstance(item, str) else item.decode() for item in items]
    assert rows.nbytes == len(b"".join(item.encode() if isinstance(item, str) else item for item in items))


@given(st.lists(st.one_of(any_str, nearly_utf8), max_size=8))
def test_invalid_items_are_replaced_as_python_does(items: list[str | bytes]) -> None:
    expected = [
        "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in item)
        if isinstance(item, str)
        else item.decode("utf-8", "replace")
        for item in items
    ]
    assert TextRows.from_strings(items, errors="replace").to_list() == expected


def _first_bad_byte(item: str | bytes) -> int | None:
    try:
        item.encode() if isinstance(item, str) else item.decode()
    except UnicodeDecodeError as error:
        return error.start
    except UnicodeEncodeError as error:
        return len(item[: error.start].encode())
    return None


@given(st.lists(st.one_of(any_str, nearly_utf8), max_size=8))
def test_strict_names_the_first_bad_row_and_byte(items: list[str | bytes]) -> None:
    bad = ((row, byte) for row, byte in enumerate(map(_first_bad_byte, items)) if byte is not None)
    expected = next(bad, None)
    if expected is None:
        assert len(TextRows.from_strings(items)) == len(items)
        return
    with pytest.raises(InvalidTextError) as caught:
        TextRows.from_strings(items)
    assert (caught.value.row, caught.value.byte) == expected
    assert f"row {expected[0]}, byte {expected[1]}" in str(caught.value)


def test_lone_surrogate_is_named() -> None:
    with pytest.raises(InvalidTextError, match=r"row 1, byte 3: lone surrogate U\+DC80"):
        TextRows.from_strings(["ok", "aé\udc80"])


@pytest.mark.parametrize(
    "source",
    [
        ["a", "é", None],
        ("a", "é", float("nan")),
        (item for item in ["a", "é", np.float64("nan")]),
        np.array(["a", "é", None], object),
        np.ma.MaskedArray(["a", "é", "zzz"], [False, False, True]),
    ],
    ids=["list", "tuple", "generator", "object", "masked"],
)
def test_missing_rows(source: object) -> None:
    items = list(source) if not isinstance(source, np.ndarray) else source
    with pytest.raises(MissingRowError, match="row 2 is missing"):
        TextRows.from_any(items)
    assert TextRows.from_any(items, nulls="empty").to_list() == ["a", "é", ""]
    rows = TextRows.from_any(items, nulls="null")
    assert rows.to_list() == ["a", "é", None]
    assert rows.valid is not None
    assert rows.valid.tolist() == [True, True, False]
    assert rows[2] is None
    assert rows[:2].valid is None


def test_numpy_kinds() -> None:
    assert TextRows.from_any(np.array(["a", "日本"])).to_list() == ["a", "日本"]
    assert TextRows.from_any(np.array([b"a", "é".encode()])).to_list() == ["a", "é"]
    assert TextRows.from_any(np.array(["a", "é"], np.dtypes.StringDType())).to_list() == ["a", "é"]
    assert TextRows.from_any(np.array([np.str_("a"), np.bytes_(b"b")], object)).to_list() == ["a", "b"]
    assert TextRows.from_any(np.array([], object)).to_list() == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (["a", 3], r"row 1 must be str, bytes or missing \(None, NaN\), got int"),
        (["a", ["b"]], "row 1 must be .* got list"),
        ([np.int64(2)], "row 0 must be .* got numpy.int64"),
        (np.arange(3), r"got int64\[3\]"),
        (np.array([["a"]]), r"got <U1\[1, 1\]"),
        ({"a": 1}, "got dict"),
        ({"a"}, "got set"),
        (bytearray(b"a"), "got bytearray"),
        (7, "got int"),
        (None, "got NoneType"),
        (pa.array([1]), "got int64"),
        (pa.table({"a": ["x"]}), "pick one column"),
    ],
)
def test_wrong_types(source: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        TextRows.from_any(source)


def test_one_text_is_one_row() -> None:
    assert TextRows.from_any("abc").to_list() == ["abc"]
    assert TextRows.from_any("é".encode()).to_list() == ["é"]
    with pytest.raises(TypeError, match="is one str"):
        TextRows.from_strings("abc")


@pytest.mark.parametrize("options", [{"errors": "ignore"}, {"nulls": "drop"}])
def test_wrong_options(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        TextRows.from_any(["a"], **options)


# --- Arrow -----------------------------------------------------------------------------------------------------

ARROW_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


@pytest.mark.parametrize("kind", ARROW_TYPES, ids=str)
def test_arrow_types(kind: pa.DataType) -> None:
    values: list[str | None] = [*TEXTS, None, "end", None]
    array = (
        pa.array(values, pa.string()).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(values, kind)
    )
    for start, stop in ((0, 9), (1, 8), (2, 3), (4, 4), (7, 9)):
        part = array[start:stop]
        for source in (part, pa.chunked_array([part]), pa.chunked_array([part[:2], part[2:]])):
            assert TextRows.from_any(source, nulls="null").to_list() == values[start:stop]
            expected = [value or "" for value in values[start:stop]]
            assert TextRows.from_arrow(source, nulls="empty").to_list() == expected
    with pytest.raises(MissingRowError, match="row 6"):
        TextRows.from_arrow(array)


def test_other_arrow_types() -> None:
    assert TextRows.from_arrow(pa.array([b"ab", b"cd"], pa.binary(2))).to_list() == ["ab", "cd"]
    assert TextRows.from_arrow(pa.nulls(2), nulls="null").to_list() == [None, None]
    for kind in ARROW_TYPES:
        assert TextRows.from_arrow(pa.nulls(0, kind)).to_list() == []
        assert TextRows.from_arrow(pa.chunked_array([], kind)).to_list() == []


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()], ids=str)
def test_arrow_bytes_are_not_copied(kind: pa.DataType) -> None:
    array = pa.array(TEXTS, kind)[1:5]
    rows = TextRows.from_arrow(array)
    assert rows.data.ctypes.data == array.buffers()[2].address
    back = rows.to_arrow()
    assert back.buffers()[2].address == array.buffers()[2].address
    back.validate(full=True)
    assert back.to_pylist() == TEXTS[1:5]


def test_null_rows_with_bytes_come_out_empty() -> None:
    offsets, data = pa.py_buffer(np.array([0, 2, 4, 5], np.int32)), pa.py_buffer(b"ab\xff\xffc")
    validity = pa.py_buffer(bytes([0b101]))
    array = pa.Array.from_buffers(pa.string(), 3, [validity, offsets, data])
    rows = TextRows.from_arrow(array, nulls="null")
    assert rows.to_list() == ["ab", None, "c"]
    assert (rows.ends - rows.starts).tolist() == [2, 0, 1]
    assert rows.to_arrow().to_pylist() == ["ab", None, "c"]
    assert TextRows.from_arrow(array, nulls="empty").to_list() == ["ab", "", "c"]


def test_invalid_arrow() -> None:
    array = pa.array([b"fine", b"x\xe2\x82", b"\xff"], pa.binary())
    with pytest.raises(InvalidTextError, match="row 1, byte 1"):
        TextRows.from_arrow(array)
    with pytest.raises(InvalidTextError, match="row 5, byte 0"):
        list(TextRows.iter_arrow(pa.chunked_array([[b"a"] * 3, [b"b", b"c", b"\xff"]])))
    assert TextRows.from_arrow(array, errors="replace").to_list() == ["fine", "x\ufffd", "\ufffd"]
    split = pa.Array.from_buffers(
        pa.binary(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer("é".encode())]
    )
    with pytest.raises(InvalidTextError, match="row 0, byte 0"):
        TextRows.from_arrow(split)
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 9, 2], np.int32)), pa.py_buffer(b"ab")]
    )
    with pytest.raises(ValueError, match="offsets are inconsistent"):
        TextRows.from_arrow(broken)


def test_arrow_chunks_one_by_one() -> None:
    chunked = pa.chunked_array([["a", None], [], ["é"]], pa.string())
    parts = [rows.to_list() for rows in TextRows.iter_arrow(chunked, nulls="null")]
    assert parts == [["a", None], [], ["é"]]
    assert [rows.to_list() for rows in TextRows.iter_arrow(pa.array(["x"]))] == [["x"]]
    assert list(TextRows.iter_arrow(pa.chunked_array([], pa.string()))) == []


def test_polars_and_pandas_columns() -> None:
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    values = ["a", None, "日本"]
    columns = [
        polars.Series(values),
        polars.Series(values, dtype=polars.Categorical),
        pandas.Series(values, dtype=object),
        pandas.Series(values, dtype="string"),
        pandas.Series(values, dtype=pandas.ArrowDtype(pa.string())),
        pandas.Series(values, dtype="category"),
        pandas.Index(values, dtype=object),
        pandas.array(values, dtype="string"),
    ]
    for column in columns:
        assert TextRows.from_any(column, nulls="null").to_list() == values, type(column)
    mixed = pandas.Series(["a", b"b", float("nan"), pandas.NA])
    assert TextRows.from_any(mixed, nulls="null").to_list() == ["a", "b", None, None]
    with pytest.raises(TypeError):
        TextRows.from_any(pandas.DataFrame({"a": values}))
    with pytest.raises(TypeError, match="struct"):
        TextRows.from_any(polars.DataFrame({"a": values}))


# --- the object ------------------------------------------------------------------------------------------------


def test_indexing_and_slicing() -> None:
    rows = TextRows.from_strings(TEXTS)
    assert (len(rows), rows.n_rows, rows.nbytes) == (6, 6, sum(len(text.encode()) for text in TEXTS))
    assert [rows[i] for i in range(-6, 6)] == TEXTS * 2
    assert rows[np.int64(2)] == TEXTS[2]
    for bounds in (slice(None), slice(2, 4), slice(-2, None), slice(4, 2), slice(9, 12)):
        part = rows[bounds]
        assert part.to_list() == TEXTS[bounds]
        assert part.data.ctypes.data == rows.data.ctypes.data
        assert part.nbytes == sum(len(text.encode()) for text in TEXTS[bounds])
    assert rows[1:][1:][0] == TEXTS[2]
    for index in (6, -7):
        with pytest.raises(IndexError, match="outside of 6 rows"):
            rows[index]
    with pytest.raises(TypeError, match="got str"):
        rows["a"]
    with pytest.raises(ValueError, match="step"):
        rows[::2]
    assert repr(rows[:2]) == "<TextRows of 2 rows, 6 bytes>"


def test_compact_equals_and_pickle(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(["skip", "a", "", "日本"]) + "\r\n", encoding="utf-8", newline="")
    rows = TextRows.from_file(path)[1:]
    assert rows.compact().offsets.tolist() == [0, 1, 1, 7]
    assert rows.equals(TextRows.from_strings(["a", "", "日本"]))
    assert not rows.equals(TextRows.from_strings(["a", "", "日"]))
    assert not rows.equals(TextRows.from_strings(["a", ""]))
    assert not rows.equals(TextRows.from_strings(["a", None, "日本"], nulls="null"))
    assert rows.to_arrow().to_pylist() == ["a", "", "日本"]
    copy = pickle.loads(pickle.dumps(rows))
    assert copy.equals(rows)
    assert not copy.data.flags.writeable
    missing = TextRows.from_strings(["a", None], nulls="null")
    assert pickle.loads(pickle.dumps(missing)).to_list() == ["a", None]
    assert repr(missing) == "<TextRows of 2 rows, 1 bytes, 1 missing>"


def test_from_any_applies_nulls_to_text_rows() -> None:
    rows = TextRows.from_strings(["a", None], nulls="null")
    assert TextRows.from_any(rows, nulls="null") is rows
    assert TextRows.from_any(rows, nulls="empty").to_list() == ["a", ""]
    with pytest.raises(MissingRowError):
        TextRows.from_any(rows)


def test_own_arrays() -> None:
    data, offsets = bytes_array("aéb".encode()), np.array([0, 1, 3, 4])
    rows = TextRows(data, offsets, ends=np.array([1, 3, 3]), valid=np.array([True, False, True]))
    assert rows.to_list() == ["a", None, ""]
    assert rows.ends.tolist() == [1, 1, 3]
    assert not rows.offsets.flags.writeable
    assert offsets.flags.writeable
    with pytest.raises(InvalidTextError, match="row 0, byte 1"):
        TextRows(data, np.array([0, 2, 4]))
    assert TextRows(data, np.array([0, 2, 4]), errors="replace").to_list() == ["a\ufffd", "\ufffdb"]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"data": np.zeros(4, np.int8)}, TypeError, "`data` must be .* uint8, got int8"),
        ({"data": b"abcd"}, TypeError, "got bytes"),
        ({"offsets": np.zeros((2, 2), np.int64)}, TypeError, "`offsets`"),
        ({"offsets": np.array([0, 2, 4], np.int32)}, TypeError, "got int32"),
        ({"offsets": np.zeros(0, np.int64)}, ValueError, "`offsets` is empty"),
        ({"offsets": np.array([0, 2, 5])}, ValueError, "go from 0 to 5"),
        ({"offsets": np.array([-1, 2, 4])}, ValueError, "go from -1 to 4"),
        ({"offsets": np.array([0, 3, 2])}, ValueError, "decrease from 3 to 2 at row 1"),
        ({"ends": np.array([2])}, ValueError, "`ends` has length 1"),
        ({"ends": np.array([3, 4])}, ValueError, "`ends` is 3 at row 0"),
        ({"ends": np.array([2, 1])}, ValueError, "`ends` is 1 at row 1"),
        ({"valid": np.array([True])}, ValueError, "`valid` has length 1"),
        ({"valid": np.array([1, 0])}, TypeError, "`valid`"),
    ],
)
def test_own_arrays_are_checked(changes: dict[str, object], error: type[Exception], message: str) -> None:
    arguments = {"data": bytes_array(b"abcd"), "offsets": np.array([0, 2, 4]), **changes}
    with pytest.raises(error, match=message):
        TextRows(**arguments)
