"""English words of cardinal numbers, ordinals, years and dates, and the digits that stand for them.

The words are American: "one thousand two hundred five", "July fourth, seventeen seventy-six". What people write in
other ways has options, so that a model can be taught to read them too.
"""

from __future__ import annotations

import datetime

__all__ = [
    "FIRST_YEAR",
    "LARGEST",
    "LAST_YEAR",
    "MONTHS",
    "cardinal",
    "date_forms",
    "date_words",
    "ordinal",
    "ordinal_digits",
    "year_is_read_as_a_number",
    "year_words",
]

#: Numbers are below this.
LARGEST = 10**12
#: Years with words of their own, both included.
FIRST_YEAR, LAST_YEAR = 1000, 2999

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ("", "thousand", "million", "billion")
#: Ordinals that are not the number with "th".
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def _below_hundred(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_SMALL[ones]}" if ones else "")


def _below_thousand(number: int, conjunction: str) -> str:
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _below_hundred(rest)
    return f"{_SMALL[hundreds]} hundred" + (f"{conjunction}{_below_hundred(rest)}" if rest else "")


def cardinal(number: int, *, british: bool = False) -> str:
    """A number in words.

    Parameters
    ----------
    number : int
        From 0 to ``LARGEST - 1``.
    british : bool
        "and" stands before the last two digits of a group, and before those of the last group if it is no more.

    Raises
    ------
    ValueError
        The number is out of that range.

    Examples
    --------
    >>> cardinal(1_000_205)
    'one million two hundred five'
    >>> cardinal(2_005, british=True)
    'two thousand and five'
    """
    if not 0 <= number < LARGEST:
        raise ValueError(f"`number` must be from 0 to {LARGEST - 1}, got {number}")
    if number == 0:
        return _SMALL[0]
    conjunction = " and " if british else " "
    groups = []
    rest = number
    while rest:
        rest, group = divmod(rest, 1000)
        groups.append(group)
    words = " ".join(
        f"{_below_thousand(group, conjunction)} {_SCALES[place]}".rstrip()
        for place, group in reversed(list(enumerate(groups)))
        if group and (place or not british or group >= 100 or len(groups) == 1)
    )
    if british and 0 < groups[0] < 100 and len(groups) > 1:
        words += f" and {_below_hundred(groups[0])}"
    return words


def ordinal(number: int, *, british: bool = False) -> str:
    """The ordinal of a number in words: the last word of :func:`cardinal` changes.

    Examples
    --------
    >>> ordinal(21), ordinal(1_000_000)
    ('twenty-first', 'one millionth')
    """
    words = cardinal(number, british=british)
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[cut:]
    if last in _ORDINALS:
        last = _ORDINALS[last]
    else:
        last = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return words[:cut] + last


def ordinal_digits(number: int, *, commas: bool = True) -> str:
    """The ordinal of a number in digits.

    Examples
    --------
    >>> ordinal_digits(1_222), ordinal_digits(1_213, commas=False)
    ('1,222nd', '1213th')
    """
    teens = number // 10 % 10 == 1
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return (f"{number:,}" if commas else str(number)) + ending


def year_is_read_as_a_number(year: int) -> bool:
    """Whether a year is read as one number ("two thousand five"), not as two ("nineteen oh five")."""
    return year % 1000 < 10


def year_words(year: int) -> str:
    """A year in words.

    Parameters
    ----------
    year : int
        From ``FIRST_YEAR`` to ``LAST_YEAR``.

    Raises
    ------
    ValueError
        The year is out of that range.

    Examples
    --------
    >>> year_words(1905), year_words(1900), year_words(2005), year_words(2024)
    ('nineteen oh five', 'nineteen hundred', 'two thousand five', 'twenty twenty-four')
    """
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError(f"`year` must be from {FIRST_YEAR} to {LAST_YEAR}, got {year}")
    if year_is_read_as_a_number(year):
        return cardinal(year)
    century, rest = divmod(year, 100)
    if not rest:
        ending = "hundred"
    else:
        ending = f"oh {_SMALL[rest]}" if rest < 10 else _below_hundred(rest)
    return f"{_below_hundred(century)} {ending}"


def date_words(date: datetime.date) -> tuple[str, ...]:
    """A date in words; the first form is the one that a model gives.

    Examples
    --------
    >>> date_words(datetime.date(1776, 7, 4))[:2]
    ('July fourth, seventeen seventy-six', 'the fourth of July, seventeen seventy-six')
    """
    month, day, year = MONTHS[date.month - 1], ordinal(date.day), year_words(date.year)
    return (
        f"{month} {day}, {year}",
        f"the {day} of {month}, {year}",
        f"{month} {day} {year}",
        f"the {day} of {month} {year}",
    )


def date_forms(date: datetime.date) -> tuple[str, ...]:
    """A date in digits; the first form is the one that a model gives.

    With slashes the month comes first, with dots the day.

    Examples
    --------
    >>> date_forms(datetime.date(1776, 7, 4))
    ('1776-07-04', '07/04/1776', '7/4/1776', '04.07.1776', '4.7.1776', 'July 4, 1776', '4 July 1776')
    """
    year, month, day, name = date.year, date.month, date.day, MONTHS[date.month - 1]
    return (
        date.isoformat(),
        f"{month:02}/{day:02}/{year}",
        f"{month}/{day}/{year}",
        f"{day:02}.{month:02}.{year}",
        f"{day}.{month}.{year}",
        f"{name} {day}, {year}",
        f"{day} {name} {year}",
    )
