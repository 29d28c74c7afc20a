"""Loops of x86-64 assembly as LLVM prints it, and the kinds of instructions in them.

Text in, text and numbers out; :mod:`tools.kernel_assembly` compiles what is read here.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["KINDS", "Function", "Instruction", "Loop", "count_kinds", "functions", "inner_loops", "kind_of"]

#: What :func:`kind_of` tells apart, in the order of reports.
KINDS = ("vector", "mask", "scalar float", "conversion", "integer", "branch", "call", "atomic")

_LABEL = re.compile(r'^"?([^\s"#:]+)"?:')
_SYMBOL = re.compile(r"\.type\s+\"?([^\s\",]+)\"?,\s*@function")
#: Of one number in a vector register. Not by their ends alone: `vpdpbusd` and `vbroadcastss` fill all lanes.
_SCALAR = re.compile(
    r"^v?(?:mov|add|sub|mul|div|min|max|sqrt|u?comi|cmp\w*|fn?m(?:add|sub)\d*|round|rndscale|rcp\d*|rsqrt\d*)s[sdh]$"
)
_CONVERSION = re.compile(r"^v?cvt")
_REGISTER = re.compile(r"%([xyz])mm\d+")
_MASK = re.compile(r"%k[0-7]\b")
_WIDTHS = {"x": 128, "y": 256, "z": 512}


class Instruction(NamedTuple):
    """One instruction: its name with its prefix, and its operands as they are printed."""

    name: str
    operands: str

    def __str__(self) -> str:
        return f"{self.name:<16}{self.operands}".rstrip()


@dataclass
class Function:
    """Instructions of a function, and the number of the one that each label stands before."""

    name: str
    instructions: list[Instruction]
    labels: dict[str, int]


@dataclass
class Loop:
    """Instructions from a label to the last jump back to it."""

    function: str
    label: str
    instructions: list[Instruction]

    @property
    def bits(self) -> int:
        """Width of the widest vector register in it; 0 without one."""
        return max(
            (_WIDTHS[kind] for text in self.instructions for kind in _REGISTER.findall(text.operands)), default=0
        )


def functions(text: str) -> list[Function]:
    """The functions of an assembly listing, in its order."""
    names = set(_SYMBOL.findall(text))
    found: list[Function] = []
    prefix = ""
    for line in text.splitlines():
        stripped = line.split("#", 1)[0].strip()
        label = _LABEL.match(stripped)
        if label:
            if label[1] in names:
                found.append(Function(label[1], [], {}))
            elif found:
                found[-1].labels[label[1]] = len(found[-1].instructions)
        elif found and stripped and not stripped.startswith("."):
            words = stripped.split(None, 1)
            if words[0] in {"lock", "rep"} and len(words) > 1:  # a prefix: the instruction stands behind it
                prefix = f"{words[0]} "
                words = words[1].split(None, 1)
            operands = words[1] if len(words) > 1 else ""
            found[-1].instructions.append(Instruction(prefix + words[0], operands))
            prefix = ""
    return found


def inner_loops(function: Function) -> list[Loop]:
    """Loops that have no other in them.

    A jump to a label above is taken for the end of a loop. What LLVM lays out elsewhere, since it is rare, is not in
    the list.
    """
    ends: dict[str, int] = {}
    for at, (name, operands) in enumerate(function.instructions):
        if name.startswith("j") and function.labels.get(operands, at + 1) <= at:
            ends[operands] = at
    parts = {label: (function.labels[label], end) for label, end in ends.items()}
    return [
        Loop(function.name, label, function.instructions[begin : end + 1])
        for label, (begin, end) in sorted(parts.items(), key=lambda item: item[1])
        if not any(begin <= first and last <= end and (first, last) != (begin, end) for first, last in parts.values())
    ]


def kind_of(instruction: Instruction) -> str:
    """One of :data:`KINDS`.

    ``conversion`` goes between integers and floating-point numbers or between widths of these, ``mask`` works on the
    mask registers of AVX-512 only, ``integer`` is the rest: sums, loads and comparisons in general registers.
    """
    name, operands = instruction
    if name.startswith("lock ") or (name.startswith("xchg") and "(" in operands):
        return "atomic"
    if name.startswith("call"):
        return "call"
    if name.startswith("j"):
        return "branch"
    if _CONVERSION.match(name):
        return "conversion"
    if _REGISTER.search(operands):
        return "scalar float" if _SCALAR.match(name) else "vector"
    return "mask" if _MASK.search(operands) else "integer"


def count_kinds(instructions: list[Instruction]) -> dict[str, int]:
    """How many there are of each kind, in the order of :data:`KINDS`, without those that are missing."""
    counts = Counter(map(kind_of, instructions))
    return {kind: counts[kind] for kind in KINDS if counts[kind]}
