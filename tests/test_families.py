"""What every Tokenizer does, of whatever algorithm: the same checks for each of them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp._decoders import DECODERS
from numba_nlp._encoders import ENCODERS
from numba_nlp._schemas import SCHEMAS
from numba_nlp.errors import InvalidTextError, MissingRowError, SpecialTokenError, UnknownTokenError
from tests.families import FAMILIES, any_family, family, special_text
from tests.made_tokenizers import HAMLET, TEXTS
from tests.robustness.exercise import inputs
from tests.staged_tokenizers import NAMES, staged

LINES = HAMLET.read_text(encoding="utf-8").splitlines()[:1500]


def test_no_algorithm_is_left_out() -> None:
    assert FAMILIES.keys() == ENCODERS.keys() == DECODERS.keys() == SCHEMAS.keys()
    for name in FAMILIES:
        assert family(name).describe()["algorithm"] == name


@any_family
def test_ids_and_text_are_those_of_the_reference(name: str) -> None:
    ours, reference = FAMILIES[name]()
    texts = [*TEXTS, *LINES[:300]]
    for text, ids in zip(texts, ours.encode_batch(texts), strict=True):
        expected = reference.encode(text, add_special_tokens=False).ids
        assert ids.tolist() == ours.encode(text).tolist() == ours.encode(text.encode()).tolist() == expected, text
        assert ours.decode(ids) == reference.decode(expected, skip_special_tokens=False), text
    assert ours.decode_batch(ours.encode_batch(texts)) == [ours.decode(ours.encode(text)) for text in texts]


@any_family
def test_spans_alone_and_in_a_batch(name: str) -> None:
    ours = family(name)
    batch = {unit: ours.encode_batch(TEXTS, spans=True, unit=unit) for unit in ("char", "byte")}
    for row, text in enumerate(TEXTS):
        for unit, of_rows in batch.items():
            ids, starts, ends = ours.encode(text, spans=True, unit=unit)  # type: ignore[call-overload]
            assert ids.tolist() == of_rows[row].tolist() == ours.encode(text).tolist()
            assert [starts.tolist(), ends.tolist()] == [part.tolist() for part in of_rows.spans(row)]
            assert (starts >= 0).all()
            assert (starts <= ends).all()
            assert (ends <= len(text if unit == "char" else text.encode())).all()
        if text.isascii():
            # a token of nothing but an added space has no bytes, but tokenizers may give it the first character
            (a, b), (c, d) = batch["byte"].spans(row), batch["char"].spans(row)
            assert np.array_equal(a[a < b], c[a < b])
            assert np.array_equal(b[a < b], d[a < b])


@any_family
def test_word_ids(name: str) -> None:
    ours, reference = FAMILIES[name]()
    texts = [*TEXTS, *LINES[:60]]
    words_of = getattr(reference, "words", None)
    if words_of is None:
        token = special_text(ours)[1]
        texts += [f"to be{token} or {token}not {token}{token}", token]
    found = ours(texts, return_word_ids=True, add_special_tokens=False, special="match").word_ids
    for text, words in zip(texts, found, strict=True):
        expected = words_of(text) if words_of else reference.encode(text, add_special_tokens=False).word_ids
        assert words.tolist() == expected, text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unigram", {"\u2581To": [0], "<sep>": [1, 3], "n": [2], "t": [2], "\u2581be": [4]}),
        ("sentencepiece_bpe", {"T": [0], "<sep>": [1, 3], "n": [2], "t": [2], "b": [4]}),
    ],
)
def test_user_defined_pieces_are_words(name: str, expected: dict[str, list[int]]) -> None:
    """As added tokens are, which they become where transformers makes its own tokenizer of a model."""
    ours = family(name)
    inputs = ours("To<sep>not<sep> be", return_word_ids=True)
    found: dict[str, list[int]] = {}
    for number, word in zip(inputs.input_ids.tolist(), inputs.word_ids.tolist(), strict=True):
        found.setdefault(ours.id_to_token(number), []).append(word)
    assert {token: found.get(token) for token in expected} == expected


@any_family
def test_threads_do_not_change_the_result(name: str) -> None:
    ours = family(name)
    texts = [*LINES, "", *TEXTS * 20, *LINES]
    options: dict[str, Any] = {"spans": True, "add_special_tokens": True}
    alone = ours.encode_batch(texts, num_threads=1, **options)
    for threads in (2, 3, 8):
        assert ours.encode_batch(texts, num_threads=threads, **options).equals(alone)
    assert ours.encode_batch(texts, num_threads=2).to_list() == ours.encode_batch(texts, num_threads=1).to_list()


@any_family
def test_kinds_of_input(name: str, tmp_path: Path) -> None:
    ours = family(name)
    rows = {kind: nlp.TextRows.from_any(texts) for kind, texts in inputs(tmp_path)}
    for kind, texts in inputs(tmp_path):
        batch = ours.encode_batch(texts, spans=True)
        assert batch.to_list() == [ours.encode(row).tolist() for row in rows[kind].to_list()], kind


@any_family
def test_no_text(name: str) -> None:
    ours = family(name)
    assert ours.encode("").size == ours.encode(b"").size == 0
    batch = ours.encode_batch([""] * 1000, spans=True)
    assert batch.offsets.tolist() == [0] * 1001
    assert ours.count_batch(["", "a", ""]).tolist() == [0, ours.count("a"), 0]
    assert len(ours.encode_batch([])) == 0
    assert ours.decode([]) == ""


@any_family
def test_missing_rows_and_bad_text(name: str) -> None:
    ours = family(name)
    a, b = ours.encode("a").tolist(), ours.encode("b").tolist()
    rows = pa.array(["a", None, "b"])
    with pytest.raises(MissingRowError, match="row 1"):
        ours.encode_batch(rows)
    assert ours.encode_batch(rows, nulls="empty").to_list() == [a, [], b]
    assert ours.encode_batch(rows, nulls="null", spans=True).to_list() == [a, None, b]
    for bad in ("a\ud800", b"a\xff"):
        with pytest.raises(InvalidTextError, match="row 0, byte 1"):
            ours.encode(bad)
        with pytest.raises(InvalidTextError, match="row 1, byte 1"):
            ours.encode_batch(["fine", bad], spans=True)
        assert ours.encode(bad, errors="replace").tolist() == ours.encode("a\ufffd").tolist()


@any_family
def test_special_tokens_in_the_text(name: str) -> None:
    ours = family(name)
    text, token, number = special_text(ours)
    ids, starts, ends = ours.encode(text, special={token}, spans=True)
    assert ids.tolist() == ours.encode(text, special="match").tolist()
    (place,) = np.flatnonzero(ids == number)
    assert text[starts[place] : ends[place]].strip() == token
    assert ours.encode(text, special="plain").tolist() != ids.tolist()
    with pytest.raises(SpecialTokenError, match=r"'.*' \(row 0, byte [56]\)"):
        ours.encode_batch([text], special="raise")


@any_family
def test_model_inputs(name: str) -> None:
    ours = family(name)
    texts = [*LINES[:20], "", "a"]
    rows = ours.encode_batch(texts, add_special_tokens=True).to_list()
    width = max(map(len, rows))
    inputs = ours(texts, padding=True, pad_id=0, padding_side="right")
    assert inputs.input_ids.tolist() == [row + [0] * (width - len(row)) for row in rows]
    assert inputs.attention_mask.tolist() == [[1] * len(row) + [0] * (width - len(row)) for row in rows]
    ids, mask = ours.encode_padded(texts, width, pad_id=0, padding_side="right")
    assert np.array_equal(ids, inputs.input_ids)
    assert np.array_equal(mask, inputs.attention_mask)
    spans = ours(texts, add_special_tokens=False, return_offsets_mapping=True)
    batch = ours.encode_batch(texts, spans=True)
    assert spans.input_ids.to_list() == batch.to_list()
    assert np.array_equal(spans.starts, batch.starts)  # type: ignore[arg-type]
    assert np.array_equal(spans.ends, batch.ends)  # type: ignore[arg-type]
    windows = ours(texts, max_length=9, stride=2, return_overflowing_tokens=True)
    assert max(windows.input_ids.row_lengths) <= 9
    assert set(windows.overflow_to_sample_mapping) == set(range(len(texts)))


@any_family
def test_bytes_of_ids_make_up_texts(name: str) -> None:
    """In the middle of a text: whatever decoders take off its ends is there."""
    ours = family(name)
    for text in ("to be or not to be that is the question", "whether it is nobler in the mind", "no more"):
        ids = ours.encode(text)
        assert b"".join(map(ours.id_to_bytes, ids.tolist())).strip() == ours.decode_bytes(ids).strip(), text


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("unigram words")])
def test_bytes_of_ids_behind_stages(name: str) -> None:
    ours = staged(name).ours
    ids = ours.encode("to be in the sea of troubles the end")
    assert b"".join(map(ours.id_to_bytes, ids.tolist())).strip() == ours.decode_bytes(ids).strip()


def test_bytes_of_ids_by_hand() -> None:
    for name, expected in (
        ("wordpiece", {"the": b" the", "##tion": b"tion", ".": b"."}),
        ("marked fused", {"the</w>": b"the ", "th": b"th"}),
        ("marked prefix", {"the": b" the", "##r": b"r"}),
        ("unigram bytes", {"\u2581the": b" the", "er": b"er", "<0xE4>": b"\xe4"}),
        ("bpe bytes fused", {"\u2581the": b" the", "<0x0A>": b"\n"}),
    ):
        ours = staged(name).ours
        assert {token: ours.id_to_bytes(ours.token_to_id(token)) for token in expected} == expected, name
    bert = family("wordpiece")
    assert bert.id_to_bytes(bert.token_to_id("the")) == b" the"
    gpt = family("character_bpe")
    assert gpt.id_to_bytes(gpt.token_to_id("the</w>")) == b"the "
    with pytest.raises(UnknownTokenError, match="id -1 "):
        bert.id_to_bytes(np.int32(-1))  # type: ignore[arg-type]


@any_family
def test_tokens_and_ids(name: str) -> None:
    ours, reference = FAMILIES[name]()
    for number in range(0, ours.vocab_size, 1 + ours.vocab_size // 2000):
        token = ours.id_to_token(number)
        assert token == reference.id_to_token(number)
        assert ours.token_to_id(token) == number
        assert isinstance(ours.id_to_bytes(number), bytes)
    for bad in (-1, ours.vocab_size, 2**31):
        with pytest.raises(UnknownTokenError, match=f"id {bad} "):
            ours.id_to_token(bad)
        with pytest.raises(UnknownTokenError, match=rf"id {bad} \(row 1, place 1\)"):
            ours.decode_batch([[0], [0, bad]])
    with pytest.raises(UnknownTokenError, match="no token"):
        ours.token_to_id("nothing like it")


@any_family
@settings(max_examples=20)
@given(st.data())
def test_any_ids_decode_as_by_the_reference(name: str, data: st.DataObject) -> None:
    ours, reference = FAMILIES[name]()
    ids = data.draw(st.lists(st.integers(0, ours.vocab_size - 1), max_size=20))
    assert ours.decode(ids) == ours.decode_batch([ids])[0] == ours.decode_bytes(ids).decode("utf-8", "replace")
    if name.startswith(("byte", "wordpiece", "staged", "character")):
        assert ours.decode(ids) == reference.decode(ids, skip_special_tokens=False)
    assert ours.decode(ids, skip_special_tokens=True) == reference.decode(ids, skip_special_tokens=True)


@any_family
def test_files_copies_and_pickles(name: str, tmp_path: Path) -> None:
    ours = family(name)
    expected = ours.encode_batch(TEXTS, spans=True)
    path = tmp_path / "vocabulary.safetensors"
    ours.vocabulary.save(path)
    loaded = nlp.load_tokenizer(path)
    before = pickle.dumps(loaded), pickle.dumps(nlp.Tokenizer(ours.vocabulary))
    assert len(before[0]) < 1000 + len(str(path))
    assert len(before[1]) < path.stat().st_size + 1000
    for other in (loaded, copy.copy(ours), copy.deepcopy(loaded), *map(pickle.loads, before)):
        assert other == ours
        assert hash(other) == hash(ours)
        assert other.encode_batch(TEXTS, spans=True, num_threads=2).equals(expected)
        assert other.decode_batch(expected) == ours.decode_batch(expected)
    # what a tokenizer learns when it is used is never pickled
    assert pickle.dumps(loaded) == before[0]
    with pytest.raises(AttributeError, match="cannot be changed"):
        ours.anything = 1  # type: ignore[attr-defined]
