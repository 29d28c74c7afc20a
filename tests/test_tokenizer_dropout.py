"""BPE-dropout of whole texts: nothing and everything dropped, seeds, threads, and how often merges are left out."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sentencepiece
from tokenizers import Tokenizer as ReferenceTokenizer
from tokenizers.models import BPE

import numba_nlp as nlp
from numba_nlp.errors import UnsupportedFeatureError
from tests.dropout_models import (
    Model,
    byte_bpe,
    listed_bpe,
    prefixed_bpe,
    ranked_bytes,
    scored_bpe,
    subword_codes,
    suffixed_bpe,
)
from tests.families import FAMILIES, family, sentencepiece_model
from tests.made_tokenizers import GPT2_FILES, HAMLET, TEXTS
from tests.staged_tokenizers import staged

MERGING = ("byte_bpe", "character_bpe", "sentencepiece_bpe", "staged_bpe", "staged_marked_bpe")
ROWS = [*TEXTS, *HAMLET.read_text(encoding="utf-8").splitlines()[:100]]
KINDS = {
    "byte_bpe": byte_bpe,
    "listed_bpe": listed_bpe,
    "ranked_bytes": ranked_bytes,
    "scored_bpe": scored_bpe,
    "subword_codes": subword_codes,
    "suffixed_bpe": suffixed_bpe,
    "prefixed_bpe": prefixed_bpe,
}
#: Draws, and five standard deviations of the difference of two shares of them.
N, NEAR = 4000, 0.06


def with_dropout(content: str, probability: float) -> ReferenceTokenizer:
    """A tokenizer of ``tokenizers`` with another dropout."""
    changed = json.loads(content)
    changed["model"]["dropout"] = probability
    return ReferenceTokenizer.from_str(json.dumps(changed))


def everything_dropped(name: str) -> Callable[[str], list[int]]:
    """What the reference gives when it leaves all merges out."""
    if name == "sentencepiece_bpe":
        processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model("bpe"))
        return lambda text: processor.encode(text, enable_sampling=True, alpha=1.0, nbest_size=-1)
    reference = with_dropout(FAMILIES[name]().reference.to_str(), 1.0)
    return lambda text: reference.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", MERGING)
def test_nothing_and_everything_dropped(name: str) -> None:
    ours = family(name)
    plain = ours.encode_batch(ROWS)
    assert ours.encode_batch(ROWS, dropout=0.0, seed=7).equals(plain)
    # so little that no number is that small
    assert ours.encode_batch(ROWS, dropout=1e-300).equals(plain)
    reference = everything_dropped(name)
    for row, text in zip(ours.encode_batch(ROWS, dropout=1.0), ROWS, strict=True):
        assert row.tolist() == reference(text), text


@pytest.mark.parametrize("name", MERGING)
def test_seeds_threads_and_other_rows(name: str) -> None:
    ours = family(name)
    rows = ROWS * 40
    found = ours.encode_batch(rows, dropout=0.4, seed=3)
    assert ours.encode_batch(rows, dropout=0.4, seed=3, num_threads=3).equals(found)
    assert ours.encode_batch(rows, dropout=0.4, seed=3, num_threads=1).equals(found)
    assert ours.encode_batch(rows[:20], dropout=0.4, seed=3).equals(found[:20])
    assert not ours.encode_batch(rows, dropout=0.4, seed=4).equals(found)
    # the first row of a batch is a text by itself
    text = TEXTS[5]
    alone = ours.encode(text, dropout=0.4, seed=3).tolist()
    assert ours.encode_batch([text, "x"], dropout=0.4, seed=3)[0].tolist() == alone
    assert len({tuple(ours.encode(text, dropout=0.4, seed=seed).tolist()) for seed in range(20)}) > 5
    assert ours.decode_batch(found) == ours.decode_batch(ours.encode_batch(rows))


@pytest.mark.parametrize("name", ["marked fused", "marked bert whole", "marked prefix", "bpe cut whole"])
def test_everything_dropped_behind_stages(name: str) -> None:
    """Marks at either end; words that are pieces are not taken whole then (``ignore_merges``)."""
    reference = with_dropout(staged(name).reference.to_str(), 1.0)
    for row, text in zip(staged(name).ours.encode_batch(ROWS, dropout=1.0), ROWS, strict=True):
        assert row.tolist() == reference.encode(text, add_special_tokens=False).ids, text


@pytest.mark.parametrize("name", ["staged_bpe", "staged_marked_bpe"])
def test_special_tokens_and_templates(name: str) -> None:
    ours = family(name)
    found = ours.encode("the <mask> end", dropout=1.0, add_special_tokens=True)
    plain = ours.encode("the <mask> end", add_special_tokens=True)
    mask = ours.token_to_id("<mask>")
    assert found[0] == plain[0] == ours.token_to_id("<s>")
    assert (found == mask).sum() == (plain == mask).sum() == 1


def without_marks(token: str) -> str:
    """What a token spells."""
    return token.replace("@@", "").removeprefix("##").removesuffix("</w>")


def shares(model: Model, probability: float, seed: int) -> dict[str, float]:
    """How often "abc" becomes what, by the tokens without their marks."""
    rows = model.ours.encode_batch(["abc"] * N, dropout=probability, seed=seed)
    spelled = {number: without_marks(token) for token, number in model.ids.items()}
    counts = Counter(" ".join(spelled[number] for number in row.tolist()) for row in rows)
    return {cut: count / N for cut, count in counts.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dropout", [0.2, 0.5])
def test_how_often(kind: str, dropout: float) -> None:
    """By theory: "ab" comes first, "bc" when it is dropped; "a" and "bc" merge where their text is enough for that."""
    kept = 1 - dropout
    expected = {"abc": kept**2, "ab c": kept * dropout, "a bc": dropout * kept, "a b c": dropout**2}
    if kind in ("scored_bpe", "ranked_bytes"):
        expected["abc"] += expected["a bc"] * kept
        expected["a bc"] *= dropout
    found = shares(KINDS[kind](), dropout, 11)
    assert found.keys() == expected.keys()
    for cut, share in expected.items():
        assert found[cut] == pytest.approx(share, abs=NEAR), cut


def reference_shares(kind: str, dropout: float) -> dict[str, float]:
    """The same of the reference, with its own random numbers."""
    model = KINDS[kind]()
    if kind == "scored_bpe":
        sentencepiece.set_random_generator_seed(5)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.content)
        cuts = [processor.encode("abc", out_type=str, enable_sampling=True, alpha=dropout, nbest_size=-1)
                for _ in range(N)]  # fmt: skip
    elif kind == "subword_codes":
        subword = pytest.importorskip("subword_nmt.apply_bpe")
        random.seed(5)
        with contextlib.redirect_stderr(io.StringIO()):
            bpe = subword.BPE(io.StringIO(model.content.decode()))
        cuts = [bpe.segment("abc", dropout=dropout).replace("@@", "").split(" ") for _ in range(N)]
    else:
        reference = with_dropout(model.content.decode(), dropout)
        cuts = [map(without_marks, reference.encode("abc").tokens) for _ in range(N)]
    return {cut: count / N for cut, count in Counter(map(" ".join, cuts)).items()}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ranked_bytes"])
def test_as_often_as_the_reference(kind: str) -> None:
    ours, theirs = shares(KINDS[kind](), 0.3, 2), reference_shares(kind, 0.3)
    assert ours.keys() == theirs.keys()
    for cut, share in theirs.items():
        assert ours[cut] == pytest.approx(share, abs=NEAR), cut


@pytest.mark.parametrize("dropout", [0.1, 0.5])
@pytest.mark.parametrize("word", ["hello", "Sesquipedalophobia"])
def test_long_words_as_often_as_tokenizers(word: str, dropout: float) -> None:
    """Words of many pairs, some of which are gone when their turn comes, with GPT-2's merges."""
    files = list(map(str, GPT2_FILES))
    n = 8000
    reference = ReferenceTokenizer(BPE.from_file(*files, dropout=dropout))
    theirs = Counter(tuple(each.ids) for each in reference.encode_batch([word] * n))
    ours = Counter(map(tuple, nlp.load_tokenizer(files).encode_batch([word] * n, dropout=dropout, seed=5).to_list()))
    for cut, _ in (theirs + ours).most_common(12):
        share = (theirs[cut] + ours[cut]) / (2 * n)
        # five standard deviations of the difference
        assert ours[cut] / n == pytest.approx(theirs[cut] / n, abs=5 * (2 * share * (1 - share) / n) ** 0.5), cut


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in MERGING])
def test_families_without_merges(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="dropout leaves merges of BPE out, and "):
        family(name).encode_batch(["a", "b"], dropout=0.1)
    assert family(name).encode("a", dropout=0.0).tolist() == family(name).encode("a").tolist()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"dropout": 1.5}, ValueError, r"`dropout` must be a number from 0 to 1, got 1\.5"),
        ({"dropout": -0.1}, ValueError, "`dropout` must be a number from 0 to 1, got -0.1"),
        ({"dropout": "0.1"}, TypeError, "`dropout` must be a number from 0 to 1, got '0.1'"),
        ({"dropout": float("nan")}, ValueError, "`dropout` must be a number from 0 to 1, got nan"),
        ({"dropout": 0.1, "seed": -1}, ValueError, "`seed` must be a whole number from 0"),
        ({"dropout": 0.1, "seed": 0.5}, TypeError, "`seed` must be a whole number from 0"),
        ({"dropout": 0.1, "spans": True}, UnsupportedFeatureError, "spans are not given with dropout"),
    ],
)
def test_wrong_options(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    ours: nlp.Tokenizer = byte_bpe().ours
    with pytest.raises(kind, match=message):
        ours.encode("abc", **options)
    with pytest.raises(kind, match=message):
        ours.encode_batch(["abc"], **options)
    with pytest.raises(TypeError, match="`text` must be str or bytes"):
        ours.encode(["abc"], dropout=0.5)  # type: ignore[call-overload]
    assert ours.encode_batch(np.array([], object), dropout=0.5).to_list() == []
