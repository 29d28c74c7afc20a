"""From a source to what can be changed, and from changed files to a vocabulary that is checked and written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.tokenizer import Tokenizer
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.compiler.api import build_arrays, open_source
from vocab_tools.compiler.api import compile as compile_source
from vocab_tools.compiler.kept_source import kept_source
from vocab_tools.converting.formats import FORMATS, READ_AS, told_format
from vocab_tools.editing.editable import Editable, Edited
from vocab_tools.editing.json_file import editable_json
from vocab_tools.editing.line_files import editable_merges, editable_ranks, editable_words
from vocab_tools.editing.model_file import editable_model
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.character_description import CharacterDescription
from vocab_tools.formats.description import Description
from vocab_tools.formats.reading import read_source
from vocab_tools.formats.sentencepiece_model import SentencePieceModel
from vocab_tools.writing import write_files

__all__ = ["OpenedVocabulary", "PathOrPaths", "check_target", "compiled", "open_vocabulary", "write"]

PathOrPaths = str | PathLike[str] | Iterable[str | PathLike[str]]

#: Names that readers expect of their files.
_NAMES = {
    "sentencepiece": "changed.model",
    "tokenizer.json": "tokenizer.json",
    "tiktoken": "changed.tiktoken",
    "vocab.txt": "vocab.txt",
}


@dataclass(frozen=True)
class OpenedVocabulary:
    """A source that can be changed.

    Attributes
    ----------
    where : str
        What errors call it.
    name : str
    format : str
        As its reader calls it.
    tokenizer : Tokenizer
        As the source says, with the ids of its files.
    editable : Editable
    """

    where: str
    name: str
    format: str
    tokenizer: Tokenizer
    editable: Editable


def open_vocabulary(source: PathOrPaths, options: dict[str, Any]) -> OpenedVocabulary:
    """Read a source for changing.

    Parameters
    ----------
    source : path-like or iterable of path-like
        As of :func:`vocab_tools.compile`, or a compiled file that keeps its source.
    options : dict
        As of :func:`vocab_tools.compile`.

    Raises
    ------
    UnsupportedFeatureError
        A checkpoint folder, codes, or another format whose pieces cannot go and come.
    NumbaNlpError, OSError
        It cannot be read.
    """
    if not isinstance(source, str | PathLike):
        return _open(list(source), options, None)
    path = Path(source)
    if path.suffix != ".safetensors" or path.is_dir():
        return _open(source, options, None)
    vocabulary = Vocabulary.load(path)
    kept = kept_source(vocabulary, path)
    if kept.is_folder:
        raise _refusal(str(path), "a checkpoint folder")
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in kept.files]
        for place, content in zip(places, kept.files.values(), strict=True):
            place.write_bytes(content)
        name = {"name": vocabulary.metadata["name"]}
        return _open(places if len(places) > 1 else places[0], {**name, **kept.options, **options}, str(path))


def _open(source: Any, options: dict[str, Any], compiled_file: str | None) -> OpenedVocabulary:
    found = open_source(source, **options)
    where = compiled_file or ", ".join(map(str, found.paths))
    if found.is_folder:
        raise _refusal(str(source), "a checkpoint folder")
    description = found.description
    files = {path.name: read_source(path) for path in found.paths}
    content = next(iter(files.values()))
    if isinstance(description, SentencePieceModel):
        editable = editable_model(description, content, where)
    elif found.format == "tokenizer.json":
        editable = editable_json(content, where, found.options)
    elif found.format == "tiktoken" and isinstance(description, Description):
        editable = editable_ranks(description, content, where, found.options)
    elif found.format == "vocab.txt" and isinstance(description, WordPieceDescription):
        editable = editable_words(description, content, where, found.options)
    elif (
        found.format == "gpt2"
        and isinstance(description, Description | CharacterDescription)
        and description.source_format != "ctrl"
    ):
        editable = editable_merges(description, files, where, {**found.options, "family": _family(description)})
    else:
        raise _refusal(where, f"a source of the format {found.format!r}")
    tokenizer = Tokenizer(Vocabulary(*build_arrays(description)))
    return OpenedVocabulary(where, description.name, found.format, tokenizer, editable)


def _family(description: Description | CharacterDescription) -> str:
    """Whose two files these are, stated since another family could be inferred of fewer pieces."""
    if isinstance(description, CharacterDescription):
        return description.source_format
    return "roberta" if description.trim_offsets else "gpt2"


def _refusal(where: str, what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{where}: is {what}, whose pieces cannot be changed; give a .model, a tokenizer.json, a .tiktoken file, a "
        "vocab.txt, a vocab.json and merges.txt, or what was compiled of one (codes of subword-nmt are cut with "
        "merges=N of compile)"
    )


def compiled(opened: OpenedVocabulary, edited: Edited) -> Vocabulary:
    """Read changed files back and compile them.

    Raises
    ------
    NumbaNlpError
        They are no vocabulary.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = []
        for file, content in edited.files.items():
            paths.append(folder / (file or _NAMES[opened.format]))
            paths[-1].write_bytes(content)
        source: Any = paths if len(paths) > 1 else paths[0]
        made = compile_source(source, **{"name": opened.name, **edited.options})
        return made.detached()


def check_target(target: Path, opened: OpenedVocabulary) -> None:
    """See that the name of what is to be written does not tell another format than that of the source.

    Raises
    ------
    SourceFormatError
    """
    own = READ_AS[opened.format]
    told = told_format(target, own)
    if told not in (None, own, "compiled"):
        raise SourceFormatError(
            f"{target}: by its name it is {FORMATS[told]}, but what changes keeps its format, {FORMATS[own]}; name it "
            "so, and convert it afterwards"
        )


def write(target: Path, edited: Edited, vocabulary: Vocabulary) -> tuple[Path, ...]:
    """Write changed files, or what they are compiled to where the target's name ends in ``.safetensors``.

    Each file appears whole or not at all.

    Raises
    ------
    OSError, SourceFormatError
    """
    if target.suffix == ".safetensors":
        vocabulary.save(target)
        return (target,)
    return write_files(target, edited.files, "the vocabulary", SourceFormatError)
