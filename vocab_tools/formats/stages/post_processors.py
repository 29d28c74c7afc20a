"""Post-processors of a ``tokenizer.json``: templates for one text and for a pair, and what becomes of spans."""

from __future__ import annotations

from dataclasses import dataclass

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.description import TEXT_PLACE
from vocab_tools.formats.stages.stage import Stage

__all__ = ["PAIR_PLACE", "PostProcessor", "Template", "read_post_processors"]

#: Stands for the second text in the template of a pair.
PAIR_PLACE = -2


@dataclass(frozen=True)
class Template:
    """What a model input is made of.

    Attributes
    ----------
    ids : tuple of int
        ``TEXT_PLACE`` for the first text, ``PAIR_PLACE`` for the second.
    type_ids : tuple of int
        Type of each entry; all ids of a text have that of its place.
    """

    ids: tuple[int, ...]
    type_ids: tuple[int, ...]


_PLAIN_SINGLE = Template((TEXT_PLACE,), (0,))
_PLAIN_PAIR = Template((TEXT_PLACE, PAIR_PLACE), (0, 1))


@dataclass(frozen=True)
class PostProcessor:
    """What is done to ids and spans after the model.

    Attributes
    ----------
    single, pair : Template
    adds_tokens : bool
        Some stage makes templates; else the two are the texts alone.
    trim_offsets : bool
        Spans leave out the spaces at the ends of a token.
    trim_keeps_prefix_space : bool
        With ``trim_offsets``: one leading space of the first token is not trimmed.
    """

    single: Template = _PLAIN_SINGLE
    pair: Template = _PLAIN_PAIR
    adds_tokens: bool = False
    trim_offsets: bool = False
    trim_keeps_prefix_space: bool = False


def read_post_processors(stage: Stage) -> PostProcessor:
    """Read a post-processor, or a sequence of them.

    In a sequence spans may be trimmed once, before special tokens are added once: trimming twice takes more off in
    tokenizers, and trimming after adding looks at the added tokens too.

    Raises
    ------
    UnsupportedFeatureError
    SourceFormatError
    """
    if stage.value is None:
        return PostProcessor()
    if stage.kind == "Sequence":
        return _read_sequence(stage)
    readers = {
        "BertProcessing": _read_bert,
        "ByteLevel": _read_byte_level,
        "RobertaProcessing": _read_roberta,
        "TemplateProcessing": _read_template,
    }
    if stage.kind not in readers:
        stage.refuse(f"the post-processor {stage.kind!r} is not supported; known are {', '.join(readers)}")
    return readers[stage.kind](stage)


def _read_sequence(stage: Stage) -> PostProcessor:
    stage.only("type", "processors")
    whole = PostProcessor()
    for inner in stage.need("processors").each():
        part = read_post_processors(inner)
        if part.trim_offsets and (whole.trim_offsets or whole.adds_tokens):
            inner.refuse("spans are trimmed after another post-processor trimmed them or added tokens")
        if part.adds_tokens and whole.adds_tokens:
            inner.refuse("two post-processors add special tokens")
        templates = part if part.adds_tokens else whole
        trimming = part if part.trim_offsets else whole
        whole = PostProcessor(
            templates.single,
            templates.pair,
            templates.adds_tokens,
            trimming.trim_offsets,
            trimming.trim_keeps_prefix_space,
        )
    return whole


def _read_byte_level(stage: Stage) -> PostProcessor:
    stage.only("type", "add_prefix_space", "trim_offsets", "use_regex")
    stage.option("use_regex", default=True)
    trim, keeps = stage.option("trim_offsets"), stage.option("add_prefix_space")
    return PostProcessor(trim_offsets=trim, trim_keeps_prefix_space=trim and keeps)


def _read_bert(stage: Stage) -> PostProcessor:
    stage.only("type", "sep", "cls")
    first, last = (_named_id(stage.need(key)) for key in ("cls", "sep"))
    return PostProcessor(
        Template((first, TEXT_PLACE, last), (0, 0, 0)),
        Template((first, TEXT_PLACE, last, PAIR_PLACE, last), (0, 0, 0, 1, 1)),
        adds_tokens=True,
    )


def _read_roberta(stage: Stage) -> PostProcessor:
    stage.only("type", "sep", "cls", "trim_offsets", "add_prefix_space")
    first, last = (_named_id(stage.need(key)) for key in ("cls", "sep"))
    # Without these two tokenizers takes the stage for another one, which never trims: they must be there.
    trim, keeps = stage.option("trim_offsets"), stage.option("add_prefix_space")
    return PostProcessor(
        Template((first, TEXT_PLACE, last), (0, 0, 0)),
        Template((first, TEXT_PLACE, last, last, PAIR_PLACE, last), (0,) * 6),
        adds_tokens=True,
        trim_offsets=trim,
        trim_keeps_prefix_space=trim and keeps,
    )


def _read_template(stage: Stage) -> PostProcessor:
    stage.only("type", "single", "pair", "special_tokens")
    tokens = stage.need("special_tokens")
    tokens.expect(dict, "an object")
    single = _read_parts(stage.need("single"), tokens, {"A": TEXT_PLACE})
    pair = _read_parts(stage.need("pair"), tokens, {"A": TEXT_PLACE, "B": PAIR_PLACE})
    return PostProcessor(single, pair, adds_tokens=single != _PLAIN_SINGLE or pair != _PLAIN_PAIR)


def _read_parts(stage: Stage, tokens: Stage, places: dict[str, int]) -> Template:
    ids: list[int] = []
    types: list[int] = []
    for part in stage.each():
        part.expect(dict, "an object")
        if set(part.value) == {"Sequence"}:
            place = part.below("Sequence")
            name = place.need("id").value
            if not isinstance(name, str) or name not in places or places[name] in ids:
                stage.refuse(_needs(places))
            added = [places[name]]
        elif set(part.value) == {"SpecialToken"}:
            place = part.below("SpecialToken")
            name = place.need("id").expect(str, "the name of a special token")
            if name not in tokens.value:
                raise SourceFormatError(f"{place}: {name!r} is not among {tokens.path}")
            added = [_id(number) for number in tokens.below(name).need("ids").each()]
        else:
            part.refuse("only Sequence and SpecialToken are known in a template")
        ids += added
        types += [_id(place.need("type_id"))] * len(added)
    if not set(places.values()) <= set(ids):
        stage.refuse(_needs(places))
    return Template(tuple(ids), tuple(types))


def _needs(places: dict[str, int]) -> str:
    return f"this template must hold {' and '.join(f'${name}' for name in places)}, each exactly once"


def _named_id(stage: Stage) -> int:
    if len(stage.each()) != 2 or type(stage.value[0]) is not str:
        raise SourceFormatError(f"{stage}: expected a token and its id, got {stage.shown}")
    return _id(stage.below(1))


def _id(stage: Stage) -> int:
    if type(stage.value) is not int or stage.value < 0:
        raise SourceFormatError(f"{stage}: expected an id, got {stage.shown}")
    return stage.value
