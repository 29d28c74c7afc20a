"""Batches of pairs, what a model makes of a source, and a whole training of the numbers model in small."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import numba_nlp as nlp  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from tools import train_numbers as numbers  # noqa: E402
from tools.model_training.loop import Recipe  # noqa: E402
from tools.model_training.number_pairs import Pair, draw_pair, held_out_pairs  # noqa: E402
from tools.model_training.number_vocabulary import write_tokenizer  # noqa: E402
from tools.model_training.translation import PairBatches, pair_loss, translate  # noqa: E402

SMALL = {
    **numbers.CONFIG,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}
PADDING, END = SMALL["pad_token_id"], SMALL["eos_token_id"]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    folder = tmp_path_factory.mktemp("numbers")
    write_tokenizer(folder, longest=64)
    return nlp.load_tokenizer(folder), nlp.load_tokenizer(folder, target=True)


def batches_of(tokenizers: tuple[Any, Any], rows: int = 8, seed: int = 5) -> PairBatches:
    def draw(rng: random.Random) -> tuple[str, str]:
        pair = draw_pair(rng)
        return pair.source, pair.target

    return PairBatches(draw, *tokenizers, padding=PADDING, start=PADDING, rows=rows, seed=seed)


def test_a_batch_holds_its_pairs(tokenizers: tuple[Any, Any]) -> None:
    source, target = tokenizers
    pairs = [(">>words<< 12", "twelve"), (">>digits<< one hundred five", "105")]
    ids, mask, read, wanted = batches_of(tokenizers).batch(pairs)
    for row, (text, answer) in enumerate(pairs):
        assert ids[row][mask[row] == 1].tolist() == source.encode(text, add_special_tokens=True).tolist()
        expected = target.encode(answer, add_special_tokens=True).tolist()
        assert expected[-1] == END
        assert wanted[row][wanted[row] >= 0].tolist() == expected
        assert read[row][: len(expected)].tolist() == [PADDING, *expected[:-1]]
        assert set(read[row][len(expected) :].tolist()) <= {PADDING}
    assert set(ids[mask == 0].tolist()) <= {PADDING}


def test_batches_depend_on_step_and_seed_alone(tokenizers: tuple[Any, Any]) -> None:
    first, second = batches_of(tokenizers), batches_of(tokenizers)
    forward = {step: first[step] for step in range(9)}
    for step in (8, 0, 5, 1, 7):
        assert all(map(torch.equal, forward[step], second[step]))
    assert forward[0][0].shape != forward[1][0].shape or not torch.equal(forward[0][0], forward[1][0])
    other = batches_of(tokenizers, seed=6)[0]
    assert other[0].shape != forward[0][0].shape or not torch.equal(other[0], forward[0][0])


def test_padding_does_not_change_the_loss(tokenizers: tuple[Any, Any]) -> None:
    model = create_model({**SMALL, "initializer_range": 0.3}).eval()
    batches = batches_of(tokenizers)
    pairs = [(">>words<< 12", "twelve"), (">>digits<< one hundred five thousand and eleven", "105,011")]
    alone = [batches.batch([pair]) for pair in pairs]
    tokens = [int((each[3] >= 0).sum()) for each in alone]
    with torch.no_grad():
        expected = sum(float(pair_loss(model, each)) * n for each, n in zip(alone, tokens, strict=True)) / sum(tokens)
        assert float(pair_loss(model, batches.batch(pairs))) == pytest.approx(expected, rel=1e-5)


def test_results_are_the_likeliest_tokens(tokenizers: tuple[Any, Any]) -> None:
    source, _ = tokenizers
    model = create_model({**SMALL, "initializer_range": 0.3}, seed=2).eval()
    texts = [pair.source for pair in held_out_pairs(2)]
    expected = []
    with torch.no_grad():
        for text in texts:
            ids = [source.encode(text, add_special_tokens=True).tolist()]
            written: list[int] = []
            while len(written) < 12 and END not in written:
                written.append(int(model(ids, None, [[PADDING, *written]]).logits[0, -1].argmax()))
            expected.append(source.decode(written, skip_special_tokens=True))
    assert translate(model, source, texts, longest=12, rows=5) == expected


def test_matches_are_counted_by_kind(tokenizers: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Pair("a", "1", "one"), Pair("a", "2", "two"), Pair("b", "3", "three"), Pair("b", "4", "four")]
    monkeypatch.setattr(numbers, "translate", lambda *_, **__: ["one", "too", "three", "four"])
    model = create_model(SMALL)
    assert numbers.exact_matches(model, tokenizers[0], pairs) == {"a": 0.5, "b": 1.0, "all": 0.75}


def test_a_training_in_small(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe(steps=100, rows=32, rate=1e-2, warm_up=10, threads=1)
    model, _ = numbers.train_model(recipe, tmp_path / "a", SMALL)
    lines = [line for line in capsys.readouterr().err.splitlines() if "loss" in line]
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines]
    assert losses[1] < 0.85 * losses[0]
    numbers.train_model(recipe, tmp_path / "b", SMALL)
    files = sorted(path.name for path in (tmp_path / "a" / "model").iterdir())
    assert files == [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "source.spm",
        "target.spm",
        "tokenizer_config.json",
        "vocab.json",
    ]
    for name in files:
        assert (tmp_path / "a" / "model" / name).read_bytes() == (tmp_path / "b" / "model" / name).read_bytes(), name
    tokenizer = nlp.load_tokenizer(tmp_path / "a" / "model")
    figures = numbers.exact_matches(model, tokenizer, list(held_out_pairs(2)))
    card = numbers.card(model, tokenizer, figures, recipe, 1.0)
    assert f"| all | {100 * figures['all']:.2f} % |" in card
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    reference = transformers.MarianMTModel.from_pretrained(tmp_path / "a" / "model", dtype="float32")
    ids = [tokenizer.encode(">>words<< 1776-07-04", add_special_tokens=True).tolist()]
    with torch.no_grad():
        read = torch.tensor([[PADDING, 9, 10]])
        expected = reference(input_ids=torch.tensor(ids), decoder_input_ids=read).logits
        assert torch.allclose(model(ids, None, read).logits, expected, rtol=1e-4, atol=1e-4)
