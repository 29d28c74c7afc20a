"""A SentencePiece model in a folder whose class does not say how to read one: the model's own settings count.

The facts are those of ``SpmConverter.build_tokenizer_from_spm_proto`` of transformers 5.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from vocab_tools.checkpoints.settings import AddedTokenOptions, Settings
from vocab_tools.checkpoints.spm_file import NORMAL, USER_DEFINED, SpmFile, read_spm
from vocab_tools.checkpoints.stage_json import (
    WORD_START,
    bpe,
    bytes_decoder,
    metaspace,
    precompiled,
    regex,
    sequence,
    string,
    unigram,
)
from vocab_tools.formats import serde_numbers

__all__ = ["backend_document"]


def backend_document(path: Path, values: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """The ``tokenizer.json`` of a SentencePiece model that stands alone in the folder of a ``TokenizersBackend``.

    Parameters
    ----------
    path : Path
    values : dict
        Settings of the folder and the caller's options. Changed in place: ``additional_special_tokens`` are the
        control pieces; start, end and unknown token are named as the model names them where nobody else did.
    settings : Settings
        Of its added tokens, those within a BPE model rename its pieces. Where the model puts a space before the text
        they are changed in place, to be found before that is done.

    Returns
    -------
    dict
        Without added tokens and post-processor.

    Raises
    ------
    SourceFormatError
        The file is no such model.
    OSError
    """
    added = settings.added_tokens
    file = read_spm(path)
    names = _names(file, {} if file.is_unigram else added)
    tokens = file.added_tokens()
    if user_defined := {piece for (piece, _), kind in zip(file.vocab, file.types, strict=True) if kind == USER_DEFINED}:
        tokens = [token for token in tokens if token.content not in user_defined]
    values["additional_special_tokens"] = tokens
    if file.add_dummy_prefix:
        for number, token in added.items():
            added[number] = dataclasses.replace(token, normalized=False)
    if file.is_unigram:
        values["unk_id"] = file.unk_id
    for key, number, piece in (
        ("bos_token", file.bos_id, file.bos_piece or "<s>"),
        ("eos_token", file.eos_id, file.eos_piece or "</s>"),
        ("unk_token", file.unk_id, file.unk_piece or "<unk>"),
    ):
        if number >= 0:
            values.setdefault(key, piece)
    kept = [name for name, kind in zip(names, file.types, strict=True) if kind == USER_DEFINED]
    legacy = bool(values.get("legacy", True))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "post_processor": None,
        "model": _unigram(file) if file.is_unigram else _bpe(file, names, whole=bool(kept)),
        "normalizer": _normalizer(file, legacy=legacy),
        "pre_tokenizer": _pre_tokenizer(file, kept, legacy=legacy),
        "decoder": bytes_decoder(
            byte_fallback=file.byte_fallback,
            fuse=file.byte_fallback or file.add_dummy_prefix,
            strip=file.add_dummy_prefix,
        ),
    }


def _names(file: SpmFile, added: dict[int, AddedTokenOptions]) -> list[str]:
    """Names of the pieces: those of added tokens, but never that of a piece which keeps its own."""
    others = {piece for number, (piece, _) in enumerate(file.vocab) if number not in added}
    names = []
    for number, (piece, _) in enumerate(file.vocab):
        name = added[number].content if number in added else piece
        names.append(piece if name in others else name)
    return names


def _unigram(file: SpmFile) -> dict[str, Any]:
    # the reference copies this tokenizer by writing and reading it, with the shortest digits
    vocab = [(piece, serde_numbers.read_float(repr(score))) for piece, score in file.vocab]
    return unigram(vocab, file.unk_id, byte_fallback=file.byte_fallback)


def _bpe(file: SpmFile, names: list[str], *, whole: bool) -> dict[str, Any]:
    normal = {
        name: (-file.vocab[number][1], number)
        for number, (name, kind) in enumerate(zip(names, file.types, strict=True))
        if kind == NORMAL
    }
    ranked = sorted(
        (*rank, token[:cut], token[cut:])
        for token, rank in normal.items()
        for cut in range(1, len(token))
        if token[:cut] in normal and token[cut:] in normal
    )
    return bpe(
        {name: number for number, name in enumerate(names)},
        [(left, right) for _, _, left, right in ranked],
        unk_token=file.unk_piece,
        byte_fallback=file.byte_fallback,
        ignore_merges=whole,
    )


def _normalizer(file: SpmFile, *, legacy: bool) -> dict[str, Any]:
    stages = [] if file.charsmap is None else [precompiled(file.charsmap)]
    if file.remove_extra_whitespaces:
        stages += [regex(r"\A +| +\z", ""), regex(" {2,}", " ")]
    if file.escape_whitespaces:
        stages.append(string(" ", WORD_START))
    if file.add_dummy_prefix and legacy:
        stages.append(regex(rf"\A{WORD_START}", 2 * WORD_START))
    return sequence("normalizer", stages)


def _pre_tokenizer(file: SpmFile, kept: list[str], *, legacy: bool) -> dict[str, Any] | None:
    stages: list[dict[str, Any]] = []
    if file.add_dummy_prefix:
        stages.append(metaspace("always" if legacy else "first", split=False))
    if kept:
        longest_first = sorted(kept, key=len, reverse=True)
        pattern = "|".join(map(re.escape, longest_first))
        stages.append({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False})
    return sequence("pre_tokenizer", stages) if stages else None
