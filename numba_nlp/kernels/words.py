"""64-bit words: loads from byte arrays, wrapping arithmetic, bit counts, prefetch, vector masks.

Everything that needs an LLVM intrinsic lives here, each beside a plain form with the same result that serves when the
JIT is disabled (``NUMBA_DISABLE_JIT=1``): there Python integers do not wrap and numpy scalars warn when they do.
"""

from __future__ import annotations

import numpy as np
from numba.core import config

from numba_nlp._jit import kernel

__all__ = ["load_word", "multiply", "shift_right"]

_ALL = 0xFFFFFFFFFFFFFFFF

if config.DISABLE_JIT:

    def multiply(a, b):
        """Product of two uint64 modulo 2^64."""
        return np.uint64((int(a) * int(b)) & _ALL)

    def shift_right(a, n):
        """``a >> n`` of a uint64 for ``0 <= n <= 63``."""
        return np.uint64(int(a) >> int(n))

    def load_word(data, position, n):
        """Little-endian word of ``data[position:position + n]``, ``0 <= n <= 8``, zero-padded."""
        return np.uint64(int.from_bytes(bytes(data[position : position + n]), "little"))

else:

    @kernel
    def multiply(a, b):
        """Product of two uint64 modulo 2^64."""
        return np.uint64(a) * np.uint64(b)

    @kernel
    def shift_right(a, n):
        """``a >> n`` of a uint64 for ``0 <= n <= 63``."""
        return np.uint64(a) >> np.uint64(n)

    @kernel
    def load_word(data, position, n):
        """Little-endian word of ``data[position:position + n]``, ``0 <= n <= 8``, zero-padded."""
        word = np.uint64(0)
        for i in range(n):
            word |= np.uint64(data[position + i]) << np.uint64(8 * i)
        return word
