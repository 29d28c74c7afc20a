"""A tokenizer while a checkpoint is read: the parts of a tokenizer.json, and the tokens that are added to it.

What ``TokenizersBackend.__init__`` of transformers 5 does with the settings, and what tokenizers does when tokens are
added: a token that the model has keeps its id, another one gets the next free number, and one that is there already
takes the new options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.checkpoints.settings import NAMED_TOKENS, AddedTokenOptions

__all__ = ["Document"]

Token = str | AddedTokenOptions


class Document:
    """A ``tokenizer.json`` in the making.

    Parameters
    ----------
    parts : Mapping
        ``model`` and perhaps ``normalizer``, ``pre_tokenizer``, ``decoder``, ``post_processor``. ``added_tokens``, if
        there are any, are numbered as tokenizers does when it loads them.
    source : str
        What errors call it.

    Attributes
    ----------
    state : dict
        The whole ``tokenizer.json``; entries may be replaced.
    named : dict of str to (str or AddedTokenOptions)
        Special tokens by name, once :meth:`take_settings` was called.
    """

    def __init__(self, parts: Mapping[str, Any], source: str = "the checkpoint") -> None:
        self.source = source
        self.state: dict[str, Any] = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": None,
            **parts,
        }
        vocab = self.state["model"]["vocab"]
        self._n_pieces = len(vocab)
        self._pieces = _pieces_of(vocab, source)
        self._ids: dict[str, int] = {}
        self._tokens: dict[int, AddedTokenOptions] = {}
        self._skipped: set[str] = set()
        self.named: dict[str, Token] = {}
        self._load(self.state["added_tokens"] or [])

    def _load(self, entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            options = {key: value for key, value in entry.items() if key != "id"}
            self.add([AddedTokenOptions(**options)])
            given = self._ids.get(entry["content"])
            if given is not None and given != entry["id"]:
                raise SourceFormatError(
                    f"{self.source}: added_tokens: {entry['content']!r:.60} has the id {entry['id']} here, but "
                    f"tokenizers gives it {given} when it loads the file; write that id into the file"
                )

    def token_id(self, content: str) -> int | None:
        """Id of an added token or of a piece of the model; None when it is neither."""
        number = self._ids.get(content)
        return self._pieces.get(content) if number is None else number

    def add(self, tokens: Iterable[AddedTokenOptions]) -> None:
        """Add tokens, as ``Tokenizer.add_tokens`` does.

        Raises
        ------
        SourceFormatError
            A token would get an id that a piece of the model has.
        """
        numbers = {number: piece for piece, number in self._pieces.items()} if self._has_gaps() else None
        for given in tokens:
            token = given.resolved()
            if not token.content or token in self._tokens.values():
                continue
            number = self.token_id(token.content)
            if number is None:
                number = max(self._n_pieces, 1 + max(self._ids.values(), default=-1))
                if numbers is not None and number in numbers:
                    raise SourceFormatError(
                        f"{self.source}: the added token {token.content!r:.60} would get the id {number}, which is "
                        f"that of the piece {numbers[number]!r:.60}: the ids of the vocabulary have gaps"
                    )
            self._ids[token.content] = number
            self._tokens[number] = token
            if token.special:
                self._skipped.add(token.content)
        self.state["added_tokens"] = [self._tokens[number].entry(number) for number in sorted(self._tokens)]

    def _has_gaps(self) -> bool:
        return max(self._pieces.values(), default=-1) >= self._n_pieces

    def take_settings(
        self,
        options: Mapping[str, Any],
        added_tokens: Mapping[int, AddedTokenOptions],
        post_processor: dict[str, Any] | None,
    ) -> None:
        """Add the tokens that the settings name, and make the template for start and end of a text.

        Parameters
        ----------
        options : Mapping
            Keyword arguments of the class, defaults included.
        added_tokens : Mapping of int to AddedTokenOptions
            Those of the settings; added in the order of their ids.
        post_processor : dict or None
            Of the ``tokenizer.json`` that the folder has besides.

        Raises
        ------
        SourceFormatError
            A special token is none, or cannot stand in a template.
        """
        if post_processor is not None:
            self.state["post_processor"] = post_processor
        asked = "add_bos_token" in options or "add_eos_token" in options
        makes_template = asked or self.state["post_processor"] is None
        self.named = self._named(options)
        extra = self._extra(options)

        to_add: list[Token] = [added_tokens[number] for number in sorted(added_tokens)]
        known = {*self._ids, *map(str, to_add)}
        for value in (*self.named.values(), *extra):
            if str(value) not in known and value not in to_add:
                to_add.append(value)
        names = {str(value) for value in self.named.values()}
        self.add(
            AddedTokenOptions(token, special=True)
            if isinstance(token, str)
            else token.as_special()
            if not token.special and token.content in names
            else token
            for token in to_add
        )
        if makes_template:
            self._set_template(bool(options.get("add_bos_token")), bool(options.get("add_eos_token")))

    def _named(self, options: Mapping[str, Any]) -> dict[str, Token]:
        specific = {
            key: value
            for key, value in options.items()
            if key.endswith("_token") and key not in NAMED_TOKENS and isinstance(value, Token)
        }
        extra = options.get("extra_special_tokens")
        given = options.get("model_specific_special_tokens") or {}
        if not isinstance(given, Mapping):
            raise SourceFormatError(f"{self.source}: model_specific_special_tokens: expected an object, got {given!r}")
        named = {key: options.get(key) for key in NAMED_TOKENS}
        named.update(extra if isinstance(extra, Mapping) else {})
        named.update({**specific, **given})
        for key, value in named.items():
            if value is not None and not isinstance(value, Token):
                raise SourceFormatError(
                    f"{self.source}: {key}: expected a token, text or an object that says "
                    f'"__type": "AddedToken", got {value!r:.80}'
                )
        return {key: value for key, value in named.items() if value is not None}

    def _extra(self, options: Mapping[str, Any]) -> list[Token]:
        key = "extra_special_tokens" if "extra_special_tokens" in options else "additional_special_tokens"
        extra = options.get(key)
        if extra is None or isinstance(extra, Mapping):
            return []
        if not isinstance(extra, list | tuple) or not all(isinstance(token, Token) for token in extra):
            raise SourceFormatError(f"{self.source}: {key}: expected an array of tokens, got {extra!r:.80}")
        return list(extra)

    def _set_template(self, with_start: bool, with_end: bool) -> None:
        """One text, or two one after the other, each between the start and the end token where they are asked for."""
        start = self.named.get("bos_token") if with_start else None
        end = self.named.get("eos_token") if with_end else None
        tokens: dict[str, Any] = {}
        for token in (start, end):
            if token is None:
                continue
            name = str(token)
            if not name or name[0] == "$" or " " in name or ":" in name:
                raise SourceFormatError(f"{self.source}: the token {name!r} cannot stand in a template")
            tokens[name] = {"id": name, "ids": [self.token_id(name)], "tokens": [name]}

        def around(text: str, kind: int) -> list[dict[str, Any]]:
            before = [] if start is None else [{"SpecialToken": {"id": str(start), "type_id": kind}}]
            behind = [] if end is None else [{"SpecialToken": {"id": str(end), "type_id": kind}}]
            return [*before, {"Sequence": {"id": text, "type_id": kind}}, *behind]

        self.state["post_processor"] = {
            "type": "TemplateProcessing",
            "single": around("A", 0),
            "pair": [*around("A", 0), *around("B", 1)],
            "special_tokens": tokens,
        }

    def for_reader(self) -> dict[str, Any]:
        """The ``tokenizer.json`` whose reader does what this tokenizer does.

        It is ``state`` but for tokens that were special and are not any more: tokenizers still leaves them out where
        special tokens are skipped, and loses that when it is written to a file.
        """
        tokens = [
            {**entry, "special": entry["special"] or entry["content"] in self._skipped}
            for entry in self.state["added_tokens"]
        ]
        return {**self.state, "added_tokens": tokens}


def _pieces_of(vocab: Any, source: str) -> dict[str, int]:
    """Ids by piece, of an object of ids or an array of pieces with scores."""
    if isinstance(vocab, dict):
        for piece, number in vocab.items():
            if type(number) is not int:
                raise SourceFormatError(f"{source}: model.vocab: the id of {piece!r:.60} is {number!r:.60}, no integer")
        return vocab
    pieces: dict[str, int] = {}
    for number, entry in enumerate(vocab):
        if not isinstance(entry, (list, tuple)) or len(entry) != 2 or not isinstance(entry[0], str):
            raise SourceFormatError(
                f"{source}: model.vocab[{number}]: expected a piece and its score, got {entry!r:.60}"
            )
        pieces[entry[0]] = number
    return pieces
