"""Write a ``tokenizer.json`` of a SentencePiece model, for libraries that read nothing else.

``python -m tools.sentencepiece_to_tokenizer_json FILE.model OUT.json`` converts. The ids are those of the model. The
stages are spelled as the converters of the hub spell them, since the readers of other libraries know these strings and
take their fast path: the model's charsmap, then words at white space, each behind U+2581 (as XLNet's and BARThez's
files); for models without normalisation U+2581 in front and for every space, and no words (as LLaMA's). That is not
everything that sentencepiece does (user-defined pieces are merged like others, for one), so compare ids before trusting
a conversion.
"""

from __future__ import annotations

import argparse
import base64
import json
from pathlib import Path
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.description import KIND_CONTROL, KIND_NORMAL
from vocab_tools.formats.sentencepiece_model import KIND_UNKNOWN, SentencePieceModel, read
from vocab_tools.formats.sentencepiece_pb2 import ModelProto

__all__ = ["convert_model", "merges_of_pieces"]

SPACE = "\u2581"


def merges_of_pieces(vocabulary: dict[str, int], scores: dict[str, float]) -> list[list[str]]:
    """Every way to make a piece of two others; best score first, then by the ids of the parts."""
    found = []
    for piece, score in scores.items():
        for cut in range(1, len(piece)):
            left, right = vocabulary.get(piece[:cut]), vocabulary.get(piece[cut:])
            if left is not None and right is not None:
                found.append((-score, vocabulary[piece], left, right, piece[:cut], piece[cut:]))
    return [[left, right] for *_, left, right in sorted(found)]


def _stages(model: SentencePieceModel, charsmap: bytes) -> dict[str, Any]:
    """Normaliser, pre-tokeniser and decoder of a model's settings."""
    spec = model.normalizer
    steps: list[dict[str, Any]] = [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}]
    if model.byte_fallback:
        steps.append({"type": "ByteFallback"})
    steps += [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    decoder = {"type": "Sequence", "decoders": steps}
    if not spec.remove_extra_whitespaces and not charsmap:
        prefix = [{"type": "Prepend", "prepend": SPACE}] if spec.add_dummy_prefix else []
        spaces = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
        normalizer = {"type": "Sequence", "normalizers": [*prefix, spaces]}
        return {"normalizer": normalizer, "pre_tokenizer": None, "decoder": decoder}
    mapped = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()} if charsmap else None
    scheme = "always" if spec.add_dummy_prefix else "never"
    words = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": True}
    split = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, words]}
    return {"normalizer": mapped, "pre_tokenizer": split, "decoder": decoder}


def _model(model: SentencePieceModel, pieces: list[str]) -> dict[str, Any]:
    scores = model.scores.tolist()
    if model.model_type == "unigram":
        vocabulary = [list(entry) for entry in zip(pieces, scores, strict=True)]
        return {"type": "Unigram", "unk_id": model.unk_id, "vocab": vocabulary, "byte_fallback": model.byte_fallback}
    ids = {piece: number for number, piece in enumerate(pieces)}
    normal = {piece: scores[number] for piece, number in ids.items() if model.kinds[number] == KIND_NORMAL}
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": pieces[model.unk_id],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": model.byte_fallback,
        "ignore_merges": False,
        "vocab": ids,
        "merges": merges_of_pieces({piece: ids[piece] for piece in normal}, normal),
    }


def convert_model(path: Path) -> dict[str, Any]:
    """The ``tokenizer.json`` of a Unigram or BPE model file, as ``json`` writes it.

    Raises
    ------
    numba_nlp.errors.SourceFormatError
        No such model.
    """
    model = read(path)
    if model.model_type not in {"unigram", "bpe"}:
        raise SourceFormatError(f"{path}: models of type {model.model_type} have no tokenizer.json; unigram and bpe do")
    charsmap = ModelProto.FromString(path.read_bytes()).normalizer_spec.precompiled_charsmap
    pieces = [piece.decode() for piece in model.pieces]
    added = [
        {
            "id": number,
            "content": piece,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number, piece in enumerate(pieces)
        if model.kinds[number] in {KIND_UNKNOWN, KIND_CONTROL}
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "post_processor": None,
        **_stages(model, charsmap),
        "model": _model(model, pieces),
    }


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    options.out.write_text(json.dumps(convert_model(options.model), ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
