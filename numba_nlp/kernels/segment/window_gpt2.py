r"""GPT-2 pre-tokenisation, 64 bytes at a time.

A window of 64 bytes that begins at a token start becomes one bit mask a character class; token starts follow by bit
algebra. Characters beyond ASCII are looked up one by one and enter the same masks with all their bytes. Where a start
depends on bytes past the window, or on white space beyond ASCII, the exact scalar scanner takes over for one token.

With L, N, O (other), A (apostrophe), S (space) and W (white space) as masks, ``X << 1`` reads "the byte before is X":

* a letter, digit or other character starts a token where its class changes, unless a space stands before it (the
  space belongs to the token);
* a white-space run starts a token at its first character and, when something follows, at its last one
  (``\s+(?!\S)|\s+``, and `` ?`` of the other alternatives);
* an apostrophe that starts a token and is followed by s, t, m, d, re, ve or ll is a token with them, so that the class
  change behind it does not count and a token starts right after.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.characters import BLANK, LETTERS, NUMBER, character
from numba_nlp.kernels.segment.scan import next_end_gpt2
from numba_nlp.kernels.words import (
    ALL_ONES,
    VECTOR,
    is_readable,
    leading_zeros,
    poke,
    popcount,
    shift_left,
    trailing_zeros,
    window_masks,
)

ZERO = np.uint64(0)
ONE = np.uint64(1)

if VECTOR:
    _masks = window_masks(
        [(0x41, 0x5A), (0x61, 0x7A)],  # letters
        [(0x30, 0x39)],  # digits
        [(0x20, 0x20)],  # space
        [(0x09, 0x0D), (0x20, 0x20)],  # white space
        [(0x27, 0x27)],  # apostrophe
        [(0xC0, 0xFF)],  # first byte of a character beyond ASCII
        [(0x73, 0x74), (0x6D, 0x6D), (0x64, 0x64)],  # s t m d
        [(0x72, 0x72), (0x76, 0x76)],  # r v
        [(0x65, 0x65)],  # e
        [(0x6C, 0x6C)],  # l
    )

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
            room = stop - position
            if not is_readable(data, position, 64):
                end = next_end_gpt2(class_index, class_blocks, data, position, stop)
                starts[n] = position
                ends[n] = end
                n += 1
                position = end
                continue
            letter, digit, space, white, quote, lead, stmd, rv, e, l = _masks(data, position)
            trusted = np.int64(60)
            valid = ALL_ONES
            if room <= 64:
                trusted = np.int64(64)
                if room < 64:
                    valid = shift_left(ONE, room) - ONE
                    letter &= valid
                    digit &= valid
                    space &= valid
                    white &= valid
                    quote &= valid
                    lead &= valid
            while lead != ZERO:
                i = trailing_zeros(lead)
                lead &= lead - ONE
                cls, end = character(class_index, class_blocks, data, position + i)
                bits = shift_left(shift_left(ONE, end - position - i) - ONE, i)
                if (LETTERS >> cls) & 1:
                    letter |= bits
                elif cls == NUMBER:
                    digit |= bits
                elif cls >= BLANK:
                    trusted = i - 2
                    break
            other = valid & ~(letter | digit | white)
            visible = ~white & valid
            heads = (letter & ~(letter << ONE)) | (digit & ~(digit << ONE)) | (other & ~(other << ONE))
            token = (heads & ~(space << ONE)) | (white & (~(white << ONE) | (visible >> ONE)))
            quote &= token
            if quote != ZERO:
                two = quote & (stmd >> ONE)
                three = quote & (((rv & (e >> ONE)) | (l & (l >> ONE))) >> ONE)
                token &= ~((two | three) << ONE)
                token |= ((two << np.uint64(2)) | (three << np.uint64(3))) & valid
            token &= ~ONE
            if trusted < 64:
                if trusted < 1:
                    token = ZERO
                else:
                    token &= shift_left(ONE, trusted) - ONE
                if token == ZERO:
                    end = next_end_gpt2(class_index, class_blocks, data, position, stop)
                    starts[n] = position
                    ends[n] = end
                    n += 1
                    position = end
                    continue
            count = popcount(token)
            starts[n] = position
            at = n
            rest = token
            while True:
                for k in range(8):
                    bound = position + trailing_zeros(rest)
                    poke(ends, at + k, bound)
                    poke(starts, at + k + 1, bound)
                    rest &= rest - ONE
                if rest == ZERO:
                    break
                at += 8
            n += count
            if trusted < 64:
                position += 63 - leading_zeros(token)
            else:
                ends[n] = stop
                n += 1
                position = stop
        return n, position

else:

    @kernel
    def fill_spans_gpt2(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
        """Append the tokens from ``position`` on: the plain form of the window scanner."""
        while position < stop and n < limit:
            end = next_end_gpt2(class_index, class_blocks, data, position, stop)
            starts[n] = position
            ends[n] = end
            n += 1
            position = end
        return n, position
