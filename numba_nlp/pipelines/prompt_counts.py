"""How many equal prompts came before each one of a call, whatever batches it is parted into."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections.abc import Iterable
from threading import Lock

import numpy as np
from numpy.typing import NDArray

__all__ = ["PromptCounts"]


class PromptCounts:
    """Of one call: rows are drawn by their prompt, and equal ones by their order among all rows, not in a batch.

    Prompts are told by 64 bits of a digest. Rows may be told of again, in parts: what is tried again after a failure
    counts once.
    """

    def __init__(self) -> None:
        #: digest -> number of the one row, or several in ascending order
        self._rows: dict[bytes, int | list[int]] = {}
        self._lock = Lock()

    def count(self, prompts: Iterable[NDArray[np.int32]], numbers: Iterable[int]) -> NDArray[np.int64]:
        """Take notice of prompts.

        Parameters
        ----------
        prompts : iterable of int32[n]
            Ids.
        numbers : iterable of int
            Of each prompt in the call, no two the same.

        Returns
        -------
        int64[prompts]
            How many equal prompts have a lower number, of those that were told so far.
        """
        with self._lock:
            found = [self._add(prompt, number) for prompt, number in zip(prompts, numbers, strict=True)]
        return np.array(found, np.int64)

    def _add(self, prompt: NDArray[np.int32], number: int) -> int:
        digest = hashlib.blake2b(np.ascontiguousarray(prompt, np.int32).tobytes(), digest_size=8).digest()
        known = self._rows.setdefault(digest, number)
        if known == number:
            return 0
        if isinstance(known, int):
            known = self._rows[digest] = [known]
        place = bisect_left(known, number)
        if place == len(known) or known[place] != number:
            insort(known, number)
        return place
