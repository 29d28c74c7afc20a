"""What ``vocab-tools train`` writes: the files that a trainer makes itself, others by conversion of those."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from numba_nlp.errors import ConversionError, SourceFormatError, UnsupportedFeatureError
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


def write_trained(trained: Trained, path: Path, wanted: str) -> tuple[list[Path], dict[str, Any]]:
    """Write a trained vocabulary.

    Parameters
    ----------
    trained : SentencePieceModel, TrainedBpe or TrainedWordPiece
    path : Path
    wanted : str
        One of :data:`vocab_tools.converting.formats.FORMATS`.

    Returns
    -------
    paths, options : list of Path, dict
        What was written, and with which options of :func:`vocab_tools.compile` it is read as this vocabulary: a
        format that does not hold everything is given the rest.

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
        direct[wanted](path)
        return [path], {}
    from vocab_tools.converting.api import convert

    # what is converted is read back and compared
    own, write = next(iter(direct.items()))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{path.stem or trained.name}{SUFFIXES[own]}"
        write(source)
        try:
            made = convert(source, path, to=wanted)
        except (ConversionError, UnsupportedFeatureError) as error:
            raise type(error)(str(error).replace(str(source), "what was trained")) from error
        return list(made.paths), made.options


def _writers(trained: Trained) -> dict[str, Any]:
    """Formats that need no conversion; the first is what others are made of."""
    if isinstance(trained, SentencePieceModel):
        return {"sentencepiece": lambda path: write_model(path, trained)}
    if isinstance(trained, TrainedWordPiece):
        return {"tokenizer.json": trained.write_tokenizer_json}
    if trained.kind == "subword-nmt":
        return {"subword-nmt": trained.write_codes}
    writers: dict[str, Any] = {"tokenizer.json": trained.write_tokenizer_json}
    if trained.kind == "sentencepiece":
        writers["sentencepiece"] = trained.write_model
    if trained.kind == "character" and trained.cut == "whitespace":
        writers["subword-nmt"] = trained.write_codes
    return writers
