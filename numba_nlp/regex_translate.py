r"""Translation of regular expressions of tiktoken's and tokenizers' engines to the ``regex`` library.

tiktoken runs fancy-regex (Rust), tokenizers runs Oniguruma with Ruby's syntax. What is translated:

- ``\p{..}``, ``\P{..}``, ``\s``, ``\S`` become the reference's own classes (see below);
- ``(?i:...)`` around ASCII letters becomes explicit sets of the letter's variants (the ``regex`` library would count
  U+0130 and U+0131 as variants of i);
- ``^``, ``$``, ``\A``, ``\z``, ``\Z`` become assertions with the meaning they have in the engine: ``$`` is the end of
  the text in tiktoken, and the end of any line in tokenizers.

Everything else that passes means the same in all three: literals, escapes of control characters and punctuation, ``.``,
sets of characters and ranges, groups, look-around, ``|`` and greedy, lazy and possessive quantifiers. The rest is
refused.

An expression can tell a character that it does not mention from others by its class only. So the translated expression
is not for the text itself, but for its image: every character that is not mentioned is replaced by a stand-in for its
class. Sets are then a few characters long, where those of ``\p{L}`` would have 650 ranges to search one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import UnsupportedFeatureError

__all__ = ["Translation", "translate"]

#: Unicode property -> its character classes; those of one half of a class are in _HALVES.
_PROPERTIES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"L": (3, 4, 5), "Ll": (4,), "M": (6,), "N": (7,), "P": (1,), "S": (2,)}
)
_LONG_NAMES = MappingProxyType(
    {
        "Letter": "L",
        "Lowercase_Letter": "Ll",
        "Uppercase_Letter": "Lu",
        "Titlecase_Letter": "Lt",
        "Modifier_Letter": "Lm",
        "Other_Letter": "Lo",
        "Mark": "M",
        "Number": "N",
        "Punctuation": "P",
        "Symbol": "S",
    }
)
#: Properties of which only the union of two is a class: half -> (other half, class).
_HALVES = MappingProxyType({"Lu": ("Lt", 3), "Lt": ("Lu", 3), "Lm": ("Lo", 5), "Lo": ("Lm", 5)})
_SPACES = (8, 9)

_CONTROLS = MappingProxyType({"t": 0x09, "n": 0x0A, "f": 0x0C, "r": 0x0D})
#: Characters beyond ASCII that equal an ASCII letter when case is ignored.
_FOLDED = MappingProxyType({"k": "\u212a", "s": "\u017f"})
#: What Oniguruma lets one character match when case is ignored (sharp s, ligatures).
_MULTIPLE_FOLDS = ("ss", "ff", "fi", "fl", "st")
_ASSERTIONS = MappingProxyType(
    {
        "tiktoken": MappingProxyType({"^": r"\A", "$": r"\Z", "A": r"\A", "z": r"\Z"}),
        "tokenizers": MappingProxyType(
            {
                "^": r"(?:\A|(?<=\n)(?!\Z))",
                "$": r"(?=\n|\Z)",
                "A": r"\A",
                "z": r"\Z",
                "Z": r"(?=\n?\Z)",
            }
        ),
    }
)
_GROUPS = ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>")
_LAST = 0x10FFFF
#: Where stand-ins are taken from. A character of the text that is one is itself replaced by the stand-in of its class.
_STAND_INS = slice(0xE000, 0xF900)

N_CLASSES = 10

Ranges = list[tuple[int, int]]
Flags = NDArray[np.bool_]


class Translation(NamedTuple):
    """An expression for the ``regex`` library, and the images of the characters that it is to be run on.

    Attributes
    ----------
    regex : str
        In the library's version 0 syntax.
    mentioned : bool[0x110000]
        Characters that stand for themselves.
    stand_ins : uint32[10]
        Code point that stands for the other characters of each class.
    """

    regex: str
    mentioned: Flags
    stand_ins: NDArray[np.uint32]


def translate(regex_text: str, classes: NDArray[np.uint8], reference: str) -> Translation:
    """Translate an expression to the ``regex`` library.

    Parameters
    ----------
    regex_text : str
    classes : uint8[0x110000]
        Class of every code point in the reference.
    reference : {"tiktoken", "tokenizers"}

    Returns
    -------
    Translation

    Raises
    ------
    UnsupportedFeatureError
        Names the construct that cannot be reproduced exactly.
    """
    if reference not in _ASSERTIONS:
        raise UnsupportedFeatureError(
            f"patterns of reference {reference!r} are not supported, only {', '.join(_ASSERTIONS)}"
        )
    return _Translator(regex_text, classes, reference).translate()


class _Translator:
    """One pass over an expression; ``position`` is the next character to read."""

    def __init__(self, text: str, classes: NDArray[np.uint8], reference: str) -> None:
        self.text = text
        self.classes = classes
        self.reference = reference
        self.position = 0
        #: For each open group whether case is ignored in it; the first is the whole expression.
        self.folding = [False]
        #: The literal letters read last, where case is ignored, that may stand next to each other in a match.
        self.letters = ""
        self.mentioned = np.zeros(classes.size, dtype=bool)
        self.mentioned[ord("\n")] = True  # "." and line ends ask for it

    def refuse(self, construct: str, way_out: str = "rewrite the pattern without it") -> UnsupportedFeatureError:
        return UnsupportedFeatureError(
            f"{construct} at character {self.position} of the pattern {self.text!r} cannot be reproduced as "
            f"{self.reference} runs it; {way_out}"
        )

    def peek(self, n: int = 1) -> str:
        return self.text[self.position : self.position + n]

    def take(self, n: int = 1) -> str:
        taken = self.peek(n)
        self.position += n
        return taken

    def translate(self) -> Translation:
        parts: list[str | Flags] = []
        while self.position < len(self.text):
            parts.append(self.next_part())
        if len(self.folding) > 1:
            raise self.refuse("the end inside a group", "close the group")
        unmentioned = np.flatnonzero(~self.mentioned[_STAND_INS])[:N_CLASSES]
        if unmentioned.size < N_CLASSES:
            raise self.refuse("a pattern that mentions nearly all private-use characters", "mention fewer")
        stand_ins = (unmentioned + _STAND_INS.start).astype(np.uint32)
        # what a set holds of each class, the mentioned characters aside, is all or nothing
        members = [np.flatnonzero((self.classes == number) & ~self.mentioned)[:1] for number in range(N_CLASSES)]
        regex = "".join(part if isinstance(part, str) else self.set_text(part, members, stand_ins) for part in parts)
        return Translation(regex, self.mentioned, stand_ins)

    def next_part(self) -> str | Flags:
        character = self.peek()
        if character == "\\":
            return self.escape()
        if character == "[":
            self.letters = ""
            return self.character_set()
        if character == "(":
            return self.group()
        if character in "*+?{":
            # a repeated letter may stand next to itself
            self.add_folded_letter(self.letters[-1:])
            return self.quantifier()
        if character == ")":
            if len(self.folding) == 1:
                raise self.refuse("')' without a group", "open the group")
            self.folding.pop()
            return self.take()
        if character in "|.":
            self.letters = ""
            return self.take()
        if character in "^$":
            self.take()
            return _ASSERTIONS[self.reference][character]
        return self.literal(self.take())

    def literal(self, character: str) -> str | Flags:
        self.mentioned[ord(character)] = True
        if not self.folding[-1]:
            self.letters = ""
            return _literal(ord(character))
        if not character.isascii():
            raise self.refuse(f"{character!r} where case is ignored")
        if not character.isalpha():
            self.letters = ""
            return _literal(ord(character))
        self.add_folded_letter(character.lower())
        return self.mention(_fold([(ord(character), ord(character))]))

    def mention(self, ranges: Ranges) -> Flags:
        """Set of the characters in ``ranges``, which are noted as mentioned."""
        wanted = np.zeros(self.classes.size, dtype=bool)
        for first, last in ranges:
            wanted[first : last + 1] = True
        self.mentioned |= wanted
        return wanted

    def add_folded_letter(self, letter: str) -> None:
        self.letters += letter
        if self.reference == "tokenizers" and any(fold in self.letters for fold in _MULTIPLE_FOLDS):
            raise self.refuse(
                f"'{self.letters}' where case is ignored, which also matches one letter (a ligature, sharp s),"
            )

    def group(self) -> str:
        if self.peek(4) == "(?i:":
            self.take(4)
            self.folding.append(True)
            return "(?:"
        opening = next((known for known in _GROUPS if self.peek(len(known)) == known), None)
        if opening is None:
            if self.peek(2) in ("(?", "(*"):
                raise self.refuse(f"'{self.peek(3)}'")
            opening = "(?:"  # a capture is a group here, for back-references are refused
            self.take()
        else:
            self.take(len(opening))
        self.folding.append(self.folding[-1])
        return opening

    def quantifier(self) -> str:
        bounds = self.take()
        if bounds == "{":
            closing = self.text.find("}", self.position)
            inner = self.text[self.position : closing] if closing >= 0 else ""
            numbers = inner.split(",")
            if not (
                len(numbers) in (1, 2)
                and all(number.isascii() and number.isdigit() for number in numbers if number)
                and numbers[0]
            ):
                raise self.refuse("'{' that begins no {n}, {n,} or {n,m}", "escape it as \\{")
            self.position = closing + 1
            bounds = "{" + inner + "}"
            if self.reference == "tokenizers" and (self.peek() == "+" or (self.peek() == "?" and len(numbers) == 1)):
                # Ruby: {1,3}+ repeats {1,3}, {2}? is {0,2}
                raise self.refuse(f"'{bounds}{self.peek()}'", "use an atomic group (?>...) or leave the mark out")
        if self.peek() and self.peek() in "+?":
            bounds += self.take()
        if self.peek() and self.peek() in "*+?{":
            raise self.refuse(f"'{self.peek()}' after the quantifier '{bounds}'", "put the inner part into (?:...)")
        return bounds

    def escape(self) -> str | Flags:
        self.take()
        if not self.peek():
            raise self.refuse("'\\' at the end", "escape it as \\\\")
        character = self.peek()
        assertions = _ASSERTIONS[self.reference]
        if character in "AzZ" and character in assertions:
            self.take()
            return assertions[character]
        value = self.escaped()
        if isinstance(value, int):
            return self.literal(chr(value))
        self.letters = ""
        return self.named_set([value])

    def escaped(self) -> int | str:
        """Read what follows a backslash: a code point, or the name of a set (``s``, ``S``, ``p{..}``, ``P{..}``)."""
        character = self.take()
        if character in "sS":
            return character
        if character in "pP":
            return character + self.property_name()
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character in "xu":
            return self.hexadecimal(character)
        if character.isascii() and not character.isalnum() and character.isprintable() and character not in "<>":
            return ord(character)
        self.position -= 1
        raise self.refuse(f"'\\{character}'")

    def hexadecimal(self, kind: str) -> int:
        if self.peek() == "{" and (kind == "x" or self.reference == "tiktoken"):
            closing = self.text.find("}", self.position)
            digits = self.text[self.position + 1 : closing] if closing >= 0 else ""
            length = len(digits) + 2
        else:
            length = 2 if kind == "x" else 4
            digits = self.peek(length)
        if not digits or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
            raise self.refuse(f"'\\{kind}{self.peek(length)}'")
        value = int(digits, 16)
        if value > _LAST or (self.reference == "tokenizers" and length == 2 and value > 0x7F):
            # Oniguruma takes \x80 and above for a byte
            raise self.refuse(f"'\\{kind}{digits}'", "write the character itself")
        self.take(length)
        return value

    def property_name(self) -> str:
        if self.peek() != "{":
            if self.reference == "tokenizers":
                raise self.refuse("'\\p' without braces", "write \\p{..}")
            return self.take()
        closing = self.text.find("}", self.position)
        name = self.text[self.position + 1 : closing] if closing >= 0 else ""
        if not name:
            raise self.refuse("'\\p{' without a name")
        self.position = closing + 1
        return _LONG_NAMES.get(name, name)

    def named_set(self, names: Iterable[str]) -> Flags:
        """Characters of the union of named sets."""
        if self.folding[-1] and any(name not in ("s", "S", "pP", "pN") for name in names):
            raise self.refuse(r"\p{..} of letters, marks or symbols where case is ignored")
        wanted = np.zeros(self.classes.size, dtype=bool)
        positive = {name[1:] for name in names if name[0] == "p"}
        for name in names:
            numbers: tuple[int, ...]
            if name in "sS":
                numbers = _SPACES
            elif name[1:] in _PROPERTIES:
                numbers = _PROPERTIES[name[1:]]
            elif name[0] == "p" and name[1:] in _HALVES and _HALVES[name[1:]][0] in positive:
                numbers = (_HALVES[name[1:]][1],)
            else:
                known = ", ".join((*_PROPERTIES, "Lu with Lt, Lm with Lo in one set"))
                raise self.refuse(f"'\\{name[0]}{{{name[1:]}}}'", f"the class tables tell apart: {known}")
            chosen = np.isin(self.classes, numbers)
            wanted |= ~chosen if name[0] in "SP" else chosen
        return wanted

    def character_set(self) -> Flags:
        """Read ``[...]``; returns the characters that it stands for."""
        opened = self.position
        self.take()
        negated = self.peek() == "^"
        if negated:
            self.take()
        if self.peek() == "]":
            raise self.refuse("an empty set", "escape the bracket as \\]")
        ranges: Ranges = []
        names: list[str] = []
        while self.peek() != "]":
            if not self.peek():
                self.position = opened
                raise self.refuse("'[' that is not closed", "escape it as \\[")
            first = self.set_item()
            if isinstance(first, str):
                names.append(first)
                if self.peek() == "-" and self.peek(2) != "-]":
                    raise self.refuse("'-' after a set", "escape it as \\-")
            elif self.peek() == "-" and self.peek(2) != "-]":
                if self.peek(2) == "--":
                    raise self.refuse("'--' in a set", "escape it with \\")
                self.take()
                last = self.set_item()
                if isinstance(last, str) or last < first:
                    raise self.refuse("a range whose ends are not in order")
                ranges.append((first, last))
            else:
                ranges.append((first, first))
        self.take()
        if self.folding[-1]:
            if any(last > 0x7F for _, last in ranges):
                raise self.refuse("a set beyond ASCII where case is ignored")
            ranges = _fold(ranges)
        wanted = self.mention(ranges)
        if names:
            wanted |= self.named_set(names)
        return ~wanted if negated else wanted

    def set_item(self) -> int | str:
        if self.peek() == "[" or self.peek(2) in ("&&", "--", "~~"):
            raise self.refuse(f"'{self.peek(2)}' in a set", "escape it with \\")
        if self.peek() == "\\":
            self.take()
            if not self.peek():
                raise self.refuse("'\\' at the end", "escape it as \\\\")
            return self.escaped()
        return ord(self.take())

    def set_text(self, wanted: Flags, members: list[NDArray[np.intp]], stand_ins: NDArray[np.uint32]) -> str:
        """Write a set: its mentioned characters, and the stand-ins of the classes whose other characters it holds."""
        ranges = _ranges(wanted & self.mentioned)
        ranges += [(int(stand_ins[i]), int(stand_ins[i])) for i in range(N_CLASSES) if wanted[members[i]].any()]
        if not ranges:
            return r"(?!)"
        return "[" + "".join(_range_text(first, last) for first, last in ranges) + "]"


def _literal(code_point: int) -> str:
    character = chr(code_point)
    return character if character.isalnum() and character.isascii() else f"\\U{code_point:08X}"


def _range_text(first: int, last: int) -> str:
    return f"\\U{first:08X}" if first == last else f"\\U{first:08X}-\\U{last:08X}"


def _fold(ranges: Ranges) -> Ranges:
    """Add the case variants of the ASCII letters in ASCII ranges."""
    folded = list(ranges)
    for first, last in ranges:
        for letter in map(chr, range(first, last + 1)):
            if letter.isalpha():
                variants = letter.lower() + letter.upper() + _FOLDED.get(letter.lower(), "")
                folded += [(ord(variant), ord(variant)) for variant in variants]
    return folded


def _ranges(wanted: Flags) -> Ranges:
    """Ranges of the true entries."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]]).astype(np.int8)))
    return [(int(first), int(last) - 1) for first, last in zip(edges[::2], edges[1::2], strict=True)]
