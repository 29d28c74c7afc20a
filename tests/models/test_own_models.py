"""The models that come with the package: found by name, read by transformers, as good as their cards say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.models import own, own_model
from tools.files import CARRIED

torch = pytest.importorskip("torch", reason="needs torch")

PRESENT = [name for name in own.OWN_MODELS if (own._DATA / name / "model.safetensors").is_file()]
ABSENT = "its weights are not in this checkout; `python -m {}` trains them"


def folder_of(name: str) -> Path:
    if name not in PRESENT:
        pytest.skip(ABSENT.format(own.OWN_MODELS[name]))
    return own_model(name)


def record_of(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder_of(name) / "training.json").read_text(encoding="utf-8"))
    return record


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="`name` must be one of 'numbers', 'shakespeare', got 'hamlet'"):
        own_model("hamlet")


def test_a_model_without_weights_says_what_trains_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(own, "_DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"`python -m tools\.train_numbers` trains them"):
        own_model("numbers")
    (tmp_path / "numbers").mkdir()
    (tmp_path / "numbers" / "model.safetensors").touch()
    assert own_model("numbers") == tmp_path / "numbers"


@pytest.mark.parametrize("name", list(own.OWN_MODELS))
def test_card_and_size(name: str) -> None:
    folder = folder_of(name)
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"python -m {own.OWN_MODELS[name]}" in card
    assert (folder / "model.safetensors").stat().st_size <= 4_000_000
    assert nlp.load_model(folder).dtype == torch.bfloat16


def test_shakespeare_is_better_than_xz() -> None:
    figures = record_of("shakespeare")["figures"]
    assert figures["bits per byte of hamlet"] < figures["xz bits per byte of hamlet"]
    assert figures["xz bits per byte of hamlet"] == pytest.approx(8 * 64_132 / 173_942, rel=0.01)
    card = (folder_of("shakespeare") / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"| {figures['bits per byte of hamlet']:.3f} |" in card


@pytest.mark.slow
def test_shakespeare_is_as_good_as_its_card_says() -> None:
    from tools.model_training.language import bits_per_byte, token_stream

    folder = folder_of("shakespeare")
    text = (CARRIED / "hamlet_gut.txt").read_text(encoding="ascii")
    tokenizer = nlp.load_tokenizer(folder / "tokenizer.safetensors")
    stream = token_stream(tokenizer, [text], 0)[:-1]
    bits = bits_per_byte(nlp.load_model(folder, dtype="float32"), stream, len(text))
    assert bits == pytest.approx(record_of("shakespeare")["figures"]["bits per byte of hamlet"], rel=1e-3)


def test_shakespeare_is_read_by_transformers() -> None:
    folder = folder_of("shakespeare")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    text = "ROMEO.\nBut, soft! what light through yonder window breaks?"
    tokenizer = nlp.load_tokenizer(folder / "tokenizer.safetensors")
    ids = tokenizer.encode(text).tolist()
    assert tokenizer == nlp.load_tokenizer(folder)
    assert transformers.AutoTokenizer.from_pretrained(folder)(text).input_ids == ids
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    with torch.no_grad():
        expected = theirs(torch.tensor([ids])).logits
        assert torch.allclose(nlp.load_model(folder, dtype="float32")([ids]).logits, expected, rtol=1e-4, atol=1e-4)


def test_numbers_are_as_right_as_the_card_says() -> None:
    from tools.model_training.number_pairs import held_out_pairs
    from tools.train_numbers import exact_matches

    folder = folder_of("numbers")
    figures = record_of("numbers")["figures"]
    assert figures["all"] >= 0.97
    model, tokenizer = nlp.load_model(folder, dtype="float32"), nlp.load_tokenizer(folder)
    # the first of those that the figures are made of
    found = exact_matches(model, tokenizer, list(held_out_pairs(25)))
    assert found["all"] >= figures["all"] - 0.03


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_numbers_are_read_by_transformers() -> None:
    folder = folder_of("numbers")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    pytest.importorskip("sentencepiece", reason="needs sentencepiece")
    from tools.model_training.translation import translate
    from tools.train_numbers import EXAMPLES

    ours = translate(nlp.load_model(folder, dtype="float32"), nlp.load_tokenizer(folder), EXAMPLES, longest=64)
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    theirs = transformers.MarianMTModel.from_pretrained(folder, dtype="float32")
    ids = theirs.generate(**tokenizer(list(EXAMPLES), return_tensors="pt", padding=True))
    assert tokenizer.batch_decode(ids, skip_special_tokens=True) == ours
