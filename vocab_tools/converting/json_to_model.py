"""A ``tokenizer.json`` as a SentencePiece ``.model``: only where its stages are those that a model file can say.

Two sets of stages are known, and nothing is taken for one of them that is not:

* what :mod:`vocab_tools.converting.model_to_json` writes, and LLaMA's files: the charsmap, spaces off the front and one
  for several (or neither), U+2581 in front and for every space, none at the end; no pre-tokenizer;
* a charsmap that makes every white space U+0020 or nothing, ``WhitespaceSplit``, and ``Metaspace`` that puts U+2581
  before every word; with pieces that do not reach from one word into the next.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from numba_nlp.errors import ConversionError
from vocab_tools.checkpoints.stage_json import WORD_START
from vocab_tools.converting.formats import Opened, Written
from vocab_tools.converting.score_merges import scores_by_merges
from vocab_tools.formats.charsmap import CharsmapError, decode_charsmap
from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_NORMAL
from vocab_tools.formats.sentencepiece_model import KIND_UNKNOWN, UNK_SURFACE, NormalizerSpec, SentencePieceModel
from vocab_tools.formats.sentencepiece_writer import serialize
from vocab_tools.formats.staged_json import BYTE_PIECES, StagedDescription
from vocab_tools.formats.stages.normalizers import Normalizer, Precompiled, Prepend, Replace
from vocab_tools.formats.stages.patterns import Pattern
from vocab_tools.formats.stages.pre_tokenizers import Metaspace, WhitespaceSplit

__all__ = ["json_to_model", "known_stages"]

_LEADING = Replace(Pattern(r"\A +", True), "")
_SEVERAL = Replace(Pattern(" {2,}", True), " ")
_ESCAPE = Replace(Pattern(" "), WORD_START)
_TRAILING = Replace(Pattern(rf"{WORD_START}+\z", True), "")
_PREFIX = Prepend(WORD_START)
_WORDS = (WhitespaceSplit(), Metaspace(WORD_START, "always", True))
#: Unicode's White_Space, at which WhitespaceSplit cuts.
_WHITE = (*"\t\n\v\f\r \x85\xa0\u1680", *map(chr, range(0x2000, 0x200B)), *"\u2028\u2029\u202f\u205f\u3000")
_SPECIAL_TEXT = "special tokens written in a text: tokenizers matches them, sentencepiece takes them as plain text"
_DECODING = "decoders are those of sentencepiece"
_NAMES = {
    "bos": ("<s>", "[CLS]", "<bos>"),
    "eos": ("</s>", "[SEP]", "<eos>"),
    "pad": ("<pad>", "[PAD]"),
}
#: A score is taken for one of float32 when it is this near: parsers of JSON are off by the last bit of a double.
_NEAR = 2.0**-50


class _Stages(NamedTuple):
    """What the stages say in the words of a model file."""

    charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool


def json_to_model(source: Opened, ignore: frozenset[str] = frozenset()) -> Written:
    """Unigram, or BPE over characters, behind stages that a model file can say.

    Raises
    ------
    ConversionError
        The file has what a model file cannot say; the message names it.
    """
    described = source.description
    if not isinstance(described, StagedDescription):
        raise ConversionError(
            f"{source.where}: a .model holds Unigram, or BPE over characters that merges any two neighbours which make "
            f"a piece; of this model ({type(described).__name__}) it would lose how text is cut into words"
        )
    stages = known_stages(described, source.where)
    _check_rest(described, source.where, ignore)
    pieces = [piece or "" for piece in described.pieces]
    gaps = [number for number, piece in enumerate(pieces) if not piece]
    if gaps:
        raise ConversionError(f"{source.where}: the id {gaps[0]} belongs to no piece, and a .model has no gaps")
    if "\0" in "".join(pieces):
        raise ConversionError(f"{source.where}: a piece holds the character U+0000, which a .model cannot")
    kinds = _kinds(described, source.where)
    scores = _scores(described, kinds, source.where)
    named = {"unk": str(described.unknown)}
    controls = {piece for piece, kind in zip(pieces, kinds, strict=True) if kind == KIND_CONTROL}
    for key, names in _NAMES.items():
        named[key] = next((name for name in names if name in controls), names[0])
    ids = {piece: number for number, piece in enumerate(pieces)}
    model = SentencePieceModel(
        name=described.name,
        source_digest="",
        model_type=described.model,
        pieces=tuple(piece.encode() for piece in pieces),
        scores=np.array(scores, np.float32),
        kinds=np.array(kinds, np.uint8),
        byte_fallback=described.byte_fallback,
        unk_id=ids[named["unk"]],
        bos_id=ids.get(named["bos"], -1),
        eos_id=ids.get(named["eos"], -1),
        pad_id=ids.get(named["pad"], -1),
        unk_piece=named["unk"],
        bos_piece=named["bos"],
        eos_piece=named["eos"],
        pad_piece=named["pad"],
        unk_surface=UNK_SURFACE,
        normalizer=NormalizerSpec(
            name="user_defined" if stages.charsmap else "identity",
            charsmap=decode_charsmap(stages.charsmap) if stages.charsmap else None,
            add_dummy_prefix=stages.add_dummy_prefix,
            remove_extra_whitespaces=stages.remove_extra_whitespaces,
            escape_whitespaces=True,
            whitespace_as_suffix=False,
        ),
        denormalizer=None,
        self_test=(),
    )
    return Written({"": serialize(model)}, {}, (_SPECIAL_TEXT, _DECODING), compares=False)


def known_stages(described: StagedDescription, where: str) -> _Stages:
    """What normalizers and pre-tokenizers say in the words of a model file.

    Raises
    ------
    ConversionError
        They are none of the known sets.
    """
    stages = list(described.normalizers)
    charsmap = b""
    if stages and isinstance(stages[0], Precompiled):
        charsmap = _blob(stages.pop(0), where)
    if described.pre_tokenizers == _WORDS:
        if stages:
            raise _not_known(f"the normalizer {_shown(stages[0])} before WhitespaceSplit", where)
        _check_words(described, charsmap, where)
        return _Stages(charsmap, True, True)
    if described.pre_tokenizers:
        names = ", ".join(_shown(stage) for stage in described.pre_tokenizers)
        hint = ""
        if isinstance(described.pre_tokenizers[-1], Metaspace):
            hint = (
                " (Metaspace puts no U+2581 before a text that begins with a space, and leaves the spaces at its end, "
                "where a .model either removes both or keeps both)"
            )
        raise _not_known(f"the pre-tokenizers {names}{hint}", where)
    removes = stages[:2] == [_LEADING, _SEVERAL]
    rest = stages[2:] if removes else stages
    prefix = rest[:1] == [_PREFIX]
    rest = rest[1:] if prefix else rest
    if rest != ([_ESCAPE, _TRAILING] if removes else [_ESCAPE]):
        raise _not_known(f"the normalizers {', '.join(map(_shown, described.normalizers)) or '(none)'}", where)
    if charsmap and prefix and not removes and _deletes(charsmap):
        raise _not_known("a charsmap that deletes characters, with Prepend behind it,", where)
    return _Stages(charsmap, prefix, removes)


def _not_known(what: str, where: str) -> ConversionError:
    return ConversionError(
        f"{where}: {what} would be lost: a .model holds a charsmap, whether a space is put before a text, and whether "
        "spaces at its ends and behind others go"
    )


def _shown(stage: object) -> str:
    text = repr(stage)
    return text if len(text) < 100 else type(stage).__name__


def _blob(stage: Normalizer, where: str) -> bytes:
    """The charsmap as a model file has it."""
    assert isinstance(stage, Precompiled), "asked before"
    blob = struct.pack("<I", len(stage.units)) + stage.units + stage.text
    try:
        decode_charsmap(blob)
    except CharsmapError as error:
        raise ConversionError(f"{where}: normalizer: sentencepiece would not take its charsmap: {error}") from error
    return blob


def _deletes(charsmap: bytes) -> bool:
    return any(not text for text in decode_charsmap(charsmap).rules().values())


def _check_words(described: StagedDescription, charsmap: bytes, where: str) -> None:
    """Cutting at white space, and words with U+2581 in front, must be what a model does without cutting."""
    rules = decode_charsmap(charsmap).rules() if charsmap else {}
    for character in (*_WHITE, WORD_START):
        if character != " " and rules.get(character.encode()) not in (b"", b" "):
            raise _not_known(
                f"WhitespaceSplit and Metaspace, since the charsmap leaves U+{ord(character):04X} in the text,", where
            )
    for text in rules.values():
        for character in text.decode():
            if character in _WHITE[:5] + _WHITE[6:] or character == WORD_START:
                raise _not_known(f"WhitespaceSplit, since a rule of the charsmap makes U+{ord(character):04X},", where)
    special = {token.content for token in described.added_tokens}
    if WORD_START not in described.vocab:
        raise _not_known("WhitespaceSplit and Metaspace, since U+2581 is no piece,", where)
    for piece in described.vocab:
        if WORD_START in piece[1:] and piece not in special:
            raise _not_known(f"WhitespaceSplit, since the piece {piece!r} reaches from one word into the next,", where)


def _check_rest(described: StagedDescription, where: str, ignore: frozenset[str]) -> None:
    inputs = described.inputs
    adds = inputs is not None and (len(inputs.single.ids) > 1 or len(inputs.pair.ids) > 2)
    if adds and "template" not in ignore:
        raise ConversionError(
            f"{where}: post_processor: the template of model inputs would be lost, a .model holds none; pass "
            'ignore=("template",) to leave it out'
        )
    for token in described.added_tokens:
        if not token.special:
            raise ConversionError(
                f"{where}: the added token {token.content!r}, which is not special and is matched in texts, would be "
                "lost: sentencepiece would put it into the text around it (user-defined pieces cut no text)"
            )
    if described.model == "bpe":
        if described.ignore_merges:
            raise ConversionError(f"{where}: ignore_merges would be lost: a .model makes pieces by merging only")
        if not described.fuse_unknown and not described.byte_fallback:
            raise ConversionError(f"{where}: fuse_unk = false would be lost: a .model makes one id of unknown runs")
    if described.byte_fallback and not all(piece in described.vocab for piece in BYTE_PIECES):
        raise ConversionError(f"{where}: byte_fallback with missing byte pieces: a .model needs all 256 of them")


def _kinds(described: StagedDescription, where: str) -> list[int]:
    kinds = [KIND_NORMAL] * len(described.pieces)
    if described.byte_fallback:
        for piece in BYTE_PIECES:
            kinds[described.vocab[piece]] = KIND_BYTE
    for token in described.added_tokens:
        kinds[token.id] = KIND_CONTROL
    if described.unknown is None or described.unknown not in described.vocab:
        raise ConversionError(f"{where}: the model has no unknown token, and a .model needs one")
    kinds[described.vocab[described.unknown]] = KIND_UNKNOWN
    return kinds


def _scores(described: StagedDescription, kinds: list[int], where: str) -> list[float]:
    scores = [0.0] * len(kinds)
    if described.scores is None:
        text = {piece: number for piece, number in described.vocab.items() if kinds[number] == KIND_NORMAL}
        assert described.merges is not None, "BPE has merges"
        strange = [merge for merge in described.merges if not {*merge, "".join(merge)} <= text.keys()]
        if strange:
            raise ConversionError(
                f"{where}: the merge {strange[0]!r} is of pieces that are special or bytes; it would be lost"
            )
        for piece, score in scores_by_merges(text, described.merges, where).items():
            scores[described.vocab[piece]] = score
        return scores
    narrow = described.scores.astype(np.float32)
    wide = narrow.astype(np.float64)
    far = np.flatnonzero(np.abs(wide - described.scores) > _NEAR * np.abs(described.scores))
    if far.size:
        raise ConversionError(
            f"{where}: model.vocab[{far[0]}]: the score {float(described.scores[far[0]])!r} has more digits than the "
            "float32 of a .model, and they would be lost"
        )
    scores[: len(wide)] = wide.tolist()
    normal = [score for score, kind in zip(scores, kinds, strict=True) if kind == KIND_NORMAL]
    if not normal or min(scores[: len(wide)]) < min(normal):
        raise ConversionError(
            f"{where}: a special piece has the lowest score of all, by which unknown characters are scored; a .model "
            "would score them by the lowest normal piece"
        )
    return scores
