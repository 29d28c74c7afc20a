from __future__ import annotations

import io
import json

import numpy as np
import pytest

import numba_nlp
import vocab_tools
from numba_nlp.errors import ConversionError, SourceFormatError
from tests.shared_data import shared
from vocab_tools.training import count_words, train_bpe

#: The words of Sennrich et al. 2016, and how often they occur.
ARTICLE = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def of_tokenizers(texts, words, *, normalizer=None, **options):
    """Vocabulary and merges of ``BpeTrainer``."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = words(tokenizers.pre_tokenizers)
    if normalizer:
        tokenizer.normalizer = normalizer(tokenizers.normalizers)
    trainer = tokenizers.trainers.BpeTrainer(show_progress=False, **options)
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def byte_level(pre_tokenizers):
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


@pytest.fixture(scope="module")
def lines():
    with open(shared("text/udhr_all_languages.txt"), encoding="utf-8", newline="\n") as stream:
        return [line for number, line in enumerate(stream) if number % 60 == 0]


def test_the_example_of_the_paper():
    """Of two pairs that are as frequent, subword-nmt takes the greater one as text, ``st</w>`` before ``es``."""
    learner, out = pytest.importorskip("subword_nmt.learn_bpe"), io.StringIO()
    learner.learn_bpe(io.StringIO("".join(f"{word} {n}\n" for word, n in ARTICLE.items())), out, 10, is_dict=True)
    trained = train_bpe(ARTICLE, kind="subword-nmt", num_symbols=10)
    assert [" ".join(pair) for pair in trained.merges] == out.getvalue().splitlines()[1:]
    assert trained.merges[:2] == (("s", "t</w>"), ("e", "st</w>"))


@pytest.mark.parametrize(
    "options", [{}, {"min_frequency": 5}, {"max_token_length": 4}, {"special_tokens": ["<s>", "e", "th"]}]
)
def test_byte_level_merges_are_those_of_tokenizers(lines, options):
    alphabet = pytest.importorskip("tokenizers").pre_tokenizers.ByteLevel.alphabet()
    vocabulary, merges = of_tokenizers(lines, byte_level, vocab_size=3000, initial_alphabet=alphabet, **options)
    trained = train_bpe(lines, vocab_size=3000, **options)
    assert list(trained.merges) == merges
    assert trained.vocabulary == vocabulary


@pytest.mark.parametrize("options", [{}, {"limit_alphabet": 40}, {"initial_alphabet": ["ß", "\U0001f600"]}])
def test_metaspace_merges_are_those_of_tokenizers(lines, options):
    vocabulary, merges = of_tokenizers(
        lines, lambda words: words.Metaspace(), vocab_size=2500, special_tokens=["<unk>"], **options
    )
    trained = train_bpe(
        lines, kind="sentencepiece", vocab_size=2500, special_tokens=["<unk>"], unk_token="<unk>", **options
    )
    assert (trained.vocabulary, list(trained.merges)) == (vocabulary, merges)


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (["ac", "ac", "bcc"] * 3, {"special_tokens": ["a"], "limit_alphabet": 1}),
        (["ac", "ac", "bc"] * 3, {"special_tokens": ["a"], "limit_alphabet": 0}),
        (["abab abc"] * 3, {"special_tokens": ["b", "é"], "limit_alphabet": 2}),
        (["ababab"] * 3, {"special_tokens": ["ab"], "max_token_length": 4}),
        (["ababab abcabc"] * 3, {"special_tokens": ["abc", "ab"], "max_token_length": 5}),
    ],
)
def test_special_tokens_that_words_are_made_of(texts, options):
    """A character that is a special token stays in words; one that is merged is as long as its parts.

    No limit of the alphabet falls between equally frequent characters: tokenizers leaves one out at random.
    """
    vocabulary, merges = of_tokenizers(texts, lambda words: words.Metaspace(), vocab_size=60, **options)
    trained = train_bpe(texts, kind="sentencepiece", vocab_size=60, **options)
    assert (trained.vocabulary, list(trained.merges)) == (vocabulary, merges)


def test_character_merges_are_those_of_tokenizers(lines):
    """tokenizers numbers characters at ends of words in no fixed order; given as special tokens they have one."""
    kind = {"kind": "character", "vocab_size": 2500}
    ends = [token for token in train_bpe(lines, **kind).vocabulary if token[1:] == "</w>"]
    vocabulary, merges = of_tokenizers(
        lines,
        lambda words: words.BertPreTokenizer(),
        normalizer=lambda normalizers: normalizers.BertNormalizer(),
        vocab_size=2500,
        special_tokens=ends,
        end_of_word_suffix="</w>",
    )
    trained = train_bpe(lines, special_tokens=ends, **kind)
    assert (trained.vocabulary, list(trained.merges)) == (vocabulary, merges)


@pytest.mark.slow
def test_the_large_corpus():
    """Identical merges on 16 MB at 32,000 tokens."""
    tokenizers = pytest.importorskip("tokenizers")
    path = shared("text/english_16mb.txt")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = byte_level(tokenizers.pre_tokenizers)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train(
        [str(path)],
        tokenizers.trainers.BpeTrainer(vocab_size=32_000, initial_alphabet=alphabet, show_progress=False),
    )
    model = json.loads(tokenizer.to_str())["model"]
    trained = train_bpe(path, vocab_size=32_000)
    assert [list(pair) for pair in trained.merges] == model["merges"]
    assert trained.vocabulary == model["vocab"]


def test_codes_of_the_reference_corpus():
    """The codes that subword-nmt ships for its test corpus."""
    expected = shared("vocab/subword_nmt/bpe.ref").read_text(encoding="utf-8").splitlines()
    trained = train_bpe(shared("vocab/subword_nmt/corpus.en"), kind="subword-nmt", num_symbols=len(expected) - 1)
    assert [" ".join(pair) for pair in trained.merges] == expected[1:]
    assert trained.reached


@pytest.mark.parametrize("total_symbols", [False, True])
def test_codes_are_those_of_subword_nmt(tmp_path, total_symbols):
    learner = pytest.importorskip("subword_nmt.learn_bpe")
    path, out = shared("text/hamlet.txt"), io.StringIO()
    with open(path, encoding="utf-8") as stream:
        learner.learn_bpe(stream, out, 800, total_symbols=total_symbols)
    trained = train_bpe(path, kind="subword-nmt", num_symbols=800, total_symbols=total_symbols)
    trained.write_codes(tmp_path / "codes")
    assert (tmp_path / "codes").read_text(encoding="utf-8") == out.getvalue()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cut": "llama3"},
        {"add_prefix_space": True},
        {"user_defined_symbols": ["<sep>"]},
        {"kind": "sentencepiece", "unk_token": "<unk>"},
        {"kind": "sentencepiece", "unk_token": "<unk>", "byte_fallback": True},
        {"kind": "character", "unk_token": "<unk>"},
        {"kind": "character", "unk_token": "<unk>", "cut": "whitespace", "end_of_word_suffix": ""},
    ],
)
def test_what_is_written_encodes_as_in_tokenizers(tmp_path, options):
    tokenizers = pytest.importorskip("tokenizers")
    texts = ["the theatre <sep> of the other", "Another mother", "日本 the end"]
    trained = train_bpe(texts * 3, vocab_size=600, special_tokens=["<unk>"], **options)
    path = tmp_path / "tokenizer.json"
    trained.write_tokenizer_json(path)
    reference = tokenizers.Tokenizer.from_file(str(path))
    compiled = numba_nlp.Tokenizer(trained.compile())
    assert vocab_tools.compile(path)["piece_bytes"].tolist() == trained.compile()["piece_bytes"].tolist()
    for text in (*texts, "unseen words <unk> here<sep>"):
        assert compiled.encode(text, special="match").tolist() == reference.encode(text).ids


def test_user_defined_symbols_are_in_no_other_token():
    texts = ["ab<sep>ab<sep>ab"] * 4
    trained = train_bpe(texts, vocab_size=400, special_tokens=["<s>"], user_defined_symbols=["<sep>"])
    assert list(trained.vocabulary)[:2] == ["<s>", "<sep>"]
    assert trained.merges == (("a", "b"),)


def test_gpt2_files(tmp_path):
    trained = train_bpe(["low lower lowest"] * 5, vocab_size=262, special_tokens=["<|endoftext|>"])
    paths = trained.write_gpt2_files(tmp_path / "made")
    assert paths[1].read_text(encoding="utf-8").splitlines()[:3] == ["#version: 0.2", "l o", "lo w"]
    compiled = numba_nlp.Tokenizer(vocab_tools.compile(paths))
    assert (
        compiled.encode("low lowest").tolist() == numba_nlp.Tokenizer(trained.compile()).encode("low lowest").tolist()
    )


def test_codes_compile(tmp_path):
    applier = pytest.importorskip("subword_nmt.apply_bpe")
    trained = train_bpe(["low lower lowest"] * 5, kind="subword-nmt", num_symbols=4)
    trained.write_codes(tmp_path / "codes")
    with open(tmp_path / "codes", encoding="utf-8") as stream:
        expected = applier.BPE(stream).process_line("low lowest").split()
    tokenizer = numba_nlp.Tokenizer(trained.compile())
    assert [tokenizer.id_to_token(i) for i in tokenizer.encode("low lowest")] == expected


def test_a_file_that_cannot_hold_a_merge(tmp_path):
    trained = train_bpe({"a b": 2}, kind="character", cut="none", end_of_word_suffix="")
    with pytest.raises(ConversionError, match="one space between two parts"):
        trained.write_gpt2_files(tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConversionError, match="at ends of words"):
        trained.write_codes(tmp_path / "codes")


def test_codes_that_no_line_can_be_say_the_way_out(tmp_path):
    trained = train_bpe(["a\rb a\rb"], kind="subword-nmt", num_symbols=3)
    with pytest.raises(ConversionError, match=r"a line of codes, .*; take such characters out of the words"):
        trained.write_codes(tmp_path / "codes")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "options", "n_tokens", "reached"),
    [
        ([], {"vocab_size": 300}, 256, False),
        (["a"], {"vocab_size": 300}, 256, False),
        (["aa"], {"vocab_size": 300}, 257, False),
        (["aaaa"], {"vocab_size": 100}, 256, True),
        (["abab abab"], {"vocab_size": 300, "min_frequency": 3}, 257, False),
        ([], {"kind": "sentencepiece"}, 0, False),
        ([], {"kind": "subword-nmt"}, 0, False),
    ],
)
def test_small_corpora(source, options, n_tokens, reached):
    trained = train_bpe(source, **options)
    assert (len(trained.vocabulary), trained.reached) == (n_tokens, reached)


def test_counts_beyond_32_bits_do_not_overflow():
    trained = train_bpe({"ab": 2**60, "bc": 2**59, "cd": 2**60 + 1}, vocab_size=258)
    assert trained.merges == (("c", "d"), ("a", "b"))


def test_threads_and_counted_words_do_not_matter(lines):
    counts = count_words(lines, cut="gpt2", n_threads=3)
    assert train_bpe(lines, vocab_size=700, n_threads=1).merges == train_bpe(counts, vocab_size=700).merges


def test_a_long_word():
    word = "ab" * 50_000
    assert len(train_bpe([word], vocab_size=262).merges) == 6


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "unigram"}, ValueError, "`kind` must be 'byte-level', .* got 'unigram'"),
        ({"kind": "subword-nmt", "vocab_size": 9}, ValueError, "`vocab_size` as given does not apply"),
        ({"num_symbols": 9}, ValueError, "`num_symbols` as given does not apply to kind='byte-level'"),
        ({"cut": "bert"}, ValueError, "byte-level pattern"),
        ({"kind": "sentencepiece", "cut": "gpt2"}, ValueError, "`cut` as given"),
        ({"vocab_size": -1}, ValueError, "`vocab_size` must be a whole number from 0 to 2147483647, got -1"),
        ({"vocab_size": 2.5}, TypeError, "`vocab_size` must be a whole number"),
        ({"special_tokens": ["a", "a"]}, ValueError, "holds 'a' twice"),
        ({"special_tokens": [""]}, ValueError, "which is empty"),
        ({"unk_token": "<unk>"}, ValueError, "must be one of `special_tokens`"),
        ({"kind": "character", "initial_alphabet": ["ab"]}, ValueError, "single characters"),
        ({"kind": "character", "end_of_word_suffix": " "}, ValueError, "no white space"),
        ({"special_tokens": None}, TypeError, "`special_tokens` must hold strings, got None"),
        ({"special_tokens": {"a", "b"}}, TypeError, "`special_tokens` is a set, whose order differs"),
        ({"special_tokens": ["\ud800"]}, ValueError, "`special_tokens` must be valid Unicode"),
        ({"user_defined_symbols": [1]}, TypeError, "`user_defined_symbols` must hold strings"),
        ({"kind": "character", "initial_alphabet": [1]}, TypeError, "`initial_alphabet` must be a str, got 1"),
        ({"kind": "character", "initial_alphabet": 1}, TypeError, "`initial_alphabet` must hold single characters"),
        ({"kind": "character", "initial_alphabet": ["\ud800"]}, ValueError, "`initial_alphabet` must be valid Unicode"),
        ({"kind": "character", "end_of_word_suffix": 5}, TypeError, "`end_of_word_suffix` must be a str, got 5"),
        ({"kind": "character", "end_of_word_suffix": "\ud800"}, ValueError, "`end_of_word_suffix` must be valid"),
        ({"kind": "character", "continuing_subword_prefix": None}, TypeError, "got None; pass '' for no mark"),
        ({"kind": "sentencepiece", "byte_fallback": "x"}, TypeError, "`byte_fallback` must be True or False"),
        ({"add_prefix_space": "yes"}, TypeError, "`add_prefix_space` must be True or False, got 'yes'"),
        ({"n_threads": "2"}, TypeError, "`n_threads` must be a whole number from 1 on, got '2'"),
        ({"n_threads": 0}, ValueError, "`n_threads` must be a whole number from 1 on, got 0"),
        ({"errors": "zz"}, ValueError, "`errors` must be 'strict' or 'replace', got 'zz'"),
    ],
)
def test_options_that_are_wrong(options, error, message):
    with pytest.raises(error, match=message):
        train_bpe(["a"], **options)


def test_numbers_of_numpy_are_numbers():
    words = {"low": 5, "lower": 2, "lowest": 2}
    merges = train_bpe(words, vocab_size=np.int64(258), min_frequency=np.uint8(2)).merges
    assert merges == train_bpe(words, vocab_size=258, min_frequency=2).merges
    assert len(merges) == 2


def test_sums_that_int64_does_not_hold_are_refused():
    """``a a`` occurs 4 * 2 ** 62 times, which would wrap to 0 and never merge."""
    counts = {"aaaaab": 2**62, "cd": 2**61}
    total = 6 * 2**62 + 2 * 2**61
    with pytest.raises(SourceFormatError, match=f"the bytes of all words, .* add up to {total}, more than"):
        train_bpe(counts, vocab_size=300)
    with pytest.raises(SourceFormatError, match=f"the characters of all words, .* add up to {total}, more than"):
        train_bpe(counts, kind="subword-nmt", num_symbols=5)
    # characters count where words are made of them, not bytes
    fits = {"é": 2**62}
    with pytest.raises(SourceFormatError, match="the bytes of all words"):
        train_bpe(fits, vocab_size=300)
    assert train_bpe(fits, kind="subword-nmt", num_symbols=5).merges == ()
    largest = {"aaaaab": 2**60, "cd": 2**59}
    assert train_bpe(largest, vocab_size=300).merges[:2] == (("a", "a"), ("a", "b"))


def test_marked_pieces_of_words_between_spaces_compile():
    lines = ["low lower lowest"] * 3
    trained = train_bpe(lines, kind="character", cut="whitespace", special_tokens=["<unk>"], unk_token="<unk>")
    tokenizer = numba_nlp.Tokenizer(trained.compile())
    reference = pytest.importorskip("tokenizers").Tokenizer.from_str(json.dumps(trained.document()))
    assert tokenizer.encode("lowest low x").tolist() == reference.encode("lowest low x").ids
