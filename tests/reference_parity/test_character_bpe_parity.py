"""Character BPE with real vocabularies against its references: GPT, CTRL, CLIP, subword-nmt."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from subword_nmt.apply_bpe import BPE
from tokenizers.models import BPE as BpeModel
from transformers import CLIPTokenizer, CTRLTokenizer, OpenAIGPTTokenizer

import numba_nlp as nlp
import vocab_tools
from numba_nlp.character_text import segment_text, segment_texts
from tests.shared_data import shared
from vocab_tools.formats.character_vocab import read_clip
from vocab_tools.formats.subword_codes import read

FRAGMENTS = [
    *"abcdeéstTHE'  .,!\n\r\t\x1c\x85\u3000<>/w|@@#5日\u0301\u0308İſKﬁ가ᄀ\u1161\U0001f44d\x00\x0b",
    "<unk>", "</w>", "'s", "'LL", "<|endoftext|>", "<|STARTOFTEXT|>", "the", "@@ ", "ing", " the ",
]  # fmt: skip


def fuzzed(n: int) -> list[str]:
    choose = random.Random(7)
    return ["".join(choose.choices(FRAGMENTS, k=choose.randint(0, 20))) for _ in range(n)]


def compare(tokenizer, reference, texts: list[str]) -> None:
    """Ids, spans and decoded text against a tokenizer of transformers with a backend of tokenizers."""
    found = tokenizer.encode_batch(texts, spans=True)
    expected = reference.backend_tokenizer.encode_batch(texts, add_special_tokens=False)
    for row, encoding in enumerate(expected):
        part = slice(found.offsets[row], found.offsets[row + 1])
        assert found.values[part].tolist() == encoding.ids, texts[row]
        assert list(zip(found.starts[part], found.ends[part], strict=True)) == encoding.offsets, texts[row]
        assert tokenizer.encode(texts[row]).tolist() == encoding.ids
    for skip in (False, True):
        decoded = [reference.decode(encoding.ids, skip_special_tokens=skip) for encoding in expected]
        assert tokenizer.decode_batch(found, skip_special_tokens=skip) == decoded
    full = tokenizer.encode_batch(texts[:50], add_special_tokens=True)
    assert [row.tolist() for row in full] == [reference(text)["input_ids"] for text in texts[:50]]


def lines_of(name: str, n: int) -> list[str]:
    lines = shared(name).read_text(encoding="utf-8").split("\n")
    random.Random(1).shuffle(lines)
    return lines[:n]


def real_and_fuzzed() -> list[str]:
    every = [" ".join(f"a{chr(c)}b" for c in range(a, a + 64) if not 0xD800 <= c < 0xE000)
             for a in range(0, 0x30000, 64)]  # fmt: skip
    return [*fuzzed(1500), *lines_of("text/hamlet.txt", 300), *lines_of("text/udhr_all_languages.txt", 500), *every]


def test_gpt() -> None:
    files = [shared("vocab/openai_gpt/encoder_bpe_40000.json"), shared("vocab/openai_gpt/vocab_40000.bpe")]
    vocab, merges = BpeModel.read_file(*map(str, files))
    compare(nlp.load_tokenizer(files), OpenAIGPTTokenizer(vocab=vocab, merges=merges), real_and_fuzzed())


def test_clip() -> None:
    file = shared("vocab/clip/bpe_simple_vocab_16e6.txt.gz")
    described = read_clip(file)
    reference = CLIPTokenizer(vocab=dict(described.vocabulary), merges=list(described.merges))
    compare(nlp.load_tokenizer(file), reference, real_and_fuzzed())


def test_clip_special_tokens_as_plain_text() -> None:
    file = shared("vocab/clip/bpe_simple_vocab_16e6.txt.gz")
    tokenizer, described = nlp.load_tokenizer(file), read_clip(file)
    reference = CLIPTokenizer(vocab=dict(described.vocabulary), merges=list(described.merges)).backend_tokenizer
    text = "a!<|endoftext|>>> <|EndOfText|>>> <|startoftext|>'s <|endoftext|x"
    # the reference without the matching of special tokens
    words = reference.pre_tokenizer.pre_tokenize_str(reference.normalizer.normalize_str(text))
    expected = [token.id for word, _ in words for token in reference.model.tokenize(word)]
    assert tokenizer.encode(text, special="plain").tolist() == expected


@pytest.mark.parametrize("order", ["sound", "shuffled"])
def test_ctrl(tmp_path: Path, order: str) -> None:
    """CTRL's own vocabulary is not at hand: one made of subword-nmt's codes."""
    codes = shared("vocab/subword_nmt/bpe.ref")
    merges = codes.read_text().split("\n")[1:-1]
    if order == "shuffled":
        random.Random(4).shuffle(merges)
        merges += [*merges[3:5], "a b c", "x"]
    tokens = [token for token in read(codes).vocabulary if token != "the"]
    files = [tmp_path / "vocab.json", tmp_path / "merges.txt"]
    files[0].write_text(json.dumps({token: number for number, token in enumerate([*tokens, "\u00dcn\u00ef"])}))
    files[1].write_text("\n".join(["#version: 0.2", *merges, ""]))
    tokenizer, reference = nlp.load_tokenizer(files), CTRLTokenizer(*map(str, files))
    texts = [*fuzzed(2000), *lines_of("vocab/subword_nmt/corpus.en", 300)]
    expected = [reference(text)["input_ids"] for text in texts]
    found = tokenizer.encode_batch(texts)
    assert [row.tolist() for row in found] == expected
    for skip in (False, True):
        decoded = [reference.decode(ids, skip_special_tokens=skip) for ids in expected]
        assert tokenizer.decode_batch(found, skip_special_tokens=skip) == decoded


def test_subword_nmt_corpus() -> None:
    tokenizer = nlp.load_tokenizer(shared("vocab/subword_nmt/bpe.ref"))
    lines = shared("vocab/subword_nmt/corpus.en").read_text(encoding="utf-8").split("\n")
    expected = shared("vocab/subword_nmt/corpus.bpe.ref.en").read_text(encoding="utf-8").split("\n")
    assert segment_texts(tokenizer, lines) == expected


def test_subword_nmt_glossaries_and_line_ends() -> None:
    codes = shared("vocab/subword_nmt/bpe.ref")
    tokenizer = nlp.load_tokenizer(codes)
    glossaries = ["USA", r"a\w+", "1934", "th"]
    with codes.open(encoding="utf-8") as one, codes.open(encoding="utf-8") as other:
        plain, glossed = BPE(one), BPE(other, glossaries=glossaries)
    for text in ["1934USABUSA the USA,", *fuzzed(1500)]:
        assert segment_texts(tokenizer, [text], keep_ends=True) == [plain.process_line(text)]
        # the reference fails at words of line ends
        line = text.replace("\n", "").replace("\r", "")
        assert segment_text(tokenizer, line, glossaries=glossaries) == glossed.segment(line)


def test_the_example_of_the_first_article() -> None:
    pairs = {"e r": 25, "h e": 12, "l l": 11, "l o": 10, "he ll": 4, "lo w": 3, "hell o": 2}
    tokenizer = nlp.Tokenizer(vocab_tools.from_pairs(pairs))
    assert [tokenizer.id_to_token(i) for i in tokenizer.encode("lower hello")] == ["low", "er", "hello"]
    assert tokenizer.decode(tokenizer.encode("lower hello")) == "low er hello"
