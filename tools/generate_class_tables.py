"""Read the Unicode class of every code point out of tiktoken and tokenizers; write the package's class tables.

Each reference is asked for every class by a regex of that single class over all code points (surrogates excepted, they
cannot occur in text): tiktoken by an ``Encoding`` with that pattern, which drops unmatched text, so that its ids decode
to the matched characters; tokenizers by a ``Split`` that removes what is not matched. Unions and negations that the
scanners rely on (``\\p{L}``, ``\\s``, ``[^\\s\\p{L}\\p{N}]`` ...) are asked for too and must agree with the classes.

Usage: ``python tools/generate_class_tables.py [--check]``
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vocab_tools.compiler.classes import N_CODE_POINTS, REFERENCES, two_stage

TARGET = Path(__file__).parents[1] / "vocab_tools" / "data" / "unicode_classes.safetensors"

#: Class number -> the regex class that defines it.
CLASSES = {
    1: r"\p{P}",
    2: r"\p{S}",
    3: r"[\p{Lu}\p{Lt}]",
    4: r"\p{Ll}",
    5: r"[\p{Lm}\p{Lo}]",
    6: r"\p{M}",
    7: r"\p{N}",
    8: r"[^\S\r\n]",
    9: r"[\r\n]",
}
#: Regex class -> the class numbers that it must be the union of; the rest of what the known patterns use.
UNIONS = {
    r"\p{L}": {3, 4, 5},
    r"\s": {8, 9},
    r"\S": {0, 1, 2, 3, 4, 5, 6, 7},
    r"[^\s\p{L}\p{N}]": {0, 1, 2, 6},
    r"[^\r\n\p{L}\p{N}]": {0, 1, 2, 6, 8},
    r"[^\r\n\p{L}\p{P}\p{S}]": {0, 6, 7, 8},
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]": {3, 5, 6},
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]": {4, 5, 6},
}
#: Unicode version -> characters that it was the first to assign (their class is not 0 from then on).
FIRST_ASSIGNED = {
    "17.0": (0x10940, 0x11DB0, 0x1E6C0),  # Sidetic, Tolong Siki, Tai Yo
    "16.0": (0x1C89, 0xA7CB, 0x105C0),  # Cyrillic Tje, Latin rams horn capital, Todhri
    "15.1": (0x2EBF0, 0x2FFC),  # CJK extension I, ideographic description
    "15.0": (0x11F04, 0x1E4D0, 0x31350),  # Kawi, Nag Mundari, CJK extension H
    "14.0": (0x0870, 0x10570, 0x1DF00),  # Arabic extended B, Vithkuqi, Latin extended G
    "13.0": (0x08BE, 0x10E80, 0x30000),  # Arabic extended A, Yezidi, CJK extension G
    "12.1": (0x32FF,),  # square era name Reiwa
    "12.0": (0x10FE0, 0x1E100),  # Elymaic, Nyiakeng Puachue Hmong
    "11.0": (0x1C90, 0x10D00),  # Georgian Mtavruli, Hanifi Rohingya
    "10.0": (0x0860, 0x2CEB0),  # Syriac supplement, CJK extension F
}

CharactersOf = Callable[[str], NDArray[np.bool_]]


def _all_text() -> str:
    return "".join(map(chr, [*range(0xD800), *range(0xE000, N_CODE_POINTS)]))


def _flags(text: str) -> NDArray[np.bool_]:
    """Which code points occur in ``text``."""
    found = np.zeros(N_CODE_POINTS, dtype=bool)
    found[np.frombuffer(text.encode("utf-32-le"), dtype="<u4")] = True
    return found


def tiktoken_characters(regex: str) -> NDArray[np.bool_]:
    """Code points that a one-character ``regex`` matches in tiktoken."""
    import tiktoken

    encoding = tiktoken.Encoding(
        "class", pat_str=regex, mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={}
    )
    return _flags(bytes(encoding.encode_ordinary(_all_text())).decode())


def tokenizers_characters(regex: str) -> NDArray[np.bool_]:
    """Code points that a one-character ``regex`` matches in tokenizers."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    # Runs instead of single characters, and short texts: the same characters in a quarter of the time.
    split = Split(Regex(f"(?:{regex})+"), "removed", invert=True)
    text = _all_text()
    parts = (text[i : i + 4096] for i in range(0, len(text), 4096))
    return _flags("".join(piece for part in parts for piece, _ in split.pre_tokenize_str(part)))


ENGINES: dict[str, CharactersOf] = {"tiktoken": tiktoken_characters, "tokenizers": tokenizers_characters}


def read_classes(characters_of: CharactersOf) -> NDArray[np.uint8]:
    """Class of every code point; exits with a message when the reference's classes are no partition."""
    classes = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    for number, regex in CLASSES.items():
        found = characters_of(regex)
        twice = np.flatnonzero(found & (classes != 0))
        if twice.size:
            where = f"at U+{twice[0]:04X} and {twice.size - 1} more"
            raise SystemExit(f"{regex} overlaps class {classes[twice[0]]} {where}")
        classes[found] = number
    surrogate = np.zeros(N_CODE_POINTS, dtype=bool)
    surrogate[0xD800:0xE000] = True
    for regex, numbers in UNIONS.items():
        expected = np.isin(classes, list(numbers)) & ~surrogate
        wrong = np.flatnonzero(characters_of(regex) != expected)
        if wrong.size:
            raise SystemExit(f"{regex} is not the union of classes {sorted(numbers)}: U+{wrong[0]:04X} and more")
    return classes


def unicode_version(classes: NDArray[np.uint8]) -> str:
    """Newest Unicode version all of whose probe characters are assigned, as no newer version's are."""
    assigned = {name: [bool(classes[cp]) for cp in probes] for name, probes in FIRST_ASSIGNED.items()}
    mixed = [name for name, flags in assigned.items() if any(flags) and not all(flags)]
    if mixed:
        raise SystemExit(f"characters of Unicode {mixed} are assigned in part; extend FIRST_ASSIGNED")
    known = [name for name, flags in assigned.items() if all(flags)]  # newest first, as the table is
    if not known or known != list(assigned)[-len(known) :] or len(known) == len(assigned):
        raise SystemExit(f"cannot tell the Unicode version from {assigned}; extend FIRST_ASSIGNED")
    return known[0]


def pack(arrays: dict[str, NDArray[np.generic]], metadata: dict[str, str]) -> bytes:
    """Return a safetensors file with a byte-for-byte reproducible header."""
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    position = 0
    # wider items first keeps every array aligned
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    for name in order:
        array = arrays[name]
        kind = {1: "U8", 2: "U16"}[array.dtype.itemsize]
        header[name] = {"dtype": kind, "shape": [array.size], "data_offsets": [position, position + array.nbytes]}
        position += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(arrays[name].tobytes() for name in order)


def generate() -> bytes:
    """Return the content of the data file for the installed references."""
    arrays: dict[str, NDArray[np.generic]] = {}
    metadata: dict[str, str] = {}
    for reference in REFERENCES:
        classes = read_classes(ENGINES[reference])
        arrays[f"{reference}_class_index"], arrays[f"{reference}_class_blocks"] = two_stage(classes)
        metadata[f"{reference}_library_version"] = version(reference)
        metadata[f"{reference}_unicode_version"] = unicode_version(classes)
    return pack(arrays, metadata)


def main() -> int:
    """Write the data file, or with ``--check`` compare it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 when the file differs, write nothing")
    arguments = parser.parse_args()
    content = generate()
    if arguments.check:
        return int(not TARGET.exists() or TARGET.read_bytes() != content)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(content)
    sys.stdout.write(f"{TARGET}: {len(content)} bytes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
