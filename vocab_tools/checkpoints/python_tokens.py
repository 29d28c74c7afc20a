"""Special and added tokens of the tokenizer classes that transformers still writes in Python (Marian, M2M100, CTRL).

They differ from those of the tokenizers library: special tokens are looked for in one search with all others, a special
token that the vocabulary lacks gets the next free id, and options of a token only count where the settings list it by
id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from vocab_tools.checkpoints.files import Folder
from vocab_tools.checkpoints.model_settings import setting_flag
from vocab_tools.checkpoints.settings import NAMED_TOKENS, AddedTokenOptions, Settings
from vocab_tools.formats import sentencepiece_model
from vocab_tools.formats.description import MAX_IDS, AddedToken
from vocab_tools.formats.sentencepiece_model import SentencePieceModel

__all__ = [
    "PythonTokens",
    "check_sampling",
    "ending_id",
    "python_tokens",
    "read_model",
    "read_vocabulary",
    "renumbered_fields",
    "text_fields",
    "unknown_id",
    "with_added",
]


@dataclass(frozen=True)
class PythonTokens:
    """What a tokenizer class in Python holds of its special and added tokens.

    Attributes
    ----------
    ids : dict of str to int
        Ids of added tokens, which come before those of the vocabulary.
    contents : dict of int to AddedTokenOptions
        Added tokens by id.
    named : dict of str to str
        Special tokens by the name of the argument, those that are set.
    special : tuple of str
        All special tokens.
    """

    ids: dict[str, int]
    contents: dict[int, AddedTokenOptions]
    named: dict[str, str]
    special: tuple[str, ...]

    def added_tokens(self, place: str) -> tuple[AddedToken, ...]:
        """The tokens that are looked for in texts.

        Raises
        ------
        UnsupportedFeatureError
            A token with an option whose effect is not reproduced, or one that stands within another.
        """
        by_content = {token.content: token for token in self.contents.values() if token.content}
        contents = sorted(by_content)
        strips = any(token.lstrip or token.rstrip for token in by_content.values())
        for content in contents:
            token = by_content[content]
            if token.single_word and (token.lstrip or token.rstrip):
                raise UnsupportedFeatureError(
                    f"{place}: the added token {content!r} has single_word besides lstrip or rstrip, which is not "
                    "supported for this tokenizer class; set it to false"
                )
            if strips and content != content.strip():
                raise UnsupportedFeatureError(
                    f"{place}: the added token {content!r} begins or ends with white space, which is not supported "
                    "where another one has lstrip or rstrip; set these to false"
                )
        for inner in contents:
            for outer in contents:
                # transformers may then find the outer one where it is not
                if inner != outer and outer.find(inner, 1) not in (-1, len(outer) - len(inner)):
                    raise UnsupportedFeatureError(
                        f"{place}: the added token {inner!r} stands within the added token {outer!r}, which is not "
                        "supported for this tokenizer class; take one of the two out"
                    )
        special = set(self.special)
        return tuple(
            AddedToken(
                content,
                self.ids[content],
                special=content in special,
                lstrip=by_content[content].lstrip,
                rstrip=by_content[content].rstrip,
                single_word=by_content[content].single_word,
            )
            for content in contents
        )

    def id_of(self, name: str, vocabulary: Mapping[str, int], unknown: int) -> int | None:
        """Id of a named special token, None where none is set."""
        token = self.named.get(name)
        return None if token is None else self.ids.get(token, vocabulary.get(token, unknown))


def python_tokens(
    place: str,
    settings: Settings,
    options: Mapping[str, Any],
    vocabulary: Callable[[Mapping[int, AddedTokenOptions]], Mapping[str, int]],
) -> PythonTokens:
    """Added tokens as the class has them when it is made.

    Parameters
    ----------
    place : str
        The folder, for errors.
    settings : Settings
        For the added tokens that are listed.
    options : Mapping
        Keyword arguments of the class, defaults included.
    vocabulary : callable
        Added tokens so far -> all tokens with their ids, added ones included; behind as many of them further ones come.

    Raises
    ------
    SourceFormatError
        Special tokens that are none.
    """
    named: dict[str, str] = {}
    for name in NAMED_TOKENS:
        value = options.get(name)
        if value is not None:
            named[name] = _content(place, name, value)
    specific = options.get("model_specific_special_tokens") or {}
    if not isinstance(specific, dict):
        raise SourceFormatError(f"{place}: model_specific_special_tokens must be an object, got {specific!r:.80}")
    named.update({name: _content(place, name, value) for name, value in specific.items()})
    key = "extra_special_tokens" if "extra_special_tokens" in options else "additional_special_tokens"
    extra = options.get(key) or []
    if not isinstance(extra, list | tuple):
        raise SourceFormatError(f"{place}: {key} must be an array of tokens, got {extra!r:.80}")
    special = tuple(dict.fromkeys([*named.values(), *(_content(place, key, token) for token in extra)]))

    contents = dict(settings.added_tokens)
    ids = {token.content: number for number, token in contents.items()}
    missing = [token for token in special if token not in ids]
    known = dict(vocabulary(contents))
    following = len(known)
    for token in missing:
        if not token or token in ids:
            continue
        number = known.get(token)
        if number is None:
            number = following
            following += 1
            known[token] = number
        contents[number] = AddedTokenOptions(token, normalized=False, special=True)
        ids[token] = number
    return PythonTokens(ids, contents, named, special)


def with_added(vocabulary: Mapping[str, int], added: Mapping[int, AddedTokenOptions]) -> dict[str, int]:
    """A vocabulary with added tokens over it, in the order of their ids."""
    return {**vocabulary, **{added[number].content: number for number in sorted(added)}}


def read_vocabulary(folder: Folder, name: str) -> dict[str, int]:
    """The tokens of a ``vocab.json`` and their ids.

    Raises
    ------
    SourceFormatError
        It is missing, no object of tokens and ids, or two tokens have one id.
    """
    folder.file(name)
    place, found = folder.place(name), folder.json_object(name)
    if not found:
        raise SourceFormatError(f"{place}: expected an object of tokens and ids")
    seen: dict[int, str] = {}
    for token, number in found.items():
        if type(number) is not int or not 0 <= number < MAX_IDS:
            raise SourceFormatError(f"{place}: {token!r:.80}: expected an id below {MAX_IDS}, got {number!r:.80}")
        if number in seen:
            raise SourceFormatError(f"{place}: {token!r:.80} has the id {number}, which {seen[number]!r:.80} has too")
        seen[number] = token
    return found


def read_model(folder: Folder, name: str) -> SentencePieceModel:
    """A SentencePiece model of the folder.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`vocab_tools.formats.sentencepiece_model.read`.
    """
    model = sentencepiece_model.read(folder.file(name))
    folder.add_digest(name, model.source_digest)
    return model


def unknown_id(place: str, vocabulary: Mapping[str, int], token: str) -> int:
    """Id of the unknown token.

    Parameters
    ----------
    place : str
        File of the vocabulary, for errors.
    vocabulary : Mapping of str to int
    token : str

    Raises
    ------
    SourceFormatError
        The vocabulary lacks it.
    """
    if token not in vocabulary:
        raise SourceFormatError(f"{place}: the vocabulary lacks {token!r}, the unk_token")
    return vocabulary[token]


def ending_id(place: str, tokens: PythonTokens, vocabulary: Mapping[str, int], unknown: int) -> int:
    """Id of the token that these classes put behind every text.

    Raises
    ------
    UnsupportedFeatureError
        It is set to null.
    """
    number = tokens.id_of("eos_token", vocabulary, unknown)
    if number is None:
        raise UnsupportedFeatureError(f"{place}: eos_token is null, but this class ends every text with it")
    return number


def text_fields(place: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a description: what is done to decoded text, and to special tokens written in texts.

    Raises
    ------
    SourceFormatError
        A setting is neither true nor false.
    """
    return {
        "clean_up": setting_flag(place, options, "clean_up_tokenization_spaces"),
        "special_policy": "plain" if setting_flag(place, options, "split_special_tokens") else "match",
    }


def renumbered_fields(place: str, options: Mapping[str, Any], tokens: PythonTokens) -> dict[str, Any]:
    """Fields of a :class:`vocab_tools.formats.renumbered_model.RenumberedModel` that all such classes fill alike.

    Raises
    ------
    SourceFormatError, UnsupportedFeatureError
        As :func:`text_fields` and :meth:`PythonTokens.added_tokens`.
    """
    return {
        "special": frozenset(tokens.special),
        "skipped": frozenset(tokens.ids[token] for token in tokens.special if token),
        "added_tokens": tokens.added_tokens(place),
        **text_fields(place, options),
    }


def check_sampling(place: str, options: Any) -> None:
    """Refuse options of SentencePiece's processor.

    Raises
    ------
    UnsupportedFeatureError
        There are some.
    """
    if options:
        raise UnsupportedFeatureError(
            f"{place}: sp_model_kwargs = {options!r:.80}: sampling is not part of a tokenizer here; leave it out, and "
            "use Tokenizer.sample of the .model or .spm file"
        )


def _content(place: str, name: str, value: object) -> str:
    if not isinstance(value, str | AddedTokenOptions):
        raise SourceFormatError(f"{place}: {name} must be a token, got {value!r:.80}")
    return str(value)
