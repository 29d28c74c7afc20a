"""Changing the formats of lines: ``vocab.json`` with ``merges.txt``, ``.tiktoken`` rank files, ``vocab.txt``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.compiler.byte_bpe import merges_of
from vocab_tools.editing.editable import (
    NO_PARTS,
    Editable,
    Edited,
    NewToken,
    is_character,
    parts_of_merges,
    renumbering,
)
from vocab_tools.formats.bert_vocab import TRAILING_SPACE, WordPieceDescription, parse_lines
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.character_vocab import parse_merges
from vocab_tools.formats.description import KIND_ABSENT, KIND_NORMAL, AddedToken, Description
from vocab_tools.formats.reading import parse_json
from vocab_tools.formats.writers.json_text import json_bytes
from vocab_tools.formats.writers.text_files import merges_bytes, ranks_bytes

__all__ = ["editable_merges", "editable_ranks", "editable_words"]


def editable_merges(
    description: Description | CharacterDescription, files: dict[str, bytes], where: str, options: dict[str, Any]
) -> Editable:
    """``vocab.json`` and ``merges.txt``, in this order; parameters as of the other functions."""
    vocab_content, merges_content = files.values()
    suffix = "" if isinstance(description, Description) else description.suffix
    vocab: dict[str, int] = parse_json(Path(where), vocab_content.decode())
    merges = parse_merges(Path(where), merges_content.decode())
    n_ids = 1 + max(vocab.values())
    present, droppable = np.zeros(n_ids, np.bool_), np.zeros(n_ids, np.bool_)
    for piece, number in vocab.items():
        present[number], droppable[number] = True, not is_character(piece, "", suffix)
    droppable[[token.id for token in description.added_tokens]] = False
    # pieces that no merge makes go before those that one does
    order = -np.arange(n_ids, dtype=np.float64) - len(merges)
    for rank, (left, right) in reversed(list(enumerate(merges))):
        order[vocab[left + right]] = -rank

    def cut(kept: Any) -> Edited:
        new = renumbering(kept, n_ids).tolist()
        staying = {piece: new[number] for piece, number in vocab.items() if new[number] >= 0}
        listed = [
            merge for merge in merges if merge[0] in staying and merge[1] in staying and "".join(merge) in staying
        ]
        made = {"vocab.json": json_bytes(staying), "merges.txt": merges_bytes(listed)}
        return Edited(made, {key: value for key, value in options.items() if key != "allow_gaps"})

    def extend(tokens: Sequence[NewToken]) -> NoReturn:
        raise UnsupportedFeatureError(
            f"{where}: a vocab.json and a merges.txt have no place for added tokens ({tokens[0].content!r}); convert "
            "them to a tokenizer.json first (vocab-tools convert)"
        )

    parts = parts_of_merges(vocab, merges, n_ids, "", suffix)
    return Editable(present, droppable, parts, order, cut, extend)


def editable_ranks(description: Description, content: bytes, where: str, options: dict[str, Any]) -> Editable:
    """A ``.tiktoken`` file; its special tokens, which it does not hold, are renumbered in the options."""
    n_ids = len(description.pieces)
    special = {token.content: token.id for token in description.added_tokens}
    pattern = description.pattern if description.pattern != "regex" else description.pattern_regex
    parts = np.full((n_ids, 2), NO_PARTS, np.int32)
    merges = merges_of(description)
    parts[merges[:, 2]] = merges[:, :2]

    def cut(kept: Any) -> Edited:
        new = renumbering(kept, n_ids).tolist()
        ranks = {
            piece: new[number]
            for number, piece in enumerate(description.pieces)
            if piece is not None and new[number] >= 0
        }
        renumbered = {text: new[number] for text, number in special.items()}
        return Edited({"": ranks_bytes(ranks)}, {"pattern": pattern, "special_tokens": renumbered})

    def extend(tokens: Sequence[NewToken]) -> tuple[Edited, dict[str, int]]:
        ids: dict[str, int] = {}
        for token in tokens:
            if token.content in special or token.content in ids:
                number = {**special, **ids}[token.content]
                raise SourceFormatError(f"{where}: the token {token.content!r} is there already, with the id {number}")
            if not token.special:
                raise UnsupportedFeatureError(
                    f"{where}: tiktoken knows special tokens only, so {token.content!r} cannot be another one; pass "
                    "special=True (--special)"
                )
            ids[token.content] = n_ids + len(ids)
        given = {key: value for key, value in options.items() if key == "allow_gaps"}
        return Edited({"": content}, {**given, "pattern": pattern, "special_tokens": {**special, **ids}}), ids

    return Editable(
        present=description.kinds != KIND_ABSENT,
        droppable=description.kinds == KIND_NORMAL,
        parts=parts,
        order=-np.arange(n_ids, dtype=np.float64),
        cut=cut,
        extend=extend,
    )


def editable_words(description: WordPieceDescription, content: bytes, where: str, options: dict[str, Any]) -> Editable:
    """A ``vocab.txt``."""
    lines = parse_lines(Path(where), content.decode())
    n_ids = description.kinds.size
    pieces = [piece or "" for piece in description.pieces]
    present = description.kinds != KIND_ABSENT
    droppable = (description.kinds == KIND_NORMAL) & np.array(
        [not is_character(piece, description.prefix) for piece in pieces]
    )

    def cut(kept: Any) -> Edited:
        staying = [lines[number] for number in kept.tolist() if number < len(lines)]
        return Edited({"": _lines_bytes(staying)}, dict(options))

    def extend(tokens: Sequence[NewToken]) -> tuple[Edited, dict[str, int]]:
        behind: list[AddedToken] = [token for token in description.added_tokens if token.id >= len(lines)]
        if behind:
            raise SourceFormatError(
                f"{where}: the special token {behind[0].content!r} is no line of the file and has the id behind the "
                "last one, which a new line would take; append its line first"
            )
        taken = {piece: number for number, piece in enumerate(pieces) if piece}
        ids: dict[str, int] = {}
        for token in tokens:
            if token.content in taken:
                raise SourceFormatError(
                    f"{where}: the token {token.content!r} is there already, with the id {taken[token.content]}"
                )
            if token.special:
                raise UnsupportedFeatureError(
                    f"{where}: a vocab.txt does not say which tokens are special, so {token.content!r} cannot be one; "
                    "convert it to a tokenizer.json first (vocab-tools convert)"
                )
            if "\n" in token.content or TRAILING_SPACE.search(token.content):
                raise SourceFormatError(
                    f"{where}: the token {token.content!r} holds a line end or ends with white space, which a line of "
                    "a vocab.txt cannot"
                )
            taken[token.content] = ids[token.content] = len(lines) + len(ids)
        return Edited({"": _lines_bytes([*lines, *ids])}, dict(options)), ids

    return Editable(
        present=present,
        droppable=droppable,
        parts=np.full((n_ids, 2), NO_PARTS, np.int32),
        order=-np.arange(n_ids, dtype=np.float64),
        cut=cut,
        extend=extend,
    )


def _lines_bytes(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
