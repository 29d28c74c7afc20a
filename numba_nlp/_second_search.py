"""Added tokens that are looked for in normalized text: the second search of tokenizers.

The first search takes tokens out of the text as it was given (:mod:`numba_nlp._special`); what it leaves over is
normalized, and then searched for the tokens whose ``normalized`` is true, in their own normalized form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.rows import NO_IDS, Segments, frozen
from numba_nlp._stages.normalizer import Normalizer, Rows, read_only
from numba_nlp.errors import SpecialTokenError, UnsupportedFeatureError
from numba_nlp.kernels.segment.special import find_specials, split_rows
from numba_nlp.kernels.segment.special_matcher import SpecialMatcher, build_special_matcher

__all__ = ["NormalizedSegments", "SecondSearch", "normalized_contents"]


class NormalizedSegments(NamedTuple):
    """Segments of rows beside their normalized text.

    Attributes
    ----------
    segments : Segments
        In the original text; that of a text which was cut in its normalized form starts where ranges count from.
    rows : Rows
        Normalized text of each segment; without bytes for those that are an id.
    """

    segments: Segments
    rows: Rows


def normalized_contents(
    arrays: Mapping[str, NDArray[Any]], regexes: Sequence[str], contents: Sequence[str]
) -> list[bytes]:
    """Normalized forms of some added tokens.

    Parameters
    ----------
    arrays : Mapping of str to ndarray
        Of a vocabulary that normalizes.
    regexes : Sequence of str
        Metadata ``normalizer_regexes``.
    contents : Sequence of str

    Raises
    ------
    UnsupportedFeatureError
        A form is empty, or that of two tokens.
    """
    parts = [content.encode() for content in contents]
    offsets = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
    data = frozen(np.frombuffer(b"".join(parts), np.uint8).copy())
    normalizer = Normalizer(arrays, regexes)
    rows = normalizer.normalize(data, frozen(offsets[:-1].copy()), frozen(offsets[1:].copy()), False)
    forms = [rows.source.text[a:b].tobytes() for a, b in zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)]
    holders: dict[bytes, str] = {}
    for content, form in zip(contents, forms, strict=True):
        other = holders.setdefault(form, content)
        if not form or other != content:
            problem = "nothing is left of it" if not form else f"it is then {form.decode()!r}, as {other!r} is"
            raise UnsupportedFeatureError(
                f"the added token {content!r} is looked for in normalized text, where {problem}; set its field "
                "normalized to false"
            )
    return forms


class SecondSearch:
    """Tokens to look for in normalized text, and what to do when they are there.

    Parameters
    ----------
    forms : sequence of bytes
        Normalized forms of all such tokens.
    contents : sequence of str
    ids : int32[k]
    flags : uint8[k]
        ``special_flags``.
    matched, refused : bool[k]
        Tokens that get their id, and tokens that may not be there.
    """

    def __init__(
        self,
        forms: Sequence[bytes],
        contents: Sequence[str],
        ids: NDArray[np.int32],
        flags: NDArray[np.uint8],
        matched: NDArray[np.bool_],
        refused: NDArray[np.bool_],
    ) -> None:
        self._contents = contents
        self._ids = ids
        offsets = np.concatenate(([0], np.cumsum([len(form) for form in forms], dtype=np.int64)))
        given = np.frombuffer(b"".join(forms), np.uint8), offsets, flags
        self._matcher = build_special_matcher(*given, matched)
        self._refuser = build_special_matcher(*given, refused)

    def cut(self, segments: Segments, rows: Rows) -> NormalizedSegments:
        """Cut normalized segments at the tokens.

        Parameters
        ----------
        segments : Segments
        rows : Rows
            Normalized text of each segment; ranges are kept for the tokens if it has them.

        Raises
        ------
        SpecialTokenError
            A token that may not be there is.
        """
        text, starts, ends = read_only(rows.source.text), read_only(rows.starts), read_only(rows.ends)
        refused = _find(self._refuser, text, starts, ends)
        if refused[0].size:
            self._refuse(segments, int(refused[0][0]), int(refused[3][0]))
        found = _find(self._matcher, text, starts, ends)
        if not found[0].size:
            return NormalizedSegments(segments, rows)
        room = starts.size + 2 * found[0].size
        part_starts, part_ends = np.empty(room, np.int64), np.empty(room, np.int64)
        part_fixed, first_part = np.empty(room, np.int32), np.empty(starts.size + 1, np.int64)
        n = int(
            split_rows(
                *found, found[0].size, self._ids, NO_IDS, starts, ends, part_starts, part_ends, part_fixed, first_part
            )
        )
        assert n >= 0, "there is room for every case"
        return _expanded(segments, rows, part_starts[:n], part_ends[:n], part_fixed[:n], first_part)

    def _refuse(self, segments: Segments, segment: int, token: int) -> None:
        row = int(np.searchsorted(segments.first_of_row, segment, "right")) - 1
        content = self._contents[token]
        raise SpecialTokenError(
            f"the normalized text holds the special token {content!r} (row {row}). "
            'Pass special="match" to give it its id, special="plain" to encode it as ordinary text, or '
            f"special={{{content!r}}} to match this one and refuse the others."
        )


def _find(
    matcher: SpecialMatcher, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Rows, starts, ends and tokens of all matches."""
    n = 0
    while True:
        found = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32)
        counted = int(find_specials(matcher, text, starts, ends, *found))
        if counted == n:
            return found
        n = counted


def _expanded(
    segments: Segments,
    rows: Rows,
    part_starts: NDArray[np.int64],
    part_ends: NDArray[np.int64],
    part_fixed: NDArray[np.int32],
    first_part: NDArray[np.int64],
) -> NormalizedSegments:
    """Segments with their parts in the place of the texts."""
    is_fixed = segments.fixed >= 0
    counts = np.where(is_fixed, 1, np.diff(first_part))
    first = np.concatenate(([0], np.cumsum(counts)))
    starts, ends = np.repeat(segments.starts, counts), np.repeat(segments.ends, counts)
    fixed = np.repeat(segments.fixed, counts)
    is_part = ~np.repeat(is_fixed, counts)
    text_starts, text_ends = np.zeros(fixed.size, np.int64), np.zeros(fixed.size, np.int64)
    text_starts[is_part], text_ends[is_part] = part_starts, part_ends
    fixed[is_part] = part_fixed
    tokens = is_part & (fixed >= 0)
    if rows.source.starts.size:
        base = starts[tokens]
        ends[tokens] = base + rows.source.ends[text_ends[tokens] - 1]
        starts[tokens] = base + rows.source.starts[text_starts[tokens]]
    text_starts[tokens] = text_ends[tokens] = 0
    cut = Segments(frozen(starts), frozen(ends), frozen(fixed), frozen(first[segments.first_of_row]))
    first_places = None if rows.first_places is None else np.repeat(rows.first_places, counts)
    return NormalizedSegments(cut, Rows(rows.source, frozen(text_starts), frozen(text_ends), first_places))
