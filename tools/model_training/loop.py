"""The training loop: AdamW with warm-up and a cosine, the same weights from the same seed, resumed where it stopped."""

from __future__ import annotations

import io
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from numba_nlp._atomic import atomic_writer

__all__ = ["Recipe", "Stopwatch", "train"]


@dataclass(frozen=True)
class Recipe:
    """How a model is trained.

    Attributes
    ----------
    steps : int
        Of the optimiser, one batch each.
    rows : int
        Of a batch.
    rate : float
        Highest learning rate, reached after ``warm_up`` steps; then it follows a cosine down to ``last_rate`` of it.
    warm_up : int
    last_rate : float
        Part of ``rate``.
    decay : float
        Of AdamW (Loshchilov, Hutter 2017, arXiv:1711.05101), for matrices only.
    betas : (float, float)
        Of AdamW.
    largest_gradient : float
        Gradients whose norm is greater are scaled to it.
    seed : int
        Of the weights and the batches.
    threads : int
        That torch computes with. Sums are taken in another order with another number, so the weights differ a little.
    """

    steps: int
    rows: int
    rate: float
    warm_up: int
    last_rate: float = 0.02
    decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.98)
    largest_gradient: float = 1.0
    seed: int = 1
    threads: int = 2

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("rows", 1), ("warm_up", 0), ("threads", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` must be at least {least}, got {getattr(self, name)}")

    def rate_of(self, step: int) -> float:
        """Learning rate of a step, counted from 0."""
        if step < self.warm_up:
            return self.rate * (step + 1) / self.warm_up
        along = (step - self.warm_up) / max(1, self.steps - self.warm_up)
        return self.rate * (self.last_rate + (1 - self.last_rate) * 0.5 * (1 + math.cos(math.pi * along)))


class Stopwatch:
    """Tells on stderr how far the training is.

    Parameters
    ----------
    recipe : Recipe
    every : int
        Steps between lines.
    """

    def __init__(self, recipe: Recipe, every: int = 50) -> None:
        self.recipe = recipe
        self.every = every
        self.seconds = 0.0
        self._losses: list[float] = []
        self._last = time.perf_counter()
        self._steps = 0

    def start(self) -> None:
        """Forget what was before: the clock runs from here."""
        self._last = time.perf_counter()

    def tell(self, step: int, loss: float) -> None:
        """Take the loss of a step, and write a line if it is time."""
        now = time.perf_counter()
        self.seconds += now - self._last
        self._last = now
        self._steps += 1
        self._losses.append(loss)
        if (step + 1) % self.every and step + 1 != self.recipe.steps:
            return
        each = self.seconds / self._steps
        left = each * (self.recipe.steps - step - 1) / 60
        print(
            f"step {step + 1} of {self.recipe.steps}: loss {sum(self._losses) / len(self._losses):.4f}, "
            f"rate {self.recipe.rate_of(step):.2e}, {each:.2f} s a step, {left:.0f} min left",
            file=sys.stderr,
            flush=True,
        )
        self._losses.clear()


def train(
    model: nn.Module,
    recipe: Recipe,
    batch_loss: Callable[[int], Tensor],
    *,
    state: Path | None = None,
    keep_every: int = 200,
    check: Callable[[int], None] | None = None,
    check_every: int = 500,
    watch: Stopwatch | None = None,
) -> float:
    """Train a model in place.

    Parameters
    ----------
    model : Module
        In float32, with weights drawn by ``recipe.seed``.
    recipe : Recipe
    batch_loss : callable
        The loss of the model over the batch of a step, counted from 0. The batch must depend on the step and on the
        seed alone, which is what makes a resumed training the same as one in one piece.
    state : Path, optional
        File that keeps the training every `keep_every` steps and at the end; if it is there, the training goes on from
        it.
    keep_every : int
    check : callable, optional
        Called with the number of steps done after every `check_every` of them; the clock stands still meanwhile.
    check_every : int
    watch : Stopwatch, optional
        Told of each step.

    Returns
    -------
    float
        Seconds of training, those before a resumption included.

    Raises
    ------
    ValueError
        The file keeps a training of another recipe or of another model.
    FloatingPointError
        The loss is no finite number any more.
    """
    torch.set_num_threads(recipe.threads)
    matrices = [each for each in model.parameters() if each.dim() > 1]
    others = [each for each in model.parameters() if each.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": recipe.decay}, {"params": others, "weight_decay": 0.0}],
        lr=recipe.rate,
        betas=recipe.betas,
    )
    first, seconds = _resume(state, recipe, model, optimizer)
    watch = watch or Stopwatch(recipe)
    watch.start()
    started = time.perf_counter()
    for step in range(first, recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate_of(step)
        loss = batch_loss(step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.largest_gradient)
        optimizer.step()
        value = loss.item()
        if not math.isfinite(value):
            raise FloatingPointError(
                f"the loss of step {step + 1} is {value}; a smaller `rate` than {recipe.rate} or a longer `warm_up` "
                f"than {recipe.warm_up} helps"
            )
        watch.tell(step, value)
        done = step + 1
        if state is not None and (done % keep_every == 0 or done == recipe.steps):
            _keep(state, recipe, model, optimizer, done, seconds + time.perf_counter() - started)
        if check is not None and (done % check_every == 0 and done != recipe.steps):
            before = time.perf_counter()
            check(done)
            started += time.perf_counter() - before
            watch.start()
    return seconds + time.perf_counter() - started


def _fingerprint(recipe: Recipe, model: nn.Module) -> str:
    """What a kept training must agree in: the recipe and the shapes of the weights."""
    shapes = {name: list(each.shape) for name, each in model.named_parameters()}
    return json.dumps({"recipe": asdict(recipe), "shapes": shapes}, sort_keys=True)


def _keep(
    state: Path, recipe: Recipe, model: nn.Module, optimizer: torch.optim.Optimizer, done: int, seconds: float
) -> None:
    buffer = io.BytesIO()
    content: dict[str, Any] = {
        "fingerprint": _fingerprint(recipe, model),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "done": done,
        "seconds": seconds,
    }
    torch.save(content, buffer)
    state.parent.mkdir(parents=True, exist_ok=True)
    with atomic_writer(state) as stream:
        stream.write(buffer.getbuffer())


def _resume(
    state: Path | None, recipe: Recipe, model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[int, float]:
    """Steps done and seconds taken before; the model and the optimiser as they were then."""
    if state is None or not state.exists():
        return 0, 0.0
    content = torch.load(state, weights_only=True)
    if content["fingerprint"] != _fingerprint(recipe, model):
        raise ValueError(
            f"{state} keeps a training of another recipe or model; train as before, or delete it to begin anew"
        )
    model.load_state_dict(content["model"])
    optimizer.load_state_dict(content["optimizer"])
    return content["done"], content["seconds"]
