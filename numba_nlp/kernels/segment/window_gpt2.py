r"""GPT-2 pre-tokenisation, 64 bytes at a time.

A window of 64 bytes that begins at a token start becomes one bit mask a character class; token starts follow by bit
algebra. Characters beyond ASCII are looked up one by one and enter the same masks with all their bytes. Where a start
depends on bytes past the window, the exact scalar scanner takes over for one token.

With L, N, O (other), A (apostrophe), S (space) and W (white space) as masks, ``X << 1`` reads "the byte before is X":

* a letter, digit or other character starts a token where its class changes, unless a space stands before it (the
  space belongs to the token);
* a white-space run starts a token at its first character and, when something follows, at its last one
  (``\s+(?!\S)|\s+``, and `` ?`` of the other alternatives);
* an apostrophe that starts a token and is followed by s, t, m, d, re, ve or ll is a token with them, so that the class
  change behind it does not count and a token starts right after.

Twin: ``numba_nlp.reference.segment.fill_scalar``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.scan import next_end_gpt2
from numba_nlp.kernels.segment.window_spans import ONE, THREE, TRUSTED, TWO, ZERO, append_spans
from numba_nlp.kernels.segment.window_wide import wide_letters
from numba_nlp.kernels.words import (
    ALL_ONES,
    VECTOR,
    is_readable,
    shift_left,
)

__all__ = ["fill_spans_gpt2"]

if VECTOR:
    from numba_nlp.kernels.words import window_masks

    _masks = window_masks(
        [(0x41, 0x5A), (0x61, 0x7A)],  # letters
        [(0x30, 0x39)],  # digits
        [(0x20, 0x20)],  # space
        [(0x09, 0x0D), (0x20, 0x20)],  # white space
        [(0x27, 0x27)],  # apostrophe
        [(0x80, 0xBF)],  # further bytes of a character beyond ASCII
        [(0xC0, 0xFF)],  # first byte of one
        [(0x73, 0x74), (0x6D, 0x6D), (0x64, 0x64)],  # s t m d
        [(0x72, 0x72), (0x76, 0x76)],  # r v
        [(0x65, 0x65)],  # e
        [(0x6C, 0x6C)],  # l
    )

    @inlined
    def _token_starts(class_index, class_blocks, data, position, stop):
        """Token starts in the window at a token start, as far as the window decides them.

        Parameters
        ----------
        class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        data : uint8[m]
            64 bytes from ``position`` on must be readable.
        position, stop : int64
            Start of a token, end of the text.

        Returns
        -------
        token, whole : uint64, bool
            Bit ``i`` says that a token starts at ``position + i``, bit 0 left out; whether the text ends in the window
            and all of it is decided.
        """
        letter, digit, space, white, quote, further, leads, stmd, rv, letter_e, letter_l = _masks(data, position)
        room = stop - position
        trusted = np.int64(TRUSTED)
        valid = ALL_ONES
        if room < 64:
            trusted = np.int64(64)
            valid = shift_left(ONE, room) - ONE
            letter &= valid
            digit &= valid
            white &= valid
            leads &= valid
            further &= valid
        if leads != ZERO:
            wide = wide_letters(class_index, class_blocks, data, position, leads, further)
            letter |= wide[0]
            digit |= wide[1]
            white |= wide[2]
        visible = valid & ~white
        other = visible & ~(letter | digit)
        heads = (letter & ~(letter << ONE)) | (digit & ~(digit << ONE)) | (other & ~(other << ONE))
        token = heads & ~(space << ONE)

        quote &= token
        if quote != ZERO:
            two = quote & (stmd >> ONE)
            three = quote & (((rv & (letter_e >> ONE)) | (letter_l & (letter_l >> ONE))) >> ONE) & (valid >> TWO)
            token &= ~((two | three) << ONE)
            token |= ((two << TWO) | (three << THREE)) & valid

        # the last character of a run of white space; bits of further bytes move to the first
        last = white & (visible >> ONE)
        moved = last & further
        token |= (white & ~(white << ONE)) | (last & ~further) | (((moved >> ONE) | (moved >> TWO)) & leads)
        token &= ~ONE
        if trusted < 64:
            token &= shift_left(ONE, trusted) - ONE
        return token, trusted == 64

    @kernel
    def fill_spans_gpt2(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
        """Append the tokens from ``position`` on until the text ends or ``limit`` spans are reached.

        Parameters
        ----------
        class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        data : uint8[m]
        position, stop : int64
            Start of a token, end of the text.
        starts, ends : int64[limit + 80]
            Written from ``n`` on.
        n, limit : int64
            Spans there are, and where to stop taking more.

        Returns
        -------
        n, position : int64, int64
            Spans there are now, and the start of the first token that was not taken (``stop`` at the end).
        """
        while position < stop and n < limit:
            if is_readable(data, position, 64):
                token, whole = _token_starts(class_index, class_blocks, data, position, stop)
                if token != ZERO or whole:
                    n, position = append_spans(token, whole, position, stop, starts, ends, n)
                    continue
            end = next_end_gpt2(class_index, class_blocks, data, position, stop)
            starts[n] = position
            ends[n] = end
            n += 1
            position = end
        return n, position

else:
    from numba_nlp.kernels.segment.fill_scalar import fill_spans_gpt2
