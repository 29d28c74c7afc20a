"""Tiny models that read real text, for answers and tags: tokenizers made from the words of Hamlet, weights from seeds.

All is made by this package, the same on every machine, so that records hold options and results only.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import torch

from numba_nlp.byte_alphabet import BYTE_CHARACTERS
from numba_nlp.models import create_model, save_model
from tools.files import CARRIED
from vocab_tools.formats.sentencepiece_pb2 import ModelProto

__all__ = ["ARCHITECTURES", "LABELS", "passage", "write_checkpoint"]

VOCABULARY, POSITIONS = 900, 70
_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 32,
    "max_position_embeddings": POSITIONS,
}
_ROBERTA = {**_BERT, "pad_token_id": 1, "type_vocab_size": 1}
_SIDES = {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in (("layers", 1), ("ffn_dim", 32), ("attention_heads", 3))
}
#: Family -> config, and the beginning of the names of its classes in transformers.
ARCHITECTURES: dict[str, tuple[dict[str, Any], str]] = {
    "bert": (_BERT, "Bert"),
    "distilbert": (
        {
            "vocab_size": VOCABULARY,
            "dim": 24,
            "hidden_dim": 32,
            "n_layers": 2,
            "n_heads": 3,
            "max_position_embeddings": POSITIONS,
        },
        "DistilBert",
    ),
    "electra": ({**_BERT, "embedding_size": 16}, "Electra"),
    "roberta": (_ROBERTA, "Roberta"),
    "camembert": (_ROBERTA, "Camembert"),
    "xlm-roberta": (_ROBERTA, "XLMRoberta"),
    "xlnet": ({"vocab_size": VOCABULARY, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 32}, "XLNet"),
    "bart": (
        {
            "vocab_size": VOCABULARY,
            "d_model": 24,
            **_SIDES,
            "max_position_embeddings": POSITIONS,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 2,
            "decoder_start_token_id": 2,
            "forced_eos_token_id": 2,
        },
        "Bart",
    ),
}
LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
_HEADS = {"question_answering": "ForQuestionAnswering", "token_classification": "ForTokenClassification"}
_FIVE = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


@cache
def _words() -> tuple[str, ...]:
    return tuple((CARRIED / "hamlet_gut.txt").read_text(encoding="utf-8").split())


def passage(first: int, count: int) -> str:
    """Some words of Hamlet, with one space between them."""
    return " ".join(_words()[first : first + count])


@cache
def _common(count: int) -> tuple[str, ...]:
    """The most frequent words, those that come first in the alphabet first among equals."""
    letters = ("".join(c for c in word.lower() if c.isalpha()) for word in _words())
    counts = Counter(word for word in letters if len(word) > 1)
    return tuple(sorted(counts, key=lambda word: (-counts[word], word))[:count])


@cache
def _characters() -> tuple[str, ...]:
    return tuple(sorted(set("".join(_words()))))


def _bert(name: str) -> dict[str, Any]:
    """Lower-cased WordPiece, with pieces that continue a word."""
    lower = sorted({c for c in "".join(_characters()).lower() if c.isascii()})
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_common(400), *lower]
    lines += [f"##{piece}" for piece in (*lower, "ing", "ed", "er", "es", "ly", "th", "st")]
    return {
        "vocab.txt": "\n".join(dict.fromkeys(lines)) + "\n",
        "tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer", "do_lower_case": True},
    }


def _bytes(name: str) -> dict[str, Any]:
    """Byte-level BPE whose merges spell frequent words from left to right."""
    merges: dict[tuple[str, str], None] = {}
    for word in _common(120):
        for begin in ("Ġ", ""):
            spelled = begin + word
            for end in range(1, len(spelled)):
                merges[spelled[:end], spelled[end]] = None
    tokens = [*_FIVE[:4], *sorted(BYTE_CHARACTERS), *("".join(pair) for pair in merges), _FIVE[4]]
    ids = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return {
        "vocab.json": ids,
        "merges.txt": "\n".join(["#version: 0.2", *(" ".join(pair) for pair in merges)]) + "\n",
        "tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer"},
    }


def _pieces(name: str, file: str) -> dict[str, Any]:
    """SentencePiece Unigram, the score of a piece being that of its place in the list of words."""
    message = ModelProto()
    message.trainer_spec.model_type = 1
    special = ["<unk>", "<s>", "</s>"]
    if name == "XLNet":
        special += ["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
    for piece in special:
        message.pieces.add(piece=piece.encode(), score=0.0, type=2 if piece == "<unk>" else 3)
    pieces = ["▁", *_characters(), *(f"▁{word}" for word in _common(300)), *(f"▁{c}" for c in _characters())]
    pieces += ["ing", "ed", "er", "es", "ly", "th", "st"]
    for place, piece in enumerate(dict.fromkeys(pieces)):
        # long pieces are worth more than what they could be made of
        score = -math.log(place + 2.0) - 2.0 + 0.01 * len(piece)
        message.pieces.add(piece=piece.encode(), score=score, type=1)
    message.trainer_spec.vocab_size = len(message.pieces)
    message.normalizer_spec.name = b"identity"
    message.normalizer_spec.add_dummy_prefix = True
    message.normalizer_spec.remove_extra_whitespaces = True
    message.normalizer_spec.escape_whitespaces = True
    return {
        file: bytes(message.SerializeToString(deterministic=True)),
        "tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer"},
    }


def _tokenizer_files(family: str) -> dict[str, Any]:
    name = ARCHITECTURES[family][1]
    if family in ("bert", "distilbert", "electra"):
        return _bert(name)
    if family in ("roberta", "bart"):
        return _bytes(name)
    return _pieces(name, "spiece.model" if family == "xlnet" else "sentencepiece.bpe.model")


def write_checkpoint(
    family: str,
    head: str,
    folder: Path,
    *,
    seed: int = 0,
    labels: tuple[str, ...] = LABELS,
    model_max_length: int | None = None,
) -> str:
    """Write a checkpoint folder; returns the name of its class in transformers.

    Parameters
    ----------
    family : str
        Of ``ARCHITECTURES``.
    head : {"question_answering", "token_classification"}
    folder : Path
    seed : int
        Of the weights, which are large: few tokens are nearly as probable as others.
    labels : tuple of str
        Of token classification.
    model_max_length : int, optional
        For tokenizer_config.json.
    """
    config, name = ARCHITECTURES[family]
    suffix = "ForQuestionAnsweringSimple" if (family, head) == ("xlnet", "question_answering") else _HEADS[head]
    architecture = f"{name}{suffix}"
    config = {**config, "model_type": family, "architectures": [architecture]}
    if head == "token_classification":
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
    model = create_model(config, head=head, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter_name, parameter in sorted(model.named_parameters()):
            scale = 1.5 if "classifier" in parameter_name else 0.3
            parameter.add_(torch.randn(parameter.shape, generator=generator) * scale)
    folder.mkdir(parents=True, exist_ok=True)
    save_model(model, folder)
    for file, content in _tokenizer_files(family).items():
        if file == "tokenizer_config.json" and model_max_length is not None:
            content["model_max_length"] = model_max_length
        if isinstance(content, bytes):
            (folder / file).write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            (folder / file).write_text(text, encoding="utf-8")
    return architecture
