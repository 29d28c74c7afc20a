"""Vocabulary: immutability, the file, pickling, and every structural check by name."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from numba_nlp._schemas import SCHEMAS
from numba_nlp.errors import VocabularyFormatError
from numba_nlp.kernels.tables import hashing
from numba_nlp.kernels.tables.merge_table import find_merge_pair
from numba_nlp.vocabulary import Vocabulary
from tests.toy_vocabulary import MERGES, toy_arrays, toy_metadata, toy_vocabulary

Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocabulary") / "toy.safetensors"
    toy_vocabulary().save(path)
    return path


# --- the object ------------------------------------------------------------------------------------------------


def test_content() -> None:
    vocabulary = toy_vocabulary()
    assert vocabulary.size == 256 + len(MERGES) + 2
    assert list(vocabulary) == list(vocabulary.arrays) == [field.name for field in SCHEMAS["byte_bpe"].arrays]
    assert "piece_bytes" in vocabulary
    assert "nothing" not in vocabulary
    assert vocabulary["piece_bytes"] is vocabulary.arrays["piece_bytes"]
    assert vocabulary.metadata["algorithm"] == "byte_bpe"
    assert vocabulary.digest == vocabulary.metadata["metadata_digest"]
    assert vocabulary.path is None
    assert repr(vocabulary) == f"<Vocabulary 'toy' byte_bpe size=264 digest={vocabulary.digest[:12]}>"
    with pytest.raises(KeyError, match="no array 'nothing'; this vocabulary has piece_bytes"):
        vocabulary["nothing"]


def test_tables_serve_the_kernels() -> None:
    vocabulary = toy_vocabulary()
    data = np.frombuffer(b"the", np.uint8)
    tables = vocabulary["piece_lookup"], vocabulary["piece_bytes"], vocabulary["piece_offsets"]
    assert hashing.find_piece(*tables, data, 0, 3) == 257
    assert hashing.find_piece(*tables, data, 1, 3) == -1
    assert find_merge_pair(vocabulary["merge_table"], vocabulary["merge_pairs"], ord("t"), ord("h")) == 0
    assert find_merge_pair(vocabulary["merge_table"], vocabulary["merge_pairs"], ord("h"), ord("t")) == -1


def test_nothing_can_be_changed() -> None:
    arrays, metadata = toy_arrays(), toy_metadata(nested={"list": [1, {"a": None}]})
    vocabulary = Vocabulary(arrays, metadata)
    for array in vocabulary.arrays.values():
        assert not array.flags.writeable
        assert array.flags.c_contiguous
        assert type(array) is np.ndarray
    digest, first = vocabulary.digest, int(vocabulary["piece_bytes"][0])
    arrays["piece_bytes"][0] += 1
    metadata["nested"]["list"].append(2)
    assert vocabulary["piece_bytes"][0] == first
    assert vocabulary.metadata["nested"]["list"] == (1, {"a": None})
    assert vocabulary.digest == digest
    with pytest.raises(AttributeError, match="immutable"):
        vocabulary.path = None
    with pytest.raises(AttributeError, match="immutable"):
        del vocabulary._digest
    with pytest.raises(TypeError):
        vocabulary.metadata["name"] = "x"
    with pytest.raises(TypeError):
        vocabulary.arrays["piece_bytes"] = np.zeros(1)


def test_equality_follows_content() -> None:
    vocabulary = toy_vocabulary()
    assert vocabulary == toy_vocabulary()
    assert len({vocabulary, toy_vocabulary()}) == 1
    assert vocabulary != toy_vocabulary(name="other")
    assert vocabulary != toy_vocabulary(MERGES[:3])
    assert vocabulary != "toy"
    # Digests that were copied along with changed metadata are computed anew.
    assert Vocabulary(vocabulary.arrays, {**vocabulary.metadata, "name": "other"}) == toy_vocabulary(name="other")


def test_merges_may_be_none() -> None:
    vocabulary = toy_vocabulary((), ())
    assert vocabulary.size == 256
    assert Vocabulary.from_bytes(vocabulary.to_bytes()) == vocabulary


# --- the file --------------------------------------------------------------------------------------------------


def test_file_is_safetensors_with_aligned_arrays(saved: Path) -> None:
    vocabulary = Vocabulary.load(saved)
    read = {name: array for name, array in load_file(saved).items() if not name.startswith("padding.")}
    assert set(read) == set(vocabulary)
    for name, array in read.items():
        assert array.dtype == vocabulary[name].dtype
        assert np.array_equal(array, vocabulary[name])
        assert vocabulary[name].ctypes.data % 64 == 0 or not array.size
    content = saved.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert (8 + length) % 64 == 0
    header = json.loads(content[8 : 8 + length])
    assert json.loads(header["__metadata__"]["numba_nlp"])["payload_digest"] == vocabulary.metadata["payload_digest"]
    assert {entry["data_offsets"][0] % 64 for name, entry in header.items() if name in read} == {0}


def test_load_gives_the_saved_vocabulary_mapped(saved: Path) -> None:
    for verify in (True, False):
        vocabulary = Vocabulary.load(saved, verify=verify)
        assert vocabulary == toy_vocabulary()
        assert dict(vocabulary.metadata) == dict(toy_vocabulary().metadata)
        assert vocabulary.path == saved
        array = vocabulary["merge_table"]
        assert type(array) is np.ndarray
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        while isinstance(array.base, np.ndarray):
            array = array.base
        assert isinstance(array, np.memmap)
    assert vocabulary.to_bytes() == saved.read_bytes()


def test_file_is_the_same_every_time(tmp_path: Path, saved: Path) -> None:
    path = tmp_path / "again.safetensors"
    Vocabulary.load(saved).save(path)
    assert path.read_bytes() == saved.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_save_replaces_whole_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "toy.safetensors"
    toy_vocabulary().save(path)
    mapped = Vocabulary.load(path)
    toy_vocabulary(name="second").save(path)
    assert Vocabulary.load(path).metadata["name"] == "second"
    # The old content stays mapped under the old vocabulary.
    assert Vocabulary(mapped.arrays, mapped.metadata) == toy_vocabulary()

    def broken(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        toy_vocabulary(name="third").save(path)
    assert Vocabulary.load(path).metadata["name"] == "second"
    assert [file.name for file in tmp_path.iterdir()] == ["toy.safetensors"]
    with pytest.raises(FileNotFoundError):
        toy_vocabulary().save(tmp_path / "missing" / "toy.safetensors")


def test_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Vocabulary.load(tmp_path / "nothing.safetensors")
    with pytest.raises(IsADirectoryError):
        Vocabulary.load(tmp_path)


def test_bytes_must_not_change() -> None:
    with pytest.raises(TypeError, match="bytearray"):
        Vocabulary.from_bytes(bytearray(toy_vocabulary().to_bytes()))


# --- pickling --------------------------------------------------------------------------------------------------


def test_pickle_in_memory_is_bytes() -> None:
    vocabulary = toy_vocabulary()
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy == vocabulary
    assert copy.path is None


def test_pickle_of_a_file_is_its_path(tmp_path: Path, saved: Path) -> None:
    path = tmp_path / "toy.safetensors"
    path.write_bytes(saved.read_bytes())
    vocabulary = Vocabulary.load(path)
    payload = pickle.dumps(vocabulary)
    assert len(payload) < 500
    assert payload == pickle.dumps(vocabulary)
    assert pickle.loads(payload) == vocabulary
    assert pickle.loads(payload).path == path
    assert len(pickle.dumps(vocabulary.detached())) > saved.stat().st_size
    assert vocabulary.detached() == vocabulary

    toy_vocabulary(name="other").save(path)
    with pytest.raises(VocabularyFormatError, match=r"the pickle expects .*detached\(\)"):
        pickle.loads(payload)
    # The file has changed here, so the content itself must travel.
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    path.unlink()
    with pytest.raises(VocabularyFormatError, match="not on this machine"):
        pickle.loads(payload)
    assert pickle.loads(pickle.dumps(vocabulary)).path is None


def _digest_and_path(vocabulary: Vocabulary) -> tuple[str, str]:
    return vocabulary.digest, str(vocabulary.path)


def test_spawned_process_maps_the_same_file(saved: Path) -> None:
    vocabulary = Vocabulary.load(saved)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_digest_and_path, (vocabulary,)) == (vocabulary.digest, str(saved))


# --- what is refused -------------------------------------------------------------------------------------------


def _put(name: str, index: int, value: int) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][index] = value

    return change


def _replace(name: str, value: Callable[[np.ndarray], np.ndarray]) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name] = value(arrays[name])

    return change


def _slot(change_number: int) -> Callable[[Arrays], None]:
    """Change the merge number in the last used slot by exclusive or."""

    def change(arrays: Arrays) -> None:
        arrays["merge_table"][np.flatnonzero(arrays["merge_table"])[-1]] ^= change_number

    return change


STRUCTURE = {
    "missing": (lambda arrays: arrays.pop("symbol_ids"), "array `symbol_ids` is missing"),
    "unknown": (lambda arrays: arrays.update(extra=np.zeros(1)), "array `extra` does not belong"),
    "dtype": (_replace("piece_kinds", lambda a: a.astype(np.int8)), "`piece_kinds` has dtype int8, expected uint8"),
    "byte order": (_replace("piece_offsets", lambda a: a.astype(">i8")), "`piece_offsets` has dtype >i8"),
    "shape": (_replace("pair_merges", lambda a: a.reshape(256, 256)), r"`pair_merges` has shape \(256, 256\)"),
    "no ids": (_replace("piece_offsets", lambda a: a[:1]), "number of ids is 0, expected 1"),
    "no offsets": (_replace("special_offsets", lambda a: a[:0]), "number of special tokens is -1"),
    "kinds length": (_replace("piece_kinds", lambda a: a[:-1]), "`piece_kinds` has length 263, expected 264"),
    "kind": (_put("piece_kinds", 3, 4), "`piece_kinds` holds 4, expected one of"),
    "first offset": (_put("piece_offsets", 0, 1), "`piece_offsets` starts at 1, expected 0"),
    "decreasing offset": (_put("piece_offsets", 9, 7), "`piece_offsets` decreases from 8 to 7 at index 9"),
    "negative offset": (_put("piece_offsets", 1, -5), "`piece_offsets` decreases from 0 to -5"),
    "huge offset": (_put("piece_offsets", 4, 2**62), "`piece_offsets` decreases from 4611686018427387904 to 5"),
    "last offset": (
        _put("piece_offsets", -1, 10**6),
        "`piece_offsets` ends at 1000000, expected 286, .* `piece_bytes`",
    ),
    "lookup size": (
        _replace("piece_lookup", lambda a: a[:-1]),
        "`piece_lookup` has length 1023, expected a power of two",
    ),
    "lookup one": (_replace("piece_lookup", lambda a: a[:1] * 0 - 1), "`piece_lookup` has length 1, .* at least 2"),
    "lookup none": (_replace("piece_lookup", lambda a: a[:0]), "`piece_lookup` has length 0"),
    "lookup full": (_replace("piece_lookup", lambda a: a * 0), "`piece_lookup` has 1024 of its 1024 slots in use"),
    "lookup id": (_put("piece_lookup", 0, 264), "`piece_lookup` holds 264, expected -1 <= value < 264"),
    "lookup negative": (_put("piece_lookup", 0, -2), "`piece_lookup` holds -2"),
    "lookup special": (_put("piece_lookup", 0, 263), "`piece_lookup` points to id 263, a piece of kind 2"),
    "byte symbols length": (_replace("byte_symbols", lambda a: a[:255]), "`byte_symbols` has length 255, expected 256"),
    "byte symbol": (_put("byte_symbols", 0, 256), "`byte_symbols` holds 256, expected 0 <= value < 256"),
    "few symbols": (_replace("symbol_ids", lambda a: a[:255]), "number of symbols is 255, expected 256 to 1048575"),
    "symbol id": (_put("symbol_ids", 0, -1), "`symbol_ids` holds -1"),
    "pair merges length": (_replace("pair_merges", lambda a: a[1:]), "`pair_merges` has length 65535"),
    "pair merge": (_put("pair_merges", 0, 6), "`pair_merges` holds 6, expected -1 <= value < 6"),
    "table size": (_replace("merge_table", lambda a: a[1:]), "`merge_table` has length 15, expected a power of two"),
    "table empty": (
        _replace("merge_table", lambda a: a * 0),
        "`merge_table` does not hold each of the merge numbers 0 to 5",
    ),
    "table full": (
        _replace("merge_table", lambda a: a * 0 + 8),
        "`merge_table` does not hold each of the merge numbers",
    ),
    "table number": (_slot(6), "`merge_table` does not hold each of the merge numbers 0 to 5 once"),
    "table repeats": (_slot(1), "`merge_table` does not hold each of the merge numbers 0 to 5 once"),
    "pairs length": (_replace("merge_pairs", lambda a: a[1:]), "`merge_pairs` has length 5, expected 6"),
    "pair left": (_put("merge_pairs", 1, 262 << 20 | 1), "`merge_pairs` holds left symbol 262, expected less than 262"),
    "pair right": (_put("merge_pairs", 1, 1 << 20 | 262), "`merge_pairs` holds right symbol 262"),
    "product": (_put("merge_symbols", 0, 262), "`merge_symbols` holds 262, expected 0 <= value < 262"),
    "unique products": (_put("merge_symbols", 2, 3), "`merge_symbols` is 3 at index 2, .*`unique_products`"),
    "class index length": (_replace("class_index", lambda a: a[:-1]), "`class_index` has length 8703, expected 8704"),
    "class block": (_put("class_index", 8703, 17), "`class_index` holds 17, expected 0 <= value < 17"),
    "class blocks length": (_replace("class_blocks", lambda a: np.append(a, a[:1])), "expected a multiple of 128"),
    "no class blocks": (_replace("class_blocks", lambda a: a[:0]), "number of blocks is 0"),
    "class": (_put("class_blocks", 5, 10), "`class_blocks` holds 10"),
    "special order": (_put("special_bytes", 2, ord("z")), r"`special_bytes` holds b'<|pad|>' at index 1 after"),
    "empty special": (_put("special_offsets", 1, 0), "`special_bytes` holds b'' at index 0"),
    "special offsets": (_put("special_offsets", -1, 3), "`special_offsets` decreases"),
    "special id": (_put("special_ids", 0, 264), "`special_ids` holds 264"),
    "special ids length": (_replace("special_ids", lambda a: a[:1]), "`special_ids` has length 1, expected 2"),
    "special flag": (_put("special_flags", 0, 32), "`special_flags` holds 32"),
    "template": (_replace("template_single", lambda a: np.array([-2], np.int32)), "`template_single` holds -2"),
}


@pytest.mark.parametrize(("change", "message"), STRUCTURE.values(), ids=STRUCTURE.keys())
def test_structure(tmp_path: Path, change: Callable[[Arrays], Any], message: str, request: Any) -> None:
    arrays = toy_arrays()
    change(arrays)
    with pytest.raises(VocabularyFormatError, match=f"^vocabulary in memory: .*{message}.*vocab_tools.compile"):
        Vocabulary(arrays, toy_metadata())
    if "order" in request.node.callspec.id or "shape" in request.node.callspec.id:
        return  # a file cannot say these
    # The same in a file with right digests, which only somebody who means harm would write.
    path = _forge(tmp_path, arrays)
    for verify in (True, False):
        with pytest.raises(VocabularyFormatError, match=f"forged.safetensors: .*{message}.*vocab_tools.compile"):
            Vocabulary.load(path, verify=verify)


def _forge(folder: Path, arrays: Arrays) -> Path:
    """Write a file with any arrays, and digests that fit."""
    from numba_nlp._vocabulary_file import file_parts, metadata_digest, payload_digest

    metadata = toy_metadata()
    metadata["payload_digest"] = payload_digest(arrays)
    metadata["metadata_digest"] = metadata_digest(metadata)
    path = folder / "forged.safetensors"
    path.write_bytes(b"".join(file_parts(arrays, metadata)))
    return path


def test_order_of_arrays_is_fixed(tmp_path: Path) -> None:
    arrays = toy_arrays()
    assert Vocabulary.load(_forge(tmp_path, arrays)) == toy_vocabulary()
    path = _forge(tmp_path, dict(reversed(arrays.items())))
    with pytest.raises(VocabularyFormatError, match="expected the order"):
        Vocabulary.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 2}, "`format_version` is 2, this version of numba_nlp reads 1"),
        ({"format_version": True}, "`format_version` is True, expected int"),
        ({"format_version": "1"}, "`format_version` is '1', expected int"),
        ({"algorithm": "other"}, "`algorithm` is 'other', .* reads 'byte_bpe'"),
        ({"algorithm": None}, "`algorithm` is None"),
        ({"reference": "spm"}, "`reference` is 'spm', .* reads 'tokenizers' or 'tiktoken'"),
        ({"special_policy": ""}, "`special_policy`"),
        ({"add_prefix_space": 0}, "`add_prefix_space` is 0, expected bool"),
        ({"name": 3}, "`name` is 3, expected str"),
        ({"extra": float("nan")}, "cannot be stored as JSON"),
        ({"extra": {1, 2}}, "cannot be stored as JSON"),
        ({"extra": "\ud800"}, "cannot be stored as JSON"),
        ({"extra": [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}, "nested deeper than 16"),
    ],
)
def test_metadata(changes: dict[str, object], message: str) -> None:
    with pytest.raises(VocabularyFormatError, match=message):
        Vocabulary(toy_arrays(), toy_metadata(**changes))


TEMPLATES = {"single": [["A", 0]], "pair": [["A", 0], [3, 0], ["B", 1]]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"templates": []}, "`templates` is not an object of `single` and `pair`"),
        ({"templates": {**TEMPLATES, "three": []}}, "`templates` is not an object of `single` and `pair`"),
        ({"templates": {**TEMPLATES, "pair": {}}}, r"`templates\.pair` is not an array of pairs"),
        ({"templates": {**TEMPLATES, "pair": [["A"], ["B", 0]]}}, r"`templates\.pair` is not an array of pairs"),
        ({"templates": {**TEMPLATES, "pair": [["A", 0]]}}, r"`templates\.pair` holds the texts \['A'\], expected"),
        ({"templates": {**TEMPLATES, "single": [["A", 0], ["A", 0]]}}, r"holds the texts \['A', 'A'\]"),
        ({"templates": {**TEMPLATES, "single": [["B", 0]]}}, r"`templates\.single` holds 'B', expected 'A' or an id"),
        ({"templates": {**TEMPLATES, "pair": [["A", 0], [264, 0], ["B", 1]]}}, "holds 264, .* an id below 264"),
        ({"templates": {**TEMPLATES, "pair": [["A", 0], [-1, 0], ["B", 1]]}}, "holds -1"),
        ({"templates": {**TEMPLATES, "pair": [["A", 0], [True, 0], ["B", 1]]}}, "holds True"),
        ({"templates": {**TEMPLATES, "pair": [["A", 0.5], ["B", 1]]}}, r"holds the type 0\.5"),
        ({"templates": {**TEMPLATES, "single": [[[], 0]]}}, r"holds \[\]"),
        ({"templates": {**TEMPLATES, "single": [[3, 0], ["A", 0]]}}, r"has the ids \[3, -1\], but array .* \[-1\]"),
        ({"pad": 264}, "`pad` is 264, expected null or an id below 264"),
        ({"pad": "3"}, "`pad` is '3'"),
        ({"pad_type_id": -1}, "`pad_type_id` is -1"),
        ({"model_max_length": 0}, "`model_max_length` is 0, expected a number from 1 on"),
        ({"model_max_length": 2**31}, "`model_max_length` is 2147483648"),
        ({"padding_side": "Left"}, "`padding_side` is 'Left', expected 'right' or 'left'"),
        ({"truncation_side": None}, "`truncation_side` is None"),
        ({"truncation_side": []}, r"`truncation_side` is \[\]"),
        ({"model_input_names": "input_ids"}, "`model_input_names` is not an array of strings"),
        ({"model_input_names": [1]}, "`model_input_names` is not an array of strings"),
    ],
)
def test_metadata_of_model_inputs(changes: dict[str, object], message: str) -> None:
    with pytest.raises(VocabularyFormatError, match=message):
        Vocabulary(toy_arrays(), toy_metadata(**changes))


def test_right_metadata_of_model_inputs(tmp_path: Path) -> None:
    entries = {"templates": TEMPLATES, "pad": None, "model_max_length": 9, "model_input_names": ["input_ids"]}
    vocabulary = Vocabulary(toy_arrays(), toy_metadata(**entries))
    vocabulary.save(tmp_path / "toy.safetensors")
    assert Vocabulary.load(tmp_path / "toy.safetensors") == vocabulary


def test_missing_metadata() -> None:
    for name in toy_metadata():
        metadata = toy_metadata()
        del metadata[name]
        with pytest.raises(VocabularyFormatError, match=f"metadata `{name}` is missing"):
            Vocabulary(toy_arrays(), metadata)


def test_self_containing_metadata() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(VocabularyFormatError, match="cannot be stored as JSON"):
        Vocabulary(toy_arrays(), toy_metadata(extra=loop))


def test_foreign_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "foreign.safetensors"
    save_file({"weight": np.zeros((2, 2), np.float32)}, path)
    with pytest.raises(VocabularyFormatError, match="not a compiled numba_nlp vocabulary"):
        Vocabulary.load(path)
    save_file({"weight": np.zeros((2, 2), np.float32)}, path, metadata={"format": "pt"})
    with pytest.raises(VocabularyFormatError, match="not a compiled numba_nlp vocabulary"):
        Vocabulary.load(path)
    # The right content, written by the other library: readable, but not the canonical form.
    vocabulary = toy_vocabulary()
    text = json.dumps(dict(vocabulary.metadata))
    save_file(dict(vocabulary.arrays), path, metadata={"numba_nlp": text})
    with pytest.raises(VocabularyFormatError, match="not in the form that numba_nlp writes"):
        Vocabulary.load(path)


def test_every_algorithm_is_known_everywhere() -> None:
    from numba_nlp._decoders import DECODERS
    from numba_nlp._encoders import ENCODERS

    facts = pytest.importorskip("vocab_tools.inspecting")._FACTS
    assert set(SCHEMAS) == set(ENCODERS) == set(DECODERS) == set(facts)
