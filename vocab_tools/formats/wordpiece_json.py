"""A ``tokenizer.json`` with a WordPiece model and the stages of BERT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.description import KIND_ABSENT, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED, AddedToken
from vocab_tools.formats.model_inputs import settings_of_file
from vocab_tools.formats.piece_table import Place, check_gaps
from vocab_tools.formats.stages.decoders import WordPiece, read_decoders
from vocab_tools.formats.stages.normalizers import BertNormalizer, read_normalizers
from vocab_tools.formats.stages.post_processors import read_post_processors
from vocab_tools.formats.stages.pre_tokenizers import BertPreTokenizer, read_pre_tokenizers
from vocab_tools.formats.stages.stage import Stage
from vocab_tools.formats.wordpiece_model import read_options

__all__ = ["is_plain", "read"]


def is_plain(root: Stage, added: Sequence[AddedToken]) -> bool:
    """Whether a file has BERT's stages, which one kernel does together, and no others.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        A stage is not known.
    """
    found = read_normalizers(_stage(root, "normalizer"))
    of_bert = not found or (len(found) == 1 and isinstance(found[0], BertNormalizer))
    if found and any(token.normalized for token in added):
        return False
    decoders = read_decoders(_stage(root, "decoder"))
    return (
        of_bert
        and read_pre_tokenizers(_stage(root, "pre_tokenizer")) == (BertPreTokenizer(),)
        and len(decoders) == 1
        and isinstance(decoders[0], WordPiece)
    )


def read(
    root: Stage, vocab: dict[str, int], added: tuple[AddedToken, ...], place: Place, *, name: str, source_digest: str,
    allow_gaps: bool,
) -> WordPieceDescription:  # fmt: skip
    """Read a parsed ``tokenizer.json`` for which :func:`is_plain` holds.

    Parameters
    ----------
    root : Stage
        The whole file.
    vocab : dict of str to int
        The pieces of the model.
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
    assert is_plain(root, added), "other stages are those of a StagedDescription"
    model = read_options(root.below("model"), vocab)
    found = read_normalizers(_stage(root, "normalizer"))
    normalizer = found[0] if found else BertNormalizer(False, False, False, False)
    assert isinstance(normalizer, BertNormalizer)
    (decoder,) = read_decoders(_stage(root, "decoder"))
    assert isinstance(decoder, WordPiece)
    post = read_post_processors(_stage(root, "post_processor"))
    if post.trim_offsets:
        _stage(root, "post_processor").refuse(
            "spans that are trimmed (trim_offsets) are not supported with WordPiece", "set it to false"
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
    inputs = settings_of_file(post, _stage(root, "padding"), added, n_ids)
    return WordPieceDescription(
        name=name,
        source_format="tokenizer.json",
        source_digest=source_digest,
        reference="tokenizers",
        pieces=pieces,
        kinds=kinds,
        unknown=vocab[model.unknown],
        added_tokens=added,
        prefix=model.prefix,
        max_input_chars_per_word=model.max_input_chars_per_word,
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


def _stage(root: Stage, key: str) -> Stage:
    return Stage(root.file, key, root.value.get(key))
