"""Smaller vocabularies: the ids that stay are what they were, and the libraries of the formats encode with them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.numpy
from tokenizers import Tokenizer, decoders

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.text_rows import TextRows
from tests.vocab_tools.editing.sources import SOURCES, target_of, texts
from tests.vocab_tools.sources import train

any_source = pytest.mark.parametrize("name", SOURCES)


def new_source(made):
    return list(made.paths) if len(made.paths) > 1 else made.paths[0]


@any_source
def test_a_corpus_is_cut_as_before_with_what_it_uses(name, tmp_path):
    source = SOURCES[name](tmp_path)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"{text}\n" for text in texts()), encoding="utf-8")
    made = vocab_tools.prune(source.paths, target_of(name, tmp_path), corpus=corpus, **source.options)
    before = nlp.load_tokenizer(source.paths, **source.options)
    after = nlp.load_tokenizer(new_source(made), **made.options)
    assert after.vocab_size == made.kept.size < before.vocab_size == made.new_ids.size
    # by the library of the format, with the old files and the new ones
    old, new = source.encoder(source.paths, source.options), source.encoder(new_source(made), made.options)
    for text in corpus.read_text(encoding="utf-8").split("\n"):
        expected = made.new_ids[old(text)].tolist()
        assert min(expected, default=0) >= 0
        assert new(text) == expected
        assert after.encode(text).tolist() == expected
    for number, kept in enumerate(made.kept.tolist()):
        assert after.id_to_token(number) == before.id_to_token(kept)
        assert after.decode([number]) == before.decode([kept])
    for token, number in before.special_tokens.items():
        assert after.special_tokens[token] == made.new_ids[number]


@any_source
def test_a_number_of_ids(name, tmp_path):
    source = SOURCES[name](tmp_path)
    before = nlp.load_tokenizer(source.paths, **source.options)
    with pytest.raises(SourceFormatError, match=r"size=1 is too small: (\d+) ids") as refusal:
        vocab_tools.prune(source.paths, target_of(name, tmp_path), size=1, **source.options)
    least = int(refusal.value.args[0].split("too small: ")[1].split()[0])
    assert not target_of(name, tmp_path).exists()
    size = (least + before.vocab_size) // 2
    rows = TextRows.from_strings(texts())
    plain = vocab_tools.prune(source.paths, target_of(name, tmp_path), size=size, **source.options)
    by_use = vocab_tools.prune(source.paths, target_of(name, tmp_path), size=size, corpus=rows, **source.options)
    assert plain.kept.size == by_use.kept.size == size
    counts = np.bincount(before.encode_batch(rows, special="plain").values, minlength=before.vocab_size)
    assert counts[by_use.kept].sum() > counts[plain.kept].sum()
    # every text can be encoded still, by the library too
    new = source.encoder(new_source(by_use), by_use.options)
    after = nlp.load_tokenizer(new_source(by_use), **by_use.options)
    for text in texts():
        assert after.encode(text).tolist() == new(text)


@pytest.mark.parametrize("size", [300, 350])
def test_the_first_merges_are_those_of_a_smaller_training(size, tmp_path):
    large = train(400)
    large.decoder = decoders.ByteLevel()
    large.save(str(tmp_path / "large.json"))
    vocab_tools.prune(tmp_path / "large.json", tmp_path / "small.json", size=size)
    small, expected = (Tokenizer.from_file(str(tmp_path / "small.json")), train(size))
    assert small.get_vocab() == expected.get_vocab()
    merges = [json.loads(tokenizer.to_str())["model"]["merges"] for tokenizer in (small, expected)]
    assert merges[0] == merges[1]


def test_compiled_vocabularies(tmp_path):
    source = SOURCES["unigram model"](tmp_path)
    vocab_tools.compile(source.paths, name="mine").save(tmp_path / "old.safetensors")
    kept_small = vocab_tools.prune(tmp_path / "old.safetensors", tmp_path / "new.safetensors", size=200)
    of_model = vocab_tools.prune(source.paths, tmp_path / "new.model", size=200)
    assert (kept_small.new_ids == of_model.new_ids).all()
    assert kept_small.options == {}
    compiled = nlp.load_tokenizer(tmp_path / "new.safetensors")
    assert compiled.vocabulary.metadata["name"] == "mine"
    assert (
        compiled.encode("To be, or not to be").tolist()
        == nlp.load_tokenizer(tmp_path / "new.model").encode("To be, or not to be").tolist()
    )


@pytest.mark.parametrize("suffix", [".npy", ".json", ".safetensors"])
def test_the_mapping_cuts_a_matrix(suffix, tmp_path):
    source = SOURCES["words"](tmp_path)
    path = tmp_path / f"map{suffix}"
    made = vocab_tools.prune(source.paths, tmp_path / "new.vocab.txt", size=300, id_map=path)
    old, new = (file.read_text(encoding="utf-8").split() for file in (source.paths, made.paths[0]))
    assert len(new) == 300
    if suffix == ".npy":
        new_ids = np.load(path)
    elif suffix == ".safetensors":
        arrays = safetensors.numpy.load_file(path)
        new_ids = arrays["new_ids"]
        assert np.array(old)[arrays["kept"]].tolist() == new
    else:
        given = json.loads(path.read_text(encoding="utf-8"))
        new_ids = np.full(len(old), -1)
        new_ids[[int(number) for number in given]] = list(given.values())
    assert [old[number] for number in np.argsort(new_ids)[-300:]] == new
    assert (new_ids == made.new_ids).all()


def test_what_is_refused(tmp_path):
    source = SOURCES["words"](tmp_path)
    with pytest.raises(SourceFormatError, match="corpus= or size="):
        vocab_tools.prune(source.paths, tmp_path / "new.vocab.txt")
    with pytest.raises(SourceFormatError, match=r"map\.txt: a mapping of ids"):
        vocab_tools.prune(source.paths, tmp_path / "new.vocab.txt", size=300, id_map=tmp_path / "map.txt")
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nt h\nth e</w>\n", encoding="utf-8")
    with pytest.raises(UnsupportedFeatureError, match="codes: is a source of the format 'subword-nmt'"):
        vocab_tools.prune(codes, tmp_path / "new", size=2)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    with pytest.raises(UnsupportedFeatureError, match="a checkpoint folder"):
        vocab_tools.prune(tmp_path, tmp_path / "new", size=2)
    pair = SOURCES["merges"](tmp_path)
    with pytest.raises(SourceFormatError, match="needs a folder"):
        vocab_tools.prune(pair.paths, codes.rename(tmp_path / "file.txt"), size=300)
    with pytest.raises(SourceFormatError, match=r"by its name it is a vocab\.txt of BERT"):
        vocab_tools.prune(pair.paths, source.paths, size=300)
