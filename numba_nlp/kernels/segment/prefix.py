"""The space that ``add_prefix_space`` puts before each stretch of text (tokenizers' ``ByteLevel``).

Twin: ``numba_nlp.reference.segment.prefix``.
"""

from __future__ import annotations

from numba_nlp._jit import kernel

_SPACE = 0x20


@kernel
def prefix_spaces(data, starts, ends, fixed, out, out_starts, out_ends):
    """Copy stretches of text, each with a space before it unless it starts with one.

    Parameters
    ----------
    data : uint8[n]
    starts, ends : int64[m], int64[m]
        The stretches; those without bytes stay so.
    fixed : int32[m] or int32[0]
        Stretches with an id (>= 0) are not text and get the empty range 0, 0.
    out : uint8[k]
        Written; ``k`` is at least the bytes of the stretches plus ``m``.
    out_starts, out_ends : int64[m], int64[m]
        Written: the stretches in ``out``.

    Returns
    -------
    int64
        Bytes written.
    """
    n = 0
    for i in range(starts.size):
        if (fixed.size > 0 and fixed[i] >= 0) or starts[i] >= ends[i]:
            out_starts[i] = 0
            out_ends[i] = 0
            continue
        out_starts[i] = n
        if data[starts[i]] != _SPACE:
            out[n] = _SPACE
            n += 1
        for k in range(starts[i], ends[i]):
            out[n] = data[k]
            n += 1
        out_ends[i] = n
    return n
