"""Stages of a ``tokenizer.json``: each is reproduced exactly, or refused by name.

A stage or an option that is not known here is never skipped: the error has its path in the JSON, its value and the
way out. What each option does was found out by experiment on the ``tokenizers`` library.
"""

from __future__ import annotations

from typing import NamedTuple

from vocab_tools.compiler.patterns import BYTE_LEVEL_REGEX, PatternChoice, recognise_splits
from vocab_tools.formats.stages.normalizers import Normalizer, read_normalizers
from vocab_tools.formats.stages.stage import Stage

__all__ = [
    "PreTokenizing",
    "Stage",
    "read_decoder",
    "read_normalizer",
    "read_pre_tokenizer",
]

_BYTE_LEVEL_OPTIONS = ("add_prefix_space", "trim_offsets", "use_regex")


class PreTokenizing(NamedTuple):
    """How text is cut into pre-tokens."""

    pattern: PatternChoice
    add_prefix_space: bool


def read_normalizer(stage: Stage) -> tuple[Normalizer, ...]:
    """Read what normalizes text before a byte-level model.

    Raises
    ------
    UnsupportedFeatureError
    SourceFormatError
    """
    if stage.value is not None and stage.kind == "BertNormalizer":
        stage.refuse("the normalizer 'BertNormalizer' is not supported with a byte-level vocabulary")
    return read_normalizers(stage)


def read_pre_tokenizer(stage: Stage) -> PreTokenizing:
    """Read ``ByteLevel``, or a sequence of ``Split`` by regular expressions that ends in ``ByteLevel``.

    Raises
    ------
    UnsupportedFeatureError
    SourceFormatError
    """
    if stage.value is None:
        stage.refuse("a byte-level vocabulary needs the ByteLevel pre-tokenizer, which writes text as bytes")
    if stage.kind != "Sequence":
        return _read_byte_level(stage)
    stage.only("type", "pretokenizers")
    inner = stage.need("pretokenizers").each()
    if not inner:
        stage.refuse("a byte-level vocabulary needs the ByteLevel pre-tokenizer, which writes text as bytes")
    *splits, last = inner
    if not splits:
        return _read_byte_level(last)
    regexes = [_read_split(split) for split in splits]
    options = _byte_level_options(last)
    if options["use_regex"]:
        last.refuse("a second cut by the ByteLevel pattern (use_regex, true by default) after a Split is not supported")
    if options["add_prefix_space"]:
        last.refuse("add_prefix_space after a Split puts a space before every part, which is not supported")
    choice = recognise_splits(regexes, "tokenizers")
    if choice is None:
        stage.refuse("this sequence of splits is not known to this version, which runs one unknown pattern at most")
    return PreTokenizing(choice, add_prefix_space=False)


def _read_byte_level(stage: Stage) -> PreTokenizing:
    options = _byte_level_options(stage)
    if not options["use_regex"]:
        stage.refuse("ByteLevel with use_regex=false and no Split before it takes the whole text as one piece, which "
                     "is not supported")  # fmt: skip
    return PreTokenizing(PatternChoice("gpt2", BYTE_LEVEL_REGEX), options["add_prefix_space"])


def _checked_byte_level(stage: Stage) -> dict[str, bool]:
    stage.only("type", *_BYTE_LEVEL_OPTIONS)
    return {
        "add_prefix_space": stage.option("add_prefix_space"),
        "trim_offsets": stage.option("trim_offsets"),
        "use_regex": stage.option("use_regex", default=True),  # older files do not have it
    }


def _byte_level_options(stage: Stage) -> dict[str, bool]:
    if stage.kind != "ByteLevel":
        stage.refuse(f"the pre-tokenizer {stage.kind!r} is not supported here; this version knows ByteLevel, and Split "
                     "by regular expressions before it")  # fmt: skip
    return _checked_byte_level(stage)


def _read_split(stage: Stage) -> str:
    if stage.kind != "Split":
        stage.refuse(f"the pre-tokenizer {stage.kind!r} is not supported before ByteLevel, only Split is")
    stage.only("type", "pattern", "behavior", "invert")
    if stage.need("behavior").expect(str, "the name of a behavior") != "Isolated":
        stage.below("behavior").refuse("only Split with the behavior 'Isolated' is supported")
    if stage.need("invert").expect(bool, "true or false"):
        stage.below("invert").refuse("an inverted Split is not supported")
    pattern = stage.need("pattern")
    if set(pattern.expect(dict, "an object")) != {"Regex"}:
        pattern.refuse("only Split by a regular expression ('Regex') is supported")
    regex: str = pattern.below("Regex").expect(str, "a regular expression")
    return regex


def read_decoder(stage: Stage) -> None:
    """Accept ``ByteLevel``: it has no option that changes what it does.

    Raises
    ------
    UnsupportedFeatureError
    """
    if stage.value is None:
        stage.refuse(
            "without a decoder tokenizers joins the pieces with spaces and leaves them in the byte alphabet",
            'set it to {"type": "ByteLevel"} with its options',
        )
    if stage.kind == "Sequence":
        stage.only("type", "decoders")
        inner = stage.need("decoders").each()
        if len(inner) != 1:
            stage.refuse("only a sequence of exactly one decoder, ByteLevel, is supported")
        return read_decoder(inner[0])
    if stage.kind != "ByteLevel":
        stage.refuse(f"the decoder {stage.kind!r} is not supported, only ByteLevel is")
    _checked_byte_level(stage)
    return None
