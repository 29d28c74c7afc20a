"""Spans of the ids of SentencePiece BPE: :mod:`numba_nlp.kernels.segment.aligned_spans` with the tables of this family.

Twin: ``numba_nlp.reference.segment.aligned_spans``.
"""

from __future__ import annotations

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment import aligned_spans
from numba_nlp.kernels.segment.sentencepiece_bpe_rows import align_text
from numba_nlp.kernels.specialising import specialise

__all__ = ["fill_aligned_spans_bpe"]

_source = getattr(aligned_spans.fill_aligned_spans, "py_func", aligned_spans.fill_aligned_spans)
#: As :func:`numba_nlp.kernels.segment.aligned_spans.fill_aligned_spans`.
fill_aligned_spans_bpe = kernel(specialise(_source, "fill_aligned_spans_bpe", align_text=align_text))
