"""What a checkpoint folder and the caller ask of a tokenizer class: the files of settings, merged as transformers does.

The order of precedence, and which file is read when, are those of ``PreTrainedTokenizerBase._from_pretrained`` of
transformers 5: ``tokenizer_config.json``, over it what the caller gives; where that file does not list the added tokens
by id, ``special_tokens_map.json``, ``added_tokens.json`` and the ``added_tokens`` of a ``tokenizer.json`` too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.checkpoints.files import Folder
from vocab_tools.formats.description import MAX_IDS

__all__ = ["NAMED_TOKENS", "AddedTokenOptions", "Settings", "read_settings"]

#: Special tokens that every class has a name for, in the order in which they are added.
NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_CONFIG, _TOKENS_MAP, _ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
#: Keys that stand for an argument of a class but are no settings: a folder cannot give what its files are for.
_REFUSED = ("gguf_file", "init_inputs", "merges", "post_processor", "tokenizer_object", "vocab")
#: Digits of an id in a key, at most; int() takes time for more, and refuses very many.
_ID_DIGITS = 18
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@dataclass(frozen=True)
class AddedTokenOptions:
    """A token that is matched in the text, before it has an id.

    Attributes
    ----------
    content : str
    single_word, lstrip, rstrip : bool
        As :class:`vocab_tools.formats.description.AddedToken`.
    normalized : bool or None
        None: unless it is special.
    special : bool
    """

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool | None = None
    special: bool = False

    def __str__(self) -> str:
        return self.content

    def resolved(self) -> AddedTokenOptions:
        """The same with ``normalized`` decided."""
        return self if self.normalized is not None else replace(self, normalized=not self.special)

    def as_special(self) -> AddedTokenOptions:
        """The same as a special token."""
        return replace(self, special=True)

    def entry(self, number: int) -> dict[str, Any]:
        """How a ``tokenizer.json`` writes it."""
        token = self.resolved()
        return {
            "id": number,
            "content": token.content,
            "single_word": token.single_word,
            "lstrip": token.lstrip,
            "rstrip": token.rstrip,
            "normalized": token.normalized,
            "special": token.special,
        }


@dataclass
class Settings:
    """What a folder and the caller say.

    Attributes
    ----------
    values : dict
        Keyword arguments of the class, special tokens as str or :class:`AddedTokenOptions`.
    added_tokens : dict of int to AddedTokenOptions
        Added tokens by the id that some file gives them; in transformers only their order counts.
    """

    values: dict[str, Any]
    added_tokens: dict[int, AddedTokenOptions] = field(default_factory=dict)


def read_settings(folder: Folder, given: Mapping[str, Any], tokenizer_file: str | None) -> Settings:
    """Merge the files of settings and what the caller gives.

    Parameters
    ----------
    folder : Folder
    given : Mapping
        Keyword arguments of the caller.
    tokenizer_file : str or None
        Name of the folder's ``tokenizer.json``; None where it has none.

    Returns
    -------
    Settings

    Raises
    ------
    SourceFormatError
        A file is not JSON, or breaks its form.
    UnsupportedFeatureError
        A file asks for what is not reproduced.
    """
    values = dict(folder.json_object(_CONFIG) or {})
    for key in _REFUSED:
        if values.get(key):
            raise UnsupportedFeatureError(
                f"{folder.place(_CONFIG)}: {key} = {_shown(values[key])}: this setting is not supported; the "
                "vocabulary is read from the files of the folder only"
            )
    values.pop("tokenizer_class", None)
    if tokenizer_file is not None:
        # with a tokenizer.json only the caller may ask for these two; else its own template counts
        values.pop("add_bos_token", None)
        values.pop("add_eos_token", None)
    values.update(given)
    if "additional_special_tokens" in values and not values.get("extra_special_tokens"):
        values["extra_special_tokens"] = values.pop("additional_special_tokens")
    specific = {
        key: values.pop(key)
        for key in list(values)
        if key.endswith("_token") and key not in NAMED_TOKENS and isinstance(values[key], str | AddedTokenOptions)
    }
    if isinstance(values.get("extra_special_tokens"), dict):
        specific.update(values.pop("extra_special_tokens"))
    if specific:
        values["model_specific_special_tokens"] = specific

    added: dict[int, AddedTokenOptions] = {}
    if "added_tokens_decoder" in values:
        added = _added_by_id(folder, values["added_tokens_decoder"])
    else:
        _merge_tokens_map(folder, values, given)
        added = {**_legacy_added(folder, values), **_added_of_file(folder, tokenizer_file)}
    values.pop("added_tokens_decoder", None)
    values = {key: _with_tokens(folder, key, value) for key, value in values.items()}
    by_content = {token.content: token for token in added.values()}
    for key in NAMED_TOKENS:
        if values.get(key) is not None:
            values[key] = by_content.get(str(values[key]), values[key])
    return Settings(values, added)


def _merge_tokens_map(folder: Folder, values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Put ``special_tokens_map.json`` over the settings, but not over what the caller gave."""
    for key, value in (folder.json_object(_TOKENS_MAP) or {}).items():
        if given.get(key):
            continue
        if isinstance(value, dict) and key != "extra_special_tokens":
            value = token_of(folder.place(_TOKENS_MAP), key, {**value, "special": True})  # noqa: PLW2901
        elif key == "extra_special_tokens" and isinstance(value, list):
            merged = _extra_tokens(folder, values)
            for token in value:
                entry = {**token, "special": True} if isinstance(token, dict) else token
                made = token_of(folder.place(_TOKENS_MAP), key, entry) if isinstance(entry, dict) else entry
                if made not in merged:
                    merged.append(made)
            value = merged  # noqa: PLW2901
        values[key] = value
    if isinstance(values.get("extra_special_tokens"), dict):
        specific = values.get("model_specific_special_tokens") or {}
        if not isinstance(specific, dict):
            raise SourceFormatError(
                f"{folder.place(_CONFIG)}: model_specific_special_tokens: expected an object of tokens, "
                f"got {_shown(specific)}"
            )
        values["model_specific_special_tokens"] = {**specific, **values.pop("extra_special_tokens")}


def _extra_tokens(folder: Folder, values: Mapping[str, Any]) -> list[Any]:
    """The array ``extra_special_tokens``, a new one; empty where it is missing."""
    extra = values.get("extra_special_tokens") or []
    if not isinstance(extra, list | tuple):
        raise SourceFormatError(
            f"{folder.path}: extra_special_tokens: expected an array of tokens, or an object of names and tokens, "
            f"got {_shown(extra)}"
        )
    return list(extra)


def _legacy_added(folder: Folder, values: Mapping[str, Any]) -> dict[int, AddedTokenOptions]:
    """Tokens of ``added_tokens.json``; those that the settings name as special are."""
    special = {str(values[key]) for key in NAMED_TOKENS if values.get(key)}
    special.update(map(str, _extra_tokens(folder, values)))
    added: dict[int, AddedTokenOptions] = {}
    for content, number in (folder.json_object(_ADDED) or {}).items():
        _check_id(f"{folder.place(_ADDED)}: {_shown(content)}", number)
        is_special = content in special
        added[number] = AddedTokenOptions(content, normalized=not is_special, special=is_special)
    return added


def _added_of_file(folder: Folder, tokenizer_file: str | None) -> dict[int, AddedTokenOptions]:
    if tokenizer_file is None:
        return {}
    document = folder.json_object(tokenizer_file) or {}
    entries = document.get("added_tokens") or []
    place = f"{folder.place(tokenizer_file)}: added_tokens"
    if not isinstance(entries, list):
        raise SourceFormatError(f"{place}: expected an array, got {_shown(entries)}")
    added: dict[int, AddedTokenOptions] = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or "id" not in entry:
            raise SourceFormatError(f"{place}[{number}]: expected an added token with its id, got {_shown(entry)}")
        options = {key: value for key, value in entry.items() if key != "id"}
        _check_id(f"{place}[{number}]: id", entry["id"])
        added[entry["id"]] = token_of(place, str(number), options)
    return added


def _added_by_id(folder: Folder, listed: Any) -> dict[int, AddedTokenOptions]:
    place = f"{folder.place(_CONFIG)}: added_tokens_decoder"
    if not isinstance(listed, dict):
        raise SourceFormatError(f"{place}: expected an object of ids and tokens, got {_shown(listed)}")
    added: dict[int, AddedTokenOptions] = {}
    for key, entry in listed.items():
        if not key.isascii() or not key.isdigit() or len(key) > _ID_DIGITS:
            raise SourceFormatError(f"{place}: expected ids as keys, got {_shown(key)}")
        _check_id(place, int(key))
        added[int(key)] = token_of(place, key, entry)
    return added


def _with_tokens(folder: Folder, key: str, value: Any) -> Any:
    """Make tokens of the objects that say they are tokens, at any depth."""
    if isinstance(value, dict):
        if value.get("__type") == "AddedToken":
            options = {name: option for name, option in value.items() if name != "__type"}
            return token_of(folder.place(_CONFIG), key, options)
        return {name: _with_tokens(folder, f"{key}.{name}", inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_tokens(folder, f"{key}[{number}]", inner) for number, inner in enumerate(value)]
    return value


def token_of(place: str, key: str, entry: Any) -> AddedTokenOptions:
    """An added token as a file writes it.

    Raises
    ------
    SourceFormatError
        The entry is no object with ``content`` and flags.
    """
    if not isinstance(entry, dict) or type(entry.get("content")) is not str:
        raise SourceFormatError(f"{place}: {key}: expected an object with the content of a token, got {_shown(entry)}")
    for name, value in entry.items():
        if name == "content":
            continue
        if name not in _FLAGS:
            raise SourceFormatError(f"{place}: {key}: {name!r} is no option of an added token; known are {_FLAGS}")
        if type(value) is not bool:
            raise SourceFormatError(f"{place}: {key}: {name} must be true or false, got {_shown(value)}")
    return AddedTokenOptions(**entry)


def _check_id(place: str, number: Any) -> None:
    if type(number) is not int or not 0 <= number < MAX_IDS:
        raise SourceFormatError(f"{place}: expected an id below {MAX_IDS}, got {_shown(number)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
