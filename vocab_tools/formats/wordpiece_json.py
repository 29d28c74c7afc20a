"""The parts of a ``tokenizer.json`` with a WordPiece model: each is reproduced exactly, or refused by name."""

from __future__ import annotations

import numpy as np

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.description import KIND_ABSENT, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED, AddedToken
from vocab_tools.formats.model_inputs import settings_of_file
from vocab_tools.formats.piece_table import Place, check_gaps, check_ids, quote
from vocab_tools.formats.stages.decoders import WordPiece, read_decoders
from vocab_tools.formats.stages.normalizers import BertNormalizer, read_normalizers
from vocab_tools.formats.stages.post_processors import PostProcessor, read_post_processors
from vocab_tools.formats.stages.pre_tokenizers import BertPreTokenizer, read_pre_tokenizers
from vocab_tools.formats.stages.stage import Stage

__all__ = ["is_wordpiece", "read", "read_vocab"]

_MODEL_FIELDS = ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab")


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
    _check_pre_tokenizer(stage("pre_tokenizer"))
    decoder = _read_decoder(stage("decoder"))
    post = _read_post_processor(stage("post_processor"))
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
    inputs = settings_of_file(post, stage("padding"), added, n_ids)
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
        clean_text=normalizer.clean_text,
        handle_chinese_chars=normalizer.handle_chinese_chars,
        strip_accents=normalizer.strip_accents,
        lowercase=normalizer.lowercase,
        decoder_prefix=decoder.prefix,
        cleanup=decoder.cleanup,
        special_policy="match",
        template_single=inputs.template_single,
        inputs=inputs,
    )


def _read_normalizer(stage: Stage) -> BertNormalizer:
    """``BertNormalizer``; none is one with all options off."""
    found = read_normalizers(stage)
    if not found:
        return BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    if len(found) > 1 or not isinstance(found[0], BertNormalizer):
        stage.refuse("with WordPiece the only normalizer that is supported is one BertNormalizer")
    return found[0]


def _check_pre_tokenizer(stage: Stage) -> None:
    found = read_pre_tokenizers(stage)
    if not found:
        stage.refuse("without a pre-tokenizer the whole text is one word, which is not supported with WordPiece")
    if len(found) > 1 or not isinstance(found[0], BertPreTokenizer):
        stage.refuse("with WordPiece the only pre-tokenizer that is supported is one BertPreTokenizer")


def _read_decoder(stage: Stage) -> WordPiece:
    found = read_decoders(stage)
    if not found:
        stage.refuse(
            "without a decoder tokenizers joins the pieces with spaces and leaves their prefixes",
            'set it to {"type": "WordPiece", "prefix": "##", "cleanup": true}',
        )
    if len(found) > 1 or not isinstance(found[0], WordPiece):
        stage.refuse("with WordPiece the only decoder that is supported is one WordPiece")
    return found[0]


def _read_post_processor(stage: Stage) -> PostProcessor:
    post = read_post_processors(stage)
    if post.trim_offsets:
        stage.refuse("spans that are trimmed (trim_offsets) are not supported with WordPiece", "set it to false")
    return post
