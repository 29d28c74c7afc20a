"""Pre-tokenisation of many tokens, one call of the scalar scanner a token.

Every function has the signature ``(class_index, class_blocks, data, position, stop, starts, ends, n, limit) ->
(n, position)``, as the window scanners have, for which these are the plain forms. A function each, not one that takes
the scanner: a scanner as an argument would be compiled anew in every caller.

Twin: ``numba_nlp.reference.segment.fill_scalar``.
"""

from __future__ import annotations

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.scan import (
    next_end_cl100k,
    next_end_gpt2,
    next_end_llama3,
    next_end_o200k,
    next_end_qwen2,
    next_end_tekken,
)
from numba_nlp.kernels.segment.scan_deepseek import next_end_deepseek_v3


@kernel
def fill_spans_gpt2(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append the GPT-2 tokens from ``position`` on until the text ends or ``limit`` spans are reached.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[m]
    position, stop : int64
        Start of a token, end of the text.
    starts, ends : int64[limit]
        Written from ``n`` on.
    n, limit : int64
        Spans there are, and where to stop.

    Returns
    -------
    n, position : int64, int64
        Spans there are now, and the start of the first token that was not taken (``stop`` at the end).
    """
    while position < stop and n < limit:
        end = next_end_gpt2(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_cl100k(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append the cl100k tokens from ``position`` on; arguments as for :func:`fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_cl100k(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_o200k(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append the o200k tokens from ``position`` on; arguments as for :func:`fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_o200k(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_llama3(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append the Llama-3 tokens from ``position`` on; arguments as for :func:`fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_llama3(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_qwen2(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append the Qwen2 tokens from ``position`` on; arguments as for :func:`fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_qwen2(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_tekken(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append the Mistral tekken tokens from ``position`` on; arguments as for :func:`fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_tekken(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position


@kernel
def fill_spans_deepseek_v3(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append the DeepSeek-V3 tokens from ``position`` on; arguments as for :func:`fill_spans_gpt2`."""
    while position < stop and n < limit:
        end = next_end_deepseek_v3(class_index, class_blocks, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position
