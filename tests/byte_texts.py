"""Byte strings as arrays, and such that are almost UTF-8."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

# Bytes that are UTF-8 here and there: whole characters, pieces of them, and any bytes between.
_pieces = st.one_of(
    st.text(min_size=1, max_size=12).map(str.encode),
    st.binary(max_size=4),
    st.sampled_from([b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x8f\xbf\xbf"]),
    st.sampled_from([b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\xf0\x9f\x98"]),
    st.integers(0, 70).map(lambda n: b"a" * n),
)
nearly_utf8 = st.lists(_pieces, max_size=8).map(b"".join)


def bytes_array(data: bytes) -> NDArray[np.uint8]:
    """Bytes as a read-only array."""
    return np.frombuffer(data, np.uint8)
