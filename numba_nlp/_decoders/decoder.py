"""What all decoders share: one row or many, bytes or text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp._decoders.clean_up import CLEANED, cleaned_rows
from numba_nlp._decoders.ids import check_errors, checked_ids, gathered_rows, read_only
from numba_nlp.ragged import Ragged
from numba_nlp.vocabulary import Vocabulary

__all__ = ["Decoder"]


class Decoder(ABC):
    """Decodes ids with one vocabulary, and knows how its tokens are spelled.

    Parameters
    ----------
    vocabulary : Vocabulary
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._cleans_up: bool = vocabulary.metadata.get("clean_up", False)

    @abstractmethod
    def text_of_rows(
        self, values: NDArray[np.int32], offsets: NDArray[np.int64], skip_special: bool, single: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Bytes of rows of ids.

        Parameters
        ----------
        values, offsets : int32[m], int64[rows + 1]
            Read-only.
        skip_special : bool
        single : bool
            The rows are one that was given by itself; then errors name no row.

        Returns
        -------
        data, ends : uint8[n], int64[rows + 1]
            ``data`` may be longer than needed; row ``r`` is ``data[ends[r]:ends[r + 1]]``, ``ends[0]`` is 0.

        Raises
        ------
        UnknownTokenError
        """

    @abstractmethod
    def spelling(self, token_id: int) -> str:
        """How vocabulary files of this kind write the token of an id.

        Raises
        ------
        UnknownTokenError
        """

    @abstractmethod
    def id_of(self, token: str | bytes) -> int:
        """Id of a piece of the model by its spelling or its bytes; -1 when there is none."""

    def _rows(
        self, values: NDArray[np.int32], offsets: NDArray[np.int64], skip_special: bool, single: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """As :meth:`text_of_rows`, cleaned up where the vocabulary asks for it."""
        rows = self.text_of_rows(values, offsets, skip_special, single)
        return cleaned_rows(*rows) if self._cleans_up else rows

    def bytes_of(self, token_id: int) -> bytes:
        """Bytes that an id stands for in the middle of a text: here those that it is decoded to by itself.

        Raises
        ------
        UnknownTokenError, TypeError
        """
        return self.decode_bytes([token_id], False)

    def decode_bytes(self, ids: ArrayLike, skip_special: bool) -> bytes:
        """Bytes of one row of ids.

        Raises
        ------
        UnknownTokenError, TypeError
        """
        given = checked_ids(self.vocabulary, ids, None)
        bounds = np.zeros(2, np.int64)
        bounds[1] = given.size
        bounds.flags.writeable = False
        data, ends = self._rows(given, bounds, skip_special, True)
        return data[: int(ends[1])].tobytes()

    def settled_length(self, ids: NDArray[np.int32], text: str, skip_special: bool) -> int:
        """Characters at the front of a text that no further id changes; at least, for it may be more.

        Parameters
        ----------
        ids : int32[n]
        text : str
            What they are decoded to.
        skip_special : bool
            Whether special tokens were left out of it.
        """
        # the end may be a part of a character
        settled = text.rstrip("\ufffd")
        return len(settled.rstrip(CLEANED) if self._cleans_up else settled)

    def _shared_with_more(self, ids: NDArray[np.int32], text: str, skip_special: bool) -> str:
        """The front of a text that is the same when its last id is not the last any more."""
        if not ids.size:
            return text
        longer = self.decode_bytes(np.append(ids, ids[-1]), skip_special).decode("utf-8", "replace")
        return text[
            : next((i for i, pair in enumerate(zip(text, longer, strict=False)) if pair[0] != pair[1]), len(longer))
        ]

    def decode_batch(
        self, ids: Ragged | NDArray[Any] | Iterable[ArrayLike], skip_special: bool, errors: str
    ) -> list[str | None]:
        """Text of each row of ids.

        Raises
        ------
        UnknownTokenError, TypeError, ValueError, UnicodeDecodeError
        """
        check_errors(errors)
        rows = gathered_rows(self.vocabulary, ids)
        data, ends = self._rows(read_only(rows.values), read_only(rows.offsets), skip_special, False)
        text = data.data
        decoded: list[str | None] = [str(text[a:b], "utf-8", errors) for a, b in pairwise(ends.tolist())]
        if rows.valid is not None:
            for row in np.flatnonzero(~rows.valid).tolist():
                decoded[row] = None
        return decoded
