"""Ids of a SentencePiece model whose pieces another file numbers: what is done when rows are encoded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.rows import NO_IDS, frozen, refuse_alignment
from numba_nlp.errors import STATUS_OUTPUT_FULL, UnsupportedFeatureError
from numba_nlp.kernels.segment.renumber import holds, renumber
from numba_nlp.kernels.tables.double_array import find
from numba_nlp.vocabulary import Vocabulary

__all__ = ["Renumbering"]

_UNKNOWN = 1
Parts = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64] | None]


class Renumbering:
    """Makes ids of the numbers of pieces (:mod:`numba_nlp.kernels.segment.renumber`).

    Parameters
    ----------
    vocabulary : Vocabulary
        With ``piece_ids``.

    Attributes
    ----------
    n_pieces : int
    table : int32[n_pieces + n_ids]
        Id of each number, and of each shifted id.
    left_alone : int
        Number that leaves a text to the general way: of the unknown piece, where tokens may stand for unknown text;
        else -1.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        final = vocabulary["piece_ids"]
        self.n_pieces = int(final.size)
        self.table = frozen(np.concatenate((final, np.arange(vocabulary.size, dtype=np.int32))))
        self._unknown = int(np.flatnonzero(vocabulary["piece_kinds"] == _UNKNOWN)[0])
        self._units = vocabulary["unknown_units"]
        self.left_alone = self._unknown if self._units.size else -1

    def shifted(self, fixed: NDArray[np.int32]) -> NDArray[np.int32]:
        """Given ids as they may stand among numbers."""
        return frozen(np.where(fixed >= 0, fixed + np.int32(self.n_pieces), fixed).astype(np.int32))

    def named(
        self,
        text: NDArray[np.uint8],
        numbers: NDArray[np.int32],
        token_ends: NDArray[np.int64],
        is_text: NDArray[np.bool_],
    ) -> NDArray[np.int32]:
        """Ids of the numbers of one normalised text.

        Parameters
        ----------
        text : uint8[n]
        numbers, token_ends : int32[k], int64[k]
            The tokens, and where each ends in ``text``.
        is_text : bool[k]
            False for ids that were given: they stay.
        """
        ids = np.where(is_text, self.table[np.where(is_text, numbers, 0)], numbers).astype(np.int32)
        if self.left_alone >= 0:
            for i in np.flatnonzero(is_text & (numbers == self._unknown)).tolist():
                begin = int(token_ends[i - 1]) if i else 0
                token = int(find(self._units, text, begin, int(token_ends[i])))
                ids[i] = token if token >= 0 else ids[i]
        return ids

    def numbers_of(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Numbers of the pieces that ids stand for; an id that no piece has becomes ``-2 - id``.

        Raises
        ------
        UnsupportedFeatureError
            An id is that of several pieces, or of unknown text.
        """
        of_piece = self.table[: self.n_pieces]
        numbers = ids.copy()
        for i, given in enumerate(ids.tolist()):
            found = np.flatnonzero(of_piece == given).tolist()
            if len(found) > 1 or found == [self._unknown]:
                raise UnsupportedFeatureError(
                    f"the score of these ids is not known: {given} (place {i}) stands for unknown text, or for several "
                    "pieces of the model; nbest and sample give ids together with their scores, and the .spm or .model "
                    "file loaded by itself has an id for each piece"
                )
            numbers[i] = found[0] if found else -2 - given
        return numbers

    def finish(
        self,
        name_unknown: Any,
        new_scratch: Any,
        tables: Any,
        data: NDArray[np.uint8] | None,
        parts: Parts,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> None:
        """Make ids of the numbers of rows, in place.

        Parameters
        ----------
        name_unknown : callable
            :func:`numba_nlp.kernels.segment.renumber.name_unknown` of the family.
        new_scratch : callable
            ``capacity -> scratch`` of the family.
        tables : NamedTuple of arrays
        data : uint8[m] or None
            None: positions are addresses.
        parts : int64[s], int64[s], int32[s] or int32[0], int64[rows + 1] or None
            Starts, ends and given ids of the segments, and the first segment of each row; None: each is a row.
        ids : int32[n]
        offsets : int64[rows + 1]
            Where the ids of each row end, from the second entry on; the first row begins with ``ids``.

        """
        if self.left_alone >= 0 and holds(ids, ids.size, self._unknown):
            # the first entry may belong to another thread
            offsets = np.concatenate(([0], offsets[1:]))
            if data is not None:
                self._name_unknown(name_unknown, new_scratch, tables, data, parts, ids, offsets)
            else:
                # each segment is a row: the rows that matter are copied
                places = np.flatnonzero(ids == self._unknown)
                rows = np.unique(np.searchsorted(offsets, places, side="right") - 1)
                text, bounds = _fastcall.bytes_at(parts[0][rows], parts[1][rows])
                theirs = np.concatenate([np.arange(offsets[row], offsets[row + 1]) for row in rows.tolist()])
                numbers = ids[theirs]
                ends = np.concatenate(([0], np.cumsum(offsets[rows + 1] - offsets[rows])))
                one_each = bounds[:-1], bounds[1:], NO_IDS, None
                self._name_unknown(name_unknown, new_scratch, tables, text, one_each, numbers, ends)
                ids[theirs] = numbers
        renumber(self.table, ids, ids.size)

    def _name_unknown(
        self,
        name_unknown: Any,
        new_scratch: Any,
        tables: Any,
        data: NDArray[np.uint8],
        parts: Parts,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> None:
        starts, ends, fixed, first_of_row = parts
        if first_of_row is None:
            first_of_row = frozen(np.arange(starts.size + 1))
        lengths = ends - starts
        if fixed.size:
            lengths = np.where(fixed >= 0, 0, lengths)
        longest = int(lengths.max(initial=0))
        where = np.zeros(1, np.int64)
        # mostly text grows little; the second size is enough for any
        for capacity in (longest, longest * (int(tables.settings[1]) + 3) // 3 + 16):
            scratch = new_scratch(capacity)
            room = scratch.text.size
            alignment = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
            status = name_unknown(
                tables, self._units, self._unknown, self.n_pieces, data, starts, ends, fixed, first_of_row, ids,
                offsets, scratch, alignment, where,
            )  # fmt: skip
            if status != STATUS_OUTPUT_FULL:
                break
        if status < 0:
            refuse_alignment("unknown pieces")
