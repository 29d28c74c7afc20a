"""What is meant by options that tasks which read do not have: those of transformers' pipelines, and near names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["unknown_option"]

#: An option of transformers, up to version 4 too -> the option that a task must have for the hint, and what stands here
#: for it.
_HERE: dict[str, tuple[str | None, str]] = {
    "binary_output": (None, "`pipe.arrays(...)`"),
    "device": (None, "`device` of `pipeline(...)`"),
    "device_map": (None, "`device` of `pipeline(...)`"),
    "framework": (None, "torch only; leave it out"),
    "grouped_entities": ("aggregation_strategy", "`aggregation_strategy='simple'`, or 'none'"),
    "ignore_subwords": ("aggregation_strategy", "`aggregation_strategy='first'`"),
    "multi_class": ("multi_label", "`multi_label`"),
    "num_workers": (None, "nothing like it: rows are tokenized on all threads; leave it out"),
    "padding": (None, "no choice: rows are padded to the longest one of their batch; leave it out"),
    "return_all_scores": ("top_k", "`top_k=None`"),
    "return_tensors": (None, "`pipe.arrays(...)`"),
    "tokenize_kwargs": ("truncation", "`truncation` and `max_length` themselves"),
    "topk": ("top_k", "`top_k`"),
    "torch_dtype": (None, "`dtype` of `pipeline(...)`"),
    "context": ("max_question_len", 'a row {"question": ..., "context": ...}'),
    "question": ("max_question_len", 'a row {"question": ..., "context": ...}'),
    "sequences": ("candidate_labels", "the rows themselves, as the first argument"),
}


def unknown_option(task: str, name: str, known: Iterable[str]) -> TypeError:
    """What is raised for an option that a task does not have.

    Parameters
    ----------
    task, name : str
    known : iterable of str
        The options that it has.
    """
    known = list(known)
    needed, here = _HERE.get(name, (None, ""))
    near = get_close_matches(name, known, 1)
    hint = ""
    if here and (needed is None or needed in known):
        hint = f"; for {name!r} there is {here}"
    elif near:
        hint = f"; is `{near[0]}` meant?"
    return TypeError(f"task {task!r} has no option {name!r}; it has {', '.join(known) or 'none'}{hint}")
