"""Small character BPE vocabularies, and their plans for the plain twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from numba_nlp.reference.segment.character_bpe import Plan
from vocab_tools.compiler.character_symbols import symbol_plan
from vocab_tools.formats.character_description import CharacterDescription

ALPHABET = "abcx"
#: Characters of texts: known ones, unknown ones, white space, and what marks are made of.
TEXT = "aaabbbccx \n\r\t日é</w>@"
texts = st.text(TEXT, max_size=24)


@st.composite
def code_lines(draw: Any, suffix_is_symbol: bool) -> list[str]:
    """Merges of characters, of the mark of the end, and of what merges before made; not always in a sound order."""
    parts = [*ALPHABET, *(["</w>"] if suffix_is_symbol else [f"{c}</w>" for c in ALPHABET])]
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 12))):
        left = draw(st.sampled_from([part for part in parts if not part.endswith("</w>")]))
        right = draw(st.sampled_from(parts))
        line = f"{left} {right}"
        if line not in lines:
            lines.append(line)
            parts.append(left + right)
    return draw(st.permutations(lines)) if draw(st.booleans()) else lines


def write_codes(folder: Path, lines: list[str], version: str) -> Path:
    path = folder / "codes.txt"
    path.write_text(f"#version: {version}\n" + "".join(f"{line}\n" for line in lines))
    return path


def plan_of(description: CharacterDescription) -> Plan:
    """The plan of a description, as the twin takes it."""
    plan = symbol_plan(description)
    ranks = description.ranks or range(len(plan.merges))
    return Plan(
        plan.characters,
        {(left, right): (rank, product) for (left, right, product), rank in zip(plan.merges, ranks, strict=True)},
        plan.inner,
        plan.final,
        plan.end,
        description.unknown,
        description.fuse_unknown,
        description.in_passes,
    )
