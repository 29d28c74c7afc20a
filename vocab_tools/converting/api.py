"""``convert``: read, convert, read back, compare, and only then write."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from numba_nlp._atomic import atomic_writer
from numba_nlp.errors import ConversionError, NumbaNlpError, SourceFormatError
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.compiler.api import build_arrays, describe_source, open_source
from vocab_tools.compiler.kept_source import keep_files, kept_source
from vocab_tools.converting.differences import IGNORABLE, differences
from vocab_tools.converting.formats import (
    FORMATS,
    READ_AS,
    Opened,
    Written,
    format_named,
    format_of_target,
)
from vocab_tools.converting.table import TABLE
from vocab_tools.formats.detect import detect
from vocab_tools.formats.reading import read_source
from vocab_tools.formats.tokenizer_json import IGNORABLE as IGNORED_BY_READER
from vocab_tools.writing import write_files

__all__ = ["Converted", "convert"]

PathOrPaths = str | PathLike[str] | Iterable[str | PathLike[str]]


@dataclass(frozen=True)
class Converted:
    """What :func:`convert` did.

    Attributes
    ----------
    source, target : str
        Names of the two formats.
    paths : tuple of Path
        Files that were written.
    options : dict
        Keyword arguments with which :func:`vocab_tools.compile` reads the new files as the same vocabulary: a format
        that does not hold everything is given the rest, such as the pattern of a ``.tiktoken`` file.
    notes : tuple of str
        Where the two formats differ by what they are: their libraries treat such texts in their own way.
    """

    source: str
    target: str
    paths: tuple[Path, ...]
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def convert(
    source: PathOrPaths,
    target: str | PathLike[str],
    *,
    to: str | None = None,
    ignore: Sequence[str] = (),
    **options: Any,
) -> Converted:
    """Write a vocabulary in another format, if nothing of it is lost.

    What is written is read back first; where both formats are compiled by one algorithm, the compiled arrays must be
    the same. Nothing is written otherwise. Files appear whole or not at all.

    Parameters
    ----------
    source : path-like or iterable of path-like
        As of :func:`vocab_tools.compile`, or a compiled ``.safetensors`` file.
    target : path-like
        The file to write; for ``"merges.txt"`` (``vocab.json`` and ``merges.txt``), ``"marian"``, and the source of a
        checkpoint, a folder.
    to : str, optional
        The format: "sentencepiece", "tokenizer.json", "merges.txt", "tiktoken", "vocab.txt", "subword-nmt",
        "fastbpe", "marian", "compiled"; or "source", what a compiled file was made of. By default the name of
        ``target`` tells it.
    ignore : sequence of {"template", "padding", "truncation", "spans"}
        What may be lost: what a text is put into as a model input, settings of padding and truncation, and the
        trimming of spans. Ids of texts are never changed.
    **options
        As of :func:`vocab_tools.compile`, for reading the source.

    Returns
    -------
    Converted

    Raises
    ------
    ConversionError
        Something would be lost; the message says what.
    FileNotFoundError, SourceFormatError, UnsupportedFeatureError, VocabularyFormatError
        The source cannot be read.

    Examples
    --------
    >>> import vocab_tools
    >>> vocab_tools.convert("spiece.model", "tokenizer.json").notes  # doctest: +SKIP
    """
    for key in ignore:
        if key not in IGNORABLE:
            raise SourceFormatError(f"ignore= takes {' and '.join(map(repr, IGNORABLE))}, got {key!r}")
    target = Path(target)
    if _is_compiled(source):
        return _from_compiled(Path(source), target, to, ignore, options)  # type: ignore[arg-type]
    # the models of Marian are a folder, and stay one
    folder = "marian" if isinstance(source, str | PathLike) and Path(source).is_dir() else "merges.txt"
    wanted = format_of_target(target, folder) if to is None else format_named(to)
    return _from_source(source, target, wanted, ignore, options, name=options.pop("name", None))


def _from_source(
    source: PathOrPaths, target: Path, wanted: str, ignore: Sequence[str], options: dict[str, Any], name: str | None
) -> Converted:
    if not isinstance(source, str | PathLike):
        source = list(source)
    of_reader = tuple(key for key in ignore if key in IGNORED_BY_READER)
    if of_reader and _is_file(source) and detect(source).format == "tokenizer.json":
        options = {**options, "ignore": of_reader}
    found = open_source(source, name=name, **options)
    where = ", ".join(map(str, found.paths)) if not found.is_folder else str(source)
    if found.is_folder and found.format != "marian":
        if wanted != "compiled":
            raise ConversionError(
                f"{where}: a checkpoint folder is more than one of its files; give the file that is to be converted"
            )
        kept = "compiled"
    else:
        kept = READ_AS[found.format]
    if wanted == "compiled":
        arrays, metadata = build_arrays(found.description)
        more_arrays, more_metadata = keep_files(found.paths, found.is_folder, found.options)
        made = Vocabulary({**arrays, **more_arrays}, {**metadata, **more_metadata})
        made.save(target)
        return Converted(kept, wanted, (target,))
    cell = TABLE[kept, wanted]
    read_options = {**found.options, "ignore": ignore} if ignore else found.options
    opened = Opened(where, kept, found.paths, read_options, found.description)
    if kept == wanted:
        written = Written({path.name: read_source(path) for path in found.paths}, compares=False)
        if len(found.paths) == 1:
            written = Written({"": read_source(found.paths[0])}, dict(found.options), compares=False)
    elif cell.convert is None:
        raise ConversionError(
            f"{where}: {FORMATS[kept]} cannot become {FORMATS[wanted]} without a loss; lost: {cell.loses}"
        )
    else:
        written = cell.convert(opened)
        _check(opened, written, wanted, ignore)
    return Converted(kept, wanted, _write(target, written, wanted), written.options, written.notes)


def _check(source: Opened, written: Written, wanted: str, ignore: Sequence[str]) -> None:
    """Read what was made; it must be the same vocabulary.

    Raises
    ------
    ConversionError
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = _write(Path(folder) / _TRIED.get(wanted, "tried"), written, wanted)
        given = paths[0] if len(paths) == 1 else paths
        try:
            after = describe_source(given, **written.options)
        except NumbaNlpError as error:
            raise ConversionError(
                f"{source.where}: cannot become {FORMATS[wanted]}, since what would be written is read otherwise: "
                f"{error}"
            ) from error
    lost = differences(source.description, after, ignore) if written.compares else []
    if lost:
        possible = [key for key in IGNORABLE if key not in ignore]
        raise ConversionError(
            f"{source.where}: {FORMATS[source.format]} cannot become {FORMATS[wanted]} without a loss; lost or "
            f"changed: {'; '.join(lost)}. ignore= with some of {', '.join(possible)} leaves out what is not "
            "about the ids of a text"
        )


#: Names under which files are tried, where the name matters to their reader.
_TRIED = {
    "sentencepiece": "tried.model",
    "tokenizer.json": "tokenizer.json",
    "tiktoken": "tried.tiktoken",
    "vocab.txt": "vocab.txt",
}


def _write(target: Path, written: Written, wanted: str) -> tuple[Path, ...]:
    return write_files(target, written.files, FORMATS.get(wanted, "this"), ConversionError)


def _is_compiled(source: Any) -> bool:
    return isinstance(source, str | PathLike) and Path(source).suffix == ".safetensors" and not Path(source).is_dir()


def _is_file(source: Any) -> bool:
    return isinstance(source, str | PathLike) and Path(source).is_file()


def _from_compiled(
    source: Path, target: Path, to: str | None, ignore: Sequence[str], options: dict[str, Any]
) -> Converted:
    """Take the files out of a compiled vocabulary, and convert them if another format is wanted."""
    vocabulary = Vocabulary.load(source)
    known = vocabulary.metadata["source_format"]
    own = "marian" if known == "marian" else READ_AS.get(known, "merges.txt")
    wanted = None
    if to != "source":
        of_folder = "marian" if own == "marian" else "merges.txt"
        wanted = format_of_target(target, of_folder) if to is None else format_named(to)
    if wanted == "compiled":
        with atomic_writer(target) as stream:
            stream.write(vocabulary.to_bytes())
        return Converted("compiled", "compiled", (target,))
    kept = kept_source(vocabulary, source)
    read_options = {**kept.options, **options}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in kept.files.items():
            (folder / file).write_bytes(content)
        if "vocabulary" in kept.options:
            read_options["vocabulary"] = folder / kept.options["vocabulary"]
        files = [folder / file for file in kept.files if file != kept.options.get("vocabulary")]
        given: Any = folder if kept.is_folder else files if len(files) > 1 else files[0]
        if wanted is None or (wanted == own and (not kept.is_folder or own == "marian")):
            single = len(kept.files) == 1 and not kept.is_folder
            written = Written({"": next(iter(kept.files.values()))} if single else kept.files)
            paths = _write(target, written, own)
            back = dict(kept.options)
            if "vocabulary" in back:
                back["vocabulary"] = str(paths[0].parent / back["vocabulary"])
            return Converted("compiled", own, paths, back)
        converted = _from_source(given, target, wanted, ignore, read_options, name=vocabulary.metadata["name"])
    return Converted("compiled", wanted, converted.paths, converted.options, converted.notes)
