"""Packing: the file against an obvious stream, its sidecar, and what damage does."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.packing import PackedBlocks, PackedFormatError, pack
from numba_nlp.ragged import Ragged
from tests.toy_vocabulary import toy_vocabulary

SEPARATOR = 99
Rows = list[list[int]]


def ragged(rows: Rows, valid: list[bool] | None = None) -> Ragged:
    return Ragged(
        np.array([value for row in rows for value in row], np.int32),
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        valid=None if valid is None else np.array(valid, np.bool_),
    )


def stream_of(rows: Rows) -> list[int]:
    stream: list[int] = []
    for number, row in enumerate(rows):
        stream += ([SEPARATOR] if number else []) + row
    return stream


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed")


@given(
    st.lists(st.lists(st.lists(st.integers(0, 65535), max_size=7), max_size=4), max_size=4),
    st.integers(1, 9),
    st.sampled_from(["drop", "pad", "keep"]),
    st.sampled_from(["uint16", "uint32"]),
)
def test_blocks_hold_the_stream(folder: Path, batches: list[Rows], size: int, remainder: str, dtype: str) -> None:
    path = folder / "ids.bin"
    blocks = pack(
        iter(map(ragged, batches)),
        path,
        block_size=size,
        separator_id=SEPARATOR,
        dtype=dtype,
        remainder=remainder,
        pad_id=5,
    )
    stream = stream_of([row for rows in batches for row in rows])
    n_full = len(stream) // size
    expected = [stream[i * size : (i + 1) * size] for i in range(n_full)]
    rest = stream[n_full * size :]
    if remainder == "pad" and rest:
        expected.append(rest + [5] * (size - len(rest)))
    tail = rest if remainder == "keep" else []
    assert blocks.array.tolist() == expected
    assert blocks.tail.tolist() == tail
    assert blocks.shape == (len(expected), size)
    assert len(blocks) == len(expected)
    assert blocks.metadata["n_rows"] == sum(map(len, batches))
    # Nothing but little-endian ids is in the file.
    flat = [value for block in expected for value in block] + tail
    assert np.fromfile(path, "<u2" if dtype == "uint16" else "<u4").tolist() == flat
    assert PackedBlocks.open(path, verify=True).array.tolist() == expected


def test_missing_rows_are_left_out(tmp_path: Path) -> None:
    batches = [ragged([[1], [], [2]], [True, False, True]), ragged([[]], [False]), ragged([[], [3]])]
    blocks = pack(batches, tmp_path / "a.bin", block_size=2, separator_id=0, remainder="keep")
    assert blocks.array.tolist() == [[1, 0], [2, 0], [0, 3]]
    assert blocks.metadata["n_rows"] == 4


def test_blocks_are_views_of_the_mapped_file(tmp_path: Path) -> None:
    vocabulary = toy_vocabulary()
    path = tmp_path / "a.bin"
    blocks = pack([ragged([list(range(10))])], path, block_size=4, separator_id=3, vocabulary=vocabulary)
    assert blocks.dtype == np.uint16
    assert blocks.vocabulary_digest == vocabulary.digest
    assert (blocks.separator_id, blocks.block_size) == (3, 4)
    assert blocks[1].tolist() == [4, 5, 6, 7]
    assert blocks[0:2].shape == (2, 4)
    assert blocks[[1, 0]].tolist() == [[4, 5, 6, 7], [0, 1, 2, 3]]
    assert np.shares_memory(blocks[1], blocks.array)
    assert not blocks[1].flags.writeable
    assert repr(blocks) == "<PackedBlocks 'a.bin' 2 x 4 uint16>"
    payload = pickle.dumps(blocks)
    assert len(payload) < 500
    assert np.array_equal(pickle.loads(payload).array, blocks.array)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.bin", "a.bin.json"]


def test_default_dtype(tmp_path: Path) -> None:
    batch = [ragged([[70000]])]
    assert pack(batch, tmp_path / "a.bin", block_size=1, separator_id=0).dtype == np.uint32
    with pytest.raises(ValueError, match=r"row 0 holds id 70000, expected 0 <= id < 65536; .* dtype='uint32'"):
        pack(batch, tmp_path / "a.bin", block_size=1, separator_id=0, dtype="uint16")


def test_wrong_ids_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    pack([ragged([[1, 2]])], path, block_size=1, separator_id=0)
    for wrong, message in ((-1, "row 3 holds id -1"), (264, "row 3 holds id 264, expected 0 <= id < 264")):
        batches = [ragged([[1], [2]]), ragged([[3], [4, wrong]])]
        with pytest.raises(ValueError, match=message):
            pack(batches, path, block_size=1, separator_id=0, vocabulary=toy_vocabulary())

    def breaking() -> Iterator[Ragged]:
        yield ragged([[5]])
        raise RuntimeError("reader broke")

    with pytest.raises(RuntimeError, match="reader broke"):
        pack(breaking(), path, block_size=1, separator_id=0)
    assert PackedBlocks.open(path, verify=True).array.tolist() == [[1], [2]]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"block_size": 0}, ValueError, "`block_size` must be at least 1"),
        ({"block_size": 2.5}, TypeError, "`block_size` must be an int, got float"),
        ({"block_size": True}, TypeError, "got bool"),
        ({"separator_id": -1}, ValueError, "`separator_id` must be at least 0"),
        ({"separator_id": 65536, "dtype": "uint16"}, ValueError, "less than 65536, got 65536"),
        ({"separator_id": 264, "vocabulary": toy_vocabulary()}, ValueError, "less than 264, got 264"),
        ({"pad_id": -5}, ValueError, "`pad_id`"),
        ({"dtype": "int32"}, ValueError, "`dtype` must be uint16 or uint32, got int32"),
        ({"remainder": "fill"}, ValueError, "`remainder` must be 'drop', 'pad' or 'keep', got 'fill'"),
        ({"batches": [[1, 2]]}, TypeError, "batch 0 must be a Ragged, got list"),
    ],
)
def test_wrong_arguments(tmp_path: Path, changes: dict[str, object], error: type[Exception], message: str) -> None:
    arguments = {"batches": [ragged([[1]])], "path": tmp_path / "a.bin", "block_size": 1, "separator_id": 0, **changes}
    with pytest.raises(error, match=message):
        pack(**arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", "other"),
        ("version", 2),
        ("version", True),
        ("dtype", "int64"),
        ("dtype", ["uint16"]),
        ("block_size", 0),
        ("block_size", 2.0),
        ("n_ids", -1),
        ("n_rows", None),
        ("separator_id", None),
        ("separator_id", 2**31),
        ("remainder", "x"),
        ("remainder", []),
        ("pad_id", "0"),
        ("vocabulary_digest", 1),
        ("sha256", None),
        ("n_ids", 3),
    ],
)
def test_damaged_sidecar(tmp_path: Path, key: str, value: object) -> None:
    path = tmp_path / "a.bin"
    pack([ragged([[1, 2]])], path, block_size=1, separator_id=0)
    sidecar = tmp_path / "a.bin.json"
    content = json.loads(sidecar.read_text())
    sidecar.write_text(json.dumps({**content, key: value}))
    with pytest.raises(PackedFormatError, match=r"a\.bin.*Pack the rows again"):
        PackedBlocks.open(path)
    del content[key]
    sidecar.write_text(json.dumps(content))
    with pytest.raises(PackedFormatError, match=f"`{key}` is 'missing'"):
        PackedBlocks.open(path)


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff", b"[" * 60000])
def test_sidecar_that_is_no_sidecar(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.bin"
    pack([ragged([[1, 2]])], path, block_size=1, separator_id=0)
    (tmp_path / "a.bin.json").write_bytes(text)
    with pytest.raises(PackedFormatError, match="sidecar"):
        PackedBlocks.open(path)


def test_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    pack([ragged([[1, 2]])], path, block_size=1, separator_id=0)
    content = path.read_bytes()
    for damaged in (content[:-1], content + b"\0", b""):
        path.write_bytes(damaged)
        with pytest.raises(PackedFormatError, match=f"has {len(damaged)} bytes"):
            PackedBlocks.open(path)
    path.write_bytes(b"\x07" + content[1:])
    assert PackedBlocks.open(path)[0].tolist() == [7]
    with pytest.raises(PackedFormatError, match="sha256"):
        PackedBlocks.open(path, verify=True)
    (tmp_path / "a.bin.json").unlink()
    with pytest.raises(PackedFormatError, match="sidecar of the packed file is missing"):
        PackedBlocks.open(path)
