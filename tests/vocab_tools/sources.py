"""Small vocabulary sources for the tests of the readers and of the compiler."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from numba_nlp.byte_alphabet import BYTE_CHARACTERS
from numba_nlp.reference.segment.merge import merge_bytes

#: The 256 bytes in the order in which GPT-2 numbers them.
BYTES = {character: number for number, character in enumerate(sorted(BYTE_CHARACTERS))}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
#: How a ``tokenizer.json`` says that it pads by itself.
PADDING = {
    "strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 3, "pad_type_id": 2,
    "pad_token": "$",
}  # fmt: skip
TEXT = [
    "the theatre is there, thither the others went; they'd have gathered",
    "def merge(self, other):\n    return [x for x in other if x != self.x]\n",
    "Überfälle über Überfälle, naïve façade, Ζεύς και Ήρα, 日本語の本を読む",
    "  two  spaces\t\ttabs\r\n1234567890 3.14159 100,000",
]


def vocabulary(*pieces: str, specials: Sequence[str] = ()) -> dict[str, int]:
    """The 256 bytes, then ``pieces``, then ``specials``."""
    return {**BYTES, **{piece: 256 + number for number, piece in enumerate((*pieces, *specials))}}


def write_gpt2(folder: Path, vocab: Mapping[str, Any] | str, merges: str) -> tuple[Path, Path]:
    """Write ``vocab.json`` (from a mapping, or as it is) and ``merges.txt``."""
    paths = folder / "vocab.json", folder / "merges.txt"
    text = vocab if isinstance(vocab, str) else json.dumps(vocab, ensure_ascii=False)
    paths[0].write_bytes(text.encode())
    paths[1].write_bytes(merges.encode())
    return paths


def added(content: str, number: int, **options: bool) -> dict[str, Any]:
    """An entry of ``added_tokens``."""
    defaults = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": content, **defaults, **options}


def tokenizer_file(
    vocab: Mapping[str, int] | None = None,
    merges: Sequence[Any] = (),
    added_tokens: Sequence[Any] = (),
    model: Mapping[str, Any] | None = None,
    **stages: Any,
) -> dict[str, Any]:
    """A ``tokenizer.json`` with byte-level BPE, with changed stages and model options."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": list(added_tokens),
        "normalizer": None,
        "pre_tokenizer": dict(BYTE_LEVEL),
        "post_processor": None,
        "decoder": dict(BYTE_LEVEL),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": dict(vocabulary() if vocab is None else vocab),
            "merges": list(merges),
            **(model or {}),
        },
        **stages,
    }


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_ranks(path: Path, ranks: Mapping[bytes, int]) -> Path:
    """Write a ``.tiktoken`` file."""
    path.write_bytes(b"".join(base64.b64encode(piece) + b" %d\n" % rank for piece, rank in ranks.items()))
    return path


def train(vocab_size: int, **options: Any) -> Tokenizer:
    """A byte-level BPE tokenizer trained by the ``tokenizers`` library on ``TEXT``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def piece_encoder(arrays: Mapping[str, Any], metadata: Mapping[str, Any]) -> Callable[[bytes], list[int]]:
    """Ids of one pre-token by the slow reference, from nothing but the compiled arrays."""
    products = arrays["merge_symbols"].tolist()
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    for number, pair in enumerate(arrays["merge_pairs"].tolist()):
        merges[pair >> 20, pair & 0xFFFFF] = number, products[number]
    symbol_ids = arrays["symbol_ids"].tolist()
    content, bounds = arrays["piece_bytes"].tobytes(), arrays["piece_offsets"].tolist()
    whole = {content[bounds[i] : bounds[i + 1]]: i for i in arrays["piece_lookup"].tolist() if i >= 0}

    def encode(piece: bytes) -> list[int]:
        if metadata["whole_pieces"] and piece in whole:
            return [whole[piece]]
        return [symbol_ids[symbol] for symbol in merge_bytes(piece, merges)]

    return encode
