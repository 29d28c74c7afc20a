"""New tokens: where each format has them, and what its library then makes of a text."""

from __future__ import annotations

import json

import pytest
from tokenizers import AddedToken, Tokenizer

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.vocab_tools.editing.sources import SOURCES, target_of, texts

NEW = ["<new>", "two words", "über"]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", SOURCES)
def test_new_tokens_follow_the_last_id(name, special, tmp_path):
    source = SOURCES[name](tmp_path)
    before = nlp.load_tokenizer(source.paths, **source.options)
    target = target_of(name, tmp_path)
    if name == "merges" or (name, special) in (("ranks", False), ("words", True)):
        with pytest.raises(UnsupportedFeatureError, match="<new>"):
            vocab_tools.extend(source.paths, target, NEW, special=special, **source.options)
        assert not target.exists()
        return
    made = vocab_tools.extend(source.paths, target, NEW, special=special, **source.options)
    assert made.ids == {token: before.vocab_size + place for place, token in enumerate(NEW)}
    after = nlp.load_tokenizer(made.paths[0], **made.options)
    assert after.vocab_size == before.vocab_size + len(NEW)
    # by the library of the format: a text with the tokens, and texts without them as before
    new, old = source.encoder(made.paths[0], made.options), source.encoder(source.paths, source.options)
    text = f"to be {' or '.join(NEW)}, or not"
    # tiktoken's encoder of the tests matches special tokens, sentencepiece gives control pieces to no text
    assert after.encode(text, special="match" if name == "ranks" else None).tolist() == new(text)
    given = set(made.ids.values()) & set(new(text))
    if name.endswith("model") and special:
        assert given == set()
        assert len(made.notes) == len(NEW)
    elif name == "words":
        assert given == set()  # its words hold no "<" and no space, and lose their accents
        assert len(made.notes) == len(NEW)
    else:
        assert given == set(made.ids.values())
        assert made.notes == ()
    for other in texts():
        assert new(other) == old(other)


@pytest.mark.parametrize("special", [False, True])
def test_the_file_is_that_of_tokenizers(special, tmp_path):
    source = SOURCES["byte-level json"](tmp_path)
    reference = Tokenizer.from_file(str(source.paths))
    tokens = [AddedToken(token, normalized=not special) for token in NEW]
    (reference.add_special_tokens if special else reference.add_tokens)(tokens)
    made = vocab_tools.extend(source.paths, tmp_path / "new.json", NEW, special=special)
    assert json.loads(made.paths[0].read_text(encoding="utf-8")) == json.loads(reference.to_str())


def test_a_word_of_a_vocab_txt(tmp_path):
    source = SOURCES["words"](tmp_path)
    made = vocab_tools.extend(source.paths, tmp_path / "new.vocab.txt", ["elsinore"])
    assert made.notes == ()
    assert source.encoder(made.paths[0], {})("Elsinore") == [made.ids["elsinore"]]
    assert nlp.load_tokenizer(made.paths[0]).encode("Elsinore").tolist() == [made.ids["elsinore"]]


def test_compiled_vocabularies(tmp_path):
    source = SOURCES["unigram model"](tmp_path)
    vocab_tools.compile(source.paths).save(tmp_path / "old.safetensors")
    made = vocab_tools.extend(tmp_path / "old.safetensors", tmp_path / "new.safetensors", ["<new>"])
    again = vocab_tools.extend(tmp_path / "new.safetensors", tmp_path / "newer.model", ["<newer>"])
    assert again.ids["<newer>"] == made.ids["<new>"] + 1
    after = source.encoder(again.paths[0], {})
    assert {made.ids["<new>"], again.ids["<newer>"]} <= set(after("a<new>b<newer>"))


def test_what_is_refused(tmp_path):
    source = SOURCES["words"](tmp_path)
    target = tmp_path / "new.vocab.txt"
    for tokens, message in (
        ([], "no tokens"),
        (["a", ""], "empty"),
        (["[MASK]"], r"'\[MASK\]' is there already, with the id 4"),
        (["ends "], "ends with white space"),
    ):
        with pytest.raises(SourceFormatError, match=message):
            vocab_tools.extend(source.paths, target, tokens)
    assert not target.exists()
    short = tmp_path / "short.vocab.txt"
    short.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", encoding="utf-8")
    with pytest.raises(SourceFormatError, match=r"'\[MASK\]' is no line of the file"):
        vocab_tools.extend(short, target, ["b"])
