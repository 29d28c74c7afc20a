"""Normalizers of a ``tokenizer.json``."""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass, field

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.stages.patterns import Pattern, read_pattern
from vocab_tools.formats.stages.stage import Stage

__all__ = [
    "BertNormalizer",
    "ByteLevel",
    "CharacterMap",
    "NormalForm",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Strip",
    "read_normalizers",
]


@dataclass(frozen=True)
class NormalForm:
    """``NFC``, ``NFD``, ``NFKC`` or ``NFKD``."""

    form: str


@dataclass(frozen=True)
class CharacterMap:
    """``Lowercase``, ``StripAccents`` or ``Nmt``: ``"lowercase"``, ``"strip_accents"``, ``"nmt"``."""

    name: str


@dataclass(frozen=True)
class Strip:
    """White space is taken off the ends."""

    left: bool
    right: bool


@dataclass(frozen=True)
class Prepend:
    """Something is put before a text that is not empty."""

    content: str


@dataclass(frozen=True)
class Replace:
    """Every match is replaced; ``content`` is taken as it is, groups of an expression are not known in it."""

    pattern: Pattern
    content: str


@dataclass(frozen=True)
class ByteLevel:
    """Bytes are written in GPT-2's byte alphabet."""


@dataclass(frozen=True)
class Precompiled:
    """The charsmap of a SentencePiece model.

    Attributes
    ----------
    units : bytes
        Double array, little-endian uint32.
    text : bytes
        Replacements.
    """

    units: bytes = field(repr=False)
    text: bytes = field(repr=False)


@dataclass(frozen=True)
class BertNormalizer:
    """Clean-up, spaces around CJK characters, accents and case, as BERT does them.

    ``strip_accents`` None means: where ``lowercase`` is set.
    """

    clean_text: bool
    handle_chinese_chars: bool
    strip_accents: bool | None
    lowercase: bool


Normalizer = NormalForm | CharacterMap | Strip | Prepend | Replace | ByteLevel | Precompiled | BertNormalizer

_MAPS = {"Lowercase": "lowercase", "StripAccents": "strip_accents", "Nmt": "nmt"}


def read_normalizers(stage: Stage) -> tuple[Normalizer, ...]:
    """Read a normalizer; sequences are laid flat.

    Raises
    ------
    UnsupportedFeatureError
    SourceFormatError
    """
    if stage.value is None:
        return ()
    kind = stage.kind
    if kind == "Sequence":
        stage.only("type", "normalizers")
        return tuple(one for inner in stage.need("normalizers").each() for one in read_normalizers(inner))
    if kind in ("NFC", "NFD", "NFKC", "NFKD"):
        stage.only("type")
        return (NormalForm(kind),)
    if kind in _MAPS:
        stage.only("type")
        return (CharacterMap(_MAPS[kind]),)
    if kind == "ByteLevel":
        stage.only("type")
        return (ByteLevel(),)
    if kind == "Strip":
        stage.only("type", "strip_left", "strip_right")
        return (Strip(stage.option("strip_left"), stage.option("strip_right")),)
    if kind == "Prepend":
        stage.only("type", "prepend")
        return (Prepend(stage.need("prepend").expect(str, "a string")),)
    if kind == "Replace":
        stage.only("type", "pattern", "content")
        return (Replace(read_pattern(stage.need("pattern")), stage.need("content").expect(str, "a string")),)
    if kind == "Precompiled":
        stage.only("type", "precompiled_charsmap")
        return (_read_charsmap(stage.need("precompiled_charsmap")),)
    if kind == "BertNormalizer":
        return (_read_bert(stage),)
    stage.refuse(f"the normalizer {kind!r} is not supported by this version")


def _read_bert(stage: Stage) -> BertNormalizer:
    stage.only("type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    # it may be missing, unlike the others
    accents = stage.value.get("strip_accents")
    return BertNormalizer(
        clean_text=stage.option("clean_text"),
        handle_chinese_chars=stage.option("handle_chinese_chars"),
        strip_accents=None if accents is None else stage.below("strip_accents").expect(bool, "true, false or null"),
        lowercase=stage.option("lowercase"),
    )


def _read_charsmap(stage: Stage) -> Precompiled:
    try:
        content = base64.b64decode(stage.expect(str, "a charsmap in base64"), validate=True)
    except binascii.Error as error:
        raise SourceFormatError(f"{stage}: the charsmap is not base64 ({error})") from error
    if len(content) < 4:
        raise SourceFormatError(f"{stage}: a charsmap has at least 4 bytes, got {len(content)}")
    (size,) = struct.unpack_from("<I", content)
    end = 4 + size // 4 * 4
    if size < 4 or end > len(content):
        raise SourceFormatError(
            f"{stage}: the charsmap says that its trie has {size} bytes, but {len(content) - 4} follow"
        )
    units, text = content[4:end], content[end:]
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise SourceFormatError(f"{stage}: the replacements of the charsmap are not UTF-8 ({error})") from error
    return Precompiled(units, text)
