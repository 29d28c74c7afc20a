"""Words of numbers and dates: a table written by hand, and rules that have nothing in common with how they are made."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.model_training.number_words import (
    FIRST_YEAR,
    LARGEST,
    LAST_YEAR,
    cardinal,
    date_forms,
    date_words,
    ordinal,
    ordinal_digits,
    year_words,
)

CARDINALS = {
    0: "zero",
    7: "seven",
    10: "ten",
    12: "twelve",
    15: "fifteen",
    18: "eighteen",
    20: "twenty",
    40: "forty",
    45: "forty-five",
    99: "ninety-nine",
    100: "one hundred",
    101: "one hundred one",
    110: "one hundred ten",
    999: "nine hundred ninety-nine",
    1_000: "one thousand",
    1_001: "one thousand one",
    10_010: "ten thousand ten",
    100_000: "one hundred thousand",
    213_468: "two hundred thirteen thousand four hundred sixty-eight",
    1_000_000: "one million",
    2_000_300: "two million three hundred",
    1_000_000_000: "one billion",
    80_000_014_000: "eighty billion fourteen thousand",
    999_999_999_999: "nine hundred ninety-nine billion nine hundred ninety-nine million "
    "nine hundred ninety-nine thousand nine hundred ninety-nine",
}
BRITISH = {
    5: "five",
    100: "one hundred",
    101: "one hundred and one",
    1_005: "one thousand and five",
    1_100: "one thousand one hundred",
    2_000_045: "two million and forty-five",
    7_012_000: "seven million twelve thousand",
    115_116: "one hundred and fifteen thousand one hundred and sixteen",
}
ORDINALS = {
    0: ("zeroth", "0th"),
    1: ("first", "1st"),
    2: ("second", "2nd"),
    3: ("third", "3rd"),
    4: ("fourth", "4th"),
    5: ("fifth", "5th"),
    8: ("eighth", "8th"),
    9: ("ninth", "9th"),
    11: ("eleventh", "11th"),
    12: ("twelfth", "12th"),
    13: ("thirteenth", "13th"),
    20: ("twentieth", "20th"),
    21: ("twenty-first", "21st"),
    82: ("eighty-second", "82nd"),
    100: ("one hundredth", "100th"),
    111: ("one hundred eleventh", "111th"),
    1_003: ("one thousand third", "1,003rd"),
    1_012: ("one thousand twelfth", "1,012th"),
    1_000_000: ("one millionth", "1,000,000th"),
}
YEARS = {
    1000: "one thousand",
    1009: "one thousand nine",
    1066: "ten sixty-six",
    1492: "fourteen ninety-two",
    1805: "eighteen oh five",
    1900: "nineteen hundred",
    1912: "nineteen twelve",
    2000: "two thousand",
    2008: "two thousand eight",
    2010: "twenty ten",
    2020: "twenty twenty",
    2100: "twenty-one hundred",
    2999: "twenty-nine ninety-nine",
}


def test_tables() -> None:
    assert {number: cardinal(number) for number in CARDINALS} == CARDINALS
    assert {number: cardinal(number, british=True) for number in BRITISH} == BRITISH
    assert {number: (ordinal(number), ordinal_digits(number)) for number in ORDINALS} == ORDINALS
    assert ordinal_digits(1_003, commas=False) == "1003rd"
    assert {year: year_words(year) for year in YEARS} == YEARS


def value(words: str) -> int:
    """What words of a number mean, word by word: units add up, "hundred" multiplies, a scale closes a group."""
    units = {word: number for number, word in CARDINALS.items() if number in (0, 7, 10, 12, 15, 18, 20, 40)}
    units |= {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "nine": 9, "eleven": 11}
    units |= {"thirteen": 13, "fourteen": 14, "sixteen": 16, "seventeen": 17, "nineteen": 19, "thirty": 30, "fifty": 50}
    units |= {"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
    scales = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
    total = group = 0
    for word in re.split("[ -]", words):
        if word in scales:
            total, group = total + group * scales[word], 0
        elif word == "hundred":
            group *= 100
        elif word != "and":
            group += units[word]
    return total + group


@given(st.integers(0, LARGEST - 1) | st.integers(0, 9_999), st.booleans())
def test_words_mean_the_number(number: int, british: bool) -> None:
    words = cardinal(number, british=british)
    assert value(words) == number
    assert re.fullmatch(r"[a-z]+([ -][a-z]+)*", words)
    if not british:
        assert " and " not in words


@given(st.integers(0, LARGEST - 1))
def test_an_ordinal_is_the_cardinal_but_for_its_end(number: int) -> None:
    ordered = ordinal(number)
    shared = len(cardinal(number).rpartition(" ")[0])
    assert ordered[:shared] == cardinal(number)[:shared]
    ending = {1: ("first", "st"), 2: ("second", "nd"), 3: ("third", "rd")}
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    words, digits = ending.get(last, ("th", "th"))
    assert ordered.endswith(words)
    assert ordinal_digits(number) == f"{number:,}{digits}"


def test_years_are_two_numbers_or_one() -> None:
    written = [year_words(year) for year in range(FIRST_YEAR, LAST_YEAR + 1)]
    assert len(set(written)) == len(written)
    for year, words in enumerate(written, FIRST_YEAR):
        if year % 1000 < 10:
            assert value(words) == year
        elif year % 100 == 0:
            assert value(words.removesuffix(" hundred")) == year // 100
        else:
            head, tail = words.split(" ", 1)
            assert (value(head), value(tail.removeprefix("oh "))) == divmod(year, 100)


@given(st.dates(datetime.date(FIRST_YEAR, 1, 1), datetime.date(LAST_YEAR, 12, 31)))
def test_forms_of_dates_are_those_of_strptime(date: datetime.date) -> None:
    formats = "%Y-%m-%d", "%m/%d/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d.%m.%Y", "%B %d, %Y", "%d %B %Y"
    forms = date_forms(date)
    assert [datetime.datetime.strptime(*pair).date() for pair in zip(forms, formats, strict=True)] == [date] * 7
    assert all(date.strftime("%B") in words for words in date_words(date))


def test_words_of_a_date() -> None:
    assert date_words(datetime.date(2005, 3, 12)) == (
        "March twelfth, two thousand five",
        "the twelfth of March, two thousand five",
        "March twelfth two thousand five",
        "the twelfth of March two thousand five",
    )


@pytest.mark.parametrize("number", [-1, LARGEST])
def test_numbers_out_of_range_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"`number` must be from 0 to 999999999999, got {number}"):
        cardinal(number)


def test_years_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="`year` must be from 1000 to 2999, got 999"):
        year_words(999)
