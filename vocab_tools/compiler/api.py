"""``compile``: from source files to a compiled vocabulary."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

from numba_nlp.errors import SourceFormatError
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.compiler import byte_bpe, sentencepiece
from vocab_tools.formats import gpt2, sentencepiece_model, tiktoken_file, tokenizer_json
from vocab_tools.formats.description import Description
from vocab_tools.formats.detect import detect
from vocab_tools.formats.sentencepiece_model import SentencePieceModel

__all__ = ["compile", "describe_source"]

_POLICIES = ("raise", "match", "plain")
#: Options that only some formats have.
_OPTIONS_OF = {
    "gpt2": ("family",),
    "tokenizer.json": ("ignore",),
    "tiktoken": ("pattern", "special_tokens"),
    "sentencepiece": (),
}


def compile(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    family: str | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    special: str | None = None,
    ignore: Sequence[str] | None = None,
    name: str | None = None,
    allow_gaps: bool = False,
) -> Vocabulary:
    """Compile a vocabulary source.

    Parameters
    ----------
    source : path-like or iterable of path-like
        A ``tokenizer.json``, ``vocab.json`` and ``merges.txt``, a ``.tiktoken`` rank file, or a SentencePiece
        ``.model`` of type unigram, word or char.
    family : {"gpt2", "roberta"}, optional
        For ``vocab.json`` and ``merges.txt``: whose special tokens, template and spans; inferred where the vocabulary
        leaves no doubt.
    pattern : str, optional
        For ``.tiktoken``: name of the pre-token pattern, or a regular expression; known files need none.
    special_tokens : Mapping of str to int, optional
        For ``.tiktoken``: special tokens and their ids; those of known files are known.
    special : {"raise", "match", "plain"}, optional
        What is done with special tokens written in the text; by default what the format's reference does.
    ignore : sequence of {"truncation", "padding"}, optional
        For ``tokenizer.json``: settings of the file to leave out instead of refusing it for them.
    name : str, optional
        Name of the vocabulary.
    allow_gaps : bool
        Accept ids that no piece has.

    Returns
    -------
    Vocabulary

    Raises
    ------
    SourceFormatError
        A source breaks its format, or an option does not apply to it.
    UnsupportedFeatureError
        A source asks for what this version cannot reproduce exactly.

    Examples
    --------
    >>> import vocab_tools
    >>> vocab_tools.compile("cl100k_base.tiktoken").save("cl100k_base.safetensors")  # doctest: +SKIP
    """
    description = describe_source(
        source,
        family=family,
        pattern=pattern,
        special_tokens=special_tokens,
        special=special,
        ignore=ignore,
        name=name,
        allow_gaps=allow_gaps,
    )
    if isinstance(description, SentencePieceModel):
        return Vocabulary(*sentencepiece.build_arrays(description, special or "plain"))
    return Vocabulary(*byte_bpe.build_arrays(description))


def describe_source(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    family: str | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    special: str | None = None,
    ignore: Sequence[str] | None = None,
    name: str | None = None,
    allow_gaps: bool = False,
) -> Description | SentencePieceModel:
    """Read a vocabulary source without compiling it.

    Parameters
    ----------
    source, family, pattern, special_tokens, special, ignore, name, allow_gaps
        As :func:`compile`.

    Returns
    -------
    Description or SentencePieceModel
        Of a SentencePiece model without the policy for special tokens.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`compile`.
    """
    if special is not None and special not in _POLICIES:
        raise SourceFormatError(f"special must be one of {', '.join(map(repr, _POLICIES))}, got {special!r}")
    found = detect(source)
    given = {"family": family, "pattern": pattern, "special_tokens": special_tokens, "ignore": ignore}
    for option, value in given.items():
        if value is not None and option not in _OPTIONS_OF[found.format]:
            takers = [kind for kind, options in _OPTIONS_OF.items() if option in options]
            raise SourceFormatError(
                f"{option}= does not apply to {found.paths[0]} (format {found.format!r}), only to {takers[0]!r}"
            )
    if found.format == "sentencepiece":
        return sentencepiece_model.read(*found.paths, name=name)
    if found.format == "gpt2":
        description = gpt2.read(*found.paths, family=family, name=name, allow_gaps=allow_gaps)
    elif found.format == "tiktoken":
        description = tiktoken_file.read(
            *found.paths, pattern=pattern, special_tokens=special_tokens, name=name, allow_gaps=allow_gaps
        )
    else:
        description = tokenizer_json.read(*found.paths, ignore=ignore or (), name=name, allow_gaps=allow_gaps)
    return description if special is None else dataclasses.replace(description, special_policy=special)
