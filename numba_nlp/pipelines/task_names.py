"""Names of tasks: ours, and those of transformers, which are other names of the same."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from numba_nlp._arguments import shown, string

__all__ = ["TASKS", "Task", "find_task", "supported_tasks"]


class Task(NamedTuple):
    """A task.

    Parameters
    ----------
    module : str
        Below ``numba_nlp.pipelines``.
    pipeline : str
        Name of its class there.
    aliases : tuple of str
        What transformers calls it.
    needs : str
        What kind of checkpoint it needs, for messages; with an example from the hub.
    """

    module: str
    pipeline: str
    aliases: tuple[str, ...]
    needs: str


TASKS = {
    "translate": Task(
        "translate",
        "Translate",
        ("translation", "text2text-generation"),
        "an encoder-decoder such as Marian, T5, mBART or M2M100 (Helsinki-NLP/opus-mt-en-es)",
    ),
    "summarize": Task(
        "summarize", "Summarize", ("summarization",), "BART, Pegasus or T5 (sshleifer/distilbart-cnn-12-6)"
    ),
    "generate": Task("generate", "Generate", ("text-generation",), "GPT, GPT-2 or XLNet with a language model (gpt2)"),
    "converse": Task("converse", "Converse", ("conversational",), "a model of dialogues (microsoft/DialoGPT-medium)"),
    "answer": Task(
        "answer",
        "Answer",
        ("question-answering",),
        "a model with a question answering head (distilbert-base-cased-distilled-squad)",
    ),
    "tag_tokens": Task(
        "tag_tokens",
        "TagTokens",
        ("ner", "token-classification"),
        "a token classifier (dbmdz/bert-large-cased-finetuned-conll03-english)",
    ),
    "classify": Task(
        "classify",
        "Classify",
        ("text-classification", "sentiment-analysis"),
        "a sequence classifier (distilbert-base-uncased-finetuned-sst-2-english)",
    ),
    "classify_zero_shot": Task(
        "classify_zero_shot",
        "ClassifyZeroShot",
        ("zero-shot-classification",),
        "a classifier of entailment, trained on NLI (facebook/bart-large-mnli)",
    ),
    "embed": Task("embed", "Embed", ("feature-extraction",), "an encoder (sentence-transformers/all-MiniLM-L6-v2)"),
    "fill_mask": Task("fill_mask", "FillMask", ("fill-mask",), "a masked language model (bert-base-uncased)"),
}
_ALIASES = {alias: name for name, task in TASKS.items() for alias in (name, *task.aliases)}
#: ``translation_en_to_de``, whose languages are options of the task.
_TRANSLATION = re.compile(r"translation_(?P<source>\w+)_to_(?P<target>\w+)", re.ASCII)


def supported_tasks() -> dict[str, tuple[str, ...]]:
    """Names of the tasks, each with the names that transformers has for it."""
    return {name: task.aliases for name, task in TASKS.items()}


def find_task(name: Any) -> tuple[str, dict[str, str]]:
    """Our name of a task, and options that its name holds.

    Raises
    ------
    ValueError, TypeError
        There is no such task.
    """
    wanted = string("task", name)
    if wanted in _ALIASES:
        # a text as it is, whatever the model makes of it
        return _ALIASES[wanted], {"prefix": ""} if wanted == "text2text-generation" else {}
    languages = _TRANSLATION.fullmatch(wanted)
    if languages:
        return "translate", {"source_language": languages["source"], "target_language": languages["target"]}
    also = ", ".join(alias for task in TASKS.values() for alias in task.aliases)
    raise ValueError(f"`task` must be one of {', '.join(TASKS)} (or {also}, translation_XX_to_YY), got {shown(name)}")
