"""Random generations of what transformers has not, or draws otherwise: one engine compared with another."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch

from numba_nlp.generation import GenerationOutput
from tools.generation_cases import CLOSE, Case, Pair, draw_case

__all__ = ["compare_engines", "draw_own_case"]


def draw_own_case(generator: random.Random, pair: Pair, engine: str) -> Case:
    """Random arguments: sampling by a seed, groups of beams, sequences that end rows.

    Parameters
    ----------
    generator : random.Random
    pair : Pair
        For which model.
    engine : str
    """
    case = draw_case(generator, pair)
    options, beams = case.options, case.options["num_beams"]
    if generator.random() < 0.3:
        groups = generator.choice([2, 3])
        beams = groups * generator.choice([1, 2])
        options |= {"num_beams": beams, "num_beam_groups": groups, "num_return_sequences": generator.choice([1, beams])}
        options["diversity_penalty"] = generator.choice([0.5, 1.0, 3.0])
    else:
        options |= {"do_sample": True, "seed": generator.getrandbits(64)}
        options["num_return_sequences"] = beams if beams > 1 else generator.choice([1, 3])
        kept: dict[str, Callable[[], Any]] = {
            "temperature": lambda: generator.choice([0.6, 1.7]),
            "top_k": lambda: generator.choice([0, 1, 5, 60]),
            "top_p": lambda: generator.choice([0.05, 0.5, 0.9]),
            "min_p": lambda: generator.choice([0.02, 0.2]),
            "typical_p": lambda: generator.choice([0.3, 0.9]),
        }
        options |= {name: draw() for name, draw in kept.items() if generator.random() < 0.35}
    if generator.random() < 0.4:
        options["stop_sequences"] = [generator.choices(pair.often, k=generator.randint(1, 3)) for _ in range(4)]
    case.engine = engine
    return case


def compare_engines(pair: Pair, case: Case) -> tuple[str, str]:
    """Generate with the engine of a case, and with "torch".

    Returns
    -------
    verdict, why : str
        As of ``generation_cases.compare``.
    """
    why = _difference(pair.ours, case)
    if not why:
        return "same", ""
    if not _difference(pair.in_float64()[1], case):
        return "near tie", why
    return "different", why


def _run(model: Any, case: Case, engine: str) -> GenerationOutput | str:
    try:
        output: GenerationOutput = model.generate(case.input_ids, case.attention_mask, engine=engine, **case.options)
    except ValueError as error:
        if "leave no token" not in str(error):
            raise
        return "no token left"
    return output


def _difference(model: Any, case: Case) -> str:
    expected, got = _run(model, case, "torch"), _run(model, case, case.engine)
    if isinstance(expected, str) or isinstance(got, str):
        return "" if expected == got else f"{expected}\n  {case.engine}: {got}"
    if not torch.equal(expected.sequences, got.sequences):
        return f"{expected.sequences.tolist()}\n  {case.engine}: {got.sequences.tolist()}"
    for name in ("scores", "token_scores"):
        wanted, given = getattr(expected, name), getattr(got, name)
        if not torch.allclose(wanted, given, rtol=CLOSE, atol=CLOSE):
            return f"{name}: {wanted.tolist()}\n  {case.engine}: {given.tolist()}"
    return ""
