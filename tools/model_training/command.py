"""What the commands that train a model share: their options, and what they do with a model that is trained."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tools.files import ROOT
from tools.model_training.cards import FIGURES, differences, figures_of, write_record
from tools.model_training.loop import Recipe

__all__ = ["Options", "finish", "read_options"]


@dataclass(frozen=True)
class Options:
    """Options of a command.

    Attributes
    ----------
    recipe : Recipe
    out : Path
        Folder of the model in the package.
    kept : Path
        Folder of what is fetched.
    work : Path
        Folder of the training: ``state.pt`` while it is not finished, ``model``.
    compare : bool
        Whether to compare with the model that is in ``out``, and to leave it as it is.
    texts : Path or None
        Folder of texts.
    """

    recipe: Recipe
    out: Path
    kept: Path
    work: Path
    compare: bool
    texts: Path | None


def read_options(
    description: str, name: str, recipe: Recipe, arguments: list[str] | None, *, reads_texts: bool = False
) -> Options:
    """Read the command line.

    Parameters
    ----------
    description : str
    name : str
        Of the model.
    recipe : Recipe
        Its values are the defaults.
    arguments : list of str, optional
        By default those of the process.
    reads_texts : bool
        Whether there is an option for their folder.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    place = ROOT / "numba_nlp" / "models" / "data" / name
    parser.add_argument("--out", type=Path, default=place, help="folder of the model (%(default)s)")
    kept = ROOT / "out" / "training" / name
    parser.add_argument("--work", type=Path, default=kept, help="folder of what is unfinished or fetched (%(default)s)")
    if reads_texts:
        parser.add_argument("--texts", type=Path, help="folder of texts; by default they are found or fetched")
    parser.add_argument("--compare", action="store_true", help="train beside the model that is there, and compare")
    for field, kind in (("steps", int), ("rows", int), ("rate", float), ("seed", int), ("threads", int)):
        parser.add_argument(f"--{field}", type=kind, default=getattr(recipe, field), help="%(default)s")
    given = parser.parse_args(arguments)
    asked = replace(
        recipe,
        steps=given.steps,
        rows=given.rows,
        rate=given.rate,
        seed=given.seed,
        threads=given.threads,
        warm_up=min(recipe.warm_up, given.steps // 4),
    )
    work = given.work / ("compare" if given.compare else "train")
    return Options(asked, given.out, given.work, work, given.compare, given.texts if reads_texts else None)


def finish(options: Options, figures: Mapping[str, float], minutes: float, card: str) -> int:
    """Put the model of ``options.work`` with its record into its place, or compare it with the one that is there.

    Parameters
    ----------
    options : Options
    figures : mapping
        What the model was measured by.
    minutes : float
        Of training.
    card : str
        The text of the model card.

    Returns
    -------
    int
        Exit status: 1 if figures differ from those of the model that is there.
    """
    for name, figure in figures.items():
        print(f"{name}: {figure:.4f}")
    status = 0
    if options.compare:
        found = differences(figures_of(options.out), figures)
        print("\n".join(found) or f"the same as in {options.out / FIGURES}")
        status = int(bool(found))
    else:
        model = options.work / "model"
        write_record(model, options.recipe, figures, minutes, card)
        shutil.copytree(model, options.out, dirs_exist_ok=True)
        print(f"written to {options.out}")
    # what is finished is not gone on with: the next time the command trains anew
    (options.work / "state.pt").unlink(missing_ok=True)
    return status
