"""Symbols of a character BPE vocabulary: what characters and merges make, and the ids of what is left at the end."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.segment.character_bpe_memory import UNKNOWN
from vocab_tools.formats.character_description import CharacterDescription

__all__ = ["SymbolPlan", "merges_are_ordered", "split_by_vocabulary", "symbol_plan"]


@dataclass(frozen=True)
class SymbolPlan:
    """Symbols by name.

    Attributes
    ----------
    characters : dict of str to tuple of (hashable or None)
        Symbols of each character: first of several, inner, only one, last of several; None where it is unknown.
    merges : list of (left, right, product)
        In order of rank.
    inner, final : dict of hashable to (int or list of (int, int))
        What becomes of a symbol that others follow in its word, and of the last one: an id, ``UNKNOWN``, or parts: id
        and number of characters of each.
    end : hashable or None
        The symbol behind each word.
    """

    characters: dict[str, tuple[Hashable | None, ...]]
    merges: list[tuple[str, str, str]]
    inner: dict[Hashable, int | list[tuple[int, int]]]
    final: dict[Hashable, int | list[tuple[int, int]]]
    end: str | None


def symbol_plan(description: CharacterDescription) -> SymbolPlan:
    """Work out the symbols of a description.

    Raises
    ------
    SourceFormatError
        A merge of or to what the vocabulary lacks.
    UnsupportedFeatureError
        Merges that joining texts cannot tell from others.
    """
    return _with_separator(description) if description.separator else _as_written(description)


def _as_written(description: CharacterDescription) -> SymbolPlan:
    """Symbols are tokens: ``tokenizer.json`` and its kin."""
    vocabulary, prefix, suffix = description.vocabulary, description.prefix, description.suffix
    forms: dict[str, list[str | None]] = {}
    for token in vocabulary:
        for place, (before, after) in enumerate((("", ""), (prefix, ""), ("", suffix), (prefix, suffix))):
            if len(token) == len(before) + 1 + len(after) and token.startswith(before) and token.endswith(after):
                forms.setdefault(token[len(before)], [None] * 4)[place] = token
    merges = []
    for left, right in description.merges:
        product = left + right[len(prefix) :]
        for part in (left, right, product):
            if part not in vocabulary:
                raise SourceFormatError(
                    f"{description.name}: the merge of {left!r} and {right!r} needs {part!r}, which is not in the "
                    "vocabulary; do the two belong together?"
                )
        if description.unknown in (vocabulary[left], vocabulary[right]):
            raise UnsupportedFeatureError(
                f"{description.name}: the merge of {left!r} and {right!r} joins what stands for unknown text; take it "
                "out of the list"
            )
        merges.append((left, right, product))
    ids: dict[Hashable, int | list[tuple[int, int]]] = {token: number for token, number in vocabulary.items()}  # noqa: C416
    return SymbolPlan({character: tuple(known) for character, known in forms.items()}, merges, ids, ids, None)


def _with_separator(description: CharacterDescription) -> SymbolPlan:
    """Symbols become tokens by their place in the word: CTRL and subword-nmt."""
    suffix, separator, vocabulary = description.suffix, description.separator, description.vocabulary
    merges = [(left, right, left + right) for left, right in description.merges]
    if description.suffix_is_symbol or description.allowed:
        for left, right, product in merges:
            if product.endswith(suffix) and not right.endswith(suffix):
                raise UnsupportedFeatureError(
                    f"{description.name}: the merge of {left!r} and {right!r} makes the mark of the end of a word out "
                    "of characters of the text; take it out of the list"
                )
    names = dict.fromkeys(text for merge in merges for text in merge)
    known: dict[str, None] = {}
    for text in [*names, *(token.removesuffix(separator) for token in vocabulary)]:
        known.update(dict.fromkeys(text.removesuffix(suffix)))
        # a text that ends like a mark may be one or not
        known.update(dict.fromkeys(text))
    characters: dict[str, tuple[Hashable | None, ...]] = {}
    inner: dict[Hashable, int | list[tuple[int, int]]] = {}
    final: dict[Hashable, int | list[tuple[int, int]]] = {}
    for character in known:
        only = ("only", character)
        last = character if description.suffix_is_symbol else character + suffix
        characters[character] = (character, character, only, last)
        # a word of one character is taken as it is
        final[only] = vocabulary.get(character, UNKNOWN)
        inner[only] = UNKNOWN
        names[character] = names[last] = None
    codes = split_codes(description.merges)
    for name in names:
        plain = name.removesuffix(suffix) if name != suffix else name
        inner[name] = _id_or_parts(name, False, codes, description)
        final[name] = _id_or_parts(plain, True, codes, description)
    return SymbolPlan(characters, merges, inner, final, suffix if description.suffix_is_symbol else None)


def split_codes(merges: tuple[tuple[str, str], ...]) -> dict[str, tuple[str, str]]:
    """Parts that a product is taken back into: those of its merge of the lowest rank."""
    codes: dict[str, tuple[str, str]] = {}
    for left, right in merges:
        codes.setdefault(left + right, (left, right))
    return codes


def _id_or_parts(
    text: str, is_final: bool, codes: Mapping[str, tuple[str, str]], description: CharacterDescription
) -> int | list[tuple[int, int]]:
    vocabulary, separator = description.vocabulary, description.separator
    token = text if is_final else text + separator
    if not description.allowed or token in description.allowed:
        return vocabulary.get(token, UNKNOWN)
    parts = list(split_by_vocabulary(text, is_final, codes, description.allowed, separator, description.suffix))
    if parts == [text]:
        return vocabulary.get(token, UNKNOWN)
    if "".join(parts) != text:
        raise UnsupportedFeatureError(
            f"{description.name}: taking {text!r} apart gives {parts}, which is another text; the codes have marks of "
            "the end of a word within words"
        )
    ends = [is_final and number == len(parts) - 1 for number in range(len(parts))]
    return [
        (vocabulary.get(part if at_end else part + separator, UNKNOWN), len(part))
        for part, at_end in zip(parts, ends, strict=True)
    ]


def split_by_vocabulary(
    text: str,
    is_final: bool,
    codes: Mapping[str, tuple[str, str]],
    allowed: frozenset[str],
    separator: str,
    suffix: str,
) -> Iterator[str]:
    """Parts of a symbol that is not allowed: its merge is taken back until all parts are, or cannot be split.

    The rule of subword-nmt's ``recursive_split``: a last symbol of one character whose merge is with the mark of the
    end falls into the character and an empty last part.
    """
    waiting = [(text, is_final, False)]
    while waiting:
        part, at_end, is_allowed = waiting.pop()
        split = None if is_allowed else codes.get(part + suffix if at_end else part)
        if split is None:
            yield part
            continue
        left, right = split
        if at_end:
            right = right[: -len(suffix)]
        waiting.append((right, at_end, (right if at_end else right + separator) in allowed))
        waiting.append((left, False, left + separator in allowed))


def merges_are_ordered(merges: list[tuple[str, str, str]]) -> bool:
    """Whether every merge comes behind all that make its parts; then merging in passes is merging place by place."""
    last: dict[str, int] = {product: number for number, (_, _, product) in enumerate(merges)}
    return all(max(last.get(left, -1), last.get(right, -1)) < number for number, (left, right, _) in enumerate(merges))
