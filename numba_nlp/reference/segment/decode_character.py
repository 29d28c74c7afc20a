"""Plain twin of ``numba_nlp/kernels/segment/decode_character.py``."""

from __future__ import annotations

from numba_nlp.reference.segment.decode import CONTROL


def choose_last_forms(piece_kinds, ids, offsets, skip_special: int, forms) -> int:
    """Write the numbers of the forms that rows of ids are written with."""
    n = len(piece_kinds)
    for row in range(len(offsets) - 1):
        places = range(int(offsets[row]), int(offsets[row + 1]))
        known = [i for i in places if 0 <= ids[i] < n]
        kept = [i for i in known if not (skip_special and piece_kinds[ids[i]] == CONTROL)]
        for i in places:
            forms[i] = -1 if i not in known else ids[i] + n if kept[-1:] == [i] else ids[i]
    return len(offsets) - 1


def finish_row(text: str, suffix: str, strips: bool) -> str:
    """Write spaces for a mark, and take white space off the ends."""
    text = text.replace(suffix, " ") if suffix else text
    return text.strip() if strips else text
