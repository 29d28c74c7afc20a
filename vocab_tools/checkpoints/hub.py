"""Tokenizers of checkpoints by name: which names are checkpoints, and which files of them are read."""

from __future__ import annotations

from os import PathLike
from typing import Any

from numba_nlp import _hub
from numba_nlp._hub import HUB_OPTIONS
from vocab_tools.checkpoints.files import Folder

__all__ = ["HUB_OPTIONS", "is_hub_name", "open_folder"]

#: Endings of the files that are vocabulary sources: such a name is a file that is missing, no checkpoint.
_FILE_ENDINGS = frozenset((
    ".bpe", ".codes", ".fastbpe", ".gz", ".json", ".merges", ".model", ".npz", ".safetensors", ".spm", ".tiktoken",
    ".tsv", ".txt", ".vocab", ".yml", ".zip",
))  # fmt: skip
#: The files of tokenizers; weights stay where they are.
_PATTERNS = ("*.json", "*.txt", "*.model", "*.model.*", "*.spm", "*.bpe")
_NOT_NEEDED = ("*.safetensors.index.json", "*.bin.index.json", "*/*")


def is_hub_name(source: object) -> bool:
    """Whether a source can be the name of a checkpoint on the hub, and no path."""
    return _hub.is_hub_name(source, file_endings=_FILE_ENDINGS)


def open_folder(source: str | PathLike[str], options: dict[str, Any]) -> Folder:
    """The folder of a checkpoint.

    Parameters
    ----------
    source : path-like or str
        A folder, or the name of a checkpoint on the hub.
    options : dict
        Of ``HUB_OPTIONS``.

    Returns
    -------
    Folder

    Raises
    ------
    FileNotFoundError
        The hub and its cache have no such checkpoint, or huggingface_hub is not installed.
    OSError
        The hub refuses it, or cannot be reached.
    SourceFormatError
        An option has no sense.
    """
    path = _hub.find_folder(source, options, wanted=_PATTERNS, not_wanted=_NOT_NEEDED)
    return Folder(path, str(source))
