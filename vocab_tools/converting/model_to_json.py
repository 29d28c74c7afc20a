"""A SentencePiece ``.model`` as a ``tokenizer.json``: the same normalising, segmenting and ids, in other stages.

What sentencepiece does to a text before it segments it (``normalizer.cc``) is written as normalizers: the charsmap,
spaces off the front, one space for several, U+2581 in front and for every space, and none at the end. There is no
pre-tokenizer, so a text is one lattice, or one row of symbols, as in sentencepiece.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from numba_nlp.errors import ConversionError
from vocab_tools.checkpoints.stage_json import WORD_START, bpe, regex, sequence, string, unigram
from vocab_tools.converting.formats import Opened, Written
from vocab_tools.converting.score_merges import check_symbols, merges_by_score
from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED, AddedToken
from vocab_tools.formats.reading import read_source
from vocab_tools.formats.sentencepiece_model import KIND_UNKNOWN, KIND_UNUSED, SentencePieceModel, message_of
from vocab_tools.formats.writers.json_text import tokenizer_bytes
from vocab_tools.formats.writers.tokenizer_json import whole_document

__all__ = ["model_to_json", "normalizer_stages"]

Json = dict[str, Any]
_SPECIAL_TEXT = "control pieces written in a text: sentencepiece takes them as plain text, tokenizers matches them"
_CLUSTERS = (
    "tokenizers looks rules of a charsmap up by grapheme clusters, sentencepiece at every character: text with "
    "decomposed characters (accents, Hangul, kana marks behind their letters) may be normalised otherwise"
)
_SUMS = "tokenizers adds scores up in double precision, sentencepiece in single: exact ties may fall otherwise"


def model_to_json(source: Opened) -> Written:
    """Unigram and BPE models whose settings have stages of the same effect.

    Raises
    ------
    ConversionError
        The model has what no stage does; the message names it.
    """
    model = source.description
    assert isinstance(model, SentencePieceModel), "the reader gives nothing else"
    _check(model, source.where)
    pieces = [piece.decode() for piece in model.pieces]
    special = np.flatnonzero(np.isin(model.kinds, (KIND_UNKNOWN, KIND_CONTROL))).tolist()
    charsmap = message_of(read_source(source.paths[0]), source.where).normalizer_spec.precompiled_charsmap
    notes = [_SPECIAL_TEXT]
    if charsmap:
        notes.append(_CLUSTERS)
    if model.model_type == "unigram":
        scores = _scores(model, source.where)
        made = unigram(list(zip(pieces, scores, strict=True)), model.unk_id, byte_fallback=model.byte_fallback)
        notes.append(_SUMS)
    else:
        check_symbols(model, source.where)
        vocab = {piece: number for number, piece in enumerate(pieces)}
        merges = merges_by_score(model, source.where)
        made = bpe(vocab, merges, unk_token=pieces[model.unk_id], byte_fallback=model.byte_fallback)
    document = whole_document(
        made,
        added=[AddedToken(pieces[number], number) for number in special],
        normalizer=normalizer_stages(model, charsmap),
        decoder=_decoder(model),
    )
    return Written({"": tokenizer_bytes(document)}, {}, tuple(notes), compares=False)


def normalizer_stages(model: SentencePieceModel, charsmap: bytes) -> Json:
    """What is done to text, as normalizers."""
    spec = model.normalizer
    stages: list[Json] = []
    if charsmap:
        encoded = base64.b64encode(charsmap).decode()
        stages.append({"type": "Precompiled", "precompiled_charsmap": encoded})
    if spec.remove_extra_whitespaces:
        stages += [regex(r"\A +", ""), regex(" {2,}", " ")]
    if spec.add_dummy_prefix:
        stages.append({"type": "Prepend", "prepend": WORD_START})
    stages.append(string(" ", WORD_START))
    if spec.remove_extra_whitespaces:
        # sentencepiece looks at escaped spaces here, so U+2581 of the text itself goes too
        stages.append(regex(rf"{WORD_START}+\z", ""))
    return sequence("normalizer", stages)


def _decoder(model: SentencePieceModel) -> Json:
    stages = [string(WORD_START, " ")]
    if model.byte_fallback:
        stages.append({"type": "ByteFallback"})
    stages.append({"type": "Fuse"})
    if model.normalizer.add_dummy_prefix or model.normalizer.remove_extra_whitespaces:
        stages.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return sequence("decoder", stages)


def _check(model: SentencePieceModel, where: str) -> None:
    """Refuse what tokenizers has no stage for."""
    spec = model.normalizer

    def refuse(what: str) -> ConversionError:
        return ConversionError(f"{where}: {what}; read the .model itself, or compile it")

    if model.model_type not in ("unigram", "bpe"):
        raise refuse(f"models of type {model.model_type!r} have no counterpart in a tokenizer.json")
    if not spec.escape_whitespaces or spec.whitespace_as_suffix:
        raise refuse("spaces that stay spaces, or stand behind words, would be lost (escape_whitespaces, "
                     "treat_whitespace_as_suffix)")  # fmt: skip
    if model.denormalizer is not None:
        raise refuse("the rules that are applied to decoded text (denormalizer_spec) would be lost")
    unused = np.flatnonzero(model.kinds == KIND_UNUSED)
    if unused.size:
        raise refuse(
            f"{unused.size} unused pieces, such as {model.pieces[unused[0]].decode()!r}, would be given to texts: a "
            "tokenizer.json has no pieces that merge or compete but have no id"
        )
    if len(set(model.pieces)) != len(model.pieces):
        raise refuse("a control or byte piece is written like a normal one, and one of the two would be lost")
    if spec.charsmap is not None and not spec.remove_extra_whitespaces and spec.add_dummy_prefix:
        deleted = [key for key, text in spec.charsmap.rules().items() if not text]
        if deleted:
            raise refuse(
                f"a text of characters that are deleted, such as {deleted[0].decode()!r}, would lose its space"
            )
    _check_user_defined(model, refuse)


def _check_user_defined(model: SentencePieceModel, refuse: Any) -> None:
    """User-defined pieces as pieces of the model: where the rules leave them alone, and scores can keep them whole."""
    symbols = [piece.decode() for piece in model.user_defined()]
    if not symbols:
        return
    if model.model_type != "unigram":
        raise refuse(
            f"{len(symbols)} user-defined pieces, such as {symbols[0]!r}, would be merged like others; as added tokens "
            "they would cut the text, and each part would get a space of its own"
        )
    rules = [] if model.normalizer.charsmap is None else [key.decode() for key in model.normalizer.charsmap.rules()]
    for symbol in symbols:
        if " " in symbol or WORD_START in symbol:
            raise refuse(f"the user-defined piece {symbol!r} holds a space, which would be normalised")
        touching = _touching(rules, symbol)
        if touching is not None:
            raise refuse(
                f"the user-defined piece {symbol!r} is kept as it is written, but without that a rule of the charsmap "
                f"would change it, or what follows it: the rule for {touching!a}"
            )


def _touching(rules: Sequence[str], symbol: str) -> str | None:
    """A rule that matches within a symbol, or from there on."""
    characters = frozenset(symbol)
    tails = [symbol[i:] for i in range(len(symbol))]
    for key in rules:
        if key[0] in characters and any(key.startswith(tail) or tail.startswith(key) for tail in tails):
            return key
    return None


def _scores(model: SentencePieceModel, where: str) -> Sequence[float]:
    """Scores; a user-defined piece has the one that sentencepiece reckons with.

    Raises
    ------
    ConversionError
        Unknown characters, which are scored by the lowest score, would be scored otherwise.
    """
    scores = model.scores.copy()
    normal = model.scores[model.kinds == KIND_NORMAL]
    if not normal.size:
        raise ConversionError(f"{where}: no piece is normal, so nothing could be segmented")
    lowest, highest = normal.min(), float(normal.max())
    for number in np.flatnonzero(model.kinds == KIND_USER_DEFINED).tolist():
        # unigram_model.cc, EncodeOptimized: length in bytes
        scores[number] = np.float32(len(model.pieces[number]) * highest - 0.1)
    others = scores[model.kinds != KIND_NORMAL]
    if others.size and others.min() < lowest:
        number = int(np.flatnonzero((model.kinds != KIND_NORMAL) & (scores < lowest))[0])
        raise ConversionError(
            f"{where}: the piece {model.pieces[number].decode()!r} has a lower score ({scores[number]}) than all "
            f"normal ones ({lowest}), and unknown characters would be scored by it"
        )
    if np.isin(KIND_BYTE, model.kinds) and not model.byte_fallback:
        raise ConversionError(f"{where}: byte pieces without byte_fallback would be given to texts that spell them")
    return [float(score) for score in scores]
