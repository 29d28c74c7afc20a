"""Changing ``tokenizer.json`` files; stages and settings stay, ids in them are renumbered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError
from vocab_tools.editing.editable import (
    NO_PARTS,
    Editable,
    Edited,
    NewToken,
    is_character,
    parts_of_merges,
    renumbering,
)
from vocab_tools.formats import serde_numbers
from vocab_tools.formats.description import AddedToken
from vocab_tools.formats.reading import parse_json
from vocab_tools.formats.writers.json_text import tokenizer_bytes
from vocab_tools.formats.writers.tokenizer_json import added_token_json

__all__ = ["editable_json"]

Json = dict[str, Any]
_BYTE = re.compile("<0x[0-9A-F]{2}>")


def editable_json(content: bytes, where: str, options: dict[str, Any]) -> Editable:
    """A ``tokenizer.json`` for changing.

    Parameters
    ----------
    content : bytes
        The file, one that its reader accepts.
    where : str
        What errors call it.
    options : dict
        What its reader was given.

    Returns
    -------
    Editable
    """
    document: Json = parse_json(Path(where), content.decode(), serde_numbers.read_float)
    model = document["model"]
    vocab = _vocab(model)
    added = document.get("added_tokens") or []
    n_ids = 1 + max([*vocab.values(), *(token["id"] for token in added)])
    # fields that are null count as not given
    prefix, suffix = (model.get(key) or "" for key in ("continuing_subword_prefix", "end_of_word_suffix"))
    present, droppable = np.zeros(n_ids, np.bool_), np.zeros(n_ids, np.bool_)
    for piece, number in vocab.items():
        present[number] = True
        is_byte = bool(model.get("byte_fallback")) and _BYTE.fullmatch(piece) is not None
        droppable[number] = not is_byte and not is_character(piece, prefix, suffix)
    fixed = [token["id"] for token in added]
    if model.get("unk_token") in vocab:
        fixed.append(vocab[model["unk_token"]])
    present[[token["id"] for token in added]] = True
    order = -np.arange(n_ids, dtype=np.float64)
    parts = np.full((n_ids, 2), NO_PARTS, np.int32)
    if isinstance(model["vocab"], list):
        scores = np.array([score for _, score in model["vocab"]], np.float64)
        order[: scores.size] = scores
        # the score of unknown text is computed from the lowest one
        fixed += [int(np.argmin(scores)), int(np.argmax(scores))]
        if model.get("unk_id") is not None:
            fixed.append(model["unk_id"])
    elif "merges" in model:
        merges = _merges(model)
        parts = parts_of_merges(vocab, merges, n_ids, prefix, suffix)
        order -= len(merges)  # pieces that no merge makes come behind those that one does
        for rank, (left, right) in reversed(list(enumerate(merges))):
            order[vocab[left + right.removeprefix(prefix)]] = -rank
    droppable[fixed] = False
    return Editable(
        present=present,
        droppable=droppable,
        parts=parts,
        order=order,
        cut=lambda kept: _cut(document, kept, n_ids, prefix, options),
        extend=lambda tokens: _extend(document, tokens, where, options),
    )


def _vocab(model: Json) -> dict[str, int]:
    listed = model["vocab"]
    return {piece: i for i, (piece, _) in enumerate(listed)} if isinstance(listed, list) else listed


def _merges(model: Json) -> list[tuple[str, str]]:
    """Merges in both forms that files have: ``"a b"`` and ``["a", "b"]``."""
    parts = (merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"])
    return [(left, right) for left, right in parts]


def _cut(document: Json, kept: NDArray[np.int64], n_ids: int, prefix: str, options: dict[str, Any]) -> Edited:
    new = renumbering(kept, n_ids).tolist()
    model = dict(document["model"])
    old = _vocab(model)
    vocab = {piece: new[number] for piece, number in old.items() if new[number] >= 0}
    if isinstance(model["vocab"], list):
        model["vocab"] = [model["vocab"][number] for number in kept.tolist() if number < len(model["vocab"])]
        if model.get("unk_id") is not None:
            model["unk_id"] = new[model["unk_id"]]
    else:
        model["vocab"] = vocab
        if "merges" in model:
            model["merges"] = [
                merge
                for merge, (left, right) in zip(model["merges"], _merges(model), strict=True)
                if left in vocab and right in vocab and left + right.removeprefix(prefix) in vocab
            ]
    made = {**document, "model": model}
    made["added_tokens"] = [{**token, "id": new[token["id"]]} for token in document.get("added_tokens") or []]
    made["post_processor"] = _renumbered(document.get("post_processor"), new)
    padding = document.get("padding")
    if padding is not None:
        made["padding"] = {**padding, "pad_id": new[padding["pad_id"]]}
    remaining = {key: value for key, value in options.items() if key != "allow_gaps"}
    return Edited({"": tokenizer_bytes(made)}, remaining)


def _renumbered(stage: Any, new: Sequence[int]) -> Any:
    """A post-processor with new ids, which stand in templates and in the pairs of BERT's and RoBERTa's."""
    if stage is None:
        return None
    made = dict(stage)
    if stage["type"] == "Sequence":
        made["processors"] = [_renumbered(part, new) for part in stage["processors"]]
    elif stage["type"] == "TemplateProcessing":
        made["special_tokens"] = {
            name: {**token, "ids": [new[number] for number in token["ids"]]}
            for name, token in stage["special_tokens"].items()
        }
    for key in ("sep", "cls"):
        if key in stage:
            made[key] = [stage[key][0], new[stage[key][1]]]
    return made


def _extend(
    document: Json, tokens: Sequence[NewToken], where: str, options: dict[str, Any]
) -> tuple[Edited, dict[str, int]]:
    """As tokenizers' ``add_tokens`` and ``add_special_tokens``: behind the pieces and the tokens that were added."""
    vocab = _vocab(document["model"])
    listed = list(document.get("added_tokens") or [])
    taken = {**vocab, **{token["content"]: token["id"] for token in listed}}
    following = max(len(vocab), 1 + max((token["id"] for token in listed), default=-1))
    ids: dict[str, int] = {}
    for token in tokens:
        if token.content in taken:
            raise SourceFormatError(
                f"{where}: the token {token.content!r} is there already, with the id {taken[token.content]}"
            )
        taken[token.content] = ids[token.content] = following
        following += 1
        listed.append(
            added_token_json(
                AddedToken(token.content, ids[token.content], special=token.special, normalized=not token.special)
            )
        )
    return Edited({"": tokenizer_bytes({**document, "added_tokens": listed})}, dict(options)), ids
