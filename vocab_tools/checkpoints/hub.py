"""Checkpoints by name: the folder that huggingface_hub has for them, downloaded or from its cache."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints.files import Folder

__all__ = ["HUB_OPTIONS", "is_hub_name", "open_folder"]

#: Keyword arguments that say where and how to look; those of transformers.
HUB_OPTIONS = ("cache_dir", "local_files_only", "revision", "subfolder", "token")
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*\w)?(?:/[A-Za-z0-9](?:[\w.-]*\w)?)?", re.ASCII)
#: Endings of the files that are vocabulary sources: such a name is a file that is missing, no checkpoint.
_FILE_ENDINGS = frozenset((
    ".bpe", ".codes", ".fastbpe", ".gz", ".json", ".merges", ".model", ".npz", ".safetensors", ".spm", ".tiktoken",
    ".tsv", ".txt", ".vocab", ".yml", ".zip",
))  # fmt: skip
#: The files of tokenizers; weights stay where they are.
_PATTERNS = ("*.json", "*.txt", "*.model", "*.model.*", "*.spm", "*.bpe")
_NOT_NEEDED = ("*.safetensors.index.json", "*.bin.index.json", "*/*")


def is_hub_name(source: object) -> bool:
    """Whether a source can be the name of a checkpoint on the hub: ``name`` or ``owner/name``, and no path.

    Where a folder is called as the owner, ``owner/name`` is a path in it: a mistyped one is not asked for on the hub.
    """
    return (
        isinstance(source, str)
        and _NAME.fullmatch(source) is not None
        and ".." not in source
        and "--" not in source
        and PurePosixPath(source).suffix not in _FILE_ENDINGS
        and not Path(source).exists()
        and not ("/" in source and Path(source).parent.is_dir())
    )


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
    subfolder = _subfolder(options.pop("subfolder", None))
    path = Path(source)
    if path.is_dir():
        # a folder is complete: transformers takes the options and has no use for them either
        return Folder(_below(path, subfolder, str(source)), str(source))
    return Folder(_below(_download(str(source), subfolder, options), subfolder, str(source)), str(source))


def _subfolder(given: Any) -> str:
    if given is None or given == "":
        return ""
    parts = PurePosixPath(given).parts if isinstance(given, str) else ()
    if not parts or ".." in parts or PurePosixPath(given).is_absolute() or "\\" in given or ":" in given:
        raise SourceFormatError(f"subfolder= must be a path within the checkpoint, got {given!r}")
    return "/".join(parts)


def _below(path: Path, subfolder: str, source: str) -> Path:
    found = path / subfolder
    if not found.is_dir():
        raise FileNotFoundError(f"{source}: there is no folder {subfolder!r} in this checkpoint")
    return found


def _download(name: str, subfolder: str, options: dict[str, Any]) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError
    except ImportError as error:
        raise FileNotFoundError(
            f"{name}: there is no such file or folder; to take it as the name of a checkpoint on the Hugging Face hub "
            "the package huggingface_hub is needed: pip install 'numba_nlp[hub]'"
        ) from error
    begin = f"{subfolder}/" if subfolder else ""
    try:
        return Path(
            snapshot_download(
                name,
                allow_patterns=[f"{begin}{pattern}" for pattern in _PATTERNS],
                ignore_patterns=[f"{begin}{pattern}" for pattern in _NOT_NEEDED],
                **options,
            )
        )
    except (LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        if isinstance(error, RevisionNotFoundError):
            where = "of this revision on the Hugging Face hub; mend revision="
        elif isinstance(error, RepositoryNotFoundError):
            where = "of this name on the Hugging Face hub that this account may read; mend the name"
        elif options.get("local_files_only") or error.__cause__ is None:
            where = "of this name in the cache of the Hugging Face hub, which is not asked; mend the name"
        else:
            reason = type(error.__cause__).__name__
            where = (
                f"of this name in the cache of the Hugging Face hub, which cannot be reached ({reason}); mend the "
                "name, or the connection"
            )
        raise FileNotFoundError(f"{name}: there is no such file or folder, and no checkpoint {where}") from error
