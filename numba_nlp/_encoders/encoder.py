"""What a tokenizer asks of the encoder of its vocabulary: ids with spans and words, other segmentations, dropout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders import segmentations
from numba_nlp._encoders.dropout import Dropout, encode_in_blocks
from numba_nlp._encoders.rows import Encoded, Segments
from numba_nlp._encoders.segmentations import Pieces
from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.kernels.segment.unigram_memory import UnigramTables
from numba_nlp.unigram_sampling import Draw, Segmentation

__all__ = ["Encoder", "Row"]

#: One row as :meth:`Encoder.encode` takes it: ``data, starts, ends, segments``.
Row: TypeAlias = "tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], Segments | None]"


class Encoder(ABC):
    """Encodes segments with one vocabulary; safe to use from several threads."""

    #: What users call the kind.
    kind: str
    #: Whether it merges pairs, which dropout may leave out.
    drops: ClassVar[bool] = False
    #: Whether :meth:`word_numbers` is there.
    knows_words: bool = False

    # --- ids -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        unit: str | None,
        num_threads: int,
    ) -> Encoded:
        """Encode rows.

        Parameters
        ----------
        data : uint8[n]
            Valid UTF-8.
        starts, ends : int64[rows]
            Byte range of each row.
        segments : Segments or None
            The rows cut into segments; None: each row is one text.
        unit : {"char", "byte"} or None
            Unit of the spans; None for none.
        num_threads : int

        Returns
        -------
        Encoded
        """

    def word_numbers(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Which word (pre-token) of its row each id belongs to, as tokenizers counts them.

        Parameters
        ----------
        data, starts, ends, segments
            As of :meth:`encode`.
        ids, offsets : int32[m], int64[rows + 1]
            What :meth:`encode` gave; read-only.

        Returns
        -------
        int32[m]

        Raises
        ------
        UnsupportedFeatureError
            The family does not know its words.
        """
        raise UnsupportedFeatureError(f"word ids are not known for {self.kind}; leave return_word_ids out")

    # --- other segmentations -------------------------------------------------------------------------------------

    def lattice_tables(self) -> UnigramTables:
        """Tables with the scores of n-best lists and sampling.

        Raises
        ------
        UnsupportedFeatureError
            The algorithm has no scores.
        """
        way_out = "; it has dropout= of encode and encode_batch instead" if self.drops else ""
        raise UnsupportedFeatureError(
            "n-best lists, sampling and scores are there for Unigram models, whose pieces have scores, and this is "
            f"{self.kind}{way_out}"
        )

    def pieces_of(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
    ) -> Pieces:
        """One row as the model sees it; arguments as of :meth:`encode`."""
        raise AssertionError("lattice_tables refuses first")

    def final_ids(self, pieces: Pieces, found: Segmentation) -> NDArray[np.int32]:
        """Ids of a segmentation as :meth:`encode` gives them."""
        return found.ids

    def numbers_of(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """What the tables call ids that :meth:`encode` gives.

        Raises
        ------
        UnsupportedFeatureError
            An id may stand for several.
        """
        return ids

    def nbest(self, row: Row, n: int) -> list[tuple[NDArray[np.int32], float]]:
        """The best segmentations of one row and their scores, best first.

        Parameters
        ----------
        row : tuple
            ``data, starts, ends, segments`` of :meth:`encode`, of one row.
        n : int

        Raises
        ------
        UnsupportedFeatureError
            The algorithm has no scores.
        """
        tables = self.lattice_tables()
        if n == 1:
            return [(self.encode(*row, unit=None, num_threads=1).values, 0.0)]
        pieces = self.pieces_of(*row)
        return [(self.final_ids(pieces, one), one.score) for one in segmentations.nbest(tables, pieces, n)]

    def sample(self, row: Row, draw: Draw) -> list[tuple[NDArray[np.int32], float]]:
        """Random segmentations of one row and their scores; arguments and errors as of :meth:`nbest`."""
        tables = self.lattice_tables()
        if draw.nbest_size in (0, 1):
            return self.nbest(row, 1) * draw.n_samples
        pieces = self.pieces_of(*row)
        return [(self.final_ids(pieces, one), one.score) for one in segmentations.sample(tables, pieces, draw)]

    def score(self, row: Row, ids: NDArray[np.int32]) -> float:
        """Score of a segmentation of one row; arguments and errors as of :meth:`nbest`."""
        tables = self.lattice_tables()
        pieces = self.pieces_of(*row)
        numbers, is_given = pieces.fixed.copy(), pieces.fixed >= 0
        numbers[is_given] = self.numbers_of(pieces.fixed[is_given])
        return segmentations.score(tables, pieces._replace(fixed=numbers), is_given, self.numbers_of(ids))

    # --- dropout -------------------------------------------------------------------------------------------------

    def encode_with_dropout(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        dropout: Dropout,
        num_threads: int,
    ) -> Encoded:
        """Encode rows with merges left out at random; arguments as of :meth:`encode`.

        Raises
        ------
        UnsupportedFeatureError
            The family does not merge.
        """
        if not self.drops:
            raise UnsupportedFeatureError(
                f"dropout leaves merges of BPE out, and {self.kind} has none; Unigram models have Tokenizer.sample "
                "instead"
            )

        def block(first: int, last: int, part: Segments | None) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            return self.drop_rows(
                data, starts[first:last], ends[first:last], part, dropout.probability, dropout.state(first)
            )

        return encode_in_blocks(block, ends - starts, segments, num_threads)

    def drop_rows(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        probability: float,
        state: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids and offsets of a block of rows; ``state`` names the first of them."""
        raise AssertionError("encode_with_dropout refuses first")
