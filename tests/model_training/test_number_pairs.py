"""Pairs of digits and words: what training sees, what it never does, and what the tokenizer makes of them."""

from __future__ import annotations

import datetime
import random
import re
from collections import Counter
from pathlib import Path

import pytest

import numba_nlp as nlp
from tools.model_training.number_pairs import CODES, KINDS, draw_pair, held_out_pairs, is_held_out
from tools.model_training.number_vocabulary import token_ids, write_tokenizer


def test_one_of_twenty_is_held_out() -> None:
    numbers = [number for number in range(100, 20_100) if is_held_out(number)]
    assert 900 < len(numbers) < 1100
    days = [datetime.date.fromordinal(day) for day in range(400_000, 1_000_000, 30)]
    with_year = [day for day in days if is_held_out(day.year)]
    assert all(map(is_held_out, with_year))
    assert 0.03 < len(with_year) / len(days) < 0.07
    assert 0.04 < sum(is_held_out(day) for day in days if day not in set(with_year)) / len(days) < 0.06
    assert not any(map(is_held_out, range(100)))


def values_in(text: str) -> set[int]:
    return {int(digits) for digits in re.findall(r"\d+", text.replace(",", ""))}


def test_training_never_sees_what_is_held_out() -> None:
    rng = random.Random(0)
    trained = [draw_pair(rng) for _ in range(8000)]
    for pair in trained:
        numbers = values_in(pair.source) or values_in(pair.target)
        assert len(numbers) == 1 or "date" in pair.kind
        assert not any(map(is_held_out, numbers)), pair
    kept = list(held_out_pairs(150))
    assert not {pair.source for pair in trained} & {pair.source for pair in kept}
    assert len({pair.source for pair in kept}) == len(kept)
    for pair in kept:
        if pair.kind == "date to digits":
            assert is_held_out(datetime.date.fromisoformat(pair.target))
        elif "date" not in pair.kind:
            (number,) = values_in(pair.source) or values_in(pair.target)
            assert is_held_out(number), pair


def test_kinds_have_their_shares() -> None:
    rng = random.Random(1)
    counts = Counter(draw_pair(rng).kind for _ in range(4400))
    assert counts.keys() == KINDS.keys()
    for kind, count in counts.items():
        assert abs(count / 4400 - KINDS[kind].share / 22) < 0.03, kind
    kept = Counter(pair.kind for pair in held_out_pairs(60))
    assert set(kept.values()) == {60}


def test_a_source_has_one_target() -> None:
    rng = random.Random(2)
    targets: dict[str, str] = {}
    for _ in range(20_000):
        pair = draw_pair(rng)
        assert targets.setdefault(pair.source, pair.target) == pair.target
    assert {source.split()[0] for source in targets} == set(CODES)


def test_all_lengths_of_numbers_are_drawn() -> None:
    rng = random.Random(3)
    drawn = [draw_pair(rng, kind="cardinal to words").source for _ in range(1200)]
    lengths = Counter(len(re.sub(r"\D", "", source)) for source in drawn)
    assert sorted(lengths) == list(range(1, 13))
    assert min(lengths.values()) > 60
    assert any(re.search(r"\b[1-9],000,000\b", source) for source in drawn)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("numbers")
    write_tokenizer(place, longest=64)
    return place


def test_words_are_tokens(folder: Path) -> None:
    source, target = nlp.load_tokenizer(folder), nlp.load_tokenizer(folder, target=True)
    rng = random.Random(4)
    for pair in [draw_pair(rng) for _ in range(500)]:
        ids = source.encode(pair.source, add_special_tokens=True)
        tokens = [source.id_to_token(int(token)) for token in ids]
        assert tokens[0] == pair.source.split()[0]
        assert tokens[-1] == "</s>"
        assert "<unk>" not in tokens
        words = re.findall("[A-Za-z]+", re.sub(r"\d(st|nd|rd|th)\b", "", pair.source.split(" ", 1)[1]))
        assert [token.strip("\u2581") for token in tokens if re.fullmatch("\u2581?[A-Za-z]{3,}", token)] == [
            word for word in words if len(word) > 2
        ]
        written = target.encode(pair.target, add_special_tokens=True)
        assert source.decode(written, skip_special_tokens=True) == pair.target
        assert max(len(ids), len(written)) <= 32


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_transformers_reads_the_tokenizer(folder: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    pytest.importorskip("sentencepiece", reason="needs sentencepiece")
    theirs = transformers.MarianTokenizer.from_pretrained(folder)
    ours = nlp.load_tokenizer(folder)
    assert theirs.get_vocab() == token_ids()
    for pair in held_out_pairs(12):
        assert theirs(pair.source).input_ids == ours.encode(pair.source, add_special_tokens=True).tolist()
        ids = nlp.load_tokenizer(folder, target=True).encode(pair.target, add_special_tokens=True).tolist()
        assert theirs(text_target=pair.target).input_ids == ids
        assert theirs.decode(ids, skip_special_tokens=True) == pair.target
