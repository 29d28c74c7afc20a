"""Byte-level BPE, WordPiece and codes between their formats, by what their libraries make of texts."""

from __future__ import annotations

import io
import json

import pytest
import tiktoken
from subword_nmt.apply_bpe import BPE
from tokenizers import Tokenizer

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import ConversionError, SourceFormatError
from tests.checkpoint_folders import BERT_LINES, bert_files, end_of_word, merged_files, write_folder
from tests.made_tokenizers import BERT_FILE, GPT2_FILES, TEXTS, bert, gpt2
from tests.vocab_tools.sources import added, tokenizer_file, vocabulary, write_json, write_ranks
from tools.references import read_ranks
from vocab_tools.formats.detect import detect

BYTES = {bytes([byte]): byte for byte in range(256)}


def ids(path, texts=TEXTS):
    reference = Tokenizer.from_file(str(path))
    return [found.ids for found in reference.encode_batch(texts, add_special_tokens=False)]


def test_gpt2_through_all_its_formats(tmp_path):
    """Two files, tokenizer.json, ranks, two files again."""
    expected = [found.ids for found in gpt2().reference.encode_batch(TEXTS, add_special_tokens=False)]
    document = vocab_tools.convert(GPT2_FILES, tmp_path / "tokenizer.json", family="gpt2")
    assert ids(document.paths[0]) == expected
    ranks = vocab_tools.convert(document.paths[0], tmp_path / "gpt2.tiktoken")
    # the published r50k_base.tiktoken, so that its pattern and special token are known
    assert ranks.options == {}
    described = vocab_tools.compiler.describe_source(ranks.paths[0])
    encoding = tiktoken.Encoding(
        "made", pat_str=described.pattern_regex, mergeable_ranks=read_ranks(ranks.paths[0]), special_tokens={}
    )
    assert encoding.encode_ordinary_batch(TEXTS) == expected
    back = vocab_tools.convert(ranks.paths[0], tmp_path / "back", to="merges.txt")
    assert [path.name for path in back.paths] == ["vocab.json", "merges.txt"]
    first, second = (json.loads(path.read_text(encoding="utf-8")) for path in (GPT2_FILES[0], back.paths[0]))
    assert first == second
    assert GPT2_FILES[1].read_text(encoding="utf-8").split() == back.paths[1].read_text(encoding="utf-8").split()


def test_ranks_with_gaps_and_special_tokens(tmp_path):
    """Ids of special tokens stay, though tokenizers would number them on from the number of pieces."""
    ranks = {**BYTES, b"th": 256, b"the": 257, b" the": 300, b"\x20t": 259}
    source = write_ranks(tmp_path / "made.tiktoken", ranks)
    options = {"pattern": "llama3", "special_tokens": {"<|end|>": 400, "<|pad|>": 310}, "allow_gaps": True}
    made = vocab_tools.convert(source, tmp_path / "tokenizer.json", **options)
    assert made.options == {"allow_gaps": True}
    reference = Tokenizer.from_file(str(made.paths[0]))
    assert reference.token_to_id("<|end|>") == 400
    assert reference.encode("the<|end|> the", add_special_tokens=False).ids == [257, 400, 300]
    back = vocab_tools.convert(made.paths[0], tmp_path / "back.tiktoken", **made.options)
    assert back.options == options
    assert read_ranks(back.paths[0]) == ranks


def test_a_pattern_without_a_name_is_not_moved_to_another_engine(tmp_path):
    source = write_ranks(tmp_path / "made.tiktoken", BYTES)
    with pytest.raises(ConversionError, match="expression of another engine"):
        vocab_tools.convert(source, tmp_path / "tokenizer.json", pattern=r"\w+|\W+")


def test_cl100k_has_an_expression_that_tokenizers_cuts_alike_with(tmp_path):
    source = write_ranks(tmp_path / "made.tiktoken", {**BYTES, b"  ": 256, b" \n": 257, b" \n ": 258})
    made = vocab_tools.convert(source, tmp_path / "tokenizer.json", pattern="cl100k")
    described = vocab_tools.compiler.describe_source(source, pattern="cl100k")
    encoding = tiktoken.Encoding(
        "made", pat_str=described.pattern_regex, mergeable_ranks=read_ranks(source), special_tokens={}
    )
    texts = [*TEXTS, "a \n ", "a \n  b", " \n", "\n\n  ", "12345 \r\n x"]
    assert ids(made.paths[0], texts) == encoding.encode_ordinary_batch(texts)


def test_ranks_in_another_order_than_merges(tmp_path):
    source = write_json(tmp_path / "a.json", tokenizer_file(vocabulary("he", "the", "th"), ["t h", "th e", "h e"]))
    with pytest.raises(ConversionError, match="merges, or their order"):
        vocab_tools.convert(source, tmp_path / "a.tiktoken")
    assert not (tmp_path / "a.tiktoken").exists()


def test_what_two_files_cannot_hold_is_named(tmp_path):
    tokens = [added("<|endoftext|>", 257), added("[x]", 258)]
    source = write_json(
        tmp_path / "a.json", tokenizer_file(vocabulary("th"), ["t h"], tokens, normalizer={"type": "NFC"})
    )
    with pytest.raises(ConversionError, match=r"normalizers \(.*special or added tokens") as caught:
        vocab_tools.convert(source, tmp_path / "made", to="merges.txt")
    assert str(source) in str(caught.value)
    assert not (tmp_path / "made").exists()


def test_gpt_with_marks_at_the_end_of_words(tmp_path):
    folder = write_folder(tmp_path / "gpt", merged_files(end_of_word("<unk>")))
    files = [folder / "vocab.json", folder / "merges.txt"]
    made = vocab_tools.convert(files, tmp_path / "tokenizer.json", family="openai-gpt")
    texts = ["the thing", "The, THE; ing?", "", "日本 th"]
    ours = nlp.load_tokenizer(files, family="openai-gpt")
    assert [row.tolist() for row in ours.encode_batch(texts)] == ids(made.paths[0], texts)
    back = vocab_tools.convert(made.paths[0], tmp_path / "back", to="merges.txt")
    assert back.options == {"family": "openai-gpt"}
    assert [path.read_bytes() for path in back.paths][1] == files[1].read_bytes()


def test_bert_there_and_back(tmp_path):
    made = vocab_tools.convert(BERT_FILE, tmp_path / "tokenizer.json")
    expected = [found.ids for found in bert().reference.encode_batch(TEXTS, add_special_tokens=False)]
    assert ids(made.paths[0]) == expected
    back = vocab_tools.convert(made.paths[0], tmp_path / "vocab.txt")
    assert (back.options, back.paths[0].read_bytes()) == ({}, BERT_FILE.read_bytes())


def test_options_of_a_word_list_come_with_it(tmp_path):
    folder = write_folder(tmp_path, bert_files())
    asked = {"do_lower_case": False, "tokenize_chinese_chars": False, "max_input_chars_per_word": 7}
    made = vocab_tools.convert(folder / "vocab.txt", tmp_path / "tokenizer.json", **asked)
    back = vocab_tools.convert(made.paths[0], tmp_path / "back_vocab.txt")
    assert back.options == asked
    assert back.paths[0].read_text(encoding="utf-8").split() == list(BERT_LINES)


def test_another_template_than_berts_is_lost(tmp_path):
    folder = write_folder(tmp_path, bert_files())
    made = vocab_tools.convert(folder / "vocab.txt", tmp_path / "tokenizer.json")
    document = json.loads(made.paths[0].read_text(encoding="utf-8"))
    document["post_processor"]["single"].pop()
    path = write_json(tmp_path / "tokenizer.json", document)
    with pytest.raises(ConversionError, match="the template of model inputs"):
        vocab_tools.convert(path, tmp_path / "back_vocab.txt")
    assert vocab_tools.convert(path, tmp_path / "back_vocab.txt", ignore=("template",)).options == {}


CODES = "#version: 0.2\nt h\nth e</w>\na n\nan d</w>\n"


def test_codes_there_and_back_with_their_vocabulary(tmp_path):
    codes, frequencies = tmp_path / "codes", tmp_path / "frequencies"
    codes.write_text(CODES, encoding="utf-8")
    frequencies.write_text("the 9\nan@@ 5\nd 3\nt@@ 2\nh@@ 2\ne 2\n", encoding="utf-8")
    options = {"vocabulary": frequencies, "vocabulary_threshold": 2}
    made = vocab_tools.convert(codes, tmp_path / "fast.codes", to="fastbpe", **options)
    assert made.paths[0].read_text(encoding="utf-8") == "t h 0\nth e</w> 0\na n 0\nan d</w> 0\n"
    assert detect(made.paths[0]).format == "fastbpe"
    before, after = nlp.load_tokenizer(codes, **options), nlp.load_tokenizer(made.paths[0], **made.options)
    text = "the and then thand"
    assert before.encode(text).tolist() == after.encode(text).tolist()
    back = vocab_tools.convert(made.paths[0], tmp_path / "back.codes", to="subword-nmt")
    assert back.paths[0].read_text(encoding="utf-8") == CODES
    assert BPE(io.StringIO(CODES)).process_line(text) == "the and th@@ e@@ n th@@ an@@ d".replace(
        "th@@ an@@ d", "th@@ and"
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("t h\nth e</w>\n", {}, "version 0.1"),
        (CODES, {"separator": "//"}, "separator '//' would be lost"),
    ],
)
def test_codes_that_fastbpe_does_not_have(tmp_path, content, options, message):
    codes = tmp_path / "codes"
    codes.write_text(content, encoding="utf-8")
    with pytest.raises(ConversionError, match=message):
        vocab_tools.convert(codes, tmp_path / "fast.codes", to="fastbpe", **options)


@pytest.mark.parametrize("line", ["t h", "t h x", "t  h 3", "t h 3 4"])
def test_broken_codes_of_fastbpe(tmp_path, line):
    codes = tmp_path / "codes"
    codes.write_text(f"a b</w> 7\n{line}\n", encoding="utf-8")
    from vocab_tools.formats.fastbpe_codes import read

    with pytest.raises(SourceFormatError, match=":2: expected two symbols and the frequency"):
        read(codes)
    codes.write_text("a b</w> 7\na b</w> 6\n", encoding="utf-8")
    with pytest.raises(SourceFormatError, match=r":2: the merge .* is listed twice"):
        read(codes)
