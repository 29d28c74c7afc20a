"""The parts of a ``tokenizer.json`` with a WordPiece model: each is reproduced exactly, or refused by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.description import KIND_ABSENT, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED, AddedToken
from vocab_tools.formats.piece_table import Place, check_gaps, check_ids, quote
from vocab_tools.formats.tokenizer_stages import Stage, read_post_processor

__all__ = ["is_wordpiece", "read"]

_MODEL_FIELDS = ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab")
_POST_PROCESSORS = ("BertProcessing", "TemplateProcessing")


class _Normalizer(NamedTuple):
    """Options of ``BertNormalizer``; all off is no normaliser."""

    clean_text: bool = False
    handle_chinese_chars: bool = False
    strip_accents: bool | None = False
    lowercase: bool = False


def is_wordpiece(model: Stage) -> bool:
    """Whether a model is WordPiece; old files leave the type out, and then the fields tell."""
    if "type" in model.value:
        return bool(model.value["type"] == "WordPiece")
    return "merges" not in model.value and all(key in model.value for key in _MODEL_FIELDS)


def read_vocab(model: Stage, place: Place) -> dict[str, int]:
    """The pieces of the model and their ids.

    Raises
    ------
    SourceFormatError
    UnsupportedFeatureError
    """
    model.only("type", *_MODEL_FIELDS)
    return check_ids(model.need("vocab").value, place)


def read(
    root: Stage, vocab: dict[str, int], added: tuple[AddedToken, ...], place: Place, *, name: str, source_digest: str,
    allow_gaps: bool,
) -> WordPieceDescription:  # fmt: skip
    """Read a parsed ``tokenizer.json`` with a WordPiece model.

    Parameters
    ----------
    root : Stage
        The whole file.
    vocab : dict of str to int
        What :func:`read_vocab` gave.
    added : tuple of AddedToken
    place : Place
        Of ``model.vocab``.
    name, source_digest : str
    allow_gaps : bool
        Accept ids that no piece has.

    Returns
    -------
    WordPieceDescription

    Raises
    ------
    SourceFormatError
        The file breaks its format.
    UnsupportedFeatureError
        A stage or an option that is not reproduced exactly.
    """

    def stage(key: str) -> Stage:
        return Stage(root.file, key, root.value.get(key))

    model = root.below("model")
    unknown = model.need("unk_token").expect(str, "a token")
    if unknown not in vocab:
        raise SourceFormatError(f"{model.below('unk_token')}: {quote(unknown)} is no piece of model.vocab")
    limit = model.need("max_input_chars_per_word").expect(int, "a number of characters")
    if limit < 0:
        raise SourceFormatError(f"{model.below('max_input_chars_per_word')}: expected 0 or more, got {limit}")
    prefix = model.need("continuing_subword_prefix").expect(str, "a prefix")
    normalizer = _read_normalizer(stage("normalizer"))
    _read_pre_tokenizer(stage("pre_tokenizer"))
    decoder_prefix, cleanup = _read_decoder(stage("decoder"))
    post = read_post_processor(stage("post_processor"), _POST_PROCESSORS)
    for number, token in enumerate(added):
        if token.normalized:
            stage("added_tokens").below(number).refuse(
                "an added token that is matched in normalised text is not supported with WordPiece",
                "set its normalized to false (it is then matched as it is written)",
            )

    n_ids = 1 + max([*vocab.values(), *(token.id for token in added)])
    pieces: list[str | None] = [None] * n_ids
    kinds = np.full(n_ids, KIND_ABSENT, np.uint8)
    for piece, number in vocab.items():
        pieces[number] = piece
        kinds[number] = KIND_NORMAL
    for token in added:
        kinds[token.id] = KIND_CONTROL if token.special else KIND_USER_DEFINED
    check_gaps(kinds, place, allow_gaps)
    for number in post.template_single:
        if number >= n_ids:
            raise SourceFormatError(f"{root.file}: post_processor: the id {number} belongs to no piece")
    return WordPieceDescription(
        name=name,
        source_format="tokenizer.json",
        source_digest=source_digest,
        reference="tokenizers",
        pieces=pieces,
        kinds=kinds,
        unknown=vocab[unknown],
        added_tokens=added,
        prefix=prefix,
        max_input_chars_per_word=limit,
        **normalizer._asdict(),
        decoder_prefix=decoder_prefix,
        cleanup=cleanup,
        special_policy="match",
        template_single=post.template_single,
    )


def _only_one(stage: Stage, key: str, what: str) -> Stage:
    """The stage itself, or the one within a sequence of one."""
    if stage.kind != "Sequence":
        return stage
    stage.only("type", key)
    inner = stage.need(key).each()
    if len(inner) != 1:
        stage.refuse(f"with WordPiece only a sequence of exactly one {what} is supported")
    return _only_one(inner[0], key, what)


def _read_normalizer(stage: Stage) -> _Normalizer:
    if stage.value is None:
        return _Normalizer()
    stage = _only_one(stage, "normalizers", "normalizer")
    if stage.kind != "BertNormalizer":
        stage.refuse(f"with WordPiece the normalizer {stage.kind!r} is not supported, only BertNormalizer is")
    stage.only("type", *_Normalizer._fields)
    strip_accents = stage.value.get("strip_accents")
    if not isinstance(strip_accents, bool | None):
        stage.below("strip_accents").expect(bool, "true, false or null")
    return _Normalizer(
        clean_text=stage.option("clean_text"),
        handle_chinese_chars=stage.option("handle_chinese_chars"),
        strip_accents=strip_accents,
        lowercase=stage.option("lowercase"),
    )


def _read_pre_tokenizer(stage: Stage) -> None:
    if stage.value is None:
        stage.refuse("without a pre-tokenizer the whole text is one word, which is not supported with WordPiece")
    stage = _only_one(stage, "pretokenizers", "pre-tokenizer")
    if stage.kind != "BertPreTokenizer":
        stage.refuse(f"with WordPiece the pre-tokenizer {stage.kind!r} is not supported, only BertPreTokenizer is")
    stage.only("type")


def _read_decoder(stage: Stage) -> tuple[str, bool]:
    """Prefix and clean-up of ``WordPiece``."""
    if stage.value is None:
        stage.refuse(
            "without a decoder tokenizers joins the pieces with spaces and leaves their prefixes",
            'set it to {"type": "WordPiece", "prefix": "##", "cleanup": true}',
        )
    stage = _only_one(stage, "decoders", "decoder")
    if stage.kind != "WordPiece":
        stage.refuse(f"with WordPiece the decoder {stage.kind!r} is not supported, only WordPiece is")
    stage.only("type", "prefix", "cleanup")
    prefix: str = stage.need("prefix").expect(str, "a prefix")
    return prefix, stage.option("cleanup")
