"""WordPiece through the public class: special tokens, decoding, spelling, options, what runs."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import numba_nlp as nlp
import vocab_tools
from numba_nlp._jit import kernels
from numba_nlp.errors import SourceFormatError, SpecialTokenError, UnknownTokenError
from numba_nlp.kernels.segment.wordpiece import encode_words
from tests.made_tokenizers import BERT_FILE, HAMLET, TEXTS, bert
from tests.wordpiece_cases import PIECES, toy_wordpiece

CLS, SEP, MASK, UNK = 101, 102, 103, 100


def spans(found: object) -> list[tuple[int, int, int]]:
    return list(zip(*(part.tolist() for part in found), strict=True))  # type: ignore[attr-defined]


def test_template_and_spans_of_its_tokens() -> None:
    ours, reference = bert()
    text = "na\u00efve, unaffable"
    expected = reference.encode(text)
    ids, starts, ends = ours.encode(text, add_special_tokens=True, spans=True)
    assert ids.tolist() == expected.ids
    assert (ids[0], ids[-1]) == (CLS, SEP)
    inner = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert inner[0] == inner[-1] == (-1, -1)
    assert inner[1:-1] == expected.offsets[1:-1]
    batch = ours.encode_batch([text, "", "x"], add_special_tokens=True, spans=True)
    assert [row.tolist() for row in batch] == [expected.ids, [CLS, SEP], [CLS, 1060, SEP]]
    assert ours.count(text, add_special_tokens=True) == len(expected.ids)


def test_policies_for_special_tokens() -> None:
    ours, reference = bert()
    text = "a [MASK] b[SEP]"
    assert ours.encode(text).tolist() == reference.encode(text, add_special_tokens=False).ids == [1037, MASK, 1038, SEP]
    assert spans(ours.encode(text, spans=True, unit="byte")) == [
        (1037, 0, 1),
        (MASK, 2, 8),
        (1038, 9, 10),
        (SEP, 10, 15),
    ]
    plain = ours.encode(text, special="plain")
    assert MASK not in plain
    assert [ours.id_to_token(number) for number in plain.tolist()][:4] == ["a", "[", "mask", "]"]
    with pytest.raises(SpecialTokenError, match=r"the special token '\[MASK\]' \(row 0, byte 2\)"):
        ours.encode(text, special="raise")
    with pytest.raises(SpecialTokenError, match=r"'\[SEP\]'"):
        ours.encode(text, special={"[MASK]"})
    assert nlp.load_tokenizer(BERT_FILE, special="plain").encode(text).tolist() == plain.tolist()


def test_decoding_is_that_of_the_format() -> None:
    ours, reference = bert()
    lines = HAMLET.read_text(encoding="utf-8").splitlines()[100:400]
    batch = ours.encode_batch(lines, add_special_tokens=True)
    rows = [row.tolist() for row in batch]
    for skip in (False, True):
        expected = reference.decode_batch(rows, skip_special_tokens=skip)
        assert ours.decode_batch(batch, skip_special_tokens=skip) == expected
        assert [ours.decode(row, skip_special_tokens=skip) for row in rows] == expected
    assert ours.decode([]) == ""
    assert ours.decode([CLS, SEP], skip_special_tokens=True) == ""
    assert ours.decode_bytes([CLS, 7592, SEP], skip_special_tokens=True) == b"hello"
    assert ours.decode_batch(nlp.Ragged(np.array([7592, 2088], np.int32), np.array([0, 0, 2]))) == ["", "hello world"]


def test_ids_that_are_not_there() -> None:
    ours = bert().ours
    for bad in (-1, 30522, 2**40):
        with pytest.raises(UnknownTokenError, match=rf"id {bad} \(place 1\) is not in the vocabulary"):
            ours.decode([5, bad])
        with pytest.raises(UnknownTokenError, match=rf"id {bad} "):
            ours.id_to_token(bad)
    with pytest.raises(UnknownTokenError, match=r"id -1 \(row 1, place 0\)"):
        ours.decode_batch([[5], [-1, 5]])


def test_tokens_and_ids() -> None:
    ours, reference = bert()
    for number in [*range(0, 30522, 7), CLS, SEP, MASK, UNK]:
        token = ours.id_to_token(number)
        assert token == reference.id_to_token(number)
        assert ours.token_to_id(token) == ours.token_to_id(token.encode()) == number
    assert ours.id_to_token(3085) == "##able"
    for token in ("", "no such token", "\ud800", b"\xff", b"a\xff"):
        with pytest.raises(UnknownTokenError, match="the vocabulary has no token"):
            ours.token_to_id(token)
    assert dict(ours.special_tokens) == {"[CLS]": CLS, "[MASK]": MASK, "[PAD]": 0, "[SEP]": SEP, "[UNK]": UNK}


def test_gaps_and_added_tokens_outside_the_model() -> None:
    from vocab_tools.formats.description import AddedToken

    token = AddedToken("<new>", PIECES.index("[PAD]"), special=False)
    tok = nlp.Tokenizer(toy_wordpiece(added_tokens=(token,)))
    assert tok.encode("a<new>b", spans=True)[0].tolist() == [PIECES.index("a"), token.id, PIECES.index("b")]
    assert tok.id_to_token(token.id) == "<new>"
    assert tok.token_to_id("<new>") == tok.token_to_id(b"<new>") == token.id


def test_options_of_the_source() -> None:
    cased = nlp.load_tokenizer(BERT_FILE, do_lower_case=False)
    assert cased.encode("Hello").tolist() != bert().ours.encode("Hello").tolist()
    assert cased.encode("hello").tolist() == [7592]
    kept = nlp.load_tokenizer(BERT_FILE, strip_accents=False)
    assert kept.encode("na\u00efve").tolist() != bert().ours.encode("na\u00efve").tolist() == [15743]
    short = nlp.load_tokenizer(BERT_FILE, max_input_chars_per_word=4)
    assert short.encode("word words").tolist() == [2773, UNK]
    joined = nlp.load_tokenizer(BERT_FILE, tokenize_chinese_chars=False)
    assert joined.encode("\u4e00\u4e2d").size == 2
    assert [joined.id_to_token(i) for i in joined.encode("\u4e00\u4e2d").tolist()][1].startswith("##")
    with pytest.raises(SourceFormatError, match="max_input_chars_per_word must be a whole number"):
        nlp.load_tokenizer(BERT_FILE, max_input_chars_per_word=-1)
    with pytest.raises(SourceFormatError, match=r"pattern= does not apply to .*vocab\.txt.*only to 'tiktoken'"):
        nlp.load_tokenizer(BERT_FILE, pattern="gpt2")
    with pytest.raises(TypeError, match="lowercase"):
        nlp.load_tokenizer(BERT_FILE, lowercase=False)


def test_vocab_txt_is_known_by_its_content_or_its_name(tmp_path: Path) -> None:
    other = tmp_path / "words"
    other.write_bytes(b"[PAD]\r\n[UNK]\r\na\r\n")
    assert vocab_tools.compile(other, name="x").metadata["source_format"] == "vocab.txt"
    named = tmp_path / "my-vocab.txt"
    named.write_text("<u>\na\n", encoding="utf-8")
    assert vocab_tools.compile(named, unk_token="<u>").size == 6
    with pytest.raises(SourceFormatError, match=r"no line is '\[UNK\]'"):
        vocab_tools.compile(named)
    (tmp_path / "vocab.txt").write_text("[UNK]\n", encoding="utf-8")
    with pytest.raises(SourceFormatError, match=r"nothing that says which tokenizer class reads .*vocab\.txt"):
        vocab_tools.compile(tmp_path)


def test_compiled_files_and_pickles(tmp_path: Path) -> None:
    ours = bert().ours
    path = tmp_path / "bert.safetensors"
    ours.vocabulary.save(path)
    loaded = nlp.load_tokenizer(path)
    assert loaded == ours
    expected = ours.encode_batch(TEXTS, spans=True)
    for tok in (loaded, pickle.loads(pickle.dumps(loaded)), pickle.loads(pickle.dumps(ours))):
        assert tok == ours
        assert tok.encode_batch(TEXTS, spans=True, num_threads=2).equals(expected)
        assert [tok.encode(text).tolist() for text in TEXTS] == expected.to_list()


def test_what_is_described() -> None:
    described = bert().ours.describe()
    assert described["algorithm"] == "wordpiece"
    assert described["reference"] == "transformers"
    assert described["unknown_id"] == UNK
    assert described["max_input_chars_per_word"] == 100
    assert (described["lowercase"], described["strip_accents"], described["prefix"]) == (True, True, "##")
    assert described["calls"] == "by address"
    assert repr(bert().ours) == "Tokenizer('vocab', wordpiece, 30522 ids)"


def test_long_words_and_long_rows() -> None:
    ours, reference = bert()
    texts = ["a" * 100, "a" * 101, "a" * 100_000, "\u00e9" * 99, "." * 5000, " " * 100_000 + "x", "\u4e2d" * 3000]
    batch = ours.encode_batch(texts, spans=True)
    for row, text in enumerate(texts):
        expected = reference.encode(text, add_special_tokens=False)
        assert batch[row].tolist() == ours.encode(text).tolist() == expected.ids
        assert list(zip(*(part.tolist() for part in batch.spans(row)), strict=True)) == expected.offsets
    endless = nlp.load_tokenizer(BERT_FILE, max_input_chars_per_word=10**6)
    text = "unaffable" * 2000
    ids, starts, ends = endless.encode(text, spans=True)
    assert ids.size > 4000
    assert np.array_equal(ends[:-1], starts[1:])
    assert "".join(endless.id_to_token(i).removeprefix("##") for i in ids.tolist()) == text


def test_deleted_characters_at_the_ends_of_a_word_belong_to_no_token() -> None:
    ours, reference = bert()
    for text in ("\x00a\x00b\x00", "x \u200b y", "e\u0301e", "\u0301e"):
        expected = reference.encode(text, add_special_tokens=False)
        ids, starts, ends = ours.encode(text, spans=True)
        assert ids.tolist() == expected.ids
        assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected.offsets


def test_after_warmup_nothing_is_compiled() -> None:
    tok = nlp.Tokenizer(toy_wordpiece())
    tok.warmup()

    def compiled() -> int:
        return sum(len(getattr(kernel, "signatures", ())) for kernel in kernels.values())

    before = compiled()
    texts = ["ab abz", "", "h\u00e9 [MASK]", "x" * 70]
    for unit in ("char", "byte"):
        tok.encode(texts[2], spans=True, unit=unit, special="match")
        tok.encode_batch(texts, spans=True, unit=unit, special="match", num_threads=2)
    batch = tok.encode_batch(nlp.TextRows.from_any(texts), special="plain")
    tok.decode_batch(batch, skip_special_tokens=True)
    tok.token_to_id("a")
    assert compiled() == before


def test_kernels_of_users() -> None:
    tok = bert().ours
    tables, _, scratch = tok.kernel_memory()
    text = "Hello, world! unaffable"
    data = np.frombuffer(text.encode(), np.uint8)
    ids, none = np.zeros(data.size, np.int32), np.zeros(0, np.int64)
    n = encode_words(tables, data, 0, data.size, scratch, ids, none, none, 0)
    assert ids[:n].tolist() == tok.encode(text).tolist()
