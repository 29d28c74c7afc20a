"""Texts that the patterns of pre-tokenisation treat in different ways, for property and parity tests."""

from __future__ import annotations

import random

from hypothesis import strategies as st

#: A few characters of every class and of every special role, one to four bytes long.
ALPHABET = (
    "'\u2019sStTmMdDlLrReEvVkKaZ \t\n\r\x0b\x0c"
    "/!?.-$+0129"
    "\u017f\u212a\u0130\u0131"  # long s, Kelvin sign, dotted and dotless i
    "\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000"  # white space beyond ASCII
    "\x00\x1c\x1f\x7f\xad\u200b\u200d\ufeff\ufffe\U000e0001"  # class "other", some of it space to Python
    "\u00e9\u00c9\u01c5\u1f88\u02b0\u00aa\u05d0\u0e01\u1c89"  # small, capital, titlecase, modifier and other letters
    "\u0301\u093e\u0e31\u20dd\ufe0f\U000e0100"  # marks
    "\u0665\u0967\u00bd\u2168\u3007\U0001d7d8"  # numbers of several kinds
    "\u4e00\u9fa5\u9fa6\u3400\u3040\u3042\u309b\u3099\u30a0\u30a2\u30fb\u30fc\u30ff\u3100\uac00"  # CJK
    "\u20ac\u2200\u00a7\u3001\U0001f600\U0001f44d\U0001f3fd\U00010400\U00010428\U0001e900\U0010fffd"
)
# fmt: off
FRAGMENTS = (
    *("'s", "'S", "'\u017f", "'ll", "'LL", "'Ll", "'l", "'re", "'rE", "'ve", "'vex", "'d1", "''s", " 's", "x's", "'sx"),
    *("  ", " \n", "\n ", "\r\n", "\n\n", " \r\n ", "\t\t", " \u3000", "\u3000 ", "\x85\x85", " \x1c"),
    *("\n/", "//\n", "!/\n/"),
    *("Hello", "hELLO", "ABC", "ABc", "\u4e00A", "A\u4e00", "\u0301A", "A\u0301", "\u0301"),
    *("a\u0301b", "\u01c5a", "\u02b0A"),
    *("123", "1234", "12\u0665\u0967", "\u4e001", "1\u4e00", "\u30a2\u30fc", "\u30a2x", "x\u30a2"),
    *(" \u4e00", " 1", "  1"),
    *("\u30a0\n", "\u30fb\r\n", " \u30fb", "\u30fb-", "-\u30fb", "\u3040a"),
    *("\u3040\u3042", "\x00\u3042", "\x001", " \n\u4e00"),
    *("\x00\x00", "\x00a", "\x00\u0301", "\x00 ", "\u200d\u4e00", "-a", "-\u00e9"),
    *("- a", "(foo)", "\u20ac5", " \U0001f600"),
)
ADVERSARIAL = (
    *("", " ", "\n", "'", "a\n  ", "a \n \n  ", "a\n\n", " \n a", "\r\n\r\n"),
    *("   a", "   ", "  \n", "\n  1", "  \u4e00"),
    *("'" * 40, " " * 70 + "x", "\n" * 70, "a" * 300, "A" * 300, "\u4e00A" * 40, "A\u4e00" * 40, "\u0301" * 70),
    *("\x00\x00a",),
    *("1" * 100, "\x00" * 70, "\x00a" * 40, "\U0001f600" * 70, " \n" * 40, "\r" * 5 + "\n" * 5, "!" * 70 + "\n/\n/x"),
)
# fmt: on

texts = st.one_of(
    st.text(st.sampled_from(ALPHABET), max_size=24),
    st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join),
    st.lists(st.one_of(st.sampled_from(ALPHABET), st.sampled_from(FRAGMENTS)), max_size=12).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(ADVERSARIAL),
)


def fuzzed(n: int, seed: int) -> list[str]:
    """``n`` short texts made of the alphabet and the fragments, after the adversarial ones."""
    rng = random.Random(seed)
    parts = (*ALPHABET, *FRAGMENTS)
    found = [text for text in ADVERSARIAL if text]
    while len(found) < n:
        # runs are common in text and rare in uniform choice
        found.append("".join(rng.choice(parts) * rng.choice((1, 1, 1, 2, 3)) for _ in range(rng.randint(1, 10))))
    return found
