"""Checkpoints by name: the folder that huggingface_hub has for them, downloaded or from its cache."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from numba_nlp._arguments import flag, shown
from numba_nlp.errors import SourceFormatError

__all__ = ["HUB_OPTIONS", "find_folder", "is_hub_name"]

#: Keyword arguments that say where and how to look; those of transformers.
HUB_OPTIONS = ("cache_dir", "local_files_only", "revision", "subfolder", "token")
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*\w)?(?:/[A-Za-z0-9](?:[\w.-]*\w)?)?", re.ASCII)


def is_hub_name(source: object, *, file_endings: Collection[str] = ()) -> bool:
    """Whether a source can be the name of a checkpoint on the hub: ``name`` or ``owner/name``, and no path.

    Where a folder is called as the owner, ``owner/name`` is a path in it: a mistyped one is not asked for on the hub.

    Parameters
    ----------
    source : object
        What the caller was given.
    file_endings : collection of str
        Endings of the files that the caller reads: such a name is a file that is missing, no checkpoint.
    """
    return (
        isinstance(source, str)
        and _NAME.fullmatch(source) is not None
        and ".." not in source
        and "--" not in source
        and PurePosixPath(source).suffix not in file_endings
        and not Path(source).exists()
        and not ("/" in source and Path(source).parent.is_dir())
    )


def find_folder(
    source: str | PathLike[str], options: dict[str, Any], *, wanted: Sequence[str], not_wanted: Sequence[str] = ()
) -> Path:
    """The folder of a checkpoint.

    Parameters
    ----------
    source : path-like or str
        A folder, or the name of a checkpoint on the hub.
    options : dict
        Of ``HUB_OPTIONS``.
    wanted, not_wanted : sequence of str
        Patterns of the files to get from the hub, and of those of them to leave there; a folder is complete.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        The hub and its cache have no such checkpoint, or huggingface_hub is not installed.
    OSError
        The hub refuses it, or cannot be reached.
    SourceFormatError
        ``subfolder`` leads out of the checkpoint.
    TypeError
        Another option is of the wrong type.
    """
    options = dict(options)
    _check_options(options)
    subfolder = _subfolder(options.pop("subfolder", None))
    if isinstance(source, str) and not source.strip():
        raise FileNotFoundError(f"{source!r} is no folder and no name on the hub; the current folder is '.'")
    path = Path(source)
    if not path.is_dir():
        begin = f"{subfolder}/" if subfolder else ""
        path = _download(
            str(source), [f"{begin}{each}" for each in wanted], [f"{begin}{each}" for each in not_wanted], options
        )
    # in a folder transformers takes the other options too, and has no use for them either
    found = path / subfolder
    if not found.is_dir():
        raise FileNotFoundError(f"{source}: there is no folder {subfolder!r} in this checkpoint")
    return found


def _check_options(options: dict[str, Any]) -> None:
    flag("local_files_only", options.get("local_files_only", False))
    for name, kinds, wanted in (
        ("cache_dir", (str, PathLike), "a path"),
        ("revision", (str,), "the name of a branch, a tag or a commit"),
        ("token", (str, bool), "a string, True or False"),
    ):
        given = options.get(name)
        if given is not None and not isinstance(given, kinds):
            raise TypeError(f"`{name}` must be {wanted}, got {shown(given)}")


def _subfolder(given: Any) -> str:
    if given is None or given == "":
        return ""
    parts = PurePosixPath(given).parts if isinstance(given, str) else ()
    if not parts or ".." in parts or PurePosixPath(given).is_absolute() or "\\" in given or ":" in given:
        raise SourceFormatError(f"subfolder= must be a path within the checkpoint, got {given!r}")
    return "/".join(parts)


def _download(name: str, wanted: list[str], not_wanted: list[str], options: dict[str, Any]) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError
    except ImportError as error:
        raise FileNotFoundError(
            f"{name}: there is no such file or folder; to take it as the name of a checkpoint on the Hugging Face hub "
            "the package huggingface_hub is needed: pip install 'numba_nlp[hub]'"
        ) from error
    try:
        return Path(snapshot_download(name, allow_patterns=wanted, ignore_patterns=not_wanted, **options))
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
