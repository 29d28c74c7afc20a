"""The training loop: it learns, it repeats itself, and it goes on where it stopped."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from tools.model_training.loop import Recipe, Stopwatch, train  # noqa: E402

RECIPE = Recipe(steps=30, rows=16, rate=0.05, warm_up=5, decay=0.0, threads=1)


class Line(torch.nn.Module):
    """y = a x + b."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor([[0.3, -0.2, 0.1]]))
            self.layer.bias.zero_()

    def loss(self, step: int) -> Any:
        inputs = torch.randn(RECIPE.rows, 3, generator=torch.Generator().manual_seed(step))
        wanted = inputs @ torch.tensor([[1.0], [2.0], [3.0]]) + 0.5
        return (self.layer(inputs) - wanted).square().mean()


def weights(model: Any) -> list[float]:
    return [float(each) for parameter in model.parameters() for each in parameter.detach().flatten()]


def trained(recipe: Recipe = RECIPE, **options: Any) -> Line:
    model = Line()
    train(model, recipe, model.loss, **options)
    return model


def test_the_rate_rises_and_falls() -> None:
    recipe = Recipe(steps=110, rows=1, rate=1.0, warm_up=10, last_rate=0.1)
    rates = [recipe.rate_of(step) for step in range(110)]
    assert rates[:10] == pytest.approx([0.1 * (step + 1) for step in range(10)])
    assert rates[10] == 1.0
    assert rates[60] == pytest.approx(0.55)  # half of the way down the cosine
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.1, abs=1e-3)


def test_it_learns_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    recipe = dataclasses.replace(RECIPE, steps=300)
    model = trained(recipe, watch=Stopwatch(recipe, every=100))
    assert weights(model) == pytest.approx([1, 2, 3, 0.5], abs=0.05)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"step {n} of 300" for n in (100, 200, 300)]
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines]
    assert losses == sorted(losses, reverse=True)


def test_the_same_seed_gives_the_same_weights() -> None:
    assert weights(trained()) == weights(trained())


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("stop", [9, 10, 17])
def test_a_training_goes_on_where_it_stopped(stop: int, tmp_path: Path) -> None:
    model = Line()
    done = []

    def loss(step: int) -> Any:
        if step == stop:
            raise Interrupted
        return model.loss(step)

    with pytest.raises(Interrupted):
        train(model, RECIPE, loss, state=tmp_path / "a" / "state.pt", keep_every=5)
    again = Line()

    def counted(step: int) -> Any:
        done.append(step)
        return again.loss(step)

    train(again, RECIPE, counted, state=tmp_path / "a" / "state.pt", keep_every=5)
    assert done[0] == stop // 5 * 5
    assert weights(again) == weights(trained())
    # it is finished: nothing is left to do
    finished = trained(state=tmp_path / "a" / "state.pt")
    assert weights(finished) == weights(again)
    with pytest.raises(ValueError, match="keeps a training of another recipe or model"):
        trained(dataclasses.replace(RECIPE, rate=0.1), state=tmp_path / "a" / "state.pt")


def test_only_matrices_decay() -> None:
    model = Line()
    with torch.no_grad():
        model.layer.bias.fill_(1.0)
    train(model, dataclasses.replace(RECIPE, decay=0.5), lambda step: 0.0 * model.loss(step))
    assert weights(model)[3] == 1.0
    assert 0 < weights(model)[0] < 0.25


def test_checks_are_called_between_steps() -> None:
    called: list[int] = []
    trained(check=called.append, check_every=10)
    assert called == [10, 20]


def test_a_loss_that_is_no_number_ends_the_training() -> None:
    model = Line()
    with pytest.raises(FloatingPointError, match="the loss of step 3 is nan; a smaller `rate` than"):
        train(model, RECIPE, lambda step: model.loss(step) * (float("nan") if step == 2 else 1.0))


def test_recipes_are_checked() -> None:
    with pytest.raises(ValueError, match="`steps` must be at least 1, got 0"):
        dataclasses.replace(RECIPE, steps=0)
