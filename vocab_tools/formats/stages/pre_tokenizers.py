"""Pre-tokenizers of a ``tokenizer.json``."""

from __future__ import annotations

from dataclasses import dataclass

from numba_nlp.errors import SourceFormatError
from numba_nlp.kernels.segment.cut_items import BEHAVIORS
from vocab_tools.formats.stages.patterns import Pattern, read_pattern
from vocab_tools.formats.stages.stage import Stage

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Split",
    "Whitespace",
    "WhitespaceSplit",
    "read_metaspace",
    "read_pre_tokenizers",
]


@dataclass(frozen=True)
class ByteLevel:
    """Bytes in GPT-2's alphabet, cut by GPT-2's pattern with ``use_regex``; ``trim_offsets`` does nothing here."""

    add_prefix_space: bool
    use_regex: bool


@dataclass(frozen=True)
class Whitespace:
    r"""Cut into ``\w+|[^\w\s]+``."""


@dataclass(frozen=True)
class WhitespaceSplit:
    """Cut at white space, which is left out."""


@dataclass(frozen=True)
class BertPreTokenizer:
    """Cut at white space, which is left out, and around punctuation."""


@dataclass(frozen=True)
class CharDelimiterSplit:
    """Cut at a character, which is left out."""

    delimiter: str


@dataclass(frozen=True)
class Digits:
    """Numbers are cut off, each digit by itself with ``individual``."""

    individual: bool


@dataclass(frozen=True)
class Punctuation:
    """Cut at punctuation; ``behavior`` as of :data:`numba_nlp.kernels.segment.cut_items.BEHAVIORS`."""

    behavior: str


@dataclass(frozen=True)
class Split:
    """Cut at a pattern, or with ``invert`` at what it does not match."""

    pattern: Pattern
    behavior: str
    invert: bool


@dataclass(frozen=True)
class Metaspace:
    """Spaces as ``replacement``, put before the text as ``scheme`` says, and with ``split`` a cut before each.

    ``scheme`` is ``"always"``, ``"never"``, or ``"first"``: before the piece at the very start of the row.
    """

    replacement: str
    scheme: str
    split: bool


PreTokenizer = (
    ByteLevel
    | Whitespace
    | WhitespaceSplit
    | BertPreTokenizer
    | CharDelimiterSplit
    | Digits
    | Punctuation
    | Split
    | Metaspace
)


def read_pre_tokenizers(stage: Stage) -> tuple[PreTokenizer, ...]:
    """Read a pre-tokenizer; sequences are laid flat.

    Raises
    ------
    UnsupportedFeatureError
    SourceFormatError
    """
    if stage.value is None:
        return ()
    kind = stage.kind
    if kind == "Sequence":
        stage.only("type", "pretokenizers")
        return tuple(one for inner in stage.need("pretokenizers").each() for one in read_pre_tokenizers(inner))
    plain: dict[str, PreTokenizer] = {
        "Whitespace": Whitespace(),
        "WhitespaceSplit": WhitespaceSplit(),
        "BertPreTokenizer": BertPreTokenizer(),
    }
    if kind in plain:
        stage.only("type")
        return (plain[kind],)
    if kind == "ByteLevel":
        stage.only("type", "add_prefix_space", "trim_offsets", "use_regex")
        stage.option("trim_offsets")
        # older files do not have use_regex
        return (ByteLevel(stage.option("add_prefix_space"), stage.option("use_regex", default=True)),)
    if kind == "CharDelimiterSplit":
        stage.only("type", "delimiter")
        return (CharDelimiterSplit(_read_character(stage.need("delimiter"))),)
    if kind == "Digits":
        stage.only("type", "individual_digits")
        return (Digits(stage.option("individual_digits")),)
    if kind == "Punctuation":
        stage.only("type", "behavior")
        return (Punctuation(_read_behavior(stage) if "behavior" in stage.value else "Isolated"),)
    if kind == "Split":
        stage.only("type", "pattern", "behavior", "invert")
        return (Split(read_pattern(stage.need("pattern")), _read_behavior(stage), stage.option("invert")),)
    if kind == "Metaspace":
        return (read_metaspace(stage),)
    stage.refuse(f"the pre-tokenizer {kind!r} is not supported by this version")


def read_metaspace(stage: Stage) -> Metaspace:
    """Read ``Metaspace``, in the form of new files and of old ones; decoders have the same options.

    Raises
    ------
    SourceFormatError
        Also where the two ways to say where the character is put contradict each other, as tokenizers refuses it.
    """
    stage.only("type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split")
    scheme = "always"
    if "prepend_scheme" in stage.value:
        scheme = stage.below("prepend_scheme").expect(str, "the name of a scheme")
        if scheme not in ("always", "never", "first"):
            stage.below("prepend_scheme").refuse("only the schemes 'always', 'never' and 'first' are known")
    if not stage.option("add_prefix_space", default=True):
        if "prepend_scheme" in stage.value and scheme != "never":
            raise SourceFormatError(
                f"{stage.below('add_prefix_space')}: false contradicts the prepend_scheme {scheme!r}; remove one"
            )
        scheme = "never"
    return Metaspace(_read_character(stage.need("replacement")), scheme, stage.option("split", default=True))


def _read_character(stage: Stage) -> str:
    text: str = stage.expect(str, "a character")
    if len(text) != 1:
        raise SourceFormatError(f"{stage}: expected one character, got {stage.shown}")
    return text


def _read_behavior(stage: Stage) -> str:
    behavior: str = stage.need("behavior").expect(str, "the name of a behavior")
    if behavior not in BEHAVIORS:
        stage.below("behavior").refuse(f"known behaviors are {', '.join(BEHAVIORS)}")
    return behavior
