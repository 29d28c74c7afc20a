"""Pairs of digits and words, drawn at random: what the numbers model is trained on, and what is kept from it."""

from __future__ import annotations

import datetime
import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tools.model_training.number_words import (
    FIRST_YEAR,
    LARGEST,
    LAST_YEAR,
    cardinal,
    date_forms,
    date_words,
    ordinal,
    ordinal_digits,
    year_is_read_as_a_number,
    year_words,
)

__all__ = ["CODES", "KINDS", "Pair", "draw_pair", "held_out_pairs", "is_held_out"]

#: What a source begins with: to words, to words as a year, to digits.
CODES = (">>words<<", ">>year<<", ">>digits<<")
_TO_WORDS, _TO_YEAR, _TO_DIGITS = CODES
#: One number of this many is kept from training.
_HELD_OUT = 20
#: Smaller numbers are the parts of all others, so that they must be learnt by heart.
_ALWAYS_SEEN = 100
_LARGEST_ORDINAL = 10**6


@dataclass(frozen=True)
class Pair:
    """A source, with its code, and the target that it has.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    source, target : str
    """

    kind: str
    source: str
    target: str


def is_held_out(value: int | datetime.date) -> bool:
    """Whether training never sees a number or a date, in whatever form: a hash of it decides.

    A number is the same as a cardinal, an ordinal and a year; dates of a year that is held out are held out too, and
    others by a hash of their own.
    """
    if isinstance(value, datetime.date) and is_held_out(value.year):
        return True
    if isinstance(value, int) and value < _ALWAYS_SEEN:
        return False
    digest = hashlib.blake2b(str(value).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % _HELD_OUT == 0


def _number(rng: random.Random, largest: int) -> int:
    """A number below ``largest``, all numbers of digits alike; every third one has many zeros."""
    length = rng.randint(1, len(str(largest)) - 1)
    digits = [rng.randint(int(length > 1), 9), *(rng.randint(0, 9) for _ in range(length - 1))]
    if rng.random() < 1 / 3:
        digits[1:] = [digit * rng.randint(0, 1) for digit in digits[1:]]
    return int("".join(map(str, digits)))


def _a_number(rng: random.Random) -> int:
    return _number(rng, LARGEST)


def _an_ordinal(rng: random.Random) -> int:
    return _number(rng, _LARGEST_ORDINAL)


def _a_year(rng: random.Random) -> int:
    return rng.randint(FIRST_YEAR, LAST_YEAR)


def _a_year_of_two_numbers(rng: random.Random) -> int:
    """A year whose words are not those of a number: "two thousand" would have two answers."""
    while year_is_read_as_a_number(year := _a_year(rng)):
        pass
    return year


def _a_date(rng: random.Random) -> datetime.date:
    first, last = datetime.date(FIRST_YEAR, 1, 1), datetime.date(LAST_YEAR, 12, 31)
    return datetime.date.fromordinal(rng.randint(first.toordinal(), last.toordinal()))


def _spoken(rng: random.Random, words: Callable[..., str], number: int) -> str:
    """Words as people may write them: with "and", without hyphens."""
    text = words(number, british=rng.random() < 1 / 3)
    return text.replace("-", " ") if rng.random() < 1 / 5 else text


def _cardinal_to_words(rng: random.Random, number: int) -> tuple[str, str]:
    return f"{_TO_WORDS} {number:,}" if rng.random() < 1 / 2 else f"{_TO_WORDS} {number}", cardinal(number)


def _ordinal_to_words(rng: random.Random, number: int) -> tuple[str, str]:
    return f"{_TO_WORDS} {ordinal_digits(number, commas=rng.random() < 1 / 2)}", ordinal(number)


def _year_to_words(rng: random.Random, year: int) -> tuple[str, str]:
    return f"{_TO_YEAR} {year}", year_words(year)


def _date_to_words(rng: random.Random, date: datetime.date) -> tuple[str, str]:
    return f"{_TO_WORDS} {rng.choice(date_forms(date))}", date_words(date)[0]


def _cardinal_to_digits(rng: random.Random, number: int) -> tuple[str, str]:
    return f"{_TO_DIGITS} {_spoken(rng, cardinal, number)}", f"{number:,}"


def _ordinal_to_digits(rng: random.Random, number: int) -> tuple[str, str]:
    return f"{_TO_DIGITS} {_spoken(rng, ordinal, number)}", ordinal_digits(number)


def _year_to_digits(rng: random.Random, year: int) -> tuple[str, str]:
    return f"{_TO_DIGITS} {year_words(year)}", str(year)


def _date_to_digits(rng: random.Random, date: datetime.date) -> tuple[str, str]:
    return f"{_TO_DIGITS} {rng.choice(date_words(date))}", date_forms(date)[0]


@dataclass(frozen=True)
class _Kind:
    """A kind of pairs: its share among all, how a value is drawn, and its source and target."""

    share: int
    value: Callable[[random.Random], int | datetime.date]
    write: Callable[[random.Random, int], tuple[str, str]] | Callable[[random.Random, datetime.date], tuple[str, str]]


#: The kinds of pairs by name.
KINDS: dict[str, _Kind] = {
    "cardinal to words": _Kind(5, _a_number, _cardinal_to_words),
    "ordinal to words": _Kind(2, _an_ordinal, _ordinal_to_words),
    "year to words": _Kind(1, _a_year, _year_to_words),
    "date to words": _Kind(3, _a_date, _date_to_words),
    "cardinal to digits": _Kind(5, _a_number, _cardinal_to_digits),
    "ordinal to digits": _Kind(2, _an_ordinal, _ordinal_to_digits),
    "year to digits": _Kind(1, _a_year_of_two_numbers, _year_to_digits),
    "date to digits": _Kind(3, _a_date, _date_to_digits),
}
_NAMES = list(KINDS)
_SHARES = [kind.share for kind in KINDS.values()]


def draw_pair(rng: random.Random, *, kind: str | None = None, held_out: bool = False) -> Pair:
    """One pair.

    Parameters
    ----------
    rng : random.Random
    kind : str, optional
        One of ``KINDS``; by default one is drawn by their shares.
    held_out : bool
        Whether the value is one of those that training never sees, or one of the others.
    """
    name = rng.choices(_NAMES, _SHARES)[0] if kind is None else kind
    chosen = KINDS[name]
    while is_held_out(value := chosen.value(rng)) is not held_out:
        pass
    return Pair(name, *chosen.write(rng, value))  # type: ignore[arg-type]


def held_out_pairs(number: int, *, seed: int = 0) -> Iterator[Pair]:
    """Pairs that training never sees, all with sources of their own, as many of each kind.

    Parameters
    ----------
    number : int
        Of each kind; fewer where there are not that many (years).
    seed : int
    """
    for name in KINDS:
        rng = random.Random(f"{seed} {name}")
        seen: set[str] = set()
        misses = 0
        while len(seen) < number and misses < 100 * number:
            pair = draw_pair(rng, kind=name, held_out=True)
            if pair.source in seen:
                misses += 1
                continue
            seen.add(pair.source)
            yield pair
