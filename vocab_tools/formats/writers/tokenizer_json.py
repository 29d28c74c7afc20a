"""A ``tokenizer.json`` of descriptions whose own files are others: byte-level BPE, WordPiece, and GPT's BPE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.byte_alphabet import written
from numba_nlp.errors import ConversionError
from vocab_tools.checkpoints.stage_json import bpe
from vocab_tools.compiler.patterns import PatternChoice, choose_pattern
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import TEXT_PLACE, AddedToken, Description
from vocab_tools.formats.model_inputs import InputSettings
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, Template

__all__ = ["added_token_json", "byte_level_document", "gpt_document", "model_vocab", "whole_document", "words_document"]

Json = dict[str, Any]
_BYTE_LEVEL: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}


def whole_document(
    model: Json,
    *,
    added: Iterable[AddedToken] = (),
    normalizer: Json | None = None,
    pre_tokenizer: Json | None = None,
    post_processor: Json | None = None,
    decoder: Json | None = None,
) -> Json:
    """All sections of the file, in the order in which tokenizers writes them."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_token_json(token) for token in sorted(added, key=lambda token: token.id)],
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": decoder,
        "model": model,
    }


def added_token_json(token: AddedToken) -> Json:
    """An entry of ``added_tokens``."""
    return {
        "id": token.id,
        "content": token.content,
        "single_word": token.single_word,
        "lstrip": token.lstrip,
        "rstrip": token.rstrip,
        "normalized": token.normalized,
        "special": token.special,
    }


def model_vocab(pieces: Mapping[str, int], added: Iterable[AddedToken]) -> dict[str, int]:
    """Pieces of a model with the added tokens that must be among them.

    tokenizers takes the id of an added token from the model's vocabulary and numbers the others on from the number of
    pieces; those that would get another id so stand in the vocabulary too.
    """
    added = sorted(added, key=lambda token: token.id)
    vocab = dict(pieces)
    outside = [token for token in added if token.content not in vocab]
    if [token.id for token in outside] != list(range(len(vocab), len(vocab) + len(outside))):
        vocab |= {token.content: token.id for token in outside}
    return dict(sorted(vocab.items(), key=lambda item: item[1]))


def byte_level_document(description: Description, merges: NDArray[np.int32]) -> Json:
    """Byte-level BPE, from ``vocab.json`` and ``merges.txt`` or from ranks.

    Parameters
    ----------
    description : Description
        Without normalizers.
    merges : int32[M, 3]
        Left part, right part, product.

    Raises
    ------
    ConversionError
        The pattern has no form for the regular expressions of tokenizers.
    """
    spelled = [None if piece is None else written(piece) for piece in description.pieces]
    of_added = {token.id for token in description.added_tokens}
    pieces = {piece: i for i, piece in enumerate(spelled) if piece is not None and i not in of_added}
    listed = [(spelled[left], spelled[right]) for left, right, _ in merges.tolist()]
    prefix = description.add_prefix_space
    choice = _pattern(description)
    if choice.name == "gpt2":
        cutting: Json = {**_BYTE_LEVEL, "add_prefix_space": prefix, "use_regex": True}
    else:
        splits: list[Json] = [
            {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
            for regex in choice.regex.split("\n")
        ]
        cutting = {"type": "Sequence", "pretokenizers": [*splits, {**_BYTE_LEVEL, "use_regex": False}]}
    whole = description.merges is None or description.ignore_merges
    model = bpe(model_vocab(pieces, description.added_tokens), listed, ignore_merges=whole)
    model["fuse_unk"] = False
    return whole_document(
        model,
        added=description.added_tokens,
        pre_tokenizer=cutting,
        post_processor=_byte_level_post(description),
        decoder={**_BYTE_LEVEL, "use_regex": True},
    )


def _pattern(description: Description) -> PatternChoice:
    """The pattern for the regular expressions of tokenizers."""
    name = description.pattern
    if name == "regex":
        raise ConversionError(
            f"{description.name}: the pattern {description.pattern_regex!r:.120} is a regular expression of another "
            "engine, and whether tokenizers' engine cuts alike is not known; pass pattern= with a name "
            "(gpt2, cl100k, o200k, llama3, qwen2, tekken) if it is one of those"
        )
    return choose_pattern(name, "tokenizers")


def _byte_level_post(description: Description) -> Json | None:
    inputs = description.inputs or InputSettings()
    spans = {"trim_offsets": description.trim_offsets, "add_prefix_space": description.trim_keeps_prefix_space}
    plain = len(inputs.single.ids) == 1
    if not plain:
        first, last = inputs.single.ids[0], inputs.single.ids[-1]
        names = {token.id: token.content for token in description.added_tokens}
        roberta = (
            Template((first, TEXT_PLACE, last), (0, 0, 0)),
            Template((first, TEXT_PLACE, last, last, PAIR_PLACE, last), (0,) * 6),
        )
        if (inputs.single, inputs.pair) == roberta:
            return {"type": "RobertaProcessing", "sep": [names[last], last], "cls": [names[first], first], **spans}
    trimming: Json = {"type": "ByteLevel", **spans, "use_regex": True}
    if plain:
        return trimming
    templates = template_json(inputs, description.added_tokens)
    if not description.trim_offsets:
        return templates
    return {"type": "Sequence", "processors": [trimming, templates]}


def template_json(inputs: InputSettings, added: Iterable[AddedToken]) -> Json | None:
    """``TemplateProcessing`` of what one text and a pair are put into; None where that is nothing."""
    if inputs == InputSettings() or (len(inputs.single.ids) == 1 and len(inputs.pair.ids) == 2):
        return None
    names = {token.id: token.content for token in added}
    places = {TEXT_PLACE: "A", PAIR_PLACE: "B"}

    def parts(template: Template) -> list[Json]:
        return [
            {"Sequence": {"id": places[number], "type_id": kind}}
            if number in places
            else {"SpecialToken": {"id": names[number], "type_id": kind}}
            for number, kind in zip(template.ids, template.type_ids, strict=True)
        ]

    used = sorted({number for number in (*inputs.single.ids, *inputs.pair.ids) if number >= 0})
    tokens = {names[number]: {"id": names[number], "ids": [number], "tokens": [names[number]]} for number in used}
    return {
        "type": "TemplateProcessing",
        "single": parts(inputs.single),
        "pair": parts(inputs.pair),
        "special_tokens": tokens,
    }


def words_document(description: WordPieceDescription) -> Json:
    """WordPiece, from a ``vocab.txt``."""
    added = description.added_tokens
    pieces = {piece: i for i, piece in enumerate(description.pieces) if piece is not None}
    unknown = next((piece for piece, number in pieces.items() if number == description.unknown), None)
    model = {
        "type": "WordPiece",
        "unk_token": unknown,
        "continuing_subword_prefix": description.prefix,
        "max_input_chars_per_word": description.max_input_chars_per_word,
        "vocab": pieces,
    }
    normalizer = _bert_normalizer(description)
    return whole_document(
        model,
        added=added,
        normalizer=normalizer,
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor=template_json(description.inputs or InputSettings(), added),
        decoder={"type": "WordPiece", "prefix": description.decoder_prefix, "cleanup": description.cleanup},
    )


def gpt_document(description: CharacterDescription) -> Json:
    """BPE over the characters of BERT's words, whose last piece is marked, from GPT's two files."""
    ids = {number: token for token, number in description.vocabulary.items()}
    model = bpe(dict(description.vocabulary), list(description.merges), unk_token=ids[description.unknown])
    model |= {"fuse_unk": description.fuse_unknown, "end_of_word_suffix": description.suffix}
    return whole_document(
        model,
        added=description.added_tokens,
        normalizer=_bert_normalizer(description.bert),
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor=template_json(description.inputs or InputSettings(), description.added_tokens),
        decoder={"type": "BPEDecoder", "suffix": description.suffix},
    )


def _bert_normalizer(options: Any) -> Json:
    return {
        "type": "BertNormalizer",
        "clean_text": options.clean_text,
        "handle_chinese_chars": options.handle_chinese_chars,
        "strip_accents": options.strip_accents,
        "lowercase": options.lowercase,
    }
