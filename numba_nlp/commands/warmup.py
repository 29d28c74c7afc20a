"""The sub-command ``numba-nlp warmup``; needs typer (extra ``cli``)."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from numba_nlp._command_line import errors_in_one_line
from numba_nlp.commands import options

__all__ = ["warmup_command"]

#: Heads of models that generate.
_GENERATING = ("conditional_generation", "language_model")


def warmup_command(
    vocabularies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VOCABULARY...",
            help="Compiled vocabularies, sources of them (several files of one with commas between), folders of "
            "checkpoints, or names on the hub.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="The folder of a checkpoint, or its name on the hub, to generate from or to read by; may be repeated."
        ),
    ] = None,
    option: options.Option = None,
) -> None:
    """Compile ahead what tokenizers and models need, so that no later run waits for it."""
    if not vocabularies and not model:
        raise typer.BadParameter("name a vocabulary, or pass --model", param_hint="VOCABULARY...")
    with errors_in_one_line():
        for vocabulary in vocabularies or []:
            started = time.perf_counter()
            options.load_vocabulary(vocabulary, option).warmup()
            typer.echo(f"{vocabulary}: ready ({time.perf_counter() - started:.1f} s)")
        for folder in model or []:
            started = time.perf_counter()
            what = _warm_up_model(folder)
            typer.echo(f"{folder}: {what} ready ({time.perf_counter() - started:.1f} s)")


def _warm_up_model(folder: str) -> str:
    """Generate two tokens by each way of choosing, where the model generates; else read three."""
    import numpy as np

    from numba_nlp.models import load_model
    from numba_nlp.models.encoder import EncoderModel

    model = load_model(folder)
    if model.head not in _GENERATING:
        if not isinstance(model, EncoderModel):
            return f"nothing to compile for the head {model.head!r},"
        model.infer(input_ids=np.ones((1, 3), np.int64))
        return "reading"
    ways: list[dict[str, Any]] = [{}, {"num_beams": 2}, {"do_sample": True, "seed": 0}]
    for choosing in ways:
        model.generate(np.ones((1, 3), np.int64), max_new_tokens=2, **choosing)
    return "greedy, beam and sampled generation"
