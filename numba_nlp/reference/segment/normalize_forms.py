"""Plain twin of :mod:`numba_nlp.kernels.segment.normalize_forms`: the whole text at once, as the standard says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numba_nlp.reference.segment.normalize_text import Character

__all__ = ["FormRules", "normal_form"]

_LEADS, _VOWELS, _TAILS, _SYLLABLES = 0x1100, 0x1161, 0x11A7, 0xAC00


class FormRules(NamedTuple):
    """What Unicode says about characters.

    Attributes
    ----------
    canonical, compatible : Mapping of str to str
        Full decompositions, Hangul excepted.
    classes : Mapping of str to int
        Combining classes other than 0.
    pairs : Mapping of (str, str) to str
        What composes, Hangul excepted.
    """

    canonical: Mapping[str, str]
    compatible: Mapping[str, str]
    classes: Mapping[str, int]
    pairs: Mapping[tuple[str, str], str]


class _Part(NamedTuple):
    """A decomposed character and how many originals it takes the place of: ``1 - change``."""

    text: str
    change: int


def normal_form(rules: FormRules, form: str, characters: list[Character]) -> list[Character]:
    """Bring a text into the normal form ``"NFD"``, ``"NFKD"``, ``"NFC"`` or ``"NFKC"``."""
    parts: list[_Part] = []
    for character in characters:
        decomposed = _decompose(rules, character.text, compatibly="K" in form)
        parts += [_Part(text, int(place > 0)) for place, text in enumerate(decomposed)]
    parts = _in_order(rules, parts)
    if form.endswith("C"):
        parts = _compose(rules, parts)
    result: list[Character] = []
    place = 0
    for part in parts:
        if part.change <= 0:
            taken = characters[place]
            place += 1 - part.change
            result.append(Character(part.text, taken.start, taken.end))
        elif place > 0:
            result.append(Character(part.text, characters[place - 1].start, characters[place - 1].end))
        else:
            result.append(Character(part.text, 0, 0))
    return result


def _decompose(rules: FormRules, text: str, compatibly: bool) -> str:
    number = ord(text) - _SYLLABLES
    if 0 <= number < 19 * 21 * 28:
        lead, vowel, tail = number // (21 * 28), number // 28 % 21, number % 28
        return chr(_LEADS + lead) + chr(_VOWELS + vowel) + (chr(_TAILS + tail) if tail else "")
    return (rules.compatible if compatibly else rules.canonical).get(text, text)


def _in_order(rules: FormRules, parts: list[_Part]) -> list[_Part]:
    ordered: list[_Part] = []
    run: list[_Part] = []
    for part in parts:
        if part.text not in rules.classes:
            ordered += [*sorted(run, key=lambda mark: rules.classes[mark.text]), part]
            run = []
        else:
            run.append(part)
    return ordered + sorted(run, key=lambda mark: rules.classes[mark.text])


def _compose(rules: FormRules, parts: list[_Part]) -> list[_Part]:
    kept: list[_Part] = []
    starter = None
    for part in parts:
        own = rules.classes.get(part.text, 0)
        if starter is not None:
            between = [rules.classes.get(other.text, 0) for other in kept[starter + 1 :]]
            composed = _composed(rules, kept[starter].text, part.text)
            if composed and all(other < own for other in between):
                kept[starter] = _Part(composed, kept[starter].change + part.change - 1)
                continue
        if own == 0:
            starter = len(kept)
        kept.append(part)
    return kept


def _composed(rules: FormRules, first: str, second: str) -> str | None:
    lead, vowel, tail = ord(first) - _LEADS, ord(second) - _VOWELS, ord(second) - _TAILS
    syllable = ord(first) - _SYLLABLES
    if 0 <= lead < 19 and 0 <= vowel < 21:
        return chr(_SYLLABLES + (lead * 21 + vowel) * 28)
    if 0 <= syllable < 19 * 21 * 28 and syllable % 28 == 0 and 0 < tail < 28:
        return chr(ord(first) + tail)
    return rules.pairs.get((first, second))
