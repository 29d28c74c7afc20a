"""What generation refuses it refuses before the cache is touched, and it takes lists, arrays and tensors alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numba_nlp as nlp
from tests.models.test_gpt import SETTINGS as GPT
from tests.models.tiny import draw_ids, make_reference, pad, save, torch
from tests.models.tiny_pairs import settings_of

VOCABULARY = 60
_MODELS = {
    "GPT2LMHeadModel": GPT,
    "XLNetLMHeadModel": {"vocab_size": VOCABULARY, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 32},
    "BartForConditionalGeneration": settings_of("BartForConditionalGeneration"),
    "T5ForConditionalGeneration": settings_of("T5ForConditionalGeneration"),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {
        name: nlp.load_model(save(make_reference(name, **settings), tmp_path_factory.mktemp(name)))
        for name, settings in _MODELS.items()
    }


@pytest.fixture(params=list(_MODELS))
def model(request: pytest.FixtureRequest, models: dict[str, Any]) -> Any:
    return models[request.param]


def begun(model: Any, *, prompts: int = 2, rows: int = 4, sentences: int | None = None, static: bool = False) -> Any:
    """A cache with a prompt of three tokens."""
    more = {}
    if hasattr(model, "encode_source"):
        more = {"source_positions": 5, "sentences": sentences or prompts}
    cache = model.new_cache(rows, 8, static=static, **more)
    if more:
        model.encode_source(draw_ids(sentences or prompts, 4, VOCABULARY), None, cache)
    model.prompt(draw_ids(prompts, 3, VOCABULARY), None, cache)
    return cache


def state(cache: Any) -> dict[str, Any]:
    """Everything that a cache holds but its scratch memory."""
    return {
        name: value.clone() if isinstance(value, torch.Tensor) else value
        for name, value in vars(cache).items()
        if name != "_spare"
    }


def assert_untouched(cache: Any, call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    before = state(cache)
    with pytest.raises(kind, match=message):
        call()
    for name, value in state(cache).items():
        assert torch.equal(value, before[name]) if isinstance(value, torch.Tensor) else value == before[name], name


@pytest.mark.parametrize(
    ("tokens", "kind", "message"),
    [
        ([1, 2, 3], ValueError, r"one token for each of the 4 rows, got the shape \[3\]"),
        ([[1], [2], [3], [4]], ValueError, r"got the shape \[4, 1\]"),
        ([1, 2, 60, 3], ValueError, r"`tokens` must be from 0 to 59, the model has no 60 \(row 2\)"),
        ([1, -1, 2, 3], ValueError, r"the model has no -1 \(row 1\)"),
        ([1.0, 2.0, 3.0, 4.0], TypeError, "`tokens` must be whole numbers, got torch.float64"),
        ([True] * 4, TypeError, "got torch.bool"),
        ("abcd", TypeError, "got text"),
        (None, TypeError, "`tokens` must be"),
    ],
)
def test_a_step_that_is_refused(model: Any, tokens: Any, kind: type[Exception], message: str) -> None:
    cache = begun(model)
    forms = [tokens]
    if isinstance(tokens, list):
        forms += [np.array(tokens), torch.tensor(tokens, dtype=torch.float64 if kind is TypeError else None)]
    if kind is TypeError and isinstance(tokens, list) and tokens[0] is True:
        forms[-1] = torch.tensor(tokens)
    for form in forms:
        assert_untouched(cache, lambda form=form: model.step(form, cache), kind, message)
    static = begun(model, static=True)
    assert_untouched(static, lambda: model.step(tokens, static), kind, message)


def test_a_prompt_that_is_refused(model: Any) -> None:
    cache = begun(model)
    cache.clear()
    ids, mask = pad(draw_ids(2, 3, VOCABULARY), [3, 2], side="right")
    assert_untouched(cache, lambda: model.prompt(ids, mask, cache), ValueError, "row 1 of the prompt ends in padding")
    assert_untouched(cache, lambda: model.prompt([[1], [60]], None, cache), ValueError, "has no 60")
    assert_untouched(cache, lambda: model.prompt([[1] * 9] * 2, None, cache), ValueError, "9 more do not fit")
    assert_untouched(cache, lambda: model.prompt([[1]] * 3, None, cache), ValueError, "with 3 rows does not fit")
    if cache.sentences:
        assert_untouched(cache, lambda: model.prompt([[1]], None, cache), ValueError, "2 sentences: a call with 1 rows")


def test_kinds_of_tokens_and_parents(model: Any) -> None:
    caches = [begun(model) for _ in range(4)]
    tokens, parents = [3, 4, 5, 6], [1, 1, 2, 2]
    kinds: list[Callable[[Any], Any]] = [list, np.array, torch.tensor, lambda x: torch.tensor(x, dtype=torch.uint16)]
    results = []
    for cache, kind in zip(caches, kinds, strict=True):
        model.step(kind(tokens), cache)
        cache.reorder(kind(parents))
        results.append(model.step(kind(tokens), cache))
    assert all(torch.equal(results[0], other) for other in results[1:])
    rows = [7, 7, 8, 8]
    with_static = begun(model, static=True)
    model.step(tokens, with_static)
    with_static.reorder(parents)
    torch.testing.assert_close(model.step(tokens, with_static), results[0], rtol=1e-5, atol=1e-5)
    assert model.step(np.array(rows, np.int16), with_static).shape == (4, VOCABULARY)


@pytest.mark.parametrize(
    ("parents", "kind", "message"),
    [
        ([0, 1, 2], ValueError, r"one row for each of the 4 rows, got the shape \[3\]"),
        ([0, 1, 2, 4], ValueError, "must be rows from 0 to 3, row 3 has 4"),
        ([0, -1, 2, 3], ValueError, "row 1 has -1"),
        ([0.0, 1.0, 2.0, 3.0], TypeError, "`parents` must be whole numbers, got torch.float64"),
        ([0, 1, 1, 3], ValueError, r"row 2 cannot go on from row 1: rows 2 to 3 share a prompt or a source .* among"),
    ],
)
def test_parents_that_are_refused(model: Any, parents: Any, kind: type[Exception], message: str) -> None:
    cache = begun(model)
    for form in (parents, np.array(parents), torch.tensor(parents, dtype=torch.float64 if kind is TypeError else None)):
        assert_untouched(cache, lambda form=form: cache.reorder(form), kind, message)


def test_rows_with_prompts_of_their_own_may_change_places(models: dict[str, Any]) -> None:
    cache = begun(models["GPT2LMHeadModel"], prompts=4)
    cache.reorder([3, 0, 0, 1])
    bart = begun(models["BartForConditionalGeneration"], prompts=4, sentences=2)
    bart.reorder([1, 0, 3, 3])
    with pytest.raises(ValueError, match="row 1 cannot go on from row 2: rows 0 to 1 share"):
        bart.reorder([0, 2, 2, 3])
    cache.clear()
    models["GPT2LMHeadModel"].prompt([[1, 2], [3, 4]], None, cache)
    with pytest.raises(ValueError, match="share a prompt"):
        cache.reorder([3, 0, 0, 1])


def test_caches_of_other_models(models: dict[str, Any], tmp_path: Path) -> None:
    gpt2, xlnet, bart = (models[f"{name}"] for name in (*list(_MODELS)[:2], "BartForConditionalGeneration"))
    more = nlp.load_model(save(make_reference("GPT2LMHeadModel", **{**GPT, "n_layer": 4}), tmp_path / "more"))
    cache = begun(more)
    layers = gpt2.settings.layers
    for call in (lambda: gpt2.step([1] * 4, cache), lambda: gpt2.prompt([[1]] * 4, None, cache)):
        assert_untouched(cache, call, ValueError, f"made for another model: it has layers=4, not {layers}; make one")
    half = nlp.load_model(tmp_path / "more", dtype="bfloat16")
    assert_untouched(cache, lambda: half.step([1] * 4, cache), ValueError, "dtype=torch.float32, not torch.bfloat16")
    of_bart = begun(bart)
    assert_untouched(of_bart, lambda: gpt2.step([1] * 4, of_bart), ValueError, "a source, which this model has not")
    alone = begun(gpt2)
    for call in (
        lambda: bart.step([1] * 4, alone),
        lambda: bart.prompt([[1]] * 4, None, alone),
        lambda: bart.encode_source([[1]] * 4, None, alone),
    ):
        assert_untouched(alone, call, ValueError, "no source, which this model reads")
    assert_untouched(alone, lambda: xlnet.step([1] * 4, alone), ValueError, "the type KVCache")
    of_xlnet = begun(xlnet)
    assert_untouched(of_xlnet, lambda: gpt2.step([1] * 4, of_xlnet), ValueError, "the type XlnetCache")
    wide = type(alone)(**gpt2.cache_shape(), rows=1, positions=99)
    with pytest.raises(ValueError, match=f"99 positions, of which the model has {gpt2.settings.positions}"):
        gpt2.prompt([[1]], None, wide)
    with pytest.raises(TypeError, match="`cache` must be what new_cache makes, got dict"):
        gpt2.prompt([[1]], None, {})
