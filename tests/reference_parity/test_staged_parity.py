"""Unigram and BPE behind general stages: ids, spans, added tokens, templates and decoding of ``tokenizers``."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers

import numba_nlp as nlp
from tests.made_tokenizers import TEXTS, Pair
from tests.normalizer_cases import texts as tricky_texts
from tests.shared_data import shared
from tests.staged_tokenizers import NAMES, compiled, made, staged
from tools.fuzz_parity import vanishing
from tools.fuzz_texts import fuzz_texts

FRAGMENTS = [
    "the ", "To be, or not to be", " ", "  ", "\u2581", "THE", "the", "<mask>", " <mask>", "[x]", "[x] ", "</s>",
    "<unk>", "\u00e9", "e\u0301", "\u65e5\u672c", "\ufb01", "never merged", "...", "<0x41>", "\n", "\u00a0",
    "\U0001f600",
    "!!",
]  # fmt: skip
mixed_texts = st.lists(st.sampled_from(FRAGMENTS), max_size=10).map("".join)
any_name = pytest.mark.parametrize("name", NAMES)


def placed(starts: Any, ends: Any) -> list[tuple[int, int]]:
    """Spans as tokenizers writes them: ids of templates have none, there 0, 0."""
    return [(0, 0) if a < 0 else (a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


def assert_same(pair: Pair, texts: list[str], *, with_spans: bool = True) -> None:
    ours, reference = pair
    batch = ours.encode_batch(texts, spans=True, add_special_tokens=True)
    in_bytes = ours.encode_batch(texts, spans=True, unit="byte")
    without_spans = ours.encode_batch(texts)
    for row, (text, expected) in enumerate(zip(texts, reference.encode_batch(texts), strict=True)):
        assert batch[row].tolist() == expected.ids, text
        if with_spans:
            assert placed(*batch.spans(row)) == expected.offsets, text
        assert without_spans[row].tolist() == in_bytes[row].tolist(), text
        own = [(a, b) for a, b in zip(*(places.tolist() for places in batch.spans(row)), strict=True) if a >= 0]
        content = text.encode()
        counted = [
            (len(content[:a].decode()), len(content[:b].decode()))
            for a, b in zip(*(places.tolist() for places in in_bytes.spans(row)), strict=True)
        ]
        assert counted == own, text
    for skip in (False, True):
        expected_texts = reference.decode_batch([row.tolist() for row in batch], skip_special_tokens=skip)
        assert ours.decode_batch(batch, skip_special_tokens=skip) == expected_texts


def whole_runs(name: str) -> bool:
    """Whether tokenizers gives each byte of unknown characters the range of all of them."""
    return name == "unigram bytes"


@any_name
def test_texts(name: str) -> None:
    texts = [*TEXTS, *FRAGMENTS, *fuzz_texts(400, seed=31)]
    assert_same(staged(name), texts, with_spans=not whole_runs(name))


@given(name=st.sampled_from(NAMES), texts=st.lists(mixed_texts | tricky_texts, max_size=4))
def test_generated_texts(name: str, texts: list[str]) -> None:
    assert_same(staged(name), texts, with_spans=not whole_runs(name))


@any_name
def test_one_text_is_encoded_as_in_a_batch(name: str) -> None:
    ours = staged(name).ours
    for text in [*TEXTS, *FRAGMENTS]:
        batch = ours.encode_batch([text], spans=True)
        ids, starts, ends = ours.encode(text, spans=True)
        assert ids.tolist() == ours.encode(text).tolist() == batch[0].tolist()
        assert (starts.tolist(), ends.tolist()) == tuple(places.tolist() for places in batch.spans(0))


@any_name
def test_ids_by_ids(name: str) -> None:
    """Rows of any ids are decoded as tokenizers does it."""
    ours, reference = staged(name)
    rng = random.Random(name)
    rows = [[rng.randrange(ours.vocab_size) for _ in range(rng.randrange(9))] for _ in range(300)]
    for skip in (False, True):
        assert ours.decode_batch(rows, skip_special_tokens=skip) == reference.decode_batch(
            rows, skip_special_tokens=skip
        )
    for number in range(ours.vocab_size):
        if ours.id_to_token(number) != "THE":  # tokenizers gives its normalized form
            assert ours.id_to_token(number) == reference.id_to_token(number)
        assert ours.token_to_id(ours.id_to_token(number)) == number


@any_name
def test_threads_give_the_same(name: str) -> None:
    ours = staged(name).ours
    texts = [*TEXTS, *FRAGMENTS] * 400
    alone, together = (ours.encode_batch(texts, spans=True, num_threads=n) for n in (1, 3))
    for part in ("values", "offsets", "starts", "ends"):
        assert np.array_equal(getattr(alone, part), getattr(together, part))


def test_byte_tokens_of_unigram_have_the_range_of_their_character() -> None:
    """tokenizers gives each of them the range of the whole stretch of unknown characters."""
    ours, reference = staged("unigram bytes")
    text = "a\u0416\u0416"
    _, starts, ends = ours.encode(text, spans=True)
    assert reference.encode(text, add_special_tokens=False).offsets[-4:] == [(1, 3)] * 4
    assert placed(starts, ends)[-4:] == [(1, 2), (1, 2), (2, 3), (2, 3)]


def test_long_pieces() -> None:
    """Longer than what a thread keeps memory for."""
    for name in ("bpe", "bpe plain whole fused", "unigram"):
        assert_same(staged(name), ["a" * 9000, "the" * 5000 + "\u0416" * 5000, "\u0416", "be" * 3000])


def test_policies() -> None:
    ours = staged("unigram words").ours
    # "THE" is looked for in lower-case text, as "the"
    assert ours.encode("the").tolist() == ours.encode("THE").tolist() == [ours.special_tokens["THE"]]
    assert ours.encode("the", special="plain").tolist() != ours.encode("the").tolist()
    with pytest.raises(nlp.errors.SpecialTokenError, match=r"'THE' \(row 1\)"):
        ours.encode_batch(["a", "tHe"], special="raise")
    with pytest.raises(nlp.errors.SpecialTokenError, match="'THE'"):
        ours.encode_batch(["a the [x]"], special=["[x]"])
    assert ours.encode("a the", special=["THE"]).tolist() == ours.encode("a the").tolist()


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.Lowercase(),
        normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]),
        normalizers.NFKC(),
        normalizers.Prepend("\u2581"),
    ],
    ids=["lowercase", "accents", "nfkc", "prepend"],
)
def test_second_search(normalizer: Any) -> None:
    reference = made("unigram")
    reference.normalizer = normalizer
    reference.add_tokens(
        [
            AddedToken("H\u00e9llo", normalized=True, lstrip=True),
            AddedToken("FOO", normalized=True, single_word=True),
            AddedToken("fi", normalized=True, rstrip=True),
        ]
    )
    fragments = [
        "H\u00e9llo",
        "hello",
        "H\u00c9LLO",
        " ",
        "[x]",
        "foo",
        "FOO",
        "a",
        "x ",
        "\ufb01",
        "fi",
        "\u2581",
        "THE",
        "\u0130",
    ]
    rng = random.Random(3)
    assert_same(compiled(reference), ["".join(rng.choices(fragments, k=rng.randrange(9))) for _ in range(400)])


FILES = {
    "t5/flan_t5_tokenizer.json": {"ignore": ("truncation", "padding")},
    "xlnet/tokenizer.json": {},
    "mistral/mistral03.json": {},
    "barthez/tokenizer.json": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_published_files(name: str) -> None:
    path = shared(f"vocab/{name}")
    reference = Tokenizer.from_file(str(path))
    reference.no_truncation()
    reference.no_padding()
    pair = Pair(nlp.load_tokenizer(path, **FILES[name]), reference)
    added = list(pair.ours.special_tokens)
    rng = random.Random(name)
    texts = json.loads(shared("text/blns.json").read_text(encoding="utf-8"))
    texts += shared("text/udhr_all_languages.txt").read_text(encoding="utf-8").splitlines()[::97]
    texts += [text + rng.choice(added) + text[::-1] for text in fuzz_texts(1000, seed=11)]
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    points = points[:0x3100:3] + rng.sample(points[0x3100:], 2000)
    contexts = ["a%sb c", " %s", "x %s y", "%s%s", "%s \u0301", "\u0915%s\u094d"]
    texts += [rng.choice(contexts).replace("%s", chr(point)) for point in points]
    gone = vanishing(reference)
    clean = [text for text in texts if not gone.intersection(text)]
    assert len(clean) > len(texts) / 2
    assert_same(pair, clean)
    assert_same(pair, [text for text in texts if gone.intersection(text)], with_spans=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "golden"),
    [("xlnet/tokenizer.json", "xlnet_base_cased"), ("mistral/mistral03.json", "mistral03")],
)
def test_goldens_of_others(name: str, golden: str) -> None:
    rows = shared("goldens/kitoken/mixed_input.txt").read_text(encoding="utf-8").split("\n")
    listed = shared(f"goldens/kitoken/tokenizers/mixed_tokens_{golden}.txt").read_text(encoding="utf-8").split("\n")
    ours = nlp.load_tokenizer(shared(f"vocab/{name}"))
    expected = [[int(number) for number in line.split(",") if number.strip()] for line in listed]
    found = [row.tolist() for row in ours.encode_batch(rows, special="plain")]
    assert found[: len(expected)] == expected[: len(found)]
