from __future__ import annotations

import gzip
from collections import Counter

import numpy as np
import pytest

from numba_nlp.errors import InvalidTextError, SourceFormatError
from tests.shared_data import shared
from vocab_tools import corpus
from vocab_tools.formats.character_description import BertOptions
from vocab_tools.training import WordCounts, count_words

TEXTS = ["to be, or not to be", "", "  that's the\tquestion \n", "日本語 ünïcödé İ\u0301"]


def test_items_are_sorted_and_added_up():
    counts = WordCounts.from_items([("b", 2), (b"a", 1), ("b", 3), ("zero", 0), ("ab", 1)])
    assert list(counts.items()) == [(b"a", 1), (b"ab", 1), (b"b", 5)]
    assert (len(counts), counts.total) == (3, 7)
    assert counts.data.dtype == np.uint8
    assert counts.offsets.tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        ([("a", -1)], ValueError, "item 0: the count of 'a' is -1"),
        ([("a", 1), ("b", 1.0)], TypeError, "item 1: the count of 'b' must be an int, got float"),
        ([("a", True)], TypeError, "must be an int, got bool"),
        ([(1, 1)], TypeError, "item 0: a word is str or bytes, got int"),
        ([("\ud800", 1)], ValueError, "is not valid Unicode"),
        ([(b"\xff", 1)], ValueError, "is not valid Unicode"),
        ([("a", 2**62), ("b", 2**62)], ValueError, "divide them"),
    ],
)
def test_items_that_are_none(items, error, message):
    with pytest.raises(error, match=message):
        WordCounts.from_items(items)


def test_a_file_is_its_lines(tmp_path):
    """As tokenizers reads files: white space does not join over the end of a line."""
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b\n\nb")
    expected = [(b"\n", 2), (b" b", 1), (b"a", 1), (b"b", 1)]
    assert list(count_words(path, cut="gpt2").items()) == expected
    assert list(count_words(str(path), cut="gpt2").items()) == expected
    assert list(count_words(["a b\n", "\n", "b"], cut="gpt2").items()) == expected
    packed = tmp_path / "text.txt.gz"
    packed.write_bytes(gzip.compress(b"a b\n\nb"))
    assert list(count_words([path, packed], cut="gpt2").items()) == [(word, 2 * n) for word, n in expected]


def test_arrow_columns():
    pa = pytest.importorskip("pyarrow")
    column = pa.chunked_array([["a b", None], ["b"]])
    assert dict(count_words(column, cut="whitespace").items()) == {b"a": 1, b"b": 2}
    assert dict(count_words(column.chunk(0), cut="whitespace").items()) == {b"a": 1, b"b": 1}


def test_counted_words_are_taken_as_they_are():
    counts = count_words({"a b": 2}, cut="whitespace")
    assert list(counts.items()) == [(b"a b", 2)]
    assert count_words(counts, cut="gpt2") is counts


@pytest.mark.parametrize("cut", ["gpt2", "spaces", "sentencepiece", "bert"])
def test_blocks_and_threads_do_not_change_counts(cut, monkeypatch, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{'x' * (i % 40)} w{i % 7} é\n" for i in range(500)), encoding="utf-8")
    whole = list(count_words(path, cut=cut, n_threads=1).items())
    for size in (1, 17, 1000):
        monkeypatch.setattr(corpus, "BLOCK_BYTES", size)
        assert list(count_words(path, cut=cut, n_threads=3).items()) == whole


def test_cuts_that_mark_words():
    assert dict(count_words(["a  b "], cut="metaspace").items()) == {
        "▁a".encode(): 1,
        "▁".encode(): 2,
        "▁b".encode(): 1,
    }
    assert dict(count_words(["a  b "], cut="sentencepiece").items()) == {"▁a".encode(): 1, "▁b".encode(): 1}
    assert dict(count_words(["a", "a b"], cut="none").items()) == {b"a": 1, b"a b": 1}


def test_prefix_space():
    assert dict(count_words(["a a", " a", ""], cut="gpt2", add_prefix_space=True).items()) == {b" a": 3}
    with pytest.raises(SourceFormatError, match="byte-level"):
        count_words(["a"], cut="bert", add_prefix_space=True)


def test_symbols_are_cut_out():
    found = count_words(["ab<x>cd<xy><x>"], cut="whitespace", user_defined_symbols=["<x>", "<xy>"])
    assert dict(found.items()) == {b"ab": 1, b"cd": 1}


def test_rows_are_normalized():
    class Doubled:
        def normalize_rows(self, data, starts, ends):
            out = np.repeat(data, 2)
            return out, 2 * starts, 2 * ends

    assert dict(count_words(["aB c"], cut="whitespace", normalize=str.lower).items()) == {b"ab": 1, b"c": 1}
    assert dict(count_words(["ab c"], cut="whitespace", normalize=Doubled()).items()) == {b"aabb": 1, b"cc": 1}


def test_bytes_that_are_no_text(tmp_path, monkeypatch):
    path = tmp_path / "broken.txt"
    path.write_bytes(b"good line\nbad \xff line\n")
    monkeypatch.setattr(corpus, "BLOCK_BYTES", 10)
    with pytest.raises(InvalidTextError, match=r"broken\.txt: the bytes from offset 14 on are not UTF-8"):
        count_words(path, cut="gpt2")
    assert "\ufffd".encode() in dict(count_words(path, cut="whitespace", errors="replace").items())


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (b"text", {}, TypeError, "`source` is bytes"),
        (3, {}, TypeError, "got int"),
        (["a", 3], {}, TypeError, "item 1 of `source` is int"),
        (["\ud800"], {}, InvalidTextError, "lone surrogate"),
        (["a"], {"cut": "words"}, SourceFormatError, "cut='words' is not known"),
        (["a"], {"errors": "ignore"}, ValueError, "`errors` must be"),
        (["a"], {"user_defined_symbols": "ab"}, TypeError, "must be a list of str"),
        (["a"], {"n_threads": 0}, ValueError, "at least 1"),
    ],
)
def test_arguments_that_are_wrong(source, options, error, message):
    with pytest.raises(error, match=message):
        count_words(source, **({"cut": "whitespace"} | options))


def test_nothing_to_count(tmp_path):
    (tmp_path / "empty.txt").touch()
    for source in ([], [""], tmp_path / "empty.txt", {}):
        assert len(count_words(source, cut="gpt2")) == 0
    with pytest.raises(FileNotFoundError):
        count_words(tmp_path / "none.txt", cut="gpt2")


def test_long_words_and_many_words():
    """Tables grow, in entries and in bytes."""
    texts = [f"{i}{'x' * (i % 100)}" for i in range(20_000)] + ["y" * 300_000]
    found = dict(count_words(texts, cut="none", n_threads=2).items())
    assert found == Counter(text.encode() for text in texts)


@pytest.mark.parametrize("options", [BertOptions(True, True, None, True), BertOptions(True, True, False, False)])
def test_words_of_bert(options):
    """Expected: the words of tokenizers."""
    tokenizers = pytest.importorskip("tokenizers")
    path = shared("text/udhr_all_languages.txt")
    normalizer = tokenizers.normalizers.BertNormalizer(
        options.clean_text, options.handle_chinese_chars, options.strip_accents, options.lowercase
    )
    cutter = tokenizers.pre_tokenizers.BertPreTokenizer()
    with open(path, encoding="utf-8", newline="\n") as stream:
        lines = [line for number, line in enumerate(stream) if number % 40 == 0]
    expected = Counter(
        word.encode() for line in lines for word, _ in cutter.pre_tokenize_str(normalizer.normalize_str(line))
    )
    assert dict(count_words([*lines, *TEXTS], cut=options).items()) == expected + Counter(
        word.encode() for line in TEXTS for word, _ in cutter.pre_tokenize_str(normalizer.normalize_str(line))
    )


@pytest.mark.parametrize(("cut", "name"), [("metaspace", "Metaspace"), ("whitespace", "WhitespaceSplit")])
def test_words_of_tokenizers(cut, name):
    tokenizers = pytest.importorskip("tokenizers")
    cutter = getattr(tokenizers.pre_tokenizers, name)()
    texts = [*TEXTS, "a\u2581b  c", "\u2581x", "x\u3000y\u0085z"]
    expected = Counter(word.encode() for text in texts for word, _ in cutter.pre_tokenize_str(text))
    assert dict(count_words(texts, cut=cut).items()) == expected
