"""XLNet token by token against the calls that transformers makes when it generates with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.models.no_sync import WatchedStep
from tests.models.test_xlnet import SETTINGS, VOCABULARY, pair_of
from tests.models.tiny import draw_ids, pad, pair, torch

STATIC = pytest.mark.parametrize("static", [False, True], ids=["sliced", "static"])
SWITCHES = [{}, {"attn_type": "uni"}, {"clamp_len": 3}, {"mem_len": 20}]


@pytest.fixture(scope="module", params=SWITCHES, ids=str)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return pair_of(tmp_path_factory.mktemp("xlnet"), **request.param)


class Reference:
    """What transformers computes for growing rows, with its memory; row by row, as its "uni" takes no more."""

    def __init__(self, model: Any, rows: int) -> None:
        self.model, self.mems = model, [None] * rows

    def __call__(self, ids: Any) -> Any:
        logits = []
        for row, tokens in enumerate(ids.split(1)):
            inputs = self.model.prepare_inputs_for_generation(tokens, mems=self.mems[row], use_mems=True)
            with torch.no_grad():
                output = self.model(**inputs)
            self.mems[row] = output.mems
            logits.append(output.logits[0, -1])
        return torch.stack(logits)

    def reorder(self, parents: Any) -> None:
        self.mems = [self.mems[parent] for parent in parents]


def assert_close(got: Any, expected: Any) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@STATIC
@pytest.mark.parametrize("width", [1, 2, 5])
def test_step_by_step(both: tuple[Any, Any], static: bool, width: int) -> None:
    theirs, ours = both
    ids = draw_ids(2, width + 5, VOCABULARY)
    cache = ours.new_cache(2, width + 5, static=static)
    for _ in range(2):  # used again after clear()
        reference = Reference(theirs, 2)
        assert_close(ours.prompt(ids[:, :width], None, cache), reference(ids[:, :width]))
        for column in range(width, width + 5):
            assert_close(ours.step(ids[:, column], cache), reference(ids[:, : column + 1]))
        cache.clear()


@STATIC
def test_padded_beams(both: tuple[Any, Any], static: bool) -> None:
    """Each sentence gives what it gives alone, read once for its beams; transformers would attend to the padding."""
    theirs, ours = both
    beams, lengths, steps = 3, [5, 3, 1], 4
    all_ids = draw_ids(3, 5, VOCABULARY)
    prompts, mask = pad(all_ids, lengths, side="left")
    tokens = draw_ids(steps, 3 * beams, VOCABULARY, seed=5).view(steps, 3, beams)
    generator = torch.Generator().manual_seed(6)
    parents = torch.randint(beams, (steps, 3, beams), generator=generator)
    cache = ours.new_cache(3 * beams, 12, static=static)
    got = [ours.prompt(prompts, mask, cache)[:, None].expand(-1, beams, -1)]
    for step, chosen in zip(tokens, parents, strict=True):
        got.append(ours.step(step.flatten(), cache).view(3, beams, -1))
        cache.reorder((chosen + torch.arange(3)[:, None] * beams).flatten())
    for sentence, length in enumerate(lengths):
        reference = Reference(theirs, beams)
        rows = all_ids[sentence : sentence + 1, :length].repeat(beams, 1)
        assert_close(got[0][sentence], reference(rows))
        for i in range(steps):
            rows = torch.cat([rows, tokens[i, sentence][:, None]], 1)
            assert_close(got[i + 1][sentence], reference(rows))
            rows = rows[parents[i, sentence]]
            reference.reorder(parents[i, sentence])


def test_greedy_text_is_that_of_generate(tmp_path: Path) -> None:
    theirs, ours = pair_of(tmp_path)
    ids = draw_ids(3, 4, VOCABULARY)
    expected = theirs.generate(ids, max_new_tokens=7, do_sample=False, eos_token_id=None, pad_token_id=0)
    cache = ours.new_cache(3, 11)
    tokens = [ours.prompt(ids, None, cache).argmax(-1)]
    for _ in range(6):
        tokens.append(ours.step(tokens[-1], cache).argmax(-1))
    assert torch.equal(torch.cat([ids, torch.stack(tokens, 1)], 1), expected)


@STATIC
def test_a_step_never_waits_for_the_device(both: tuple[Any, Any], static: bool) -> None:
    ours = both[1]
    ids, mask = pad(draw_ids(4, 6, VOCABULARY), [6, 2, 1, 4], side="left")
    cache = ours.new_cache(4, 12, static=static)
    ours.prompt(ids, mask, cache)
    done, parents = [], torch.tensor([1, 1, 0, 3])
    for _ in range(3):
        with WatchedStep() as watched:
            ours.step(ids[:, -1], cache)
            cache.reorder(parents)
        done.append(watched.done)
    assert len(done[0]) > 20
    if static:
        assert done[0] == done[1] == done[2]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    ours = pair_of(tmp_path / "plain")[1]
    ids = draw_ids(2, 3, VOCABULARY)
    cache = ours.new_cache(2, 4)
    with pytest.raises(ValueError, match="reads a prompt before the first step"):
        ours.step(ids[:, 0], cache)
    ours.prompt(ids, None, cache)
    with pytest.raises(ValueError, match="holds 3 tokens: XLNet reads a prompt as a whole"):
        ours.prompt(ids, None, cache)
    with pytest.raises(ValueError, match="positions=9: the model remembers 8 tokens"):
        pair_of(tmp_path / "mem", mem_len=8)[1].new_cache(1, 9)
    with pytest.raises(ValueError, match="only the first 2 tokens of a call"):
        pair_of(tmp_path / "reuse", reuse_len=2)[1].new_cache(1, 9)
    base = pair("XLNetModel", tmp_path / "base", **SETTINGS)[1]
    with pytest.raises(ValueError, match="load it with head='language_model'"):
        base.prompt(ids, None, base.new_cache(2, 4))


def test_equally_many_seen_is_refused(tmp_path: Path) -> None:
    """What `same_length` hides depends on how the rows are cut into calls: no steps give what whole rows do."""
    _, ours = pair_of(tmp_path, attn_type="uni", same_length=True)
    with pytest.raises(ValueError, match=r"`same_length` of config\.json"):
        ours.new_cache(1, 4)
