"""A ``tokenizer.json`` whose model stands behind general stages, each of them known or refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.description import (
    KIND_ABSENT,
    KIND_BYTE,
    KIND_CONTROL,
    KIND_NORMAL,
    KIND_USER_DEFINED,
    MAX_IDS,
    AddedToken,
)
from vocab_tools.formats.marked_bpe import is_marked_bpe, read_marked_options
from vocab_tools.formats.model_inputs import InputSettings, settings_of_file
from vocab_tools.formats.piece_table import Place, check_gaps, check_ids, check_parts, quote
from vocab_tools.formats.stages.decoders import Decoder, read_decoders
from vocab_tools.formats.stages.normalizers import Normalizer, read_normalizers
from vocab_tools.formats.stages.post_processors import read_post_processors
from vocab_tools.formats.stages.pre_tokenizers import ByteLevel, PreTokenizer, read_pre_tokenizers
from vocab_tools.formats.stages.stage import Stage
from vocab_tools.formats.wordpiece_model import is_wordpiece, read_options

__all__ = ["StagedDescription", "is_character_bpe", "is_unigram", "read", "read_vocab"]

_BPE_FIELDS = (
    "type",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
)
#: Scores beyond say nothing about text, and sums of them nothing about paths.
MAX_SCORE = 1e30
#: Surrogates, which JSON can write alone.
_HALVES = re.compile("[\ud800-\udfff]")
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))


@dataclass(frozen=True)
class StagedDescription:
    """A vocabulary behind general stages, with nothing derived yet.

    Attributes
    ----------
    name : str
    source_format : {"tokenizer.json"}
    source_digest : str
        sha256 (hex) of the source.
    reference : {"tokenizers"}
        The library whose results are reproduced.
    model : {"unigram", "bpe", "wordpiece", "marked_bpe"}
    pieces : list of (str or None)
        By id: the token as the vocabulary writes it, those of added tokens too; None for gaps.
    vocab : Mapping of str to int
        The pieces of the model.
    kinds : uint8[V]
        By id: one of the ``KIND_*`` constants of :mod:`vocab_tools.formats.description`.
    scores : float64[n] or None
        Of the first ids, which are the model's; of Unigram.
    merges : list of (str, str) or None
        In order of rank; of both kinds of BPE.
    unknown : str or None
        The token of unknown text.
    fuse_unknown, byte_fallback, ignore_merges : bool
        Options of the model; the first and the last of both kinds of BPE.
    added_tokens : tuple of AddedToken
    normalizers, pre_tokenizers, decoders : tuples of stages
    special_policy : {"raise", "match", "plain"}
    template_single : tuple of int
        Ids that make up one encoded text when special tokens are asked for, ``TEXT_PLACE`` for the text itself.
    inputs : InputSettings or None
        What the source says about model inputs.
    clean_up : bool
        Decoded text loses the spaces before punctuation and English endings (transformers'
        ``clean_up_tokenization_spaces``).
    prefix, suffix : str
        What pieces that go on within a word begin with, and what the last one of a word ends with: of WordPiece (the
        prefix) and of marked BPE.
    max_characters : int
        Longer words are unknown, of WordPiece.
    """

    name: str
    source_format: str
    source_digest: str
    reference: str
    model: str
    pieces: list[str | None] = field(repr=False)
    vocab: Mapping[str, int] = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)
    scores: NDArray[np.float64] | None = field(repr=False)
    merges: list[tuple[str, str]] | None = field(repr=False)
    unknown: str | None
    fuse_unknown: bool
    byte_fallback: bool
    ignore_merges: bool
    added_tokens: tuple[AddedToken, ...] = field(repr=False)
    normalizers: tuple[Normalizer, ...] = field(repr=False)
    pre_tokenizers: tuple[PreTokenizer, ...] = field(repr=False)
    decoders: tuple[Decoder, ...] = field(repr=False)
    special_policy: str = "match"
    template_single: tuple[int, ...] = ()
    inputs: InputSettings | None = None
    clean_up: bool = False
    prefix: str = ""
    suffix: str = ""
    max_characters: int = 0


def is_unigram(model: Stage) -> bool:
    """Whether a model is Unigram; old files leave the type out, and then the fields tell."""
    if "type" in model.value:
        return bool(model.value["type"] == "Unigram")
    return "merges" not in model.value and type(model.value.get("vocab")) is list


def is_character_bpe(model: Stage, pre_tokenizer: Stage) -> bool:
    """Whether a model is BPE over characters: text is not written as bytes before, and unknown text has a token."""
    if model.value.get("type", "BPE") != "BPE" or "merges" not in model.value:
        return False
    has_way_out = model.value.get("unk_token") is not None or model.value.get("byte_fallback") is True
    return has_way_out and not _writes_bytes(pre_tokenizer.value)


def refuse_without_unknown(root: Stage) -> None:
    """Refuse BPE over characters that has nothing for text without a piece; byte-level BPE needs no such thing.

    Raises
    ------
    UnsupportedFeatureError
    """
    model = root.value["model"]
    is_byte_level = any(_writes_bytes(root.value.get(key)) for key in ("normalizer", "pre_tokenizer", "decoder"))
    if model.get("type", "BPE") == "BPE" and model.get("unk_token") is None and not is_byte_level:
        unknown = Stage(root.file, "model.unk_token", None)
        unknown.refuse("text without a piece has no id then, which is not supported", "set it to a token")


def _writes_bytes(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    parts = [value.get(key) for key in ("pretokenizers", "normalizers", "decoders")]
    inner = [part for each in parts if isinstance(each, list) for part in each]
    return value.get("type") == "ByteLevel" or any(map(_writes_bytes, inner))


def read_vocab(model: Stage, place: Place) -> dict[str, int]:
    """The pieces of the model and their ids.

    Raises
    ------
    SourceFormatError
    """
    vocab = model.need("vocab")
    if not is_unigram(model):
        return check_ids(vocab.value, place)
    ids: dict[str, int] = {}
    for entry in vocab.each():
        if type(entry.value) is not list or len(entry.value) != 2 or type(entry.value[0]) is not str:
            raise SourceFormatError(f"{entry}: expected a piece and its score, got {entry.shown}")
        piece = entry.value[0]
        if not piece:
            entry.refuse("a piece without text is not supported")
        if piece in ids:
            entry.refuse(f"the piece {quote(piece)} is listed twice, at {ids[piece]} too", "leave one of them out")
        ids[piece] = len(ids)
    if not 0 < len(ids) < MAX_IDS:
        raise SourceFormatError(f"{vocab}: expected 1 to {MAX_IDS - 1} pieces, got {len(ids)}")
    return ids


def read(
    root: Stage,
    vocab: dict[str, int],
    merges: list[tuple[str, str]] | None,
    added: tuple[AddedToken, ...],
    place: Place,
    *,
    name: str,
    source_digest: str,
    allow_gaps: bool,
) -> StagedDescription:
    """Read a parsed ``tokenizer.json``.

    Parameters
    ----------
    root : Stage
        The whole file.
    vocab : dict of str to int
        What :func:`read_vocab` gave.
    merges : list of (str, str) or None
        Of BPE, in order of rank.
    added : tuple of AddedToken
    place : Place
        Of ``model.vocab``.
    name, source_digest : str
    allow_gaps : bool
        Accept ids that no piece has.

    Returns
    -------
    StagedDescription

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
    options = _options(model, vocab)
    if merges is not None:
        prefix = options.get("prefix", "")
        check_parts(merges, vocab, lambda number: f"{root.file}: model.merges[{number}]:", prefix=prefix)
    post = read_post_processors(stage("post_processor"))
    if post.trim_offsets:
        stage("post_processor").refuse("spans without the spaces at their ends are not supported with this model")

    pieces: list[str | None] = [None] * (1 + max([*vocab.values(), *(token.id for token in added)]))
    kinds = np.full(len(pieces), KIND_ABSENT, np.uint8)
    for piece, number in vocab.items():
        pieces[number] = piece
        kinds[number] = KIND_NORMAL
    if options["byte_fallback"]:
        kinds[[vocab[piece] for piece in BYTE_PIECES if piece in vocab]] = KIND_BYTE
    for token in added:
        pieces[token.id] = token.content
        kinds[token.id] = KIND_CONTROL if token.special else KIND_USER_DEFINED
    _check_text([piece for piece in pieces if piece is not None], place)
    check_gaps(kinds, place, allow_gaps)
    inputs = settings_of_file(post, stage("padding"), added, len(pieces))
    normalizers = read_normalizers(stage("normalizer"))
    cutters = read_pre_tokenizers(stage("pre_tokenizer"))
    if any(isinstance(cutter, ByteLevel) for cutter in cutters):
        stage("pre_tokenizer").refuse(
            "bytes spelled in GPT-2's alphabet are supported with byte-level BPE only, not before this model"
        )
    return StagedDescription(
        name=name,
        source_format="tokenizer.json",
        source_digest=source_digest,
        reference="tokenizers",
        pieces=pieces,
        vocab=vocab,
        kinds=kinds,
        merges=merges,
        **options,
        added_tokens=added,
        normalizers=normalizers,
        pre_tokenizers=cutters,
        decoders=read_decoders(stage("decoder")),
        template_single=inputs.template_single,
        inputs=inputs,
    )


def _check_text(pieces: Sequence[str], place: Place) -> None:
    for piece in pieces:
        if not piece.isascii() and _HALVES.search(piece):
            raise SourceFormatError(f"{place.path}: {place.whole}{quote(piece)} holds half of a character")


def _options(model: Stage, vocab: Mapping[str, int]) -> dict[str, Any]:
    """The model and its options, by the names of :class:`StagedDescription`."""
    if is_unigram(model):
        return {"model": "unigram", **_unigram_options(model, vocab)}
    if is_wordpiece(model):
        return {"model": "wordpiece", **_wordpiece_options(model, vocab)}
    if is_marked_bpe(model):
        return {"model": "marked_bpe", **_marked_options(model, vocab)}
    return {"model": "bpe", **_bpe_options(model)}


def _wordpiece_options(model: Stage, vocab: Mapping[str, int]) -> dict[str, Any]:
    found = read_options(model, vocab)
    return {
        "scores": None,
        "unknown": found.unknown,
        "fuse_unknown": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "prefix": found.prefix,
        "max_characters": found.max_input_chars_per_word,
    }


def _marked_options(model: Stage, vocab: Mapping[str, int]) -> dict[str, Any]:
    found = read_marked_options(model, vocab)
    return {"scores": None, "byte_fallback": False, **found._asdict()}


def _unigram_options(model: Stage, vocab: Mapping[str, int]) -> dict[str, Any]:
    model.only("type", "unk_id", "vocab", "byte_fallback")
    unknown = model.below("unk_id") if "unk_id" in model.value else Stage(model.file, "model.unk_id", None)
    if unknown.value is None:
        unknown.refuse("text that no piece reaches has no id then, which is not supported", "set it to an id")
    number = unknown.expect(int, "an id")
    if not 0 <= number < len(vocab):
        raise SourceFormatError(f"{unknown}: expected an id below {len(vocab)}, got {number}")
    scores = np.empty(len(vocab), np.float64)
    for entry in model.below("vocab").each():
        score = entry.value[1]
        if type(score) not in (int, float) or not abs(score) <= MAX_SCORE:
            raise SourceFormatError(f"{entry}: expected a score up to {MAX_SCORE:g}, got {quote(score)}")
        scores[vocab[entry.value[0]]] = score
    return {
        "scores": scores,
        "unknown": model.value["vocab"][number][0],
        "fuse_unknown": True,
        "byte_fallback": model.option("byte_fallback", default=False),
        "ignore_merges": False,
    }


def _bpe_options(model: Stage) -> dict[str, Any]:
    model.only(*_BPE_FIELDS)
    if model.value.get("dropout") not in (None, 0, 0.0):
        model.below("dropout").refuse(
            "a vocabulary file does not decide that texts are encoded at random",
            "set it to null and pass dropout= to Tokenizer.encode or encode_batch",
        )
    unknown = model.value.get("unk_token")
    if not isinstance(unknown, str | None):
        model.below("unk_token").expect(str, "a token or null")
    return {
        "scores": None,
        "unknown": unknown,
        "fuse_unknown": model.option("fuse_unk", default=False),
        "byte_fallback": model.option("byte_fallback", default=False),
        "ignore_merges": model.option("ignore_merges", default=False),
    }
