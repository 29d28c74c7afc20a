"""Vocabulary, merges and charsmap of a SentencePiece model, with the ids that a class of transformers gives them.

The facts are those of ``SentencePieceExtractor`` and of the ``convert_from_spm`` hooks of transformers 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from vocab_tools.checkpoints.family import Native
from vocab_tools.checkpoints.languages import MBART50_LANGUAGES, MBART_LANGUAGES
from vocab_tools.checkpoints.lone_model import backend_document
from vocab_tools.checkpoints.options import number_of
from vocab_tools.checkpoints.spm_file import ScoredVocab, read_spm

__all__ = ["backend_document", "extract", "generate_merges"]


def extract(path: Path, name: str, model: str | None, values: dict[str, Any]) -> Native:
    """What a class is built from when its folder has a SentencePiece model and no ``tokenizer.json``.

    Parameters
    ----------
    path : Path
        The model.
    name : str
        Name of the class, without "Fast".
    model : {"Unigram", "BPE"} or None
        Kind of model that the class builds; None: that of the file. The type of the file is not asked: scores of a BPE
        file are its ranks, and a Unigram class takes them as they are.
    values : dict
        Settings of the folder and the caller's options, before the defaults of the class. Changed in place: control
        and user-defined pieces take the place of ``additional_special_tokens``, and ``unk_id`` is set.

    Returns
    -------
    Native

    Raises
    ------
    SourceFormatError
        The file is no such model.
    OSError
    """
    file = read_spm(path)
    vocab: ScoredVocab | dict[str, int] = file.vocab
    merges = None
    if model == "BPE" or (model is None and not file.is_unigram):
        vocab = {piece: number for number, (piece, _) in enumerate(file.vocab)}
        merges = generate_merges(vocab)
    else:
        values["unk_id"] = file.unk_id
    values["additional_special_tokens"] = file.added_tokens()
    if name in _REORDERED:
        vocab = _REORDERED[name](vocab, values)
    return Native(vocab, merges, file.charsmap)


def generate_merges(vocab: Mapping[str, int], skip: Collection[str] = ()) -> list[tuple[str, str]]:
    """Merges that make the tokens of a vocabulary: every cut of a token into two others, in the order of ids.

    Parameters
    ----------
    vocab : Mapping of str to int
        Tokens and their ids, no id twice.
    skip : collection of str
        Tokens that are neither made nor used.

    Returns
    -------
    list of (str, str)
        Lowest id first; of one token, shortest left part first.
    """
    parts = {token for token in vocab if token not in skip} if skip else vocab
    return [
        (token[:cut], token[cut:])
        for token in sorted(parts, key=vocab.__getitem__)
        for cut in range(1, len(token))
        if token[:cut] in parts and token[cut:] in parts
    ]


def _fairseq(vocab: Any, values: Mapping[str, Any], first: str, behind: Collection[str]) -> ScoredVocab:
    """Four special tokens of fairseq for the first three pieces; languages and the mask behind the others."""
    names = ((first, "<s>"), ("pad_token", "<pad>"), ("eos_token", "</s>"), ("unk_token", "<unk>"))
    listed = [(_named(values, key, default), 0.0) for key, default in names]
    listed += vocab[3:]
    return listed + [(token, 0.0) for token in (*behind, _named(values, "mask_token", "<mask>"))]


def _named(values: Mapping[str, Any], key: str, default: str) -> str:
    """A special token as text; one that is set to None is called so, as in the reference."""
    return str(values.get(key, default))


def _xlm_roberta(vocab: Any, values: Mapping[str, Any]) -> ScoredVocab:
    return _fairseq(vocab, values, "bos_token", ())


def _mbart(vocab: Any, values: Mapping[str, Any]) -> ScoredVocab:
    return _fairseq(vocab, values, "bos_token", MBART_LANGUAGES)


def _mbart50(vocab: Any, values: Mapping[str, Any]) -> ScoredVocab:
    return _fairseq(vocab, values, "cls_token", MBART50_LANGUAGES)


def _nllb(vocab: Any, values: Mapping[str, Any]) -> dict[str, int]:
    names = (("bos_token", "<s>"), ("pad_token", "<pad>"), ("eos_token", "</s>"), ("unk_token", "<unk>"))
    ids = {_named(values, key, default): number for number, (key, default) in enumerate(names)}
    for token in vocab:
        ids.setdefault(token, len(ids))
    return ids


def _camembert(vocab: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(vocab, dict):
        return vocab  # of a BPE model, which the class does not take
    listed = [
        ("<s>NOTUSED", 0.0),
        (_named(values, "pad_token", "<pad>"), 0.0),
        ("</s>NOTUSED", 0.0),
        (_named(values, "unk_token", "<unk>"), 0.0),
        ("<unk>NOTUSED", -100.0),
    ]
    return [*listed, *vocab[1:], (_named(values, "mask_token", "<mask>"), 0.0)]


def _pegasus(vocab: Any, values: Mapping[str, Any]) -> ScoredVocab:
    mask, mask_of_sentences = _named(values, "mask_token", "<mask_1>"), _named(values, "mask_token_sent", "<mask_2>")
    listed = [(_named(values, "pad_token", "<pad>"), 0.0), (_named(values, "eos_token", "</s>"), 0.0)]
    if mask != "None":
        listed.append((mask, 0.0))
    if mask_of_sentences not in ("None", mask):
        listed.append((mask_of_sentences, 0.0))
    listed += [(f"<unk_{number}>", -100.0) for number in range(2, number_of(values, "offset", 103))]
    return listed + list(vocab)[2:]


def _t5(vocab: Any, values: Mapping[str, Any]) -> ScoredVocab:
    count = number_of(values, "extra_ids", 100)
    return list(vocab) + [(f"<extra_id_{number}>", 0.0) for number in range(count - 1, -1, -1)]


#: Classes whose ids are not those of the file.
_REORDERED: dict[str, Callable[[Any, Mapping[str, Any]], ScoredVocab | dict[str, int]]] = {
    "CamembertTokenizer": _camembert,
    "MBart50Tokenizer": _mbart50,
    "MBartTokenizer": _mbart,
    "NllbTokenizer": _nllb,
    "PegasusTokenizer": _pegasus,
    "T5Tokenizer": _t5,
    "XLMRobertaTokenizer": _xlm_roberta,
}
