"""Which backends give the ids of the reference, as a figure beside their speed.

Every timing checks ids in its setup and is left out where they differ. asv shows that as "n/a", as it does for a
library that is not installed; here a library that is inexact has a figure below 1.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .backends import reference_flat, references_of
from .common import CorpusBench

#: Bytes of a corpus that are compared.
COMPARED_BYTES = 500_000


class EqualIds(CorpusBench):
    """Share of the texts of a corpus whose ids are those of the reference."""

    corpus_bytes = COMPARED_BYTES
    checked = False

    def track_equal_texts(self, vocabulary: str, corpus: str, backend: str) -> float:
        """The largest share over the references of the vocabulary; 1 is exact."""
        found = _rows(self.backend.flat(self.backend.encode_batch(self.texts)))
        shares = []
        for reference in references_of(vocabulary):
            right = _rows(reference_flat(vocabulary, self.texts, reference))
            shares.append(float(np.mean([one == other for one, other in zip(found, right, strict=True)])))
        return max(shares)

    track_equal_texts.unit = "share"  # type: ignore[attr-defined]


def _rows(flat: tuple[np.ndarray, np.ndarray]) -> list[bytes]:
    values, offsets = flat
    return [values[first:last].tobytes() for first, last in pairwise(offsets)]
