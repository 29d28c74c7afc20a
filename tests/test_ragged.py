"""Ragged: views, copies, padding against obvious loops; Arrow and awkward against the libraries."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.ragged import Ragged

Rows = list[list[int]]
some_rows = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=9), max_size=9)


def ragged(rows: Rows, *, spans: bool = False, before: int = 0, valid: list[bool] | None = None) -> Ragged:
    """Rows whose values start ``before`` places into the arrays."""
    values = np.array([7] * before + [value for row in rows for value in row] + [8] * before, np.int32)
    offsets = before + np.cumsum([0, *map(len, rows)], dtype=np.int64)
    starts = np.arange(values.size) if spans else None
    return Ragged(
        values,
        offsets,
        starts,
        None if starts is None else starts + 2,
        None if valid is None else np.array(valid, np.bool_),
    )


@given(some_rows, st.integers(0, 3))
def test_rows_come_back(rows: Rows, before: int) -> None:
    batch = ragged(rows, before=before)
    assert batch.to_list() == rows
    assert [row.tolist() for row in batch] == rows
    assert [batch[i].tolist() for i in range(len(batch))] == rows
    assert batch.row_lengths.tolist() == [len(row) for row in rows]
    assert batch.n_values == sum(map(len, rows))
    assert batch.compact().to_list() == rows
    assert pickle.loads(pickle.dumps(batch)).equals(batch)


def test_indexing_gives_views() -> None:
    batch = ragged([[1, 2], [], [3]], spans=True)
    assert np.shares_memory(batch[0], batch.values)
    assert batch[-1].tolist() == [3]
    assert [part.tolist() for part in batch.spans(-1)] == [[2], [4]]
    part = batch[1:]
    assert part.to_list() == [[], [3]]
    assert np.shares_memory(part.values, batch.values)
    assert [bound.tolist() for bound in part.spans(1)] == [[2], [4]]
    assert batch[2:1].to_list() == []
    for index in (3, -4):
        with pytest.raises(IndexError, match="outside of 3 rows"):
            batch[index]
    with pytest.raises(TypeError, match="got float"):
        batch[1.0]
    with pytest.raises(ValueError, match="use take"):
        batch[::-1]
    with pytest.raises(ValueError, match="spans=True"):
        ragged([[1]]).spans(0)
    assert repr(batch) == "<Ragged of 3 rows, 3 values, with spans>"


@given(some_rows, st.data(), st.booleans(), st.integers(0, 2))
def test_take(rows: Rows, data: st.DataObject, spans: bool, before: int) -> None:
    batch = ragged(rows, spans=spans, before=before)
    indices = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=9)) if rows else []
    taken = batch.take(np.array(indices, np.int64))
    assert taken.to_list() == [rows[i] for i in indices]
    if spans:
        for i, index in enumerate(indices):
            assert [x.tolist() for x in taken.spans(i)] == [x.tolist() for x in batch.spans(index)]


def test_take_refuses_wrong_indices() -> None:
    batch = ragged([[1], [2]])
    assert batch.take([]).to_list() == []
    assert batch.take([1, 0, 1]).to_list() == [[2], [1], [2]]
    for indices in ([2], [0, -3]):
        with pytest.raises(IndexError, match="outside of 2 rows"):
            batch.take(indices)
    with pytest.raises(TypeError, match="flatnonzero"):
        batch.take(np.array([True, False]))
    with pytest.raises(TypeError, match="float64"):
        batch.take([0.5])


@given(st.lists(some_rows, max_size=4), st.booleans(), st.integers(0, 2))
def test_concatenate(parts: list[Rows], spans: bool, before: int) -> None:
    batches = [ragged(rows, spans=spans, before=before) for rows in parts]
    whole = Ragged.concatenate(iter(batches))
    assert whole.to_list() == [row for rows in parts for row in rows]
    assert (whole.starts is not None) == (spans and bool(parts))
    if parts:
        assert whole[: len(parts[0])].equals(batches[0])


def test_concatenate_keeps_missing_rows_and_refuses_mixed_spans() -> None:
    whole = Ragged.concatenate([ragged([[1]]), ragged([[], [2]], valid=[False, True])])
    assert whole.to_list() == [[1], None, [2]]
    with pytest.raises(ValueError, match="some parts have spans"):
        Ragged.concatenate([ragged([[1]]), ragged([[1]], spans=True)])


def test_equals() -> None:
    batch = ragged([[1, 2], [3]], spans=True)
    assert batch.equals(pickle.loads(pickle.dumps(batch)))
    assert ragged([[1, 2], [3]]).equals(ragged([[1, 2], [3]], before=3))
    for other in (
        ragged([[1, 2], [3]]),
        ragged([[1], [2, 3]], spans=True),
        ragged([[1, 2], [4]], spans=True),
        ragged([[1, 2]], spans=True),
    ):
        assert not batch.equals(other)
    assert not ragged([[]]).equals(ragged([[]], valid=[False]))


# --- padding ---------------------------------------------------------------------------------------------------


@given(
    some_rows,
    st.integers(-3, 2**40),
    st.none() | st.integers(0, 10),
    st.sampled_from(["left", "right"]),
    st.sampled_from(["left", "right"]),
    st.none() | st.integers(1, 8),
)
def test_to_padded(
    rows: Rows, pad_id: int, max_length: int | None, side: str, truncation_side: str, multiple: int | None
) -> None:
    cut = rows
    if max_length is not None:
        cut = [row[:max_length] if truncation_side == "right" else row[max(len(row) - max_length, 0) :] for row in rows]
    width = max(map(len, cut), default=0)
    while multiple is not None and width % multiple:
        width += 1
    expected_ids, expected_mask = [], []
    for row in cut:
        filling = width - len(row)
        ids, mask = row + [pad_id] * filling, [1] * len(row) + [0] * filling
        if side == "left":
            ids, mask = [pad_id] * filling + row, [0] * filling + [1] * len(row)
        expected_ids.append(ids)
        expected_mask.append(mask)

    ids, mask = ragged(rows, before=2).to_padded(
        pad_id, max_length=max_length, side=side, truncation_side=truncation_side, pad_to_multiple_of=multiple
    )
    assert ids.dtype == mask.dtype == np.int64
    assert ids.flags.c_contiguous
    assert mask.flags.c_contiguous
    assert ids.shape == mask.shape == (len(rows), width)
    assert ids.tolist() == expected_ids
    assert mask.tolist() == expected_mask


def test_to_padded_of_missing_rows() -> None:
    ids, mask = ragged([[1], []], valid=[True, False]).to_padded(9)
    assert ids.tolist() == [[1], [9]]
    assert mask.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_length": -1}, ValueError, "`max_length` must be at least 0 .* got -1"),
        ({"max_length": 2.0}, TypeError, "`max_length` must be an int, got float"),
        ({"pad_to_multiple_of": 0}, ValueError, "`pad_to_multiple_of` must be at least 1"),
        ({"side": "both"}, ValueError, "`side` must be 'left' or 'right', got 'both'"),
        ({"truncation_side": None}, ValueError, "`truncation_side`"),
        ({"pad_id": 2**63}, ValueError, "`pad_id`"),
        ({"pad_id": None}, TypeError, "`pad_id` must be an int, got NoneType"),
    ],
)
def test_to_padded_refuses(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ragged([[1]]).to_padded(**arguments)


# --- other libraries -------------------------------------------------------------------------------------------


@given(some_rows, st.data(), st.integers(0, 2))
def test_arrow_round_trip(rows: Rows, data: st.DataObject, before: int) -> None:
    valid = [bool(row) or data.draw(st.booleans()) for row in rows]
    expected = [row if there else None for row, there in zip(rows, valid, strict=True)]
    batch = ragged(rows, spans=True, before=before, valid=valid)
    array = batch.to_arrow()
    array.validate(full=True)
    assert array.type == pa.large_list(pa.int32())
    assert array.to_pylist() == expected
    assert Ragged.from_arrow(array).to_list() == expected
    assert Ragged.from_arrow(array[1:]).to_list() == expected[1:]
    starts = batch.to_arrow("starts")
    assert starts.type == pa.large_list(pa.int64())
    assert [len(row or []) for row in starts.to_pylist()] == [len(row) for row in rows]
    awkward = batch.to_awkward()
    assert awkward.to_list() == expected


def test_arrow_shares_memory() -> None:
    batch = ragged([[1, 2], [3]])
    array = batch.to_arrow()
    assert array.values.buffers()[1].address == batch.values.ctypes.data
    assert array.buffers()[1].address == batch.offsets.ctypes.data
    assert Ragged.from_arrow(array).values.ctypes.data == batch.values.ctypes.data
    narrow = pa.array([[1, 2], [3]], pa.list_(pa.int32()))
    assert Ragged.from_arrow(narrow).values.ctypes.data == narrow.values.buffers()[1].address


def test_other_arrow_lists() -> None:
    rows = [[1, 2], [3, 4], None]
    for kind in (pa.list_(pa.int64()), pa.large_list(pa.uint16()), pa.list_(pa.int8(), 2)):
        array = pa.array(rows, kind)
        assert Ragged.from_arrow(array).to_list() == rows
        assert Ragged.from_arrow(array[1:]).to_list() == rows[1:]
        assert Ragged.from_arrow(pa.chunked_array([array, array[:1]])).to_list() == [*rows, rows[0]]
        assert Ragged.from_arrow(pa.chunked_array([], kind)).to_list() == []
    with pytest.raises(TypeError, match="expected an Arrow list of integers, got int64"):
        Ragged.from_arrow(pa.array([1]))
    with pytest.raises(TypeError, match="double"):
        Ragged.from_arrow(pa.array([[1.5]]))
    with pytest.raises(ValueError, match="does not fit int32"):
        Ragged.from_arrow(pa.array([[2**31]]))
    with pytest.raises(ValueError, match="holds a null"):
        Ragged.from_arrow(pa.array([[1, None]], pa.list_(pa.int32())))


def test_null_lists_over_values_come_out_empty() -> None:
    child = pa.array([1, None, 3], pa.int32())
    array = pa.Array.from_buffers(
        pa.large_list(pa.int32()),
        3,
        [pa.py_buffer(bytes([0b101])), pa.py_buffer(np.array([0, 1, 2, 3]))],
        children=[child],
    )
    assert Ragged.from_arrow(array).to_list() == [[1], None, [3]]
    with pytest.raises(ValueError, match="no ends"):
        ragged([[1]]).to_arrow("ends")
    with pytest.raises(ValueError, match="`field`"):
        ragged([[1]]).to_arrow("ids")


def test_torch_nested() -> None:
    pytest.importorskip("torch", reason="needs torch")
    batch = ragged([[1, 2], [], [3]])[1:]
    nested = batch.to_torch_nested()
    assert [row.tolist() for row in nested.unbind()] == [[], [3]]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"values": np.arange(3)}, TypeError, "`values` must be .* int32, got int64"),
        ({"values": [1, 2, 3]}, TypeError, "got list"),
        ({"offsets": np.array([0, 3], np.int32)}, TypeError, "`offsets` must be .* int64"),
        ({"offsets": np.zeros(0, np.int64)}, ValueError, "`offsets` is empty"),
        ({"offsets": np.array([0, 4])}, ValueError, "go from 0 to 4"),
        ({"offsets": np.array([-1, 3])}, ValueError, "go from -1"),
        ({"offsets": np.array([0, 2, 1])}, ValueError, "decrease from 2 to 1 at row 1"),
        ({"starts": np.arange(3)}, ValueError, "both `starts` and `ends`"),
        ({"starts": np.arange(2), "ends": np.arange(3)}, ValueError, "`starts` has length 2"),
        ({"valid": np.ones(3, np.bool_)}, ValueError, "`valid` has length 3"),
        ({"valid": np.zeros(1, np.bool_)}, ValueError, "row 0 is missing in `valid` but has 3 values"),
    ],
)
def test_arrays_are_checked(changes: dict[str, object], error: type[Exception], message: str) -> None:
    arguments = {"values": np.arange(3, dtype=np.int32), "offsets": np.array([0, 3]), **changes}
    with pytest.raises(error, match=message):
        Ragged(**arguments)
