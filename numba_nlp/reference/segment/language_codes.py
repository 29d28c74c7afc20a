"""Plain twin of ``numba_nlp/kernels/segment/language_codes.py``."""

from __future__ import annotations


def split_code(text: str) -> tuple[str, str]:
    """The code at the beginning of a text, empty when there is none, and the rest."""
    if not text.startswith(">>") or "<<" not in text:
        return "", text
    end = text.index("<<") + 2
    return text[:end], text[end:]


def split_codes(codes: dict[str, int], unknown_id: int, rows: list[list[str | int]]) -> list[list[str | int]]:
    """Cut the codes off the texts of rows; ids stay."""
    made: list[list[str | int]] = []
    for row in rows:
        parts: list[str | int] = []
        for part in row:
            if isinstance(part, int):
                parts.append(part)
                continue
            code, rest = split_code(part)
            parts += [codes.get(code, unknown_id)] if code else []
            parts += [rest] if rest else []
        made.append(parts)
    return made
