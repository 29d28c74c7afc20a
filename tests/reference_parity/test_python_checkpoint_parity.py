"""Marian, M2M100 and CTRL against the classes of transformers: ids, templates, decoded text, model inputs."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
from tests.python_checkpoints import FRAGMENTS, GREEK, HAMLET, ctrl_folder, fuzzed, load, m2m100_folder, marian_folder
from tests.shared_data import shared

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

TEXTS = [
    "", " ", "\n", "Hello, king!", ">>fra<< Hello", ">>fra<<", ">>ell<<the king", ">>x<<y", ">><<a", ">>a",
    "a >>fra<< b", "</s>the<pad> king <unk>", "the </s>>>fra<< λόγος", "<unk>>>ell<<", "日本 λόγος日本語",
    "ﬁ ﬁx ① ™", "__en__ the __fr__",
    *HAMLET[:100], *GREEK[:4], *fuzzed(250),
]  # fmt: skip


def compare(ours: nlp.Tokenizer, reference: Any, texts: list[str], *, target: bool = False) -> None:
    """Ids with and without spans and templates; each way that encodes by itself."""
    expected = [reference(text_target=text)["input_ids"] if target else reference(text)["input_ids"] for text in texts]
    assert [row.tolist() for row in ours.encode_batch(texts, add_special_tokens=True, num_threads=2)] == expected
    assert [row.tolist() for row in ours(texts)["input_ids"]] == expected
    plain = ours.encode_batch(texts, num_threads=2)
    spanned = ours.encode_batch(texts, spans=True, unit="byte")
    assert np.array_equal(spanned.values, plain.values)
    assert np.array_equal(spanned.offsets, plain.offsets)
    for row, text in enumerate(texts):
        assert ours.encode(text).tolist() == plain[row].tolist(), text
        ends = spanned.ends[spanned.offsets[row] : spanned.offsets[row + 1]]
        assert (np.diff(ends) >= 0).all()
        assert ends.size == 0 or ends[-1] <= len(text.encode())


def compare_decoding(ours: nlp.Tokenizer, reference: Any, rows: list[list[int]]) -> None:
    for skip in (False, True):
        expected = [reference.decode(row, skip_special_tokens=skip) for row in rows]
        assert ours.decode_batch(rows, skip_special_tokens=skip) == expected
        assert [ours.decode(row, skip_special_tokens=skip) for row in rows[:20]] == expected[:20]


def random_rows(ours: nlp.Tokenizer, n: int = 400) -> list[list[int]]:
    """Ids that no text gives, special ones often."""
    choose = random.Random(3)
    there = [i for i in range(ours.vocab_size) if _is_there(ours, i)]
    often = [*ours.special_tokens.values()]
    return [
        [choose.choice(often if choose.random() < 0.2 else there) for _ in range(choose.randint(0, 9))]
        for _ in range(n)
    ]  # fmt: skip


def _is_there(ours: nlp.Tokenizer, number: int) -> bool:
    kinds = ours.vocabulary["token_kinds" if "token_kinds" in ours.vocabulary else "piece_kinds"]
    return bool(kinds[number] != 255)


def compare_all(ours: nlp.Tokenizer, reference: Any) -> None:
    compare(ours, reference, TEXTS)
    compare_decoding(ours, reference, [reference(text)["input_ids"] for text in TEXTS[:200]] + random_rows(ours))
    again = pickle.loads(pickle.dumps(ours))
    assert again == ours
    assert again.encode(TEXTS[3]).tolist() == ours.encode(TEXTS[3]).tolist()


#: Tokens with options, some of them side by side often.
OPTIONS = {
    "added_tokens_decoder": {
        "3": {"content": "<x>", "lstrip": True, "rstrip": True},
        "4": {"content": "the", "single_word": True},
        "5": {"content": "<pad>", "special": True, "lstrip": True},
        "6": {"content": "ing", "rstrip": True},
        "7": {"content": "@@", "single_word": True},
    }
}


# --- Marian ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model_type", ["unigram", "bpe", "char", "word"])
def test_marian(tmp_path: Path, model_type: str) -> None:
    folder = marian_folder(tmp_path, model_type=model_type)
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    ours = load("marian", folder)
    assert len(ours.vocabulary["unknown_units"]) > 0
    compare_all(ours, reference)
    compare(load("marian", folder, target=True), reference, TEXTS, target=True)
    # text that the source's model does not know is looked up as it stands; a word model takes words in a row as one
    if model_type != "word":
        assert ours.token_to_id("日本") in ours.encode("日本 日本").tolist()


def test_marian_with_separate_vocabularies(tmp_path: Path) -> None:
    folder = marian_folder(tmp_path, separate=True)
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    ours = load("marian", folder)
    compare(ours, reference, TEXTS)
    compare_decoding(ours, reference, [reference(text_target=text)["input_ids"] for text in TEXTS] + random_rows(ours))
    compare(load("marian", folder, target=True), reference, TEXTS, target=True)


@pytest.mark.parametrize(
    "config",
    [
        {"clean_up_tokenization_spaces": True},
        {"split_special_tokens": True},
        {"additional_special_tokens": ["<x>", "the", ">>new<<"], "pad_token": "<new pad>"},
        {"added_tokens_decoder": {"7": {"content": "<x>"}, "900": {"content": "ing", "special": True}}},
        {"bos_token": "<s>", "my_token": "__en__"},
        OPTIONS,
    ],
)  # fmt: skip
def test_settings_of_marian(tmp_path: Path, config: dict[str, Any]) -> None:
    folder = marian_folder(tmp_path, **config)
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    ours = load("marian", folder)
    compare_all(ours, reference)
    assert ours.input_settings.pad_id == reference.pad_token_id


def test_model_inputs_of_marian(tmp_path: Path) -> None:
    folder = marian_folder(tmp_path, padding_side="left")
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    ours = load("marian", folder)
    texts = [*HAMLET[10:20], "", ">>fra<< a"]
    some = {"padding": True, "truncation": True, "max_length": 7}
    for options in ({"padding": True}, some, {"padding": "max_length", "max_length": 50}):
        expected = reference(texts, return_tensors="np", **options)
        found = ours(texts, return_tensors="np", **options)
        assert set(found) == set(expected)
        for name, array in expected.items():
            assert np.array_equal(found[name], array), name
    assert ours.input_settings.max_length == reference.model_max_length == 512


@pytest.mark.parametrize("name", ["opus-mt-en-mg", "opus-mt-uk-en"])
def test_real_marian(name: str) -> None:
    folder = shared(f"vocab/marian/{name}/source.spm").parent
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    texts = shared("text/udhr_all_languages.txt").read_text(encoding="utf-8").splitlines()
    random.Random(2).shuffle(texts)
    texts = [*texts[:500], *fuzzed(800), *HAMLET[:400]]
    ours = load("marian", folder)
    compare(ours, reference, texts)
    compare_decoding(ours, reference, random_rows(ours) + [ours.encode(text).tolist() for text in texts[:300]])
    compare(load("marian", folder, target=True), reference, texts, target=True)


# --- M2M100 ------------------------------------------------------------------------------------------------------

_LISTED = [f"__{code}__" for code in ("af", "am", "ar", "en", "fr")]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"additional_special_tokens": _LISTED},
        {"extra_special_tokens": ["__fr__", "<x>"], "src_lang": "fr", "num_madeup_words": 3},
        {"language_codes": "wmt21", "src_lang": "de", "tgt_lang": "en"},
        {"added_tokens_decoder": {"3": {"content": "<x>"}, "800": {"content": "the", "special": True}}},
        OPTIONS,
    ],
)
def test_m2m100(tmp_path: Path, config: dict[str, Any]) -> None:
    folder = m2m100_folder(tmp_path, **config)
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    compare_all(load("m2m100", folder), reference)
    reference.tgt_lang = "ru"
    compare(load("m2m100", folder, {"tgt_lang": "ru"}, target=True), reference, TEXTS[:100], target=True)


def test_languages_of_m2m100(tmp_path: Path) -> None:
    folder = m2m100_folder(tmp_path, additional_special_tokens=_LISTED)
    for language in ("af", "zu", "yi"):
        reference = transformers.AutoTokenizer.from_pretrained(folder, src_lang=language)
        compare(load("m2m100", folder, {"src_lang": language}), reference, TEXTS[:30])


# --- CTRL --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"additional_special_tokens": ["the", "<x>"], "pad_token": "<pad>"},
        {"added_tokens_decoder": {"60": {"content": "ing"}, "66": {"content": "king", "special": True}}},
        {"split_special_tokens": True, "clean_up_tokenization_spaces": True},
        OPTIONS,
    ],
)  # fmt: skip
def test_ctrl(tmp_path: Path, config: dict[str, Any]) -> None:
    folder = ctrl_folder(tmp_path, **config)
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    ours = load("ctrl", folder)
    compare_all(ours, reference)
    if config.get("pad_token"):
        found = ours(["the king", "a"], padding=True, return_tensors="np")
        expected = reference(["the king", "a"], padding=True, return_tensors="np")
        assert set(found) == set(expected)
        assert all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize(
    ("kind", "make"), [("marian", marian_folder), ("m2m100", m2m100_folder), ("ctrl", ctrl_folder)]
)
def test_pairs(tmp_path: Path, kind: str, make: Any) -> None:
    """Types there count the end token of one text by itself, which no pair has: B's first id gets A's type."""
    folder = make(tmp_path)
    ours, reference = load(kind, folder), transformers.AutoTokenizer.from_pretrained(folder)
    for first, second in (("to be", "or not"), ("", "the king"), (">>fra<< a", ">>ell<< b")):
        expected = reference(first, second, return_token_type_ids=True)
        found = ours(first, second, return_token_type_ids=True, return_sequence_ids=True)
        assert found.input_ids.tolist() == expected["input_ids"]
        assert found.attention_mask.tolist() == expected["attention_mask"]
        types = expected["token_type_ids"]
        if kind != "ctrl":
            n = sum(types)
            assert types == [0] * (len(types) - n) + [1] * n
            types = [0] * (len(types) - n - 1) + [1] * (n + 1)
        assert found.token_type_ids.tolist() == types
        # the second text is where its ids are
        assert (found.sequence_ids == 1).tolist().count(True) == ours.encode(second).size


def test_every_fragment_is_in_some_text() -> None:
    assert all(any(fragment in text for text in TEXTS) for fragment in FRAGMENTS)
