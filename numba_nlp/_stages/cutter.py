"""Pre-tokenization of normalized rows: stretches of an array program, regular expressions between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._fastcall.stages import CutterProgram
from numba_nlp._stages.normalizer import Rows, grown, read_only
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment.cut_items import CutClasses, behave
from numba_nlp.kernels.segment.cut_program import (
    CUT_METASPACE,
    CUT_OPERATIONS,
    CUT_STEP,
    FIRST,
    CutScratch,
    CutTables,
    cut_rows,
    new_cut_scratch,
)
from numba_nlp.kernels.segment.normalize_text import Aligned, new_aligned
from numba_nlp.regex_split import RegexSplitter

__all__ = ["CUT_REGEX", "Cutter", "Pieces", "cut_tables"]

#: The operation that no kernel knows: cut at regular expression ``a`` with behavior ``b``, inverted where ``c`` is 1.
CUT_REGEX = CUT_OPERATIONS


class Pieces(NamedTuple):
    """Rows cut into pieces.

    Attributes
    ----------
    source : Aligned
        Text with its ranges; that of the rows, or another where a step wrote it anew.
    starts, ends : int64[pieces], int64[pieces]
        The pieces in ``source``.
    first_of_row : int64[rows + 1]
        Pieces of row ``r`` are those from ``first_of_row[r]`` up to ``first_of_row[r + 1]``.
    """

    source: Aligned
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_of_row: NDArray[np.int64]


class _RegexStep(NamedTuple):
    splitter: RegexSplitter
    behavior: int
    invert: int


class _ArrayStage:
    """Steps that one call does.

    Parameters
    ----------
    tables : CutTables
    """

    def __init__(self, tables: CutTables) -> None:
        self._tables = tables
        #: Whether some step writes the text anew.
        self.rewrites = bool((tables.program[::CUT_STEP] == CUT_METASPACE).any())

    @cached_property
    def program(self) -> CutterProgram:
        """The steps called by address."""
        return CutterProgram(self._tables)

    def run(
        self,
        source: Aligned,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        bases: NDArray[np.int64],
        first: int,
        scratch: CutScratch,
        target: Aligned,
        at: int,
        piece_starts: NDArray[np.int64],
        piece_ends: NDArray[np.int64],
        out: int,
        first_pieces: NDArray[np.int64],
    ) -> int:
        """:func:`numba_nlp.kernels.segment.cut_program.cut_rows` with the tables of the steps."""
        given = source, starts, ends, bases, first, scratch, target, at, piece_starts, piece_ends, out, first_pieces
        if _fastcall.AVAILABLE:
            return self.program.run(*given)
        return int(cut_rows(self._tables, *given))


def cut_tables(arrays: Mapping[str, NDArray[Any]]) -> CutTables:
    """Tables of the kernels from the arrays of a vocabulary."""
    return CutTables(
        arrays["cut_program"],
        arrays["cut_strings"],
        arrays["cut_string_offsets"],
        CutClasses(arrays["cut_pages"], arrays["cut_blocks"]),
        arrays["class_index"],
        arrays["class_blocks"],
    )


class Cutter:
    """Cuts rows into pieces; holds no state besides its tables, so threads can share it.

    Parameters
    ----------
    arrays : Mapping of str to ndarray
        Those of :func:`cut_tables`.
    regexes : Sequence of str
        Regular expressions that the program names, in the syntax of tokenizers.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], regexes: Sequence[str] = ()) -> None:
        tables = cut_tables({name: read_only(array) for name, array in arrays.items()})
        steps = tables.program.reshape(-1, CUT_STEP)
        #: Whether the rows must come with their ranges.
        self.needs_alignment = bool(((steps[:, 0] == CUT_METASPACE) & (steps[:, 2] == FIRST)).any())
        self._stages: list[_ArrayStage | _RegexStep] = []
        bounds = [-1, *np.flatnonzero(steps[:, 0] == CUT_REGEX).tolist(), len(steps)]
        for before, place in pairwise(bounds):
            if place > before + 1:
                program = read_only(steps[before + 1 : place].reshape(-1).copy())
                self._stages.append(_ArrayStage(tables._replace(program=program)))
            if place < len(steps):
                splitter = RegexSplitter(
                    regexes[steps[place, 1]], arrays["class_index"], arrays["class_blocks"], "tokenizers"
                )
                self._stages.append(_RegexStep(splitter, int(steps[place, 2]), int(steps[place, 3])))

    @property
    def is_one_program(self) -> bool:
        """Whether there are no regular expressions, so that one call does all."""
        return len(self._stages) < 2 and all(isinstance(stage, _ArrayStage) for stage in self._stages)

    @property
    def rewrites(self) -> bool:
        """Whether some step writes the text anew."""
        return any(isinstance(stage, _ArrayStage) and stage.rewrites for stage in self._stages)

    def program(self) -> CutterProgram | None:
        """The one program, or None when nothing is cut; compiles what it needs."""
        assert self.is_one_program
        if not self._stages:
            return None
        assert isinstance(self._stages[0], _ArrayStage)
        return self._stages[0].program

    def cut(self, rows: Rows, bases: NDArray[np.int64] | None = None) -> Pieces:
        """Cut rows.

        Parameters
        ----------
        rows : Rows
            With ranges where :attr:`needs_alignment` says so.
        bases : int64[rows], optional
            Where the rows begin in their original rows, if not at 0.

        Returns
        -------
        Pieces
            Rows without text have none.

        Raises
        ------
        UnsupportedFeatureError
            A regular expression matched the empty string; names the row.
        """
        bases = _NO_BASES if bases is None else bases
        filled = rows.starts < rows.ends
        first_of_row = np.concatenate(([0], np.cumsum(filled)))
        pieces = Pieces(rows.source, rows.starts[filled], rows.ends[filled], first_of_row)
        for stage in self._stages:
            if isinstance(stage, _ArrayStage):
                of_piece = bases
                if bases.size:
                    of_piece = read_only(np.repeat(bases, np.diff(pieces.first_of_row)))
                cut = _run(stage, pieces, of_piece)
            else:
                cut = _split(stage, pieces)
            pieces = cut._replace(first_of_row=cut.first_of_row[pieces.first_of_row])
        return pieces


_NO_BASES = np.zeros(0, np.int64)
_NO_BASES.flags.writeable = False


def _run(stage: _ArrayStage, pieces: Pieces, bases: NDArray[np.int64]) -> Pieces:
    """Cut every piece by an array program; gives where the parts of each piece begin."""
    sizes = pieces.ends - pieces.starts
    total, longest = int(sizes.sum()), int(sizes.max(initial=0))
    aligned = pieces.source.starts.size > 0
    rewrites = stage.rewrites
    source = pieces.source
    starts, ends = read_only(pieces.starts), read_only(pieces.ends)
    target = new_aligned(total + total // 2 + 64 if rewrites else 0, aligned and rewrites)
    # mostly words
    room = total // 4 + pieces.starts.size + 16
    part_starts, part_ends = np.empty(room, np.int64), np.empty(room, np.int64)
    first_of_piece = np.zeros(starts.size + 1, np.int64)
    capacity = longest + longest // 2 + 64
    row, at, out = 0, 0, 0
    while True:
        scratch = new_cut_scratch(capacity, aligned)
        row = stage.run(
            source, starts, ends, bases, row, scratch, target, at, part_starts, part_ends, out, first_of_piece
        )
        if row == starts.size:
            break
        out = int(first_of_piece[row])
        at = int(part_ends[out - 1]) if out and rewrites else 0
        capacity *= 2
        if rewrites:
            target = grown(target, at, target.text.size + max(target.text.size // 2, capacity))
        more = np.empty(part_starts.size + capacity - out, np.int64)
        part_starts, part_ends = (np.concatenate((part[:out], more)) for part in (part_starts, part_ends))
    n = int(first_of_piece[-1])
    return Pieces(target if rewrites else source, part_starts[:n], part_ends[:n], first_of_piece)


def _split(step: _RegexStep, pieces: Pieces) -> Pieces:
    """Cut every piece at the matches of a regular expression; gives where the parts of each piece begin."""
    all_starts, all_ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    first_of_piece = np.zeros(pieces.starts.size + 1, np.int64)
    for number, (start, end) in enumerate(zip(pieces.starts.tolist(), pieces.ends.tolist(), strict=True)):
        try:
            match_starts, match_ends = step.splitter.match_bounds(pieces.source.text[start:end].tobytes().decode())
        except UnsupportedFeatureError as error:
            row = int(np.searchsorted(pieces.first_of_row, number, "right")) - 1
            raise UnsupportedFeatureError(f"row {row}: {error}") from error
        # gaps and matches by turns, as far as they are not empty
        item_starts = np.empty(2 * match_starts.size + 1, np.int64)
        item_ends = np.empty_like(item_starts)
        item_starts[0::2], item_starts[1::2] = np.concatenate(([0], match_ends)), match_starts
        item_ends[0::2], item_ends[1::2] = np.concatenate((match_starts, [end - start])), match_ends
        flags = np.full(item_starts.size, step.invert, np.uint8)
        flags[1::2] = 1 - step.invert
        full = item_starts < item_ends
        n_items = int(full.sum())
        parts = np.empty(n_items, np.int64), np.empty(n_items, np.int64)
        n = int(behave(step.behavior, start, item_ends[full] + start, flags[full], n_items, *parts, 0))
        all_starts.append(parts[0][:n])
        all_ends.append(parts[1][:n])
        first_of_piece[number + 1] = first_of_piece[number] + n
    return Pieces(pieces.source, np.concatenate(all_starts), np.concatenate(all_ends), first_of_piece)
