"""Tokenizers from SentencePiece models: what the interface gives beside ids."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import SpecialTokenError, UnknownTokenError, UnsupportedFeatureError
from tests.made_tokenizers import gpt2
from tests.random_sentencepiece import model_content, random_model, random_texts
from vocab_tools.formats.detect import detect

TEXTS = [*random_texts(5, 40), "", " ", "a <s> b", "ab ab\nab"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "spiece.model"
    file.write_bytes(model_content(3, usual=True))
    return file


def test_a_model_is_told_by_its_content(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "some.bin"
    other.write_bytes(path.read_bytes())
    assert detect(other).format == detect(path).format == "sentencepiece"


def test_compiled_files_and_pickles(path: Path, tmp_path: Path) -> None:
    tok = nlp.load_tokenizer(path)
    expected = tok.encode_batch(TEXTS)
    vocab_tools.compile(path).save(tmp_path / "made.safetensors")
    loaded = nlp.load_tokenizer(tmp_path / "made.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(tok)), pickle.loads(pickle.dumps(loaded))):
        assert other == tok
        assert other.encode_batch(TEXTS).equals(expected)


def test_threads_and_inputs_change_nothing(path: Path) -> None:
    tok = nlp.load_tokenizer(path)
    texts = TEXTS * 3000
    expected = tok.encode_batch(texts, num_threads=1)
    assert tok.encode_batch(texts, num_threads=3).equals(expected)
    assert tok.encode_batch((text.encode() for text in texts), num_threads=2).equals(expected)
    tok._encoder.uses_fast_calls = False
    tok._encoder._contexts.clear()
    assert tok.encode_batch(texts[:200], num_threads=1).equals(expected[:200])


def test_control_pieces_in_text(path: Path) -> None:
    tok = nlp.load_tokenizer(path)
    assert tok.special_tokens == {"<s>": 1}
    assert tok.describe()["special_policy"] == "plain"
    plain = tok.encode("a <s> b")
    assert 1 not in plain
    ids, starts, ends = tok.encode("a <s> b", spans=True, special="match")
    at = ids.tolist().index(1)
    assert (starts[at], ends[at]) == (2, 5)
    assert ids.tolist() == [*tok.encode("a "), 1, *tok.encode(" b")]
    with pytest.raises(SpecialTokenError, match="<s>"):
        tok.encode("a <s> b", special="raise")
    assert vocab_tools.compile(path, special="match").metadata["special_policy"] == "match"


def test_random_models_are_the_same_in_every_process() -> None:
    """Their pieces do not depend on the order of sets, which another process has in another way."""
    code = (
        "from hashlib import sha256; from tests.random_sentencepiece import TYPES, model_content; "
        "print(sha256(b''.join(model_content(seed, kind) for seed in range(6) for kind in TYPES)).hexdigest())"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    found = {
        subprocess.check_output([sys.executable, "-c", code], env={**environment, "PYTHONHASHSEED": seed}, text=True)
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_tokens_and_their_bytes() -> None:
    model = random_model(1, usual=True)
    for number in range(model.ours.vocab_size):
        token = model.reference.id_to_piece(number)
        assert model.ours.id_to_token(number) == token
        assert model.ours.token_to_id(token) == model.reference.piece_to_id(token)
    assert model.ours.id_to_bytes(model.ours.token_to_id("\u2581")) == b" "
    assert model.ours.id_to_bytes(model.ours.token_to_id("<0x0A>")) == b"\n"
    with pytest.raises(UnknownTokenError, match="no token"):
        model.ours.token_to_id("nothing like it")
    with pytest.raises(UnknownTokenError, match="id 9999"):
        model.ours.id_to_token(9999)


def test_samples_depend_on_the_seed_alone(path: Path) -> None:
    tok = nlp.load_tokenizer(path)
    text = "abab abx ab a"
    first = [ids.tolist() for ids, _ in tok.sample(text, alpha=0.2, seed=4, n_samples=40)]
    assert first == [ids.tolist() for ids, _ in tok.sample(text, alpha=0.2, seed=4, n_samples=40)]
    assert len({tuple(ids) for ids in first}) > 1
    assert first != [ids.tolist() for ids, _ in tok.sample(text, alpha=0.2, seed=4, stream=1, n_samples=40)]
    best = tok.encode(text)
    assert all(np.array_equal(ids, best) for ids, _ in tok.sample(text, nbest_size=1, n_samples=3))
    listed = {tuple(ids.tolist()) for ids, _ in tok.nbest(text, 3)}
    assert {tuple(ids.tolist()) for ids, _ in tok.sample(text, nbest_size=3, alpha=0, n_samples=60)} <= listed


def test_scores_need_ids_of_the_text(path: Path) -> None:
    tok = nlp.load_tokenizer(path)
    (ids, score), *_ = tok.nbest("ab a", 2)
    assert tok.score("ab a", ids) == score
    with pytest.raises(UnknownTokenError, match="do not spell"):
        tok.score("ab a x", ids)
    with pytest.raises(TypeError, match="str or bytes"):
        tok.nbest(3, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", [lambda t: t.nbest("a", 2), lambda t: t.sample("a"), lambda t: t.score("a", [1])])
def test_models_without_scores_refuse(call) -> None:
    for tok in (random_model(0, "word").ours, random_model(0, "char").ours, gpt2().ours):
        with pytest.raises(UnsupportedFeatureError, match="Unigram"):
            call(tok)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_byte_pieces_have_all_bytes_of_their_character(kind: str) -> None:
    ours = random_model(5, kind, usual=True).ours
    text = "a\U0001f917b"
    ids, starts, ends = ours.encode(text, spans=True, unit="byte")
    pieces = [ours.id_to_token(number) for number in ids]
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    # the letters beside it are pieces or bytes, as the model was trained
    spelled = [piece for piece, span in zip(pieces, spans, strict=True) if span == (1, 5)]
    assert spelled == [f"<0x{byte:02X}>" for byte in "\U0001f917".encode()]
    assert {span for piece, span in zip(pieces, spans, strict=True) if piece.startswith("<0x")} <= {
        (0, 1),
        (1, 5),
        (5, 6),
    }
