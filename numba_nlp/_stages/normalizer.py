"""Normalization of rows with alignment: stretches of an array program, regular expressions between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._fastcall.stages import NormalizerProgram
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment.graphemes import ClusterTables
from numba_nlp.kernels.segment.normalize_edits import replace_matches
from numba_nlp.kernels.segment.normalize_forms import FormTables
from numba_nlp.kernels.segment.normalize_maps import MapTables
from numba_nlp.kernels.segment.normalize_precompiled import CharsmapTables
from numba_nlp.kernels.segment.normalize_program import (
    OP_CHARSMAP,
    OPERATIONS,
    STEP,
    NormalizerScratch,
    NormalizerTables,
    new_normalizer_scratch,
    normalize_rows,
)
from numba_nlp.kernels.segment.normalize_text import UNCHANGED, Aligned, copy_aligned, new_aligned
from numba_nlp.kernels.segment.spans import ascii_end
from numba_nlp.regex_split import RegexSplitter

__all__ = ["OP_REGEX", "Normalizer", "Rows", "aligned_rows", "checked_sizes", "grown", "normalizer_tables", "read_only"]

#: The operation that no kernel knows: replace the matches of regular expression ``a`` by string ``b``.
OP_REGEX = OPERATIONS

_LONGEST_ROW = 2**31 - 1


class Rows(NamedTuple):
    """Normalized rows.

    Attributes
    ----------
    source : Aligned
        Text, and ranges that count from the start of each original row; without ranges when nobody asked for them.
    starts, ends : int64[rows], int64[rows]
        The rows in ``source``.
    first_places : int64[rows] or None
        Where the range of the character begins that tokenizers takes for the first one of each row; -1 where it takes
        none for it. None: 0 everywhere.
    """

    source: Aligned
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_places: NDArray[np.int64] | None = None


class _ArrayStage:
    """Steps that one call does.

    Parameters
    ----------
    tables : NormalizerTables
    """

    def __init__(self, tables: NormalizerTables) -> None:
        self._tables = tables

    @cached_property
    def program(self) -> NormalizerProgram:
        """The steps called by address."""
        return NormalizerProgram(self._tables)

    def run(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        first: int,
        scratch: NormalizerScratch,
        target: Aligned,
        at: int,
        out_starts: NDArray[np.int64],
        out_ends: NDArray[np.int64],
    ) -> int:
        """:func:`numba_nlp.kernels.segment.normalize_program.normalize_rows` with the tables of the steps."""
        if _fastcall.AVAILABLE:
            return self.program.run(data, starts, ends, first, scratch, target, at, out_starts, out_ends)
        tables = self._tables
        return int(normalize_rows(tables, data, starts, ends, first, scratch, target, at, out_starts, out_ends))


def normalizer_tables(arrays: Mapping[str, NDArray[Any]]) -> NormalizerTables:
    """Tables of the kernels from the arrays of a vocabulary (``numba_nlp/_schemas/normalizer.py``)."""

    def those_of(kind: type, prefix: str) -> Any:
        return kind(*(arrays[f"{prefix}_{name}"] for name in kind._fields))  # type: ignore[attr-defined]

    return NormalizerTables(
        program=arrays["normalizer_program"],
        ascii_stays=arrays["normalizer_ascii_stays"],
        strings=arrays["normalizer_strings"],
        string_offsets=arrays["normalizer_string_offsets"],
        forms=those_of(FormTables, "form"),
        maps=those_of(MapTables, "map"),
        charsmap=those_of(CharsmapTables, "charsmap"),
        clusters=those_of(ClusterTables, "cluster"),
    )


class Normalizer:
    """Normalizes rows; holds no state besides its tables, so threads can share it.

    Parameters
    ----------
    arrays : Mapping of str to ndarray
        Those of :func:`normalizer_tables`, and ``class_index``, ``class_blocks`` where there are regular expressions.
    regexes : Sequence of str
        Regular expressions that the program names, in the syntax of tokenizers.
    notes_first : bool
        Whether rows with ranges come with ``first_places``. They are others than 0 behind a charsmap that leaves
        characters out at the start of a row, where tokenizers counts on as if it had not
        (``vocab_tools/compiler/first_places.py``).
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], regexes: Sequence[str] = (), *, notes_first: bool = False
    ) -> None:
        tables = normalizer_tables(arrays)
        steps = tables.program.reshape(-1, STEP)
        #: Whether ASCII text stays as it is.
        self.ascii_stays = bool(tables.ascii_stays[0])
        #: Array programs and (expression, content), in the order in which they are applied.
        self._stages: list[_ArrayStage | tuple[RegexSplitter, NDArray[np.uint8]]] = []
        #: The stage behind which first places are noted.
        self._noted: _ArrayStage | None = None
        stands_alone = steps[:, 0] == OP_REGEX
        if notes_first and _leaves_out(tables.charsmap):
            stands_alone |= steps[:, 0] == OP_CHARSMAP
        bounds = [-1, *np.flatnonzero(stands_alone).tolist(), len(steps)]
        for before, place in pairwise(bounds):
            if place > before + 1:
                program = read_only(steps[before + 1 : place].reshape(-1).copy())
                self._stages.append(_ArrayStage(tables._replace(program=program)))
            if place < len(steps) and steps[place, 0] == OP_CHARSMAP:
                self._noted = _ArrayStage(tables._replace(program=read_only(steps[place].copy())))
                self._stages.append(self._noted)
            elif place < len(steps):
                splitter = RegexSplitter(
                    regexes[steps[place, 1]], arrays["class_index"], arrays["class_blocks"], "tokenizers"
                )
                bounds_of = tables.string_offsets[steps[place, 2] : steps[place, 2] + 2]
                self._stages.append((splitter, tables.strings[bounds_of[0] : bounds_of[1]]))

    @property
    def is_one_program(self) -> bool:
        """Whether one call does all: there are no regular expressions, and first places are not noted."""
        one = len(self._stages) < 2 and all(isinstance(stage, _ArrayStage) for stage in self._stages)
        return one and self._noted is None

    def program(self) -> NormalizerProgram:
        """The one program; compiles what it needs."""
        assert self.is_one_program
        stage = self._stages[0] if self._stages else _NOTHING
        assert isinstance(stage, _ArrayStage)
        return stage.program

    def stays(self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> bool:
        """Whether all rows are sure to stay as they are: they are ASCII, and nothing changes that."""
        if not self._stages:
            return True
        filled = starts < ends
        if not self.ascii_stays or not filled.any():
            return self.ascii_stays
        first, last = int(starts[filled].min()), int(ends[filled].max())
        # one look at everything between, which is all text unless the rows were taken out of a longer text
        return int(ascii_end(data, first, last)) == last

    def normalize(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        aligned: bool,
    ) -> Rows:
        """Normalize rows.

        Parameters
        ----------
        data : uint8[n]
            Valid UTF-8.
        starts, ends : int64[rows], int64[rows]
            Byte range of each row.
        aligned : bool
            Whether to give ranges.

        Returns
        -------
        Rows

        Raises
        ------
        UnsupportedFeatureError
            A regular expression matched the empty string; names the row.
        ValueError
            A row is too long for ranges of 32 bits.
        """
        if aligned:
            checked_sizes(starts, ends)
        rows: Rows | None = None
        first_places: NDArray[np.int64] | None = None
        for stage in self._stages:
            if isinstance(stage, _ArrayStage):
                before = rows
                if before is None:
                    rows = _run(stage, data, starts, ends, aligned)
                else:
                    text, first, last = (read_only(a) for a in (before.source.text, before.starts, before.ends))
                    rows = _composed(before, _run(stage, text, first, last, aligned))
                if stage is self._noted and aligned:
                    first_places = _first_places(before, rows)
            else:
                rows = _replace(*stage, rows or aligned_rows(data, starts, ends, aligned), aligned)
        return (rows or aligned_rows(data, starts, ends, aligned))._replace(first_places=first_places)


def _leaves_out(charsmap: CharsmapTables) -> bool:
    """Whether some rule of a charsmap leaves nothing."""
    places = (charsmap.units[charsmap.units >> 31 != 0] & 0x7FFFFFFF).astype(np.int64)
    # what lies beyond the text is as empty as what is ended at once
    return bool((np.append(charsmap.text, 0)[np.minimum(places, charsmap.text.size)] == 0).any())


def _first_places(before: Rows | None, rows: Rows) -> NDArray[np.int64]:
    """Where the first character behind a stage comes from, if the first one before it begins its row."""
    found = np.zeros(rows.starts.size, np.int64)
    filled = rows.starts < rows.ends
    found[filled] = rows.source.starts[rows.starts[filled]]
    if before is not None:
        found[filled] = np.where(before.source.starts[before.starts[filled]] == 0, found[filled], -1)
    return found


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of an array that cannot be written: kernels are compiled for one kind of array."""
    view = array.view()
    view.flags.writeable = False
    return view


def checked_sizes(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    """Refuse rows whose places 32 bits cannot count.

    Raises
    ------
    ValueError
        Names the row.
    """
    too_long = np.flatnonzero(ends - starts > _LONGEST_ROW)
    if too_long.size:
        row = int(too_long[0])
        raise ValueError(
            f"row {row} has {int(ends[row] - starts[row])} bytes; spans of normalized text go up to {_LONGEST_ROW}. "
            "Split it into shorter rows, or ask for no spans"
        )


def aligned_rows(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], aligned: bool) -> Rows:
    """Rows as they are, in the form of normalized ones."""
    return _run(_NOTHING, data, starts, ends, aligned)


def grown(source: Aligned, filled: int, room: int) -> Aligned:
    """A buffer of ``room`` bytes that begins with the ``filled`` ones there are."""
    target = new_aligned(room, source.starts.size > 0)
    target.text[:filled] = source.text[:filled]
    if source.starts.size:
        target.starts[:filled] = source.starts[:filled]
        target.ends[:filled] = source.ends[:filled]
    return target


def _run(
    stage: _ArrayStage,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    aligned: bool,
) -> Rows:
    """Run an array program; makes room as it is needed."""
    sizes = np.maximum(ends - starts, 0)
    total, longest = int(sizes.sum()), int(sizes.max(initial=0))
    target = new_aligned(total + total // 8 + 64, aligned)
    capacity = longest + longest // 2 + 64
    out_starts, out_ends = np.empty(starts.size, np.int64), np.empty(starts.size, np.int64)
    row, at = 0, 0
    while True:
        scratch = new_normalizer_scratch(capacity, aligned)
        row = stage.run(data, starts, ends, row, scratch, target, at, out_starts, out_ends)
        if row == starts.size:
            break
        at = int(out_ends[row - 1]) if row else 0
        capacity *= 2
        target = grown(target, at, target.text.size + max(target.text.size // 2, capacity))
    return Rows(target, out_starts, out_ends)


def _composed(first: Rows, second: Rows) -> Rows:
    """Rows that were normalized twice, with ranges in the original ones."""
    starts, ends = second.source.starts, second.source.ends
    if not starts.size:
        return second
    total = int(second.ends[-1]) if second.ends.size else 0
    base = np.repeat(first.starts, second.ends - second.starts)
    from_starts, from_ends = np.zeros(total, np.int32), np.zeros(total, np.int32)
    # an empty range is 0, 0 at the start of the row, in both
    full = starts[:total] < ends[:total]
    from_starts[full] = first.source.starts[(base + starts[:total])[full]]
    from_ends[full] = first.source.ends[(base + ends[:total])[full] - 1]
    return Rows(Aligned(second.source.text, from_starts, from_ends), second.starts, second.ends)


def _replace(splitter: RegexSplitter, content: NDArray[np.uint8], rows: Rows, aligned: bool) -> Rows:
    """Replace the matches of a regular expression in every row."""
    source = rows.source
    found = []
    grows = 0
    for row, (start, end) in enumerate(zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)):
        try:
            found.append(splitter.match_bounds(source.text[start:end].tobytes().decode()))
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"row {row}: {error}") from error
        grows += found[-1][0].size * content.size
    if not any(match_starts.size for match_starts, _ in found):
        return rows
    target = new_aligned(int((rows.ends - rows.starts).sum()) + grows, aligned)
    out_starts, out_ends = np.empty_like(rows.starts), np.empty_like(rows.ends)
    at = 0
    for row, (match_starts, match_ends) in enumerate(found):
        start, end = int(rows.starts[row]), int(rows.ends[row])
        out_starts[row] = at
        written = int(replace_matches(match_starts, match_ends, content, source, start, end, target, at))
        if written == UNCHANGED:
            written = int(copy_aligned(source, start, end, target, at))
        assert written >= 0, "the target is sized for all matches"
        at = written
        out_ends[row] = at
    return Rows(target, out_starts, out_ends)


def _empty_tables() -> NormalizerTables:
    def nothing(dtype: type, n: int = 0) -> NDArray[Any]:
        return read_only(np.zeros(n, dtype))

    return NormalizerTables(
        nothing(np.int32), nothing(np.int64, 1), nothing(np.uint8), nothing(np.int64, 1),
        FormTables(
            nothing(np.uint16), nothing(np.uint16), nothing(np.uint8), nothing(np.uint8), nothing(np.int32, 1),
            nothing(np.int32), nothing(np.int64), nothing(np.int32),
        ),
        MapTables(nothing(np.uint16), nothing(np.uint16), nothing(np.int32, 1), nothing(np.uint8)),
        CharsmapTables(nothing(np.uint32), nothing(np.uint8)),
        ClusterTables(nothing(np.uint16), nothing(np.uint8)),
    )  # fmt: skip


#: A program without steps.
_NOTHING = _ArrayStage(_empty_tables())
