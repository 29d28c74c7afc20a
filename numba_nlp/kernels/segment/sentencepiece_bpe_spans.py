"""Spans of the ids of SentencePiece BPE: :mod:`numba_nlp.kernels.segment.aligned_spans` with the tables of this family.

Twin: ``numba_nlp.reference.segment.aligned_spans``.
"""

from __future__ import annotations

from typing import Any

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment import aligned_spans
from numba_nlp.kernels.segment.cached_rows import specialise
from numba_nlp.kernels.segment.sentencepiece_bpe_rows import align_text

__all__ = ["fill_aligned_spans_bpe"]


def _plain(function: Any) -> Any:
    return getattr(function, "py_func", function)


_text_spans = inlined(specialise(_plain(aligned_spans._text_spans), "_text_spans_bpe", align_text=align_text))
#: As :func:`numba_nlp.kernels.segment.aligned_spans.fill_aligned_spans`.
fill_aligned_spans_bpe = kernel(
    specialise(_plain(aligned_spans.fill_aligned_spans), "fill_aligned_spans_bpe", _text_spans=_text_spans)
)
