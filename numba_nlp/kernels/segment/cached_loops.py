"""The innermost loops of rows through the word cache: keys of chunks, and ids of those that are found at home.

They are functions of their own, of numbers alone (:func:`numba_nlp._jit.apart`): inlined between tens of arrays they
had no registers left. Where the arrays of the chunks lie is known from the first of them (:func:`new_spans`). Measured
with one word over and over, ns a chunk: keys 2.2 -> 1.2, ids 2.4 -> 1.6.

Twin: ``numba_nlp.reference.segment.bpe``: what rows are to give, each chunk solved by itself, without a cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.key_lanes import KEY_LANES, make_eight_keys
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER, hash_bytes
from numba_nlp.kernels.tables.word_cache import (
    BITS,
    FIRST_SHORT,
    KEY_BITS,
    LONG_FLAG,
    LONG_LIMIT,
    SHORT_LIMIT,
    copy_ids,
    copy_long,
    home_of,
)
from numba_nlp.kernels.words import VECTOR, load_word, peek, poke, unlikely

if VECTOR:
    from numba_nlp._jit import apart
    from numba_nlp.kernels.words import (
        PAGE,
        address_of,
        load_at,
        multiply,
        prefetch_at,
        shift_right,
        store_at,
        trailing_zeros,
    )

__all__ = ["BLOCK", "SLACK", "SPANS", "emit_hits", "key_by_parts", "make_keys", "new_spans"]

ZERO = np.uint64(0)
#: Chunks that are worked through together.
BLOCK = 128
#: Chunks a scanner may write beyond ``BLOCK``.
SLACK = 80
#: Elements of each array that describes the chunks of a block.
SPANS = BLOCK + SLACK
#: Place in the masks of a word that equals none of a key.
LONGEST = 4 * (SHORT_LIMIT + 1) + 1


def new_spans() -> dict[str, NDArray[Any]]:
    """The first arrays of a family's ``Scratch``, by name: slices of one piece of memory, ``SPANS`` elements each.

    The innermost loops know the address of the first and where the others lie from there (:func:`make_keys`).
    """
    names = {"starts": np.int64, "ends": np.int64, "low": np.uint64, "high": np.uint64}
    names |= {"homes": np.int64, "emitted": np.int64}
    memory = np.zeros((len(names), SPANS), np.int64)
    return {name: row.view(dtype) for row, (name, dtype) in zip(memory, names.items(), strict=True)}


@kernel
def key_by_parts(data, start, length, masks):
    """Key of one span that is long, or that may not be read 16 bytes at a time.

    Parameters
    ----------
    data : uint8[m]
    start, length : int64
        The span.
    masks : uint64[68]
        Made by :func:`numba_nlp.kernels.segment.bpe_memory.key_masks`.

    Returns
    -------
    low, high : uint64, uint64
        Those of a span that is too long for the cache equal no key.
    """
    if length > LONG_LIMIT:
        return masks[LONGEST], masks[LONGEST]
    if length > SHORT_LIMIT:
        return hash_bytes(data, start, start + length), LONG_FLAG | np.uint64(length)
    low = load_word(data, start, min(length, 8))
    return low, masks[4 * length + 3] | load_word(data, start + 8, max(length - 8, 0))


if VECTOR:
    _ENDS, _LOW, _HIGH, _HOMES, _EMITTED = (8 * SPANS * place for place in range(1, 6))

    if KEY_LANES:
        _eight_keys = make_eight_keys(_ENDS, _LOW, _HIGH, _HOMES, int(MERGE_MULTIPLIER), SHORT_LIMIT)

    @apart
    def _short_keys(spans, data, masks, entries, n, shift):
        """Keys of spans; numbers of those that are left go where places will be, and their number is given."""
        last = spans + 8 * n
        left = spans + _EMITTED
        if KEY_LANES:
            for at in range(spans, last, 8):
                start = data + np.int64(load_at(at))
                if unlikely((start & (PAGE - 1)) > PAGE - 16):
                    # a long one is found below
                    if data + np.int64(load_at(at + _ENDS)) - start <= SHORT_LIMIT:
                        store_at(left, np.uint64((at - spans) >> 3))
                        left += 8
                else:
                    store_at(at + _LOW, load_at(start))
                    store_at(at + _HIGH, load_at(start + 8))
            for at in range(spans, last, 64):
                long = _eight_keys(at, entries, shift)
                if unlikely(long != ZERO):
                    span = (at - spans) >> 3
                    while long != ZERO:
                        number = span + trailing_zeros(long)
                        if number < n:
                            store_at(left, np.uint64(number))
                            left += 8
                        long &= long - np.uint64(1)
        else:
            for at in range(spans, last, 8):
                start = np.int64(load_at(at))
                length = np.int64(load_at(at + _ENDS)) - start
                start += data
                if unlikely(length > SHORT_LIMIT) or unlikely((start & (PAGE - 1)) > PAGE - 16):
                    store_at(left, np.uint64((at - spans) >> 3))
                    left += 8
                    continue
                row = masks + (length << 5)
                low = load_at(start) & load_at(row)
                high = (load_at(start + 8) & load_at(row + 16)) | load_at(row + 24)
                home = np.int64(shift_right(multiply(low ^ high, MERGE_MULTIPLIER), shift))
                prefetch_at(entries + (home << 5))
                store_at(at + _LOW, low)
                store_at(at + _HIGH, high)
                store_at(at + _HOMES, np.uint64(home))
        return (left - spans - _EMITTED) >> 3

    @inlined
    def make_keys(cache, data, n, scratch):
        """Key and home entry of ``n`` spans, with a prefetch of the entry.

        Parameters
        ----------
        cache : WordCache
        data : uint8[m]
        n : int64
            Spans in ``scratch.starts`` and ``scratch.ends``.
        scratch : Scratch
            ``low``, ``high``, ``homes`` are written.
        """
        masks, entries = scratch.masks, cache.entries
        shift = 64 - cache.fill[BITS]
        n_left = _short_keys(
            address_of(scratch.starts, 0), address_of(data, 0), address_of(masks, 0), address_of(entries, 0), n, shift
        )
        for k in range(n_left):
            span = peek(scratch.emitted, k)
            start = peek(scratch.starts, span)
            low, high = key_by_parts(data, start, peek(scratch.ends, span) - start, masks)
            home = home_of(low, high, shift)
            prefetch_at(address_of(entries, 4 * home))
            poke(scratch.low, span, low)
            poke(scratch.high, span, high)
            poke(scratch.homes, span, home)

    _FIVE_IDS = np.uint64(5 << 60)
    _NINE_IDS = np.uint64(9 << 60)

    @apart
    def _short_hits(spans, entries, arena_ids, ids, first, n, out):
        """Ids of short chunks as long as each is at home, as :func:`copy_ids` writes them."""
        last = spans + 8 * n
        at = spans + 8 * first
        while at < last:
            store_at(at + _EMITTED, np.uint64(out))
            entry = entries + (np.int64(load_at(at + _HOMES)) << 5)
            high = load_at(at + _HIGH)
            word = load_at(entry + 8)
            differs = (load_at(entry) ^ load_at(at + _LOW)) | ((word ^ high) & KEY_BITS)
            if unlikely(differs != ZERO) or unlikely(high < FIRST_SHORT):
                break
            target = ids + 4 * out
            third = load_at(entry + 16)
            if word < _FIVE_IDS:
                store_at(target, third)
                store_at(target + 8, load_at(entry + 24))
            else:
                source = arena_ids + 4 * np.int64(third)
                for k in range(0, 32, 8):
                    store_at(target + k, load_at(source + k))
                if unlikely(word >= _NINE_IDS):
                    for k in range(32, 64, 8):
                        store_at(target + k, load_at(source + k))
            out += np.int64(shift_right(word, 60))
            at += 8
        return (at - spans) >> 3, out

    @inlined
    def emit_hits(cache, data, first_span, n, scratch, ids, out):
        """Ids of spans as long as each is found at its home.

        Parameters
        ----------
        cache : WordCache
        data : uint8[m]
        first_span, n : int64
            Spans ``first_span`` to ``n`` of the scratch, with their keys.
        scratch : Scratch
            ``scratch.emitted[i]`` becomes the place of the first id of span ``i``.
        ids : int32[k]
            Written from ``out`` on; has ``SPARE_IDS`` elements more than can be needed.
        out : int64

        Returns
        -------
        span, out : int64, int64
            The first span that is not at home (``n`` when all are), and the place after the last id.
        """
        span = first_span
        while True:
            span, out = _short_hits(
                address_of(scratch.starts, 0), address_of(cache.entries, 0), address_of(cache.arena_ids, 0),
                address_of(ids, 0), span, n, out,
            )  # fmt: skip
            if span >= n:
                return span, out
            high = peek(scratch.high, span)
            if high >= FIRST_SHORT:
                return span, out
            home = peek(scratch.homes, span)
            entries = cache.entries
            if peek(entries, 4 * home) != peek(scratch.low, span) or peek(entries, 4 * home + 1) & KEY_BITS != high:
                return span, out
            start = peek(scratch.starts, span)
            count = copy_long(cache, home, data, start, peek(scratch.ends, span) - start, ids, out)
            if count < 0:
                return span, out
            out += count
            span += 1

else:

    @inlined
    def make_keys(cache, data, n, scratch):
        """Key and home entry of spans: the plain form of ``cache, data, n, scratch``."""
        starts, ends, masks = scratch.starts, scratch.ends, scratch.masks
        shift = 64 - cache.fill[BITS]
        for i in range(n):
            low, high = key_by_parts(data, starts[i], ends[i] - starts[i], masks)
            scratch.low[i] = low
            scratch.high[i] = high
            scratch.homes[i] = home_of(low, high, shift)

    @inlined
    def emit_hits(cache, data, first_span, n, scratch, ids, out):
        """Ids of spans that are at home: the plain form of ``cache, data, first_span, n, scratch, ids, out``."""
        entries = cache.entries
        lows, highs, homes, emitted = scratch.low, scratch.high, scratch.homes, scratch.emitted
        for i in range(first_span, n):
            poke(emitted, i, out)
            home = peek(homes, i)
            high = peek(highs, i)
            differs = (peek(entries, 4 * home) ^ peek(lows, i)) | ((peek(entries, 4 * home + 1) ^ high) & KEY_BITS)
            if unlikely(differs != ZERO):
                return i, out
            if unlikely(high < FIRST_SHORT):
                start = peek(scratch.starts, i)
                count = copy_long(cache, home, data, start, peek(scratch.ends, i) - start, ids, out)
                if count < 0:
                    return i, out
            else:
                count = copy_ids(cache, home, ids, out)
            out += count
        return n, out
