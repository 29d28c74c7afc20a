"""What a tokenizer class is built from: parts of the folder's tokenizer.json, or its vocabulary files.

As ``TokenizersBackend.convert_to_native_format`` of transformers 5: a class that builds its tokenizer itself takes
vocabulary, merges, charsmap and post-processor of a ``tokenizer.json`` and nothing else.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import re
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.checkpoints.family import Family, Native
from vocab_tools.checkpoints.files import Folder
from vocab_tools.formats.bert_vocab import parse_lines
from vocab_tools.formats.character_vocab import parse_merges
from vocab_tools.formats.piece_table import Place, check_ids

__all__ = ["native_of_document", "native_of_files", "spm_name", "spm_reader"]

#: Files that take the place of the class's own where there is no tokenizer.json.
_OTHER_MODELS = re.compile(r"tekken\.json|tokenizer\.model\.*|tiktoken\.model")


def native_of_document(folder: Folder, name: str, family: Family) -> Native:
    """The parts of a ``tokenizer.json``.

    Raises
    ------
    SourceFormatError
        It breaks its form.
    """
    document = folder.json_object(name) or {}
    place = folder.place(name)
    model = document.get("model")
    if not isinstance(model, dict):
        raise SourceFormatError(f"{place}: model: expected an object, got {type(model).__name__}")
    vocab = model.get("vocab")
    if isinstance(vocab, list):
        vocab = _of_list(vocab, family, place)
    elif isinstance(vocab, dict):
        check_ids(vocab, Place(place, folder.text(name), "model.vocab"))
    else:
        raise SourceFormatError(f"{place}: model.vocab: expected an object or an array, got {type(vocab).__name__}")
    return Native(vocab, _merges(model, family, place), _charsmap(document, place), document.get("post_processor"))


def _of_list(vocab: list[Any], family: Family, place: str) -> Any:
    if family.model in ("BPE", "WordPiece"):
        return {_piece(entry, place): number for number, entry in enumerate(vocab)}
    for entry in vocab:
        if not isinstance(entry, list) or len(entry) != 2 or type(entry[1]) not in (int, float):
            raise SourceFormatError(f"{place}: model.vocab: expected pieces and their scores, got {entry!r:.80}")
    return [(_piece(entry, place), entry[1]) for entry in vocab]


def _piece(entry: Any, place: str) -> str:
    piece = entry[0] if isinstance(entry, list) and entry else entry
    if not isinstance(piece, str):
        raise SourceFormatError(f"{place}: model.vocab: expected a piece, got {entry!r:.80}")
    return piece


def _merges(model: dict[str, Any], family: Family, place: str) -> list[tuple[str, str]] | None:
    if family.model != "BPE" or "merges" not in model:
        return None
    merges = []
    for merge in model["merges"] if isinstance(model["merges"], list) else [model["merges"]]:
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
            raise SourceFormatError(f"{place}: model.merges: a merge is two pieces, got {merge!r:.80}")
        merges.append((parts[0], parts[1]))
    return merges


def _charsmap(document: dict[str, Any], place: str) -> bytes | None:
    normalizer = document.get("normalizer")
    if not isinstance(normalizer, dict):
        return None
    stages = normalizer.get("normalizers") if normalizer.get("type") == "Sequence" else [normalizer]
    for stage in stages if isinstance(stages, list) else []:
        if isinstance(stage, dict) and stage.get("type") == "Precompiled" and "precompiled_charsmap" in stage:
            try:
                return base64.b64decode(stage["precompiled_charsmap"])
            except (binascii.Error, TypeError, ValueError) as error:
                raise SourceFormatError(f"{place}: normalizer: precompiled_charsmap is no base64: {error}") from error
    return None


def spm_name(folder: Folder, own: str | None) -> str | None:
    """Name of the SentencePiece model of a folder without a ``tokenizer.json``.

    Parameters
    ----------
    folder : Folder
    own : str or None
        The class's ``vocab_file``.

    Returns
    -------
    str or None
        None where the class has another kind of file, or the folder no model.

    Raises
    ------
    UnsupportedFeatureError
        A file of Mistral's or of tiktoken's, which transformers would convert.
    """
    others = {match.group() for name in folder.names if (match := _OTHER_MODELS.search(name))}
    if others:
        chosen = sorted(others)[0]
        if len(others) > 1 or chosen in ("tekken.json", "tiktoken.model"):
            raise UnsupportedFeatureError(
                f"{folder.path}: without a tokenizer.json transformers would read {' or '.join(sorted(others))}, "
                "which is not supported; compile the file of the vocabulary by itself, by its path"
            )
        return chosen if folder.has(chosen) else None
    return own if own is not None and own.endswith(".model") and folder.has(own) else None


def spm_reader() -> Any:
    """The module that reads SentencePiece models; imported when a checkpoint has one, since it needs protobuf."""
    return importlib.import_module("vocab_tools.checkpoints.spm_extraction")


def native_of_files(folder: Folder, name: str, family: Family, values: dict[str, Any]) -> Native:
    """What vocabulary files hold.

    Raises
    ------
    SourceFormatError
        A file is missing or breaks its format.
    UnsupportedFeatureError
    """
    own = family.files.get("vocab_file")
    model = spm_name(folder, own)
    if model is not None:
        path = folder.file(model)
        folder.note(model)
        made: Native = spm_reader().extract(path, name, family.model, values)
        return made
    if own is None or own.endswith(".model") or not folder.has(own):
        wanted = " and ".join(file for key, file in family.files.items() if key != "tokenizer_file")
        raise SourceFormatError(
            f"{folder.path}: {name} needs {wanted}, or a tokenizer.json; "
            f"there is {', '.join(folder.names) or 'no file'}"
        )
    text = folder.text(own)
    path = folder.file(own)
    if family.model == "WordPiece":
        return Native({line: number for number, line in enumerate(parse_lines(path, text))})
    vocab = check_ids(folder.json_object(own), Place(path, text))
    merges_file = family.files["merges_file"]
    return Native(vocab, list(parse_merges(folder.file(merges_file), folder.text(merges_file))))
