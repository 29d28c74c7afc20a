"""Windows of text, bits per byte, and a whole training of Shakespeare's model in small."""

from __future__ import annotations

import lzma
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import numba_nlp as nlp  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from tools import train_shakespeare as shakespeare  # noqa: E402
from tools.files import CARRIED  # noqa: E402
from tools.model_training.language import (  # noqa: E402
    Windows,
    bits_per_byte,
    sample,
    token_stream,
    xz_bits_per_byte,
)
from tools.model_training.loop import Recipe  # noqa: E402
from tools.model_training.texts import HELD_OUT, VALIDATION  # noqa: E402

SMALL = {**shakespeare.CONFIG, "vocab_size": 400, "n_positions": 8, "n_embd": 32, "n_layer": 2, "n_head": 2}
TRAINED = {**SMALL, "n_positions": 24}


@pytest.fixture(scope="module")
def works() -> dict[str, str]:
    text = (CARRIED / HELD_OUT).read_text(encoding="ascii")
    return {
        "one": text[:60_000],
        "two": text[60_000:90_000],
        HELD_OUT: text[90_000:92_000],
        VALIDATION: text[92_000:93_000],
    }


def test_windows_are_parts_of_the_stream() -> None:
    stream = np.arange(1000, 1100)
    windows = Windows(stream, 7, 5, seed=3)
    read, following = windows[4]
    assert read.shape == following.shape == (5, 7)
    assert torch.equal(read + 1, following)
    assert torch.equal(read[:, 1:], following[:, :-1])
    assert torch.equal(read, windows[4][0])
    assert not torch.equal(read, windows[5][0])
    assert not torch.equal(read, Windows(stream, 7, 5, seed=4)[4][0])
    starts = {int(start) for step in range(200) for start in windows[step][0][:, 0]}
    assert starts == set(range(1000, 1100 - 7))
    with pytest.raises(ValueError, match="`stream` has 7 tokens, windows of 7 need more"):
        Windows(stream[:7], 7, 5, seed=3)


@pytest.mark.parametrize("length", [2, 5, 8, 9, 10, 13, 14, 40])
def test_every_token_is_predicted_once(length: int) -> None:
    model = create_model({**SMALL, "initializer_range": 0.5}, seed=length).eval()
    stream = np.random.default_rng(length).integers(0, 400, length)
    nats = 0.0
    with torch.no_grad():
        for place in range(1, length):
            # the window in whose second half the token is, or the first window
            first = max(0, math.ceil((place - 8) / 4)) * 4
            logits = model([stream[first:place].tolist()]).logits[0, -1]
            nats -= float(logits.log_softmax(0)[stream[place]])
    assert bits_per_byte(model, stream, 77, rows=3) == pytest.approx(nats / math.log(2) / 77, rel=1e-5)


def test_a_model_that_knows_nothing_needs_all_bits() -> None:
    model = create_model(SMALL).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    stream = np.zeros(101, np.int64)
    assert bits_per_byte(model, stream, 250) == pytest.approx(100 * math.log2(400) / 250, rel=1e-5)


def test_xz_is_that_of_the_command() -> None:
    text = (CARRIED / HELD_OUT).read_bytes()
    packed = round(xz_bits_per_byte(text) * len(text) / 8)
    assert packed == len(lzma.compress(text, preset=9))
    # `xz -9 -k hamlet_gut.txt` of XZ Utils 5.4 writes 64,132 bytes
    assert packed == pytest.approx(64_132, rel=0.01)


def test_samples_are_what_the_cache_free_model_would_draw() -> None:
    model = create_model({**SMALL, "initializer_range": 0.5}).eval()
    written = sample(model, np.array([1, 2]), 5, temperature=1e-4, top_k=3, seed=0)
    ids = [1, 2]
    with torch.no_grad():
        for _ in range(5):
            ids.append(int(model([ids]).logits[0, -1].argmax()))
    assert written == ids[2:]
    drawn = [sample(model, np.array([1, 2]), 5, temperature=5.0, top_k=40, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_training_in_small(works: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = Recipe(steps=60, rows=16, rate=1e-2, warm_up=6, threads=1)
    model, _ = shakespeare.train_model(works, recipe, tmp_path / "a", TRAINED)
    lines = [line for line in capsys.readouterr().err.splitlines() if "loss" in line]
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines]
    assert losses[-1] < math.log(400) - 1  # as good as not knowing anything, less a bit and a half
    again, _ = shakespeare.train_model(works, recipe, tmp_path / "b", TRAINED)
    files = sorted(path.name for path in (tmp_path / "a" / "model").iterdir())
    assert files == [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer.safetensors",
        "tokenizer_config.json",
    ]
    for name in files:
        assert (tmp_path / "a" / "model" / name).read_bytes() == (tmp_path / "b" / "model" / name).read_bytes(), name
    tokenizer = nlp.load_tokenizer(tmp_path / "a" / "model" / "tokenizer.safetensors")
    figures = shakespeare.measure(model, tokenizer, works)
    assert figures == shakespeare.measure(again, tokenizer, works)
    stream = token_stream(tokenizer, [works[HELD_OUT]], 0)
    assert tokenizer.decode(stream[1:-1]) == works[HELD_OUT]
    assert stream[0] == stream[-1] == tokenizer.token_to_id("<|endoftext|>") == 0
    card = shakespeare.card(model, tokenizer, figures, recipe, 1.0)
    assert f"| Hamlet (held out) | {figures['bits per byte of hamlet']:.3f} |" in card
    assert "60 steps of 16 rows" in card
    _check_with_transformers(tmp_path / "a" / "model", model, works)


def _check_with_transformers(folder: Path, model: Any, works: dict[str, str]) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    text = works[HELD_OUT][:300]
    ids = nlp.load_tokenizer(folder).encode(text).tolist()
    assert theirs(text).input_ids == ids
    reference = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    with torch.no_grad():
        expected = reference(torch.tensor([ids[:20]])).logits
        assert torch.allclose(model([ids[:20]]).logits, expected, rtol=1e-5, atol=1e-5)
    assert reference.generation_config.top_k == 40


def test_the_model_has_the_size_that_is_allowed() -> None:
    model = create_model(shakespeare.CONFIG)
    assert 2 * sum(parameter.numel() for parameter in model.parameters()) < 4_000_000
