"""The nine formats, what a source and a result of a conversion are, and how a target's format is told by its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.compiler.api import AnyDescription

__all__ = ["FORMATS", "READ_AS", "Opened", "Written", "format_named", "format_of_target", "told_format"]

#: Names of the formats, as ``to`` takes them, and what they are.
FORMATS: dict[str, str] = {
    "sentencepiece": "a SentencePiece .model",
    "tokenizer.json": "a tokenizer.json",
    "merges.txt": "vocab.json and merges.txt",
    "tiktoken": "a .tiktoken rank file",
    "vocab.txt": "a vocab.txt of BERT",
    "subword-nmt": "codes of subword-nmt",
    "fastbpe": "codes of fastBPE",
    "marian": "Marian's folder of source.spm, target.spm and vocab.json",
    "compiled": "a compiled .safetensors",
}
#: What the readers call their formats -> one of the nine.
READ_AS = {
    "gpt2": "merges.txt",
    "clip": "merges.txt",
    **{name: name for name in FORMATS if name not in ("merges.txt", "compiled")},
}
_ALIASES = {
    "model": "sentencepiece",
    "spm": "sentencepiece",
    "json": "tokenizer.json",
    "gpt2": "merges.txt",
    "vocab.json": "merges.txt",
    "vocab.json+merges.txt": "merges.txt",
    "bert": "vocab.txt",
    "fastBPE": "fastbpe",
    "safetensors": "compiled",
}


@dataclass(frozen=True)
class Opened:
    """A source that is converted.

    Attributes
    ----------
    where : str
        What errors call it.
    format : str
        One of :data:`FORMATS`.
    paths : tuple of Path
        Its files.
    options : dict
        What its reader was asked for.
    description : Description or another that a compiler takes
    """

    where: str
    format: str
    paths: tuple[Path, ...]
    options: dict[str, Any]
    description: AnyDescription


@dataclass(frozen=True)
class Written:
    """What a conversion made.

    Attributes
    ----------
    files : dict of str to bytes
        By name; the name of a single file is empty.
    options : dict
        What the reader of the new format must be given so that it reads the same vocabulary: files do not hold
        everything.
    notes : tuple of str
        Where the two formats differ by what they are, not in this vocabulary.
    compares : bool
        The compiled arrays must be those of the source.
    """

    files: dict[str, bytes] = field(repr=False)
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    compares: bool = True


def format_named(name: str) -> str:
    """The format that a caller names.

    Raises
    ------
    SourceFormatError
    """
    found = _ALIASES.get(name, name)
    if found not in FORMATS:
        raise SourceFormatError(f"to={name!r} is no format of vocabularies; known are {', '.join(FORMATS)}")
    return found


def told_format(target: Path, folder: str = "merges.txt") -> str | None:
    """The format that the name of a target tells, or None.

    Parameters
    ----------
    target : Path
        Need not be there.
    folder : str
        The format of a folder, or of a name without a suffix, which becomes one.
    """
    if target.is_dir():
        return folder
    if target.name.endswith("vocab.txt"):
        return "vocab.txt"
    if target.suffix in _SUFFIXES:
        return _SUFFIXES[target.suffix]
    if target.name.startswith("codes"):
        return "subword-nmt"
    return None if target.suffix else folder


_SUFFIXES = {
    ".safetensors": "compiled", ".model": "sentencepiece", ".spm": "sentencepiece", ".tiktoken": "tiktoken",
    ".json": "tokenizer.json", ".fastbpe": "fastbpe", ".codes": "subword-nmt", ".bpe": "subword-nmt",
}  # fmt: skip


def format_of_target(target: Path, folder: str = "merges.txt") -> str:
    """As :func:`told_format`, for names that must tell one.

    Raises
    ------
    SourceFormatError
        It tells none.
    """
    told = told_format(target, folder)
    if told is None:
        raise SourceFormatError(
            f"{target}: the name does not tell the format to write; pass to= with one of {', '.join(FORMATS)}"
        )
    return told
