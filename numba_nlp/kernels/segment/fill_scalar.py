"""Pre-tokens of a text, one after the other by the scalar scanner: for patterns without a window scanner."""

from __future__ import annotations

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.scan import (
    next_end_cl100k,
    next_end_llama3,
    next_end_o200k,
    next_end_qwen2,
    next_end_tekken,
)
from numba_nlp.kernels.segment.scan_deepseek import next_end_deepseek_v3


@kernel
def fill_spans_cl100k(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append tokens from ``position`` on; as :func:`numba_nlp.kernels.segment.window_gpt2.fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_cl100k(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_o200k(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append tokens from ``position`` on; as :func:`numba_nlp.kernels.segment.window_gpt2.fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_o200k(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_llama3(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append tokens from ``position`` on; as :func:`numba_nlp.kernels.segment.window_gpt2.fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_llama3(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_qwen2(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append tokens from ``position`` on; as :func:`numba_nlp.kernels.segment.window_gpt2.fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_qwen2(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_tekken(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append tokens from ``position`` on; as :func:`numba_nlp.kernels.segment.window_gpt2.fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_tekken(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_deepseek_v3(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append tokens from ``position`` on; as :func:`numba_nlp.kernels.segment.window_gpt2.fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_deepseek_v3(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position
