"""Stages of a ``tokenizer.json``: each is reproduced exactly, or refused by name.

A stage or an option that is not known here is never skipped: the error has its path in the JSON, its value and the
way out. What each option does was found out by experiment on the ``tokenizers`` library.
"""

from __future__ import annotations

from typing import NamedTuple

from numba_nlp.errors import SourceFormatError
from vocab_tools.compiler.patterns import BYTE_LEVEL_REGEX, PatternChoice, recognise_splits
from vocab_tools.formats.description import TEXT_PLACE
from vocab_tools.formats.stages.normalizers import Normalizer, read_normalizers
from vocab_tools.formats.stages.stage import Stage

__all__ = [
    "PostProcessing",
    "PreTokenizing",
    "Stage",
    "read_decoder",
    "read_normalizer",
    "read_post_processor",
    "read_pre_tokenizer",
]

_BYTE_LEVEL_OPTIONS = ("add_prefix_space", "trim_offsets", "use_regex")


class PreTokenizing(NamedTuple):
    """How text is cut into pre-tokens."""

    pattern: PatternChoice
    add_prefix_space: bool


class PostProcessing(NamedTuple):
    """What is done to spans and ids after the model; see ``Description`` for the fields."""

    trim_offsets: bool = False
    trim_keeps_prefix_space: bool = False
    template_single: tuple[int, ...] = ()


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


def read_post_processor(stage: Stage) -> PostProcessing:
    """Read ``ByteLevel``, ``RobertaProcessing``, ``TemplateProcessing``, or a sequence of them.

    In a sequence spans may be trimmed once, before special tokens are added once: trimming twice takes more off in
    tokenizers, and trimming after adding looks at the added tokens too.

    Raises
    ------
    UnsupportedFeatureError
    SourceFormatError
    """
    if stage.value is None:
        return PostProcessing()
    if stage.kind == "Sequence":
        stage.only("type", "processors")
        whole = PostProcessing()
        for inner in stage.need("processors").each():
            part = read_post_processor(inner)
            if part.trim_offsets and (whole.trim_offsets or whole.template_single):
                inner.refuse("spans are trimmed after another post-processor trimmed them or added tokens")
            if part.template_single and whole.template_single:
                inner.refuse("two post-processors add special tokens")
            if part.trim_offsets:
                whole = whole._replace(trim_offsets=True, trim_keeps_prefix_space=part.trim_keeps_prefix_space)
            if part.template_single:
                whole = whole._replace(template_single=part.template_single)
        return whole
    readers = {"ByteLevel": _byte_level_post, "RobertaProcessing": _roberta_post, "TemplateProcessing": _template_post}
    if stage.kind not in readers:
        stage.refuse(f"the post-processor {stage.kind!r} is not supported; known are {', '.join(readers)}")
    return readers[stage.kind](stage)


def _trimming(trim_offsets: bool, add_prefix_space: bool) -> PostProcessing:
    return PostProcessing(trim_offsets=trim_offsets, trim_keeps_prefix_space=trim_offsets and add_prefix_space)


def _byte_level_post(stage: Stage) -> PostProcessing:
    options = _checked_byte_level(stage)
    return _trimming(options["trim_offsets"], options["add_prefix_space"])


def _roberta_post(stage: Stage) -> PostProcessing:
    stage.only("type", "sep", "cls", "trim_offsets", "add_prefix_space")
    first, last = (_named_id(stage.need(key)) for key in ("cls", "sep"))
    # Without these two tokenizers takes the stage for another one, which never trims: they must be there.
    trimming = _trimming(stage.option("trim_offsets"), stage.option("add_prefix_space"))
    return trimming._replace(template_single=(first, TEXT_PLACE, last))


def _named_id(stage: Stage) -> int:
    if len(stage.each()) != 2 or type(stage.value[0]) is not str:
        raise SourceFormatError(f"{stage}: expected a token and its id, got {stage.shown}")
    return _id(stage.below(1))


def _id(stage: Stage) -> int:
    if type(stage.value) is not int or stage.value < 0:
        raise SourceFormatError(f"{stage}: expected an id, got {stage.shown}")
    return stage.value


def _template_post(stage: Stage) -> PostProcessing:
    stage.only("type", "single", "pair", "special_tokens")
    tokens = stage.need("special_tokens")
    tokens.expect(dict, "an object")
    template: list[int] = []
    for part in stage.need("single").each():
        part.expect(dict, "an object")
        if set(part.value) == {"Sequence"}:
            place = part.below("Sequence")
            if place.need("id").value != "A" or TEXT_PLACE in template:
                part.refuse("a template for one text must hold the text, $A, exactly once")
            template.append(TEXT_PLACE)
        elif set(part.value) == {"SpecialToken"}:
            place = part.below("SpecialToken")
            name = place.need("id").expect(str, "the name of a special token")
            if name not in tokens.value:
                raise SourceFormatError(f"{place}: {name!r} is not among {tokens.path}")
            template += [_id(number) for number in tokens.below(name).need("ids").each()]
        else:
            part.refuse("only Sequence and SpecialToken are known in a template")
        if place.need("type_id").value != 0:
            place.below("type_id").refuse("type ids other than 0 in the template of one text are not supported")
    if TEXT_PLACE not in template:
        stage.below("single").refuse("a template for one text must hold the text, $A, exactly once")
    return PostProcessing(template_single=tuple(template) if len(template) > 1 else ())
