"""The table of conversions: for every two formats what converts, or what would be lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from vocab_tools.converting import byte_level, json_to_model, model_to_json, words
from vocab_tools.converting.formats import FORMATS, Opened, Written

__all__ = ["TABLE", "Conversion", "conversion_matrix"]

Converter = Callable[[Opened], Written]


@dataclass(frozen=True)
class Conversion:
    """A cell of the table.

    Attributes
    ----------
    source, target : str
        Names of two formats, see ``vocab_tools.converting.formats.FORMATS``.
    works : {"yes", "some", "no"}
        For all vocabularies of the source's format, for those that ``which`` names, or for none.
    which : str
        Which vocabularies are converted; empty with "no".
    loses : str
        What would be lost of the others, or of all; empty with "yes".
    convert : callable or None
        What makes the files; None with "no", for copies, and where a compiled file is one of the two.
    """

    source: str
    target: str
    works: str
    which: str = ""
    loses: str = ""
    convert: Converter | None = field(default=None, repr=False, compare=False)


def _json_to_model(source: Opened) -> Written:
    ignore = source.options.get("ignore") or ()
    return json_to_model.json_to_model(source, frozenset(ignore))


_WORKING: dict[tuple[str, str], tuple[Converter, str, str]] = {
    ("sentencepiece", "tokenizer.json"): (
        model_to_json.model_to_json,
        "unigram, and bpe without user-defined pieces",
        "models of type word and char, unused pieces, rules for decoded text, spaces behind words",
    ),
    ("tokenizer.json", "sentencepiece"): (
        _json_to_model,
        "Unigram, and BPE that merges all neighbours that make a piece, behind the stages that a .model can say",
        "other normalizers and pre-tokenizers, templates, added tokens that cut a text",
    ),
    ("tokenizer.json", "merges.txt"): (
        byte_level.to_merges,
        "byte-level BPE with the stages and special tokens of GPT-2 or RoBERTa, and GPT's BPE",
        "other patterns, normalizers, special tokens and templates; scores of Unigram",
    ),
    ("merges.txt", "tokenizer.json"): (
        byte_level.merges_to_json,
        "the families gpt2, roberta and openai-gpt",
        "how CTRL cuts words, and how CLIP's ids are decoded",
    ),
    ("tokenizer.json", "tiktoken"): (
        byte_level.merges_to_ranks,
        "byte-level BPE whose ids are in the order of its merges, with a pattern that tiktoken can run",
        "the order of merges where the ids have another, templates, options of added tokens, scores",
    ),
    ("merges.txt", "tiktoken"): (
        byte_level.merges_to_ranks,
        "the family gpt2 with ids in the order of the merges",
        "the order of merges where the ids have another; RoBERTa's template; marks of words",
    ),
    ("tiktoken", "tokenizer.json"): (
        byte_level.ranks_to_json,
        "all with a pattern that has a name",
        "a regular expression of tiktoken's engine that has no name here",
    ),
    ("tiktoken", "merges.txt"): (
        byte_level.ranks_to_merges,
        "those with GPT-2's pattern and its special token, all of whose pieces are made by merging",
        "other patterns and special tokens, pieces that only whole pre-tokens are",
    ),
    ("vocab.txt", "tokenizer.json"): (words.words_to_json, "all", ""),
    ("tokenizer.json", "vocab.txt"): (
        words.json_to_words,
        "WordPiece with BERT's stages, template and special tokens",
        "other templates and special tokens, text that is not cleaned up; merges and scores",
    ),
    ("subword-nmt", "fastbpe"): (
        words.codes_to_fastbpe,
        "version 0.2 with the separator @@",
        "the end of words as a symbol (version 0.1), other separators",
    ),
    ("fastbpe", "subword-nmt"): (words.fastbpe_to_codes, "all", "frequencies of pairs, which encoding has no use for"),
}

_SCORES = "scores and the search for the best segmentation: this format has merges or words that are cut beforehand"
_PIECES_IN_BYTES = "pieces of bytes, and the pattern that cuts text before merging"
_LISTS = "the list of tokens is no list of merges or scores, and none can be made of it"
_CODES = (
    "tokens are spelled th@@ e and have no ids of their own; words are what spaces part, with a filter by frequency"
)
#: What is lost where nothing converts, by what is lost of a source.
_LOST: dict[tuple[str, str], str] = {}
for _target in FORMATS:
    _LOST |= {
        ("sentencepiece", _target): _SCORES,
        ("tokenizer.json", _target): "stages and ids: this format knows words that spaces part, and two models",
        ("merges.txt", _target): _PIECES_IN_BYTES,
        ("tiktoken", _target): _PIECES_IN_BYTES,
        ("vocab.txt", _target): f"the longest piece first in each of BERT's words; {_LISTS}",
        ("subword-nmt", _target): _CODES,
        ("fastbpe", _target): _CODES,
        ("marian", _target): "one of the two models, and the ids that vocab.json gives to the pieces of both",
    }
_LOST |= {
    (
        "sentencepiece",
        "marian",
    ): "what language a text is of: the pair has a model for each, and a list of tokens for both",
    ("merges.txt", "vocab.txt"): "the order of merges: WordPiece takes the longest piece instead",
    ("tiktoken", "vocab.txt"): "the order of merges: WordPiece takes the longest piece instead",
}


def _table() -> dict[tuple[str, str], Conversion]:
    cells: dict[tuple[str, str], Conversion] = {}
    for source in FORMATS:
        for target in FORMATS:
            if source == target:
                cell = Conversion(source, target, "yes", "all, as a copy")
            elif source == "compiled":
                cell = Conversion(
                    source,
                    target,
                    "some",
                    "those compiled of this format, and those whose source converts to it",
                    "what the source would lose; all of one compiled with keep_source=False",
                )
            elif target == "compiled":
                cell = Conversion(source, target, "yes", "all that can be compiled")
            elif (source, target) in _WORKING:
                convert, which, loses = _WORKING[source, target]
                works = "some" if which != "all" else "yes"
                cell = Conversion(source, target, works, which, loses, convert)
            else:
                cell = Conversion(source, target, "no", "", _LOST[source, target])
            cells[source, target] = cell
    return cells


TABLE: Mapping[tuple[str, str], Conversion] = MappingProxyType(_table())


def conversion_matrix() -> dict[tuple[str, str], Conversion]:
    """All conversions, by the names of two formats.

    Returns
    -------
    dict of (str, str) to Conversion
        For every source and target what converts, or what would be lost; in the order of the table.

    Examples
    --------
    >>> import vocab_tools
    >>> vocab_tools.conversion_matrix()["vocab.txt", "tokenizer.json"].works
    'yes'
    """
    return dict(TABLE)
