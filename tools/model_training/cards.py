"""What a training leaves beside the weights: its figures, and the model card that shows them."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Any

import torch

import numba_nlp
from numba_nlp._atomic import atomic_writer
from tools.model_training.loop import Recipe

__all__ = ["CARD", "FIGURES", "SAME", "differences", "figures_of", "recipe_lines", "table", "write_record"]

CARD = "MODEL_CARD.md"
FIGURES = "training.json"
#: By how much the figures of a training may differ from those of another one, relatively.
SAME = 0.02


def write_record(folder: Path, recipe: Recipe, figures: Mapping[str, float], minutes: float, card: str) -> None:
    """Write the figures and the card into the folder of a model.

    Parameters
    ----------
    folder : Path
    recipe : Recipe
    figures : mapping
        What the model was measured by.
    minutes : float
        Of training.
    card : str
        The card's text.
    """
    record = {
        "figures": dict(figures),
        "recipe": asdict(recipe),
        "minutes": round(minutes, 1),
        "versions": {"numba_nlp": numba_nlp.__version__, "torch": torch.__version__},
        "machine": platform.machine(),
    }
    with atomic_writer(folder / FIGURES) as stream:
        stream.write((json.dumps(record, indent=1) + "\n").encode())
    with atomic_writer(folder / CARD) as stream:
        stream.write(card.encode())


def figures_of(folder: Path) -> dict[str, float]:
    """The figures that a folder's ``training.json`` states.

    Raises
    ------
    FileNotFoundError
        There is none.
    """
    record: dict[str, Any] = json.loads((folder / FIGURES).read_text(encoding="utf-8"))
    return record["figures"]


def differences(before: Mapping[str, float], now: Mapping[str, float], *, same: float = SAME) -> list[str]:
    """Figures (none below 0) of two trainings that differ by more than ``same`` of the first, or that one lacks."""
    found = [f"{name}: only in one" for name in sorted(before.keys() ^ now.keys())]
    other = [name for name in sorted(before.keys() & now.keys()) if abs(now[name] - before[name]) > same * before[name]]
    return found + [f"{name}: {before[name]:.4g} before, {now[name]:.4g} now" for name in other]


def recipe_lines(recipe: Recipe, minutes: float) -> str:
    """The recipe in words, for a card."""
    threads = "one thread" if recipe.threads == 1 else f"{recipe.threads} threads"
    return fill(
        f"{recipe.steps} steps of {recipe.rows} rows with AdamW (rate {recipe.rate:g} after {recipe.warm_up} steps of "
        f"warm-up, then a cosine down to {recipe.last_rate:g} of it; decay {recipe.decay:g}, betas {recipe.betas[0]:g} "
        f"and {recipe.betas[1]:g}, gradients cut to a norm of {recipe.largest_gradient:g}), seed {recipe.seed}, "
        f"{threads}, in float32; the weights are rounded to bfloat16 at the end, and all figures are those of the "
        f"rounded weights, computed in float32. It took {minutes:.0f} minutes. With "
        "`--compare` the command trains anew and tells whether the figures below are the same within 2 %.",
        width=120,
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
