"""Single texts by the fast call: what rows give, for every family, whatever stands in the text, seen before or not."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers

import numba_nlp as nlp
from numba_nlp import _fastcall
from numba_nlp.errors import InvalidTextError, SpecialTokenError, UnsupportedFeatureError
from tests import made_tokenizers, staged_tokenizers
from tests.random_sentencepiece import TYPES, random_model
from tests.shared_data import shared
from tests.staged_tokenizers import SPACE
from tests.vocab_tools.sources import train

CODES = "#version: 0.2\nt h\nth e</w>\ni n\nin g</w>\na b\nab c\n\u00e9 \u00e9</w>\n"
FRAGMENTS = [
    *"abcTHEst .,'!01<>[]|\n\t\x00", "  ", "   ", " the ", "THE", "The", "question", "<s>", "</s>", "<mask>", "[x]",
    "<|endoftext|>", "[SEP]", "\u00e9", "e\u0301", "\u0301", "\u0130", "\ufb01", "\u00a0", "\u2028", "\u3000", "\u2581",
    "\u65e5\u672c", "\uac00", "\U0001f44d", "\ufdfa", "\u0e01\u0e33", "xyz" * 9,
]  # fmt: skip
BYTE_NORMALIZERS = {
    "NFC": normalizers.NFC(),
    "lower": normalizers.Sequence([normalizers.Lowercase(), normalizers.Strip(left=False)]),
    "regex": normalizers.Sequence([normalizers.Replace(Regex(r"\p{N}+"), "7"), normalizers.NFKC()]),
}


def byte_bpe(name: str, prefix_space: bool, split: bool) -> nlp.Tokenizer:
    reference = train(400, special_tokens=["<s>"])
    reference.normalizer = BYTE_NORMALIZERS.get(name)
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, use_regex=not split)
    cut = pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}{1,2}|\s+|[^\s\p{L}\p{N}]"), behavior="isolated")
    reference.pre_tokenizer = pre_tokenizers.Sequence([cut, level]) if split else level
    reference.decoder = decoders.ByteLevel()
    reference.add_tokens([AddedToken("The", normalized=True), AddedToken("[x]", normalized=False)])
    return staged_tokenizers.compiled(reference).ours


def staged_by_regex() -> nlp.Tokenizer:
    reference: Tokenizer = staged_tokenizers.made("unigram")
    reference.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}{2}"), behavior="isolated"),
            pre_tokenizers.Metaspace(SPACE, prepend_scheme="always"),
        ]
    )
    return staged_tokenizers.compiled(reference).ours


def character_bpe() -> nlp.Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.bpe"
        path.write_text(CODES, encoding="utf-8")
        return nlp.load_tokenizer(path)


def of_shared(*names: str) -> nlp.Tokenizer:
    paths = [shared(name) for name in names]
    return nlp.load_tokenizer(paths[0] if len(paths) == 1 else paths)


MAKERS = {
    "byte_bpe": lambda: made_tokenizers.gpt2().ours,
    "byte_bpe prefix": lambda: made_tokenizers.roberta_like(prefix_space=True).ours,
    "byte_bpe regex": lambda: made_tokenizers.regex_cut().ours,
    "byte_bpe NFC": lambda: byte_bpe("NFC", False, False),
    "byte_bpe NFC prefix": lambda: byte_bpe("NFC", True, False),
    "byte_bpe lower prefix": lambda: byte_bpe("lower", True, False),
    "byte_bpe lower": lambda: byte_bpe("lower", False, False),
    "byte_bpe lower, regex cuts": lambda: byte_bpe("lower", False, True),
    "byte_bpe regex normalizer": lambda: byte_bpe("regex", False, False),
    "wordpiece": lambda: made_tokenizers.bert().ours,
    "wordpiece cased": lambda: made_tokenizers.bert(lowercase=False).ours,
    "character_bpe": character_bpe,
    "character_bpe gpt": lambda: of_shared(
        "vocab/openai_gpt/encoder_bpe_40000.json", "vocab/openai_gpt/vocab_40000.bpe"
    ),
    "character_bpe clip": lambda: of_shared("vocab/clip/bpe_simple_vocab_16e6.txt.gz"),
    "staged by regex": staged_by_regex,
    **{f"sentencepiece {kind}": lambda kind=kind: random_model(2, kind).ours for kind in TYPES},
    **{f"sentencepiece usual {kind}": lambda kind=kind: random_model(4, kind, usual=True).ours for kind in TYPES},
    **{f"staged {name}": lambda name=name: staged_tokenizers.staged(name).ours for name in staged_tokenizers.NAMES},
}


@lru_cache(maxsize=len(MAKERS))
def made(name: str) -> nlp.Tokenizer:
    return MAKERS[name]()


@pytest.fixture(scope="module", params=MAKERS)
def tok(request: pytest.FixtureRequest) -> nlp.Tokenizer:
    return made(request.param)


def outcome(call) -> list[int] | str:
    """Ids, or the kind of error."""
    try:
        return call().tolist()
    except (InvalidTextError, SpecialTokenError, UnsupportedFeatureError) as error:
        return type(error).__name__


def assert_as_rows(tok: nlp.Tokenizer, text: str) -> None:
    for special in (None, "match", "plain", "raise", None):
        # bytes go the way of rows
        expected = outcome(lambda special=special: tok.encode(text.encode(), special=special))
        for time in ("first", "second"):
            found = outcome(lambda special=special: tok.encode(text, special=special))
            assert found == expected, (text, special, time)
        for framed in (False, True):
            options = {"special": special, "add_special_tokens": framed}
            expected = outcome(lambda options=options: tok.encode(text.encode(), **options))
            assert outcome(lambda options=options: tok.encode(text, **options)) == expected, (text, options)
            assert outcome(lambda options=options: tok.encode_batch([text], **options)[0]) == expected, (text, options)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
@example("")
@example(" ")
@example("The quick brown fox jumps over the lazy dogs.")
@example("THE 42 [x] The <s>")
def test_a_text_alone_and_as_a_row(tok: nlp.Tokenizer, text: str) -> None:
    assert_as_rows(tok, text)


@settings(max_examples=40)
@given(st.text(max_size=30))
def test_any_text(tok: nlp.Tokenizer, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        with pytest.raises(InvalidTextError):
            tok.encode(text)
        replaced = tok.encode(text, errors="replace").tolist()
        assert replaced == tok.encode_batch([text, "a"], errors="replace")[0].tolist()
        return
    assert_as_rows(tok, text)


@pytest.mark.parametrize("pattern", ["The end, a question of it ", "\u00e9\u0301 \ufdfa"])
def test_texts_of_any_length(tok: nlp.Tokenizer, pattern: str) -> None:
    # about as long as short keys, long keys, and texts that the fast call takes
    for n in (15, 16, 512, 513, (1 << 14) - 1, (1 << 14) + 1):
        assert_as_rows(tok, (pattern * n).encode()[:n].decode(errors="ignore"))


def test_lone_surrogates(tok: nlp.Tokenizer) -> None:
    for text in ("\ud800", "to be \udfff", "\u00e9\ud83d"):
        for _ in range(2):
            with pytest.raises(InvalidTextError):
                tok.encode(text)
        replaced = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        assert tok.encode(text, errors="replace").tolist() == tok.encode(replaced).tolist()
    assert tok.encode("to be ").tolist() == tok.encode(b"to be ").tolist()


@pytest.mark.skipif(not _fastcall.AVAILABLE, reason="there are no fast calls here")
def test_what_was_seen_does_not_go_the_plain_way(tok: nlp.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["to be or not to be", "na\u00efve caf\u00e9 \ufb01n", "a\u65e5\u672cb"]
    expected = [tok.encode(text).tolist() for text in texts]
    [tok.encode(text) for text in texts]

    def refuse(*_: object) -> None:
        raise AssertionError("the plain way was taken")

    monkeypatch.setattr(type(tok._encoder), "encode", refuse)
    assert [tok.encode(text).tolist() for text in texts] == expected


@pytest.mark.skipif(not _fastcall.AVAILABLE, reason="there are no fast calls here")
def test_the_own_policy_by_name_goes_the_same_way(tok: nlp.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = tok.describe()["special_policy"]
    texts = ["by its name to be", "na\u00efve b\u00fccher \ufb02y", "b\u65e5\u672cc"]
    expected = [tok.encode(text, special=policy).tolist() for text in texts]
    [tok.encode(text, special=policy) for text in texts]

    def refuse(*_: object) -> None:
        raise AssertionError("the plain way was taken")

    monkeypatch.setattr(type(tok._encoder), "encode", refuse)
    assert [tok.encode(text, special=policy).tolist() for text in texts] == expected
