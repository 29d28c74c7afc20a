"""What kind of source a path is: told from the content, with the name as a second witness."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError

__all__ = ["SUPPORTED", "Source", "detect"]

SUPPORTED = (
    "a tokenizer.json, a pair of vocab.json and merges.txt, a vocab.txt of BERT, a .tiktoken rank file, "
    "a SentencePiece .model, codes of subword-nmt or fastBPE, or CLIP's bpe_simple_vocab_16e6.txt.gz"
)
_HEAD_BYTES = 4096
_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2}[ \t]+[0-9]+[ \t]*(?:\r?\n|$)")
_FLAT_JSON = re.compile(rb'\s*\{\s*(?:\}|"(?:[^"\\]|\\.)*"\s*:\s*-?[0-9])')
#: A line of its own: BERT's token of unknown words.
_UNKNOWN_LINE = re.compile(rb"^\[UNK\][ \t\r]*$", re.MULTILINE)
_MODEL_SUFFIXES = {".model", ".spm"}
#: Codes of subword-nmt: a version line, and merges of which some end a word.
_CODES_VERSION = b"#version:"
_BYTE_OF_SPACE = "Ġ".encode()
_PACKED = b"\x1f\x8b"
#: Names of formats that later versions read, so that the refusal can say what the file is.
_KNOWN_BY_NAME = {
    ".safetensors": "a compiled vocabulary (load it with numba_nlp.load_tokenizer) or the weights of a model",
    ".vocab": "the text form of a sentencepiece vocabulary",
    ".txt": "a word list that neither has a line [UNK] near its beginning nor a name that ends in vocab.txt",
    ".bpe": "a merge list without its vocab.json, or subword-nmt codes",
    ".codes": "subword-nmt codes",
}


class Source(NamedTuple):
    """A source whose format is known.

    Attributes
    ----------
    format : str
        "tokenizer.json", "gpt2", "vocab.txt", "tiktoken", "sentencepiece", "subword-nmt", "fastbpe" or "clip".
    paths : tuple of Path
        The file; for "gpt2" the pieces first, then the merges.
    """

    format: str
    paths: tuple[Path, ...]


def detect(source: str | PathLike[str] | Iterable[str | PathLike[str]]) -> Source:
    """Tell the format of a source.

    Parameters
    ----------
    source : path-like or iterable of path-like
        One file, or ``vocab.json`` and ``merges.txt`` in any order.

    Returns
    -------
    Source

    Raises
    ------
    FileNotFoundError
        A path does not exist.
    SourceFormatError
        A path in a list is a folder, or the paths do not belong together.
    TypeError
        What is given is no path.
    UnsupportedFeatureError
        A format that this version does not read; the message says which it reads.
    """
    is_one = isinstance(source, str | PathLike | bytes | bytearray) or getattr(source, "ndim", 1) == 0
    is_many = isinstance(source, Iterable) and not is_one
    given: tuple[object, ...] = tuple(source) if is_many else (source,)  # type: ignore[arg-type]
    for part in given:
        if not isinstance(part, str | PathLike):
            raise TypeError(f"a source is a path or paths (str or os.PathLike), got {type(part).__name__}")
        if part == "":
            raise SourceFormatError(f"`source` holds an empty path; give the path of {SUPPORTED}")
    paths = tuple(Path(part) for part in given)  # type: ignore[arg-type]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: does not exist; give the path of {SUPPORTED}")
        if not path.is_dir() and not path.is_file():
            raise SourceFormatError(f"{path}: is no regular file; copy it to one first")
        if path.is_dir():
            raise SourceFormatError(
                f"{path}: is a folder; give the folder of a checkpoint by itself, not in a list, or the files in it"
            )
    if len(paths) == 1:
        return _detect_one(paths[0])
    if len(paths) == 2:
        flat = [bool(_FLAT_JSON.match(_head(path))) for path in paths]
        if flat == [True, False]:
            return Source("gpt2", paths)
        if flat == [False, True]:
            return Source("gpt2", paths[::-1])
    names = ", ".join(map(str, paths)) or "no path"
    raise SourceFormatError(f"{names}: expected {SUPPORTED}; two paths must be a vocab.json and its merges.txt")


def _detect_one(path: Path) -> Source:
    head = _head(path)
    if not head:
        raise SourceFormatError(f"{path}: the file is empty; was its download interrupted?")
    if _is_model(head):
        return Source("sentencepiece", (path,))
    if head.startswith(_PACKED):
        return Source("clip", (path,))
    if _is_codes(head, path.name):
        return Source("subword-nmt", (path,))
    if _is_fastbpe(head):
        return Source("fastbpe", (path,))
    if _UNKNOWN_LINE.search(head):
        return Source("vocab.txt", (path,))
    if _FLAT_JSON.match(head):
        raise SourceFormatError(
            f"{path}: a vocab.json holds pieces but no merges; pass both files, [{str(path)!r}, '.../merges.txt']"
        )
    if head.lstrip()[:1] == b"{":
        return Source("tokenizer.json", (path,))
    if path.suffix == ".tiktoken" or _RANK_LINE.match(head):
        return Source("tiktoken", (path,))
    if path.name.endswith("vocab.txt"):
        return Source("vocab.txt", (path,))
    if not _MODEL_SUFFIXES.isdisjoint(path.suffixes):
        return Source("sentencepiece", (path,))
    if path.name.endswith("merges.txt") or head.startswith(_CODES_VERSION):
        raise SourceFormatError(
            f"{path}: a merges.txt holds merges but no pieces; pass both files, ['.../vocab.json', {str(path)!r}]"
        )
    what = next((_KNOWN_BY_NAME[suffix] for suffix in reversed(path.suffixes) if suffix in _KNOWN_BY_NAME), None)
    guess = f"it looks like {what}, which is" if what else "its format is"
    raise UnsupportedFeatureError(f"{path}: {guess} not supported by this version, which reads {SUPPORTED}")


def _is_model(head: bytes) -> bool:
    """Whether a file begins with a piece of a SentencePiece model: a message that holds a text and a score."""
    if len(head) < 5 or head[0] != 0x0A or head[2] != 0x0A:
        return False
    n_message, n_text = head[1], head[3]
    return n_text < 0x80 and n_text + 7 <= n_message < 0x80 and head[4 + n_text : 5 + n_text] == b"\x15"


def _is_codes(head: bytes, name: str) -> bool:
    """Whether all whole lines of the head are merges, and some of them end a word.

    With a version line no word needs to end, unless the file has the name or the alphabet of GPT-2's merges, which
    have the same line.
    """
    if head.startswith(_CODES_VERSION):
        return b"</w>" in head or (not name.endswith("merges.txt") and _BYTE_OF_SPACE not in head)
    merges = _rows(head)
    return all(len(merge) == 2 and all(merge) for merge in merges) and any(
        part.endswith(b"</w>") for merge in merges for part in merge
    )


def _is_fastbpe(head: bytes) -> bool:
    """Whether all whole lines of the head are merges with a frequency, and some of them end a word."""
    rows = _rows(head)
    return all(len(row) == 3 and all(row) and row[2].isdigit() for row in rows) and any(
        part.endswith(b"</w>") for row in rows for part in row
    )


def _rows(head: bytes) -> list[list[bytes]]:
    """What spaces part on the whole lines of the head that are not empty."""
    lines = head.split(b"\n")[: 200 if len(head) == _HEAD_BYTES else None]
    if len(head) == _HEAD_BYTES:
        lines.pop()
    return [line.rstrip(b"\r").split(b" ") for line in lines if line.strip()]


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_HEAD_BYTES)
