"""Segments of text, normalized before an encoder sees them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.rows import Segments
from numba_nlp._encoders.sources import BYTES_PER_THREAD
from numba_nlp._second_search import SecondSearch
from numba_nlp._stages.normalizer import Normalizer, Rows, read_only
from numba_nlp.kernels.segment.normalize_text import Aligned

__all__ = ["NormalizedText", "normalize_segments", "second_search"]


class NormalizedText(NamedTuple):
    """Segments after normalization.

    Attributes
    ----------
    data : uint8[n]
        Read-only, as all arrays here.
    source : Aligned
        ``data`` with ranges that count from the start of each segment.
    starts, ends : int64[segments], int64[segments]
        The segments in ``data``; without bytes for those that are an id.
    """

    data: NDArray[np.uint8]
    source: Aligned
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def normalize_segments(
    normalizer: Normalizer,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    segments: Segments | None,
    aligned: bool,
    num_threads: int,
) -> NormalizedText:
    """Normalize the texts among segments.

    Parameters
    ----------
    normalizer : Normalizer
    data : uint8[n]
    starts, ends : int64[rows], int64[rows]
        Byte range of each row.
    segments : Segments or None
        The rows cut into segments; None: each row is one text.
    aligned : bool
        Whether to give ranges.
    num_threads : int

    Raises
    ------
    UnsupportedFeatureError
        A regular expression matched the empty string.
    ValueError
        A text is too long for ranges.
    """
    if segments is not None:
        is_text = segments.fixed < 0
        starts = read_only(np.where(is_text, segments.starts, 0))
        ends = read_only(np.where(is_text, segments.ends, 0))
    bounds = _bounds(ends - starts, num_threads)
    if len(bounds) == 2:
        rows = normalizer.normalize(data, starts, ends, aligned)
    else:
        with ThreadPoolExecutor(num_threads) as executor:
            parts = list(
                executor.map(
                    lambda part: normalizer.normalize(data, starts[slice(*part)], ends[slice(*part)], aligned),
                    pairwise(bounds),
                )
            )
        rows = _joined(parts)
    source = Aligned(read_only(rows.source.text), read_only(rows.source.starts), read_only(rows.source.ends))
    return NormalizedText(source.text, source, read_only(rows.starts), read_only(rows.ends))


def second_search(
    search: SecondSearch, segments: Segments, normalized: NormalizedText
) -> tuple[Segments, NormalizedText]:
    """Cut normalized segments at the added tokens that are looked for in normalized text.

    Parameters
    ----------
    search : SecondSearch
    segments : Segments
    normalized : NormalizedText

    Raises
    ------
    SpecialTokenError
        A token that may not be there is.
    """
    cut = search.cut(segments, Rows(normalized.source, normalized.starts, normalized.ends))
    return cut.segments, normalized._replace(starts=read_only(cut.rows.starts), ends=read_only(cut.rows.ends))


def _bounds(sizes: NDArray[np.int64], num_threads: int) -> list[int]:
    """Blocks of segments of about equal bytes, one a thread."""
    done = np.cumsum(sizes)
    total = int(done[-1]) if done.size else 0
    blocks = min(num_threads, total // BYTES_PER_THREAD, sizes.size)
    if blocks < 2:
        return [0, sizes.size]
    inner = np.searchsorted(done, np.arange(1, blocks) * (total / blocks)) + 1
    bounds: list[int] = np.unique(np.concatenate(([0], np.minimum(inner, sizes.size), [sizes.size]))).tolist()
    return bounds


def _joined(parts: list[Rows]) -> Rows:
    """Blocks of rows as one."""
    lengths = [int(part.ends[-1]) for part in parts]
    places = np.concatenate(([0], np.cumsum(lengths)))
    arrays = [
        np.concatenate([array[:n] for array, n in zip(column, lengths, strict=True)])
        for column in zip(*(part.source for part in parts), strict=True)
    ]
    starts = np.concatenate([part.starts + place for part, place in zip(parts, places[:-1], strict=True)])
    ends = np.concatenate([part.ends + place for part, place in zip(parts, places[:-1], strict=True)])
    return Rows(Aligned(*arrays), starts, ends)
