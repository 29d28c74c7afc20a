"""Byte-level BPE and GPT's BPE between ``tokenizer.json``, ``vocab.json`` with ``merges.txt``, and rank files."""

from __future__ import annotations

import hashlib
from typing import Any

from numba_nlp.errors import ConversionError
from vocab_tools.compiler.byte_bpe import merges_of
from vocab_tools.compiler.patterns import choose_pattern
from vocab_tools.converting.formats import Opened, Written
from vocab_tools.formats import serde_numbers
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import Description
from vocab_tools.formats.known_encodings import KNOWN_ENCODINGS
from vocab_tools.formats.reading import parse_json, read_text
from vocab_tools.formats.writers.json_text import json_bytes, tokenizer_bytes
from vocab_tools.formats.writers.text_files import merges_bytes, ranks_bytes
from vocab_tools.formats.writers.tokenizer_json import byte_level_document, gpt_document

__all__ = ["document_of", "merges_to_json", "merges_to_ranks", "ranks_to_json", "ranks_to_merges", "to_merges"]

_SPECIAL_TEXT = "special tokens written in a text: tiktoken raises for them, tokenizers matches them"
_UNICODE = "letters and numbers of a pattern are those of each library's own Unicode version"


def document_of(source: Opened) -> Any:
    """The parsed ``tokenizer.json`` of a source."""
    path = source.paths[0]
    return parse_json(path, read_text(path)[0], serde_numbers.read_float)


def ranks_to_json(source: Opened) -> Written:
    """Ranks to merges: the one merge that makes a piece is what the lower ranks leave of it."""
    description = _byte_level(source)
    if description.normalizers:
        raise ConversionError(f"{source.where}: normalizers would be lost")
    made = byte_level_document(description, merges_of(description))
    return Written({"": tokenizer_bytes(made)}, _gaps(made), (_SPECIAL_TEXT, _UNICODE))


def merges_to_json(source: Opened) -> Written:
    """``vocab.json`` and ``merges.txt`` with what their family adds."""
    description = source.description
    if isinstance(description, CharacterDescription):
        if description.words != "bert":
            raise ConversionError(
                f"{source.where}: of the families whose pieces are of characters only openai-gpt has a tokenizer.json "
                f"here; this one ({description.source_format}) would lose how its words are cut and its ids decoded"
            )
        made = gpt_document(description)
    else:
        described = _byte_level(source)
        made = byte_level_document(described, merges_of(described))
    return Written({"": tokenizer_bytes(made)}, _gaps(made))


def _gaps(document: dict[str, Any]) -> dict[str, Any]:
    """The option that a file with ids of no piece needs."""
    ids = set(document["model"]["vocab"].values()) | {token["id"] for token in document["added_tokens"]}
    return {"allow_gaps": True} if len(ids) <= max(ids) else {}


def merges_to_ranks(source: Opened) -> Written:
    """Ranks of a vocabulary whose ids are in the order of its merges."""
    description = _byte_level(source)
    of_added = {token.id for token in description.added_tokens}
    pieces = enumerate(description.pieces)
    ranks = {piece: number for number, piece in pieces if piece is not None and number not in of_added}
    content = ranks_bytes(ranks)
    options: dict[str, Any] = {}
    if hashlib.sha256(content).hexdigest() not in KNOWN_ENCODINGS:
        if description.pattern == "regex":
            raise ConversionError(
                f"{source.where}: the pre-token pattern {description.pattern_regex!r:.100} would be lost: it is a "
                "regular expression of tokenizers' engine, and whether tiktoken's cuts alike is not known"
            )
        choose_pattern(description.pattern, "tiktoken")
        options = {
            "pattern": description.pattern,
            "special_tokens": {token.content: token.id for token in description.added_tokens},
        }
        if set(range(max(ranks.values()))) - set(ranks.values()) - of_added:
            options["allow_gaps"] = True
    return Written({"": content}, options, (_SPECIAL_TEXT, _UNICODE))


def ranks_to_merges(source: Opened) -> Written:
    """``vocab.json`` and ``merges.txt`` of ranks with GPT-2's pattern."""
    description = _byte_level(source)
    document = byte_level_document(description, merges_of(description))
    return _merges_files(document, description)


def to_merges(source: Opened) -> Written:
    """``vocab.json`` and ``merges.txt`` of a ``tokenizer.json``."""
    if not isinstance(source.description, Description | CharacterDescription):
        raise ConversionError(
            f"{source.where}: a vocab.json and a merges.txt hold byte-level BPE, or GPT's; of this model "
            "(Unigram, WordPiece, or BPE behind other stages) they would lose the scores or the stages"
        )
    return _merges_files(document_of(source), source.description)


def _merges_files(document: Any, description: Description | CharacterDescription) -> Written:
    model = document["model"]
    # transformers looks the special tokens of a family up in the file
    of_family = {token.content: token.id for token in description.added_tokens if token.content in _FAMILY_TOKENS}
    vocab = dict(sorted({**model["vocab"], **of_family}.items(), key=lambda item: item[1]))
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    files = {"vocab.json": json_bytes(vocab), "merges.txt": merges_bytes(merges)}
    names = {token.content for token in description.added_tokens}
    if isinstance(description, CharacterDescription):
        options: dict[str, Any] = {"family": "clip" if description.words == "clip" else "openai-gpt"}
    else:
        options = {"family": "roberta" if "<mask>" in names else "gpt2"}
    if len(vocab) <= max(vocab.values()):
        options["allow_gaps"] = True
    return Written(files, options)


#: Special tokens that a family finds in its vocab.json.
_FAMILY_TOKENS = frozenset(("<|endoftext|>", "<|startoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>"))


def _byte_level(source: Opened) -> Description:
    if not isinstance(source.description, Description):
        raise ConversionError(
            f"{source.where}: this format holds byte-level BPE only; of this model "
            f"({type(source.description).__name__}) it would lose the pieces' characters, scores or stages"
        )
    return source.description
