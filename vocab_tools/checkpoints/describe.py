"""From a checkpoint folder to the description of a vocabulary."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.checkpoints.class_choice import BACKEND, choose_class
from vocab_tools.checkpoints.document import Document
from vocab_tools.checkpoints.families import KNOWN_CLASSES, family_of
from vocab_tools.checkpoints.family import DirectFamily, Family
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.model_settings import input_settings, setting_flag
from vocab_tools.checkpoints.native import native_of_document, native_of_files, spm_name, spm_reader
from vocab_tools.checkpoints.settings import NAMED_TOKENS, Settings, read_settings, token_of
from vocab_tools.formats import serde_numbers, tokenizer_json
from vocab_tools.formats.reading import parse_json

__all__ = ["Checkpoint", "describe", "read_checkpoint"]

_TOKENIZER_FILE = "tokenizer.json"
#: Keyword arguments that every class takes.
_COMMON = frozenset(
    (
        *NAMED_TOKENS,
        "add_bos_token",
        "add_eos_token",
        "add_prefix_space",
        "additional_special_tokens",
        "clean_up_tokenization_spaces",
        "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
        "extra_special_tokens",
        "model_input_names",
        "model_max_length",
        "padding_side",
        "split_special_tokens",
        "truncation_side",
    )
)
#: Keyword arguments of ``TokenizersBackend``; of use where a SentencePiece model stands by itself.
_OF_BACKEND = frozenset(("legacy",))
_FORCES_CLEAN_UP = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"


@dataclasses.dataclass
class Checkpoint:
    """A checkpoint whose class is a pipeline of tokenizers, put together.

    Attributes
    ----------
    class_name : str
    document : Document
        Its ``tokenizer.json``.
    options : dict
        Keyword arguments of the class, defaults included.
    """

    class_name: str
    document: Document
    options: dict[str, Any]


def describe(folder: Folder, given: Mapping[str, Any], *, name: str | None = None, allow_gaps: bool = True) -> Any:
    """Read a checkpoint folder as ``AutoTokenizer.from_pretrained`` of transformers 5 does.

    Parameters
    ----------
    folder : Folder
    given : Mapping
        Keyword arguments of the class; they count more than the files.
    name : str, optional
        Name of the vocabulary; by default that of the checkpoint.
    allow_gaps : bool
        Accept ids that no piece has.

    Returns
    -------
    Description, StagedDescription, WordPieceDescription or another that a compiler takes

    Raises
    ------
    SourceFormatError
        A file breaks its format, or an option has no sense.
    UnsupportedFeatureError
        A tokenizer class or a setting that is not reproduced, named in the message.
    TypeError
        A keyword that the class does not take.
    """
    class_name, family, settings = _settings_of(folder, given)
    with _named(str(folder.path), class_name):
        return _describe(folder, class_name, family, settings, name, allow_gaps)


def _describe(
    folder: Folder,
    class_name: str,
    family: Family | DirectFamily | None,
    settings: Settings,
    name: str | None,
    allow_gaps: bool,
) -> Any:
    if isinstance(family, DirectFamily):
        described = family.describe(folder, settings, {**family.defaults, **settings.values})
        return described if name is None else dataclasses.replace(described, name=name)
    checkpoint = _build(folder, class_name, family, settings)
    source, options, document = str(folder.path), checkpoint.options, checkpoint.document
    if options.get("fix_mistral_regex"):
        raise UnsupportedFeatureError(f"{source}: fix_mistral_regex = true is not supported; set it to false")
    described = tokenizer_json.read_document(
        document.for_reader(), source, "", folder.digest, name=name or folder.name, allow_gaps=allow_gaps
    )
    found = described.inputs
    assert found is not None, "a tokenizer.json always has templates"
    pad = document.named.get("pad_token")
    pad_id = None if pad is None else document.token_id(str(pad))
    changes: dict[str, Any] = {
        "inputs": input_settings(source, options, found.single, found.pair, pad_id),
        **({} if family is None else family.changes),
    }
    if setting_flag(source, options, "split_special_tokens"):
        if not all(token.special for token in described.added_tokens):
            raise UnsupportedFeatureError(
                f"{source}: split_special_tokens = true together with added tokens that are not special is not "
                "supported; set it to false and give special='plain' to the calls that need it"
            )
        changes["special_policy"] = "plain"
    if setting_flag(source, options, "clean_up_tokenization_spaces"):
        # old files leave the type out
        model = document.state["model"]
        if model.get("type", "BPE" if "merges" in model else "") != "BPE":
            changes["clean_up"] = True
        elif setting_flag(source, options, _FORCES_CLEAN_UP):
            raise UnsupportedFeatureError(f"{source}: {_FORCES_CLEAN_UP} = true is not supported; set it to false")
    return dataclasses.replace(described, **changes)


def read_checkpoint(folder: Folder, given: Mapping[str, Any]) -> Checkpoint:
    """Put the ``tokenizer.json`` of a checkpoint together.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError, TypeError
        As :func:`describe`; UnsupportedFeatureError too for a class that is no pipeline of tokenizers.
    """
    class_name, family, settings = _settings_of(folder, given)
    if isinstance(family, DirectFamily):
        raise UnsupportedFeatureError(f"{folder.path}: {class_name} has no tokenizer.json")
    return _build(folder, class_name, family, settings)


def _settings_of(folder: Folder, given: Mapping[str, Any]) -> tuple[str, Family | DirectFamily | None, Settings]:
    """Class, what it is here (None: a tokenizer.json as it is), and settings."""
    versions = (folder.json_object("tokenizer_config.json") or {}).get("fast_tokenizer_files")
    if versions not in (None, [], [_TOKENIZER_FILE]):
        raise UnsupportedFeatureError(
            f"{folder.place('tokenizer_config.json')}: fast_tokenizer_files = {versions!r:.80}: files for versions of "
            "transformers are not supported; keep the one that is meant, as tokenizer.json"
        )
    file = _TOKENIZER_FILE if folder.has(_TOKENIZER_FILE) else None
    name = choose_class(folder, file)
    family = None if name == BACKEND else family_of(name)
    if family is None and name != BACKEND:
        raise UnsupportedFeatureError(
            f"{folder.path}: the tokenizer class {name!r} is not supported; known are "
            f"{', '.join(sorted(KNOWN_CLASSES))} and {BACKEND}"
        )
    taken = _COMMON | (_OF_BACKEND if family is None else family.defaults.keys())
    for key, value in given.items():
        if key not in taken and not (key.endswith("_token") and isinstance(value, str | Mapping)):
            raise TypeError(f"{key!r} is no option of {name}; it takes {', '.join(sorted(taken))}")
    options = {
        key: token_of("the options", key, dict(value))
        if key.endswith("_token") and isinstance(value, Mapping)
        else value
        for key, value in given.items()
    }
    return name, family, read_settings(folder, options, file)


def _build(folder: Folder, class_name: str, family: Family | None, settings: Settings) -> Checkpoint:
    values, source = settings.values, str(folder.path)
    if family is None:
        parts, options = _backend_parts(folder, settings), values
        post_processor = None
    else:
        if folder.has(_TOKENIZER_FILE):
            native = native_of_document(folder, _TOKENIZER_FILE, family)
        else:
            native = native_of_files(folder, class_name, family, values)
        options = {**family.defaults, **values}
        with _named(source, class_name):
            parts = family.build(options, native)
        post_processor = native.post_processor
    _take_sections(folder, values, options)
    document = Document(parts, source)
    document.take_settings(options, settings.added_tokens, post_processor)
    if family is not None and family.finish is not None:
        with _named(source, class_name):
            family.finish(document, options)
    return Checkpoint(class_name, document, options)


@contextmanager
def _named(source: str, class_name: str) -> Iterator[None]:
    """Errors name the checkpoint and the class."""
    try:
        yield
    except (SourceFormatError, UnsupportedFeatureError) as error:
        if source in str(error):
            raise
        raise type(error)(f"{source}: {class_name}: {error}") from error


def _backend_parts(folder: Folder, settings: Settings) -> dict[str, Any]:
    """The ``tokenizer.json`` of a folder as it is, or what a SentencePiece model by itself makes."""
    if folder.has(_TOKENIZER_FILE):
        document = parse_json(folder.file(_TOKENIZER_FILE), folder.text(_TOKENIZER_FILE), serde_numbers.read_float)
        if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
            raise SourceFormatError(f"{folder.place(_TOKENIZER_FILE)}: it holds no model")
        if not isinstance(document["model"].get("vocab"), dict | list):
            raise SourceFormatError(f"{folder.place(_TOKENIZER_FILE)}: model.vocab is neither an object nor an array")
        return {**document, "truncation": None, "padding": None}
    name = spm_name(folder, "tokenizer.model")
    if name is None:
        raise SourceFormatError(
            f"{folder.path}: no tokenizer.json, and nothing that says which tokenizer class reads the vocabulary "
            f"(tokenizer_class in tokenizer_config.json, or model_type in config.json); there is "
            f"{', '.join(folder.names) or 'no file'}. Files of a vocabulary can be compiled by their own paths too"
        )
    folder.note(name)
    parts: dict[str, Any] = spm_reader().backend_document(folder.file(name), settings.values, settings)
    return parts


def _take_sections(folder: Folder, values: Mapping[str, Any], options: dict[str, Any]) -> None:
    """Sides and padding token of the sections of a ``tokenizer.json``, where nobody else names them."""
    document = folder.json_object(_TOKENIZER_FILE) if folder.has(_TOKENIZER_FILE) else None
    for section, key in (("truncation", "truncation_side"), ("padding", "padding_side")):
        found = (document or {}).get(section)
        if not isinstance(found, Mapping):
            continue
        side = found.get("direction", "Right")
        if not isinstance(side, str):
            raise SourceFormatError(f"{folder.place(_TOKENIZER_FILE)}: {section}.direction is no side: {side!r:.80}")
        if key not in values:
            options[key] = side.lower()
        if section == "padding":
            options.setdefault("pad_token", found.get("pad_token"))
