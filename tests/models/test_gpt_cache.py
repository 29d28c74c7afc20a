"""Prompt and step of GPT and GPT-2 against whole rows of transformers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import numba_nlp as nlp
from tests.models.no_sync import WatchedStep
from tests.models.test_gpt import SETTINGS, VOCABULARY, positions_of
from tests.models.tiny import draw_ids, make_reference, pad, pair, torch

CLASSES = ("GPT2LMHeadModel", "OpenAIGPTLMHeadModel")


@pytest.fixture(scope="module", params=CLASSES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return pair(request.param, tmp_path_factory.mktemp("gpt"), **SETTINGS)


def whole(theirs: Any, ids: Any, mask: Any = None) -> Any:
    """Logits of whole rows, without a cache."""
    mask = torch.ones_like(ids) if mask is None else mask
    with torch.no_grad():
        return theirs(ids, attention_mask=mask, position_ids=positions_of(mask)).logits


def assert_close(got: Any, expected: Any) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("static", [False, True], ids=["sliced", "static"])
@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
def test_step_by_step(both: tuple[Any, Any], static: bool, padded: bool) -> None:
    theirs, ours = both
    ids = draw_ids(3, 20, VOCABULARY)
    mask = torch.ones_like(ids)
    if padded:
        mask[0, :3] = mask[2, :1] = 0
    expected = whole(theirs, ids, mask)
    cache = ours.new_cache(3, static=static)
    for _ in range(2):  # used again after clear()
        got = [ours.prompt(ids[:, :5], mask[:, :5], cache)]
        got += [ours.step(ids[:, column], cache) for column in range(5, 20)]
        assert_close(torch.stack(got, 1), expected[:, 4:])
        cache.clear()


@pytest.mark.parametrize("static", [False, True], ids=["sliced", "static"])
def test_a_conversation(both: tuple[Any, Any], static: bool) -> None:
    """A second prompt goes on behind steps, with padding of its own between."""
    theirs, ours = both
    ids = draw_ids(2, 12, VOCABULARY)
    mask = torch.ones_like(ids)
    mask[0, :2] = mask[1, 6:8] = 0
    expected = whole(theirs, ids, mask)
    cache = ours.new_cache(2, 16, static=static)
    assert_close(ours.prompt(ids[:, :4], mask[:, :4], cache), expected[:, 3])
    assert_close(ours.step(ids[:, 4], cache), expected[:, 4])
    assert_close(ours.step(ids[:, 5], cache), expected[:, 5])
    assert_close(ours.prompt(ids[:, 6:11], mask[:, 6:11], cache), expected[:, 10])
    assert_close(ours.step(ids[:, 11], cache), expected[:, 11])


@pytest.mark.parametrize("static", [False, True], ids=["sliced", "static"])
@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
def test_beams(both: tuple[Any, Any], static: bool, padded: bool) -> None:
    """A prompt is read once for its beams; rows change places as in a beam search."""
    theirs, ours = both
    beams, steps = 3, 4
    prompts, mask = draw_ids(2, 5, VOCABULARY), torch.ones(2, 5, dtype=torch.int64)
    if padded:
        prompts, mask = pad(prompts, [5, 3], side="left")
    tokens = draw_ids(steps, 2 * beams, VOCABULARY, seed=5)
    generator = torch.Generator().manual_seed(6)
    cache = ours.new_cache(2 * beams, 12, static=static)
    assert_close(ours.prompt(prompts, mask, cache), whole(theirs, prompts, mask)[:, -1])
    rows, row_mask = prompts.repeat_interleave(beams, 0), mask.repeat_interleave(beams, 0)
    for step in tokens:
        rows = torch.cat([rows, step[:, None]], 1)
        row_mask = torch.cat([row_mask, torch.ones_like(step)[:, None]], 1)
        assert_close(ours.step(step, cache), whole(theirs, rows, row_mask)[:, -1])
        parents = torch.randint(beams, (2 * beams,), generator=generator) + torch.arange(2 * beams) // beams * beams
        rows = rows[parents]
        cache.reorder(parents)


def test_greedy_text_is_that_of_generate(both: tuple[Any, Any]) -> None:
    theirs, ours = both
    ids, mask = pad(draw_ids(3, 6, VOCABULARY), [6, 2, 4], side="left")
    if theirs.config.model_type == "openai-gpt":  # transformers numbers its positions from the padding on
        ids = draw_ids(3, 6, VOCABULARY)
        mask = torch.ones_like(ids)
    expected = theirs.generate(ids, attention_mask=mask, max_new_tokens=8, do_sample=False, eos_token_id=None)
    cache = ours.new_cache(3)
    tokens = [ours.prompt(ids, mask, cache).argmax(-1)]
    for _ in range(7):
        tokens.append(ours.step(tokens[-1], cache).argmax(-1))
    assert torch.equal(torch.cat([ids, torch.stack(tokens, 1)], 1), expected)


@pytest.mark.parametrize("static", [False, True], ids=["sliced", "static"])
def test_a_step_never_waits_for_the_device(both: tuple[Any, Any], static: bool) -> None:
    ours = both[1]
    ids, mask = pad(draw_ids(4, 6, VOCABULARY), [6, 2, 1, 4], side="left")
    cache = ours.new_cache(4, 12, static=static)
    ours.prompt(ids, mask, cache)
    tokens, parents = ids[:, -1], torch.tensor([1, 1, 0, 3])
    done = []
    for _ in range(3):
        with WatchedStep() as watched:
            ours.step(tokens, cache)
            cache.reorder(parents)
        done.append(watched.done)
    assert len(done[0]) > 20
    if static:
        assert done[0] == done[1] == done[2]


def test_a_prompt_never_waits_for_the_device(both: tuple[Any, Any]) -> None:
    """Behind the checks of ids and mask, which are left out for what lies on a device."""
    ours = both[1]
    cache = ours.new_cache(4, 12, static=True)
    done = []
    for lengths in ([6, 2], [1, 5]):
        ids, mask = pad(draw_ids(2, 6, VOCABULARY), lengths, side="left")
        mask = mask.bool()
        cache.clear()
        with torch.no_grad(), WatchedStep() as watched:
            ours.decoder.extend(ids, mask, cache)
        done.append(watched.done)
    assert len(done[0]) > 20
    assert done[0] == done[1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_step(both: tuple[Any, Any], tmp_path: Any) -> None:
    """A step of a static cache as a CUDA graph, replayed, against whole rows on the CPU."""
    theirs = both[0]
    theirs.save_pretrained(tmp_path)
    ours = nlp.load_model(tmp_path, device="cuda")
    ids, mask = draw_ids(3, 14, VOCABULARY), torch.ones(3, 14, dtype=torch.int64)
    mask[0, :3] = 0
    expected = whole(theirs, ids, mask)
    cache, tokens = ours.new_cache(3, static=True), torch.zeros(3, dtype=torch.int64, device="cuda")
    ours.prompt(ids[:, :5], mask[:, :5], cache)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        ours.step(tokens, cache)  # what libraries allocate on first use must not fall into the capture
    torch.cuda.current_stream().wait_stream(side)
    cache.clear()
    torch.testing.assert_close(ours.prompt(ids[:, :5], mask[:, :5], cache).cpu(), expected[:, 4], rtol=1e-4, atol=1e-4)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = ours.step(tokens, cache)
    for column in range(5, 14):
        tokens.copy_(ids[:, column])
        graph.replay()
        torch.testing.assert_close(logits.cpu(), expected[:, column], rtol=1e-4, atol=1e-4)


def test_a_trainable_model_generates(both: tuple[Any, Any], tmp_path: Any) -> None:
    both[0].save_pretrained(tmp_path)
    ours = nlp.load_model(tmp_path, trainable=True)
    ids = draw_ids(2, 4, VOCABULARY)
    cache = ours.new_cache(2)
    ours.prompt(ids[:, :3], None, cache)
    logits = ours.step(ids[:, 3], cache)
    assert not logits.requires_grad
    assert not cache.keys.requires_grad
    assert_close(logits, whole(both[0], ids)[:, -1])


def test_the_watch_sees_what_it_should() -> None:
    numbers = torch.arange(4)
    for wait in (
        lambda: numbers.sum().item(),
        numbers.nonzero,
        lambda: numbers[numbers > 1],
        lambda: bool((numbers > 1).any()),
        lambda: torch.tensor([1, 2]) + numbers[:2],
        lambda: numbers.to("meta"),
        lambda: numbers.repeat_interleave(numbers),
    ):
        with pytest.raises(AssertionError, match="a step"), WatchedStep():
            wait()


def test_several_threads(both: tuple[Any, Any]) -> None:
    theirs, ours = both
    all_ids = [draw_ids(2, 4 + seed, VOCABULARY, seed=seed) for seed in range(8)]

    def generate(ids: Any) -> Any:
        cache = ours.new_cache(2)
        got = [ours.prompt(ids[:, :2], None, cache)]
        return torch.stack(got + [ours.step(column, cache) for column in ids[:, 2:].unbind(1)], 1)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(generate, all_ids * 3))
    for ids, got in zip(all_ids * 3, results, strict=True):
        assert_close(got, whole(theirs, ids)[:, 1:])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("static", [False, True], ids=["sliced", "static"])
def test_half_precision(dtype: Any, static: bool, tmp_path: Any) -> None:
    """At most twice the error that transformers makes in the same precision."""
    theirs = make_reference("GPT2LMHeadModel", **SETTINGS)
    theirs.save_pretrained(tmp_path)
    ids = draw_ids(4, 16, VOCABULARY)
    exact = whole(theirs, ids)
    with torch.no_grad():
        allowed = 2 * (whole(theirs.to(dtype), ids).float() - exact).abs().max()
    ours = nlp.load_model(tmp_path, dtype=dtype)
    cache = ours.new_cache(4, static=static)
    assert cache.dtype == dtype
    got = [ours.prompt(ids[:, :4], None, cache)] + [ours.step(column, cache) for column in ids[:, 4:].unbind(1)]
    assert got[0].dtype == dtype
    assert (torch.stack(got, 1).float() - exact[:, 3:]).abs().max() <= allowed
    assert (ours(ids).logits.float() - exact).abs().max() <= allowed


def test_what_does_not_fit_is_refused(both: tuple[Any, Any], tmp_path: Any) -> None:
    ours = both[1]
    with pytest.raises(ValueError, match="positions=21: the model has 20 positions"):
        ours.new_cache(1, 21)
    cache = ours.new_cache(2, 3)
    ids, mask = pad(draw_ids(2, 3, VOCABULARY), [3, 2], side="right")
    with pytest.raises(ValueError, match="row 1 of the prompt ends in padding"):
        ours.prompt(ids, mask, cache)
    with pytest.raises(ValueError, match="must be from 0 to 59"):
        ours.prompt([[60]], None, cache)
    with pytest.raises(ValueError, match="one token for each of the 2 rows, got "):
        ours.step(torch.zeros(2, 1, dtype=torch.int64), cache)
    ours.prompt(ids, None, cache)
    with pytest.raises(ValueError, match="holds 3 positions and 3 are filled"):
        ours.step(ids[:, 0], cache)
    base = pair("GPT2Model", tmp_path, **SETTINGS)[1]
    with pytest.raises(ValueError, match="load it with head='language_model'"):
        base.prompt(ids, None, base.new_cache(2))
