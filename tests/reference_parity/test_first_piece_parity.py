"""Metaspace with ``prepend_scheme`` ``"first"`` behind charsmaps that leave out characters: ids of ``tokenizers``.

tokenizers miscounts places there, and what it puts before a text depends on them.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import numba_nlp as nlp
from numba_nlp.errors import UnsupportedFeatureError
from tests.shared_data import shared
from tests.staged_tokenizers import SPACE, made
from vocab_tools.formats.charsmap import encode_charsmap

RULES = {"\u200b": "", "\x07": "", "\ufeff": "", "e\u0301": "\u00e9", "\u3000": " "}
GROWING = {**RULES, "\ufb01": "fi", "\u00bd": "1/2"}
GONE = ("\u200b", "\x07", "\ufeff", "\u200b\u0301", "\x07\x07")
OTHERS = (
    "a", "the", "be", " ", "  ", "\ufb01", "\u00bd", "e\u0301", "\u00e9", "\u3000", SPACE, "0", ".", "\u0301", "THE",
    "[x]", "\u65e5", "\u0130", "\uac00",
)  # fmt: skip
REPLACE = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
STAGES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "alone": ([], []),
    "albert": ([{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}], [REPLACE]),
    "strip before": ([{"type": "Strip", "strip_left": True, "strip_right": False}], []),
    "strip behind": ([], [{"type": "Strip", "strip_left": True, "strip_right": True}]),
    "prepend": ([{"type": "Prepend", "prepend": "a"}], [{"type": "Prepend", "prepend": "be"}]),
    "delete": (
        [{"type": "Replace", "pattern": {"String": "a"}, "content": ""}],
        [{"type": "Replace", "pattern": {"String": "the"}, "content": ""}, {"type": "NFD"}],
    ),
    "grow": ([{"type": "NFD"}], [{"type": "Replace", "pattern": {"String": "b"}, "content": "x y"}]),
}
SPLIT = {"type": "Split", "pattern": {"Regex": "[aei]"}, "behavior": "Isolated", "invert": False}
CUTS: list[list[dict[str, Any]]] = [
    [],
    [SPLIT],
    [{"type": "WhitespaceSplit"}],
    [{"type": "Digits", "individual_digits": True}],
]


def document(name: str, charsmap: str, cuts: list[dict[str, Any]], split: bool) -> dict[str, Any]:
    before, behind = STAGES[name]
    content: dict[str, Any] = json.loads(made("unigram").to_str())
    precompiled = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    metaspace = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": split}
    content["normalizer"] = {"type": "Sequence", "normalizers": [*before, precompiled, *behind]}
    content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*cuts, metaspace]}
    return content


def compare(folder: Path, content: dict[str, Any], seed: int) -> None:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    ours, reference = nlp.load_tokenizer(path), Tokenizer.from_file(str(path))
    rng = random.Random(seed)
    texts = [
        "".join((*rng.choices(GONE, k=rng.randrange(3)), *rng.choices((*OTHERS, *GONE), k=rng.randrange(7))))
        for _ in range(150)
    ]
    expected = [encoding.ids for encoding in reference.encode_batch(texts)]
    for spans in (False, True):
        assert [row.tolist() for row in ours.encode_batch(texts, add_special_tokens=True, spans=spans)] == expected
    # the second time from what was learnt
    for _ in range(2):
        assert [ours.encode(text, add_special_tokens=True).tolist() for text in texts] == expected
    alone = [reference.encode(text, add_special_tokens=False).ids for text in texts]
    for _ in range(2):
        assert [ours.encode(text).tolist() for text in texts] == alone


def encoded(rules: dict[str, str]) -> str:
    return base64.b64encode(encode_charsmap({a.encode(): b.encode() for a, b in rules.items()})).decode()


@pytest.mark.parametrize("name", ["alone", "strip before", "strip behind", "delete"])
def test_made_charsmap(tmp_path: Path, name: str) -> None:
    for seed, cuts in enumerate(CUTS):
        compare(tmp_path, document(name, encoded(RULES), cuts, split=seed % 2 == 0), seed)


@pytest.mark.parametrize("name", ["alone", "albert", "prepend"])
def test_rules_that_make_several_characters(tmp_path: Path, name: str) -> None:
    content = document(name, encoded(GROWING), [], split=False)
    compare(tmp_path, {**content, "added_tokens": renumbered(content)}, 5)


def renumbered(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Added tokens without those in normalized text, numbered on as tokenizers does it."""
    known = {piece: number for number, (piece, _) in enumerate(content["model"]["vocab"])}
    kept, following = [], len(known)
    for token in content["added_tokens"]:
        if token["normalized"]:
            continue
        number = known.get(token["content"], following)
        following = max(following, number + 1)
        kept.append({**token, "id": number})
    return kept


@pytest.mark.parametrize(
    ("name", "cuts", "problem"),
    [
        ("alone", [SPLIT], "the text is cut before"),
        ("albert", [SPLIT], "the text is cut before"),
        ("grow", [], "a normalizer behind it may take the first away"),
        ("strip behind", [], "a normalizer behind it may take the first away"),
        ("delete", [], "a normalizer behind it may take the first away"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, cuts: list[dict[str, Any]], problem: str) -> None:
    """Where tokenizers gives the last of several characters the place of what was left out behind them."""
    content = document(name, encoded(GROWING), cuts, split=False)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**content, "added_tokens": renumbered(content)}), encoding="utf-8")
    with pytest.raises(UnsupportedFeatureError, match=f"pre_tokenizer: Metaspace.*Precompiled .*{problem}"):
        nlp.load_tokenizer(path)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["t5/flan_t5_tokenizer.json", "xlnet/tokenizer.json"])
@pytest.mark.parametrize("name", ["alone", "albert"])
def test_published_charsmaps(tmp_path: Path, file: str, name: str) -> None:
    settings = json.loads(shared(f"vocab/{file}").read_text(encoding="utf-8"))["normalizer"]
    (charsmap,) = {
        stage["precompiled_charsmap"]
        for stage in settings.get("normalizers", [settings])
        if stage["type"] == "Precompiled"
    }
    content = document(name, charsmap, [], split=True)
    compare(tmp_path, {**content, "added_tokens": renumbered(content)}, 7)
