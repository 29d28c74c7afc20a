"""What ``vocab-tools train`` writes: the files that a trainer makes itself, others by conversion of those."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.sentencepiece_model import SentencePieceModel
from vocab_tools.formats.sentencepiece_writer import write_model
from vocab_tools.training.trained import TrainedBpe, TrainedWordPiece

__all__ = ["SUFFIXES", "write_trained"]

Trained = SentencePieceModel | TrainedBpe | TrainedWordPiece
#: What is put behind ``--model-prefix``; for two files it is their folder.
SUFFIXES = {
    "sentencepiece": ".model", "tokenizer.json": ".json", "merges.txt": "", "tiktoken": ".tiktoken",
    "vocab.txt": ".vocab.txt", "subword-nmt": ".codes", "fastbpe": ".fastbpe", "compiled": ".safetensors",
}  # fmt: skip


def write_trained(trained: Trained, path: Path, wanted: str) -> list[Path]:
    """Write a trained vocabulary.

    Parameters
    ----------
    trained : SentencePieceModel, TrainedBpe or TrainedWordPiece
    path : Path
    wanted : str
        One of :data:`vocab_tools.converting.formats.FORMATS`.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ConversionError
        The format cannot hold this vocabulary.
    OSError
    """
    if wanted == "merges.txt" and path.is_file():
        raise SourceFormatError(f"{path}: a file; vocab.json and merges.txt are written into a folder")
    direct = _writers(trained)
    if wanted in direct:
        made = direct[wanted](path)
        return list(made) if made else [path]
    from vocab_tools.converting.api import convert

    own, write = next(iter(direct.items()))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{path.stem or trained.name}{SUFFIXES[own]}"
        write(source)
        return list(convert(source, path, to=wanted).paths)


def _writers(trained: Trained) -> dict[str, Any]:
    """Formats that need no conversion; the first is what others are made of."""
    if isinstance(trained, SentencePieceModel):
        return {"sentencepiece": lambda path: write_model(path, trained)}
    if isinstance(trained, TrainedWordPiece):
        return {"tokenizer.json": trained.write_tokenizer_json, "vocab.txt": trained.write_vocab_txt}
    if trained.kind == "subword-nmt":
        return {"subword-nmt": trained.write_codes}
    writers: dict[str, Any] = {"tokenizer.json": trained.write_tokenizer_json}
    if trained.kind == "sentencepiece":
        writers["sentencepiece"] = trained.write_model
    else:
        writers["merges.txt"] = trained.write_gpt2_files
    if trained.kind == "character":
        writers["subword-nmt"] = trained.write_codes
    return writers
