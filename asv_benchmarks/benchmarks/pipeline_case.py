"""What one task's benchmark consists of, and what all of them share: texts, and checkpoints that are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import eq
from pathlib import Path
from typing import Any

from tools.files import ROOT

__all__ = ["Peer", "PipelineCase", "save_model", "text_lines", "their_parts"]

#: Rows of a batch -> their results, as our pipeline gives them.
Peer = Callable[[list[Any]], list[Any]]
_HAMLET = ROOT / "examples" / "data" / "hamlet_gut.txt"


@dataclass(frozen=True)
class PipelineCase:
    """One task.

    Attributes
    ----------
    task : str
        Our name of it.
    write : callable
        ``folder, settings``: writes a checkpoint, tokenizer and weights.
    inputs : callable
        ``n``: so many rows.
    peer : callable
        ``folder, options, batch``: what transformers does in the place of the pipeline.
    options : dict
        Of the pipeline's calls.
    their_options : dict
        Of transformers.
    says : str
        Of the model and the inputs, for the page.
    plain : callable
        One of our results in the form of the peer's.
    same : callable
        Whether a result of ours, in that form, is that of the peer.
    settings : dict
        Changes of the model's config, for tests.
    """

    task: str
    write: Callable[[Path, dict[str, Any]], None]
    inputs: Callable[[int], list[Any]]
    peer: Callable[[Path, dict[str, Any], int], Peer]
    options: dict[str, Any]
    their_options: dict[str, Any]
    says: str
    plain: Callable[[Any], Any] = lambda result: result
    same: Callable[[Any, Any], bool] = eq
    settings: dict[str, Any] = field(default_factory=dict)


def text_lines(n: int, lines: int) -> list[str]:
    """So many texts of so many lines of Hamlet each, more and fewer by turns."""
    found = [line for line in _HAMLET.read_text(encoding="utf-8").splitlines() if len(line) > 30]
    texts, first = [], 100
    for number in range(n):
        taken = max(1, lines + (number % 3 - 1) * (lines // 2))
        texts.append(" ".join(found[first : first + taken]))
        first += taken
    return texts


def save_model(architecture: str, folder: Path, settings: dict[str, Any]) -> None:
    """Write a model of transformers with random weights."""
    import torch
    import transformers

    kind = getattr(transformers, architecture)
    torch.manual_seed(0)
    kind(kind.config_class(**settings)).save_pretrained(folder)


def their_parts(architecture: str, folder: Path) -> tuple[Any, Any]:
    """Tokenizer and model of transformers."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer, getattr(transformers, architecture).from_pretrained(folder).eval()
