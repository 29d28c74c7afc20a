"""Decoders of a ``tokenizer.json``."""

from __future__ import annotations

from dataclasses import dataclass

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.stages.patterns import Pattern, read_pattern
from vocab_tools.formats.stages.pre_tokenizers import read_metaspace
from vocab_tools.formats.stages.stage import Stage

__all__ = [
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Strip",
    "WordPiece",
    "read_decoders",
]


@dataclass(frozen=True)
class ByteLevel:
    """Characters of GPT-2's byte alphabet are bytes again, of all tokens together."""


@dataclass(frozen=True)
class WordPiece:
    """Tokens without ``prefix`` begin a word, before which stands a space; ``cleanup`` takes some of them away."""

    prefix: str
    cleanup: bool


@dataclass(frozen=True)
class Metaspace:
    """``replacement`` is a space again, and nothing at the start of the first token unless ``keeps_first``."""

    replacement: str
    keeps_first: bool


@dataclass(frozen=True)
class BPEDecoder:
    """``suffix`` ends a word: it is a space, and nothing in the last token."""

    suffix: str


@dataclass(frozen=True)
class ByteFallback:
    """Tokens like ``<0x0A>`` are bytes again; runs of them that are not UTF-8 become one U+FFFD a token."""


@dataclass(frozen=True)
class Fuse:
    """All tokens become one."""


@dataclass(frozen=True)
class Strip:
    """Up to ``start`` of a character are taken off the front of every token, up to ``stop`` off its end."""

    content: str
    start: int
    stop: int


@dataclass(frozen=True)
class Replace:
    """Every match in a token is replaced."""

    pattern: Pattern
    content: str


Decoder = ByteLevel | WordPiece | Metaspace | BPEDecoder | ByteFallback | Fuse | Strip | Replace


def read_decoders(stage: Stage) -> tuple[Decoder, ...]:
    """Read a decoder; sequences are laid flat. Without one, tokens are joined by spaces.

    Raises
    ------
    UnsupportedFeatureError
    SourceFormatError
    """
    if stage.value is None:
        return ()
    kind = stage.kind
    if kind == "Sequence":
        stage.only("type", "decoders")
        return tuple(one for inner in stage.need("decoders").each() for one in read_decoders(inner))
    if kind == "ByteLevel":
        stage.only("type", "add_prefix_space", "trim_offsets", "use_regex")
        for option in ("add_prefix_space", "trim_offsets"):
            stage.option(option)
        stage.option("use_regex", default=True)
        return (ByteLevel(),)
    if kind == "WordPiece":
        stage.only("type", "prefix", "cleanup")
        return (WordPiece(stage.need("prefix").expect(str, "a string"), stage.option("cleanup")),)
    if kind == "Metaspace":
        options = read_metaspace(stage)
        return (Metaspace(options.replacement, options.scheme == "never"),)
    if kind == "BPEDecoder":
        stage.only("type", "suffix")
        return (BPEDecoder(stage.need("suffix").expect(str, "a string")),)
    if kind in ("ByteFallback", "Fuse"):
        stage.only("type")
        return (ByteFallback() if kind == "ByteFallback" else Fuse(),)
    if kind == "Strip":
        stage.only("type", "content", "start", "stop")
        content = stage.need("content").expect(str, "a character")
        if len(content) != 1:
            raise SourceFormatError(f"{stage.below('content')}: expected one character, got {content!r}")
        return (Strip(content, _count(stage.need("start")), _count(stage.need("stop"))),)
    if kind == "Replace":
        stage.only("type", "pattern", "content")
        return (Replace(read_pattern(stage.need("pattern")), stage.need("content").expect(str, "a string")),)
    stage.refuse(f"the decoder {kind!r} is not supported by this version")


def _count(stage: Stage) -> int:
    number: int = stage.expect(int, "a number")
    if number < 0:
        raise SourceFormatError(f"{stage}: expected a number of at least 0, got {number}")
    return number
