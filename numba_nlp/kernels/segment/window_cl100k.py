r"""Pre-tokenisation of cl100k's family (cl100k, Llama-3, Qwen2), 64 bytes at a time.

A window of 64 bytes that begins at a token start becomes one bit mask a character class; token starts follow by bit
algebra. Characters beyond ASCII are looked up one by one and enter the same masks with all their bytes. Where a start
depends on bytes past the window the exact scalar scanner takes over for one token.

With L, N, O (other), B (white space other than CR and LF), R (CR and LF) and S (space) as masks, ``X << 1`` reads "the
byte before is X":

* a run of O starts a token unless a space stands before it, and takes the R that follow; what stands after those
  starts a token;
* a run of L starts a token unless a character that can lead it stands before: a B, which always starts a token there,
  or an O which starts a token, that is the first of its run without a space before it;
* a run of N starts a token, and so does every third (every, for Qwen2) character of it;
* a run of white space starts a token at its first character (after the R that an O took), after its last R, and at its
  last B when something follows. For cl100k one that ends the text is not cut after its last R;
* an apostrophe that starts a token and is followed by s, t, m, d, re, ve or ll in any case is a token with them, so a
  token starts right after.

Twin: ``numba_nlp.reference.segment.fill_scalar``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.scan import next_end_cl100k, next_end_llama3, next_end_qwen2
from numba_nlp.kernels.segment.window_spans import (
    ONE,
    THREE,
    TRUSTED,
    TWO,
    ZERO,
    append_spans,
    fill_runs,
    lowest_cleared,
    number_starts,
    white_starts,
)
from numba_nlp.kernels.segment.window_wide import wide_letters
from numba_nlp.kernels.words import (
    ALL_ONES,
    VECTOR,
    add,
    is_readable,
    shift_left,
    trailing_zeros,
)

__all__ = ["fill_spans_cl100k", "fill_spans_llama3", "fill_spans_qwen2"]

if VECTOR:
    from numba_nlp.kernels.words import window_masks

    _masks = window_masks(
        [(0x41, 0x5A), (0x61, 0x7A)],  # letters
        [(0x30, 0x39)],  # digits
        [(0x20, 0x20)],  # space
        [(0x09, 0x09), (0x0B, 0x0C), (0x20, 0x20)],  # white space other than CR and LF
        [(0x0A, 0x0A), (0x0D, 0x0D)],  # CR and LF
        [(0x27, 0x27)],  # apostrophe
        [(0x80, 0xBF)],  # further bytes of a character beyond ASCII
        [(0xC0, 0xFF)],  # first byte of one
        [(0x73, 0x74), (0x6D, 0x6D), (0x64, 0x64), (0x53, 0x54), (0x4D, 0x4D), (0x44, 0x44)],  # s t m d
        [(0x72, 0x72), (0x76, 0x76), (0x52, 0x52), (0x56, 0x56)],  # r v
        [(0x65, 0x65), (0x45, 0x45)],  # e
        [(0x6C, 0x6C), (0x4C, 0x4C)],  # l
    )

    @inlined
    def _token_starts(class_index, class_blocks, data, position, stop, digits, one_end):
        """Token starts in the window at a token start, as far as the window decides them.

        Parameters
        ----------
        class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        data : uint8[m]
            64 bytes from ``position`` on must be readable.
        position, stop : int64
            Start of a token, end of the text.
        digits : int64
            3 or 1: most characters of a token of numbers.
        one_end : bool
            Whether white space at the end of the text is one token, whatever line ends are in it.

        Returns
        -------
        token, whole : uint64, bool
            Bit ``i`` says that a token starts at ``position + i``, bit 0 left out; whether the text ends in the window
            and all of it is decided.
        """
        letter, digit, space, blank, newline, quote, further, leads, stmd, rv, letter_e, letter_l = _masks(
            data, position
        )
        room = stop - position
        trusted = np.int64(TRUSTED)
        valid = ALL_ONES
        end_bit = ZERO
        if room < 64:
            trusted = np.int64(64)
            end_bit = shift_left(ONE, room)
            valid = end_bit - ONE
            letter &= valid
            digit &= valid
            blank &= valid
            newline &= valid
            quote &= valid
            leads &= valid
            further &= valid
        if leads != ZERO:
            wide = wide_letters(class_index, class_blocks, data, position, leads, further)
            letter |= wide[0]
            digit |= wide[1]
            blank |= wide[2]
            if digits > 1 and wide[1] != ZERO:
                # the starts of the run count characters, not bytes
                trusted = min(trusted, trailing_zeros(wide[1]))
        white = blank | newline
        other = valid & ~(letter | digit | white)

        other_heads = other & ~((other | space) << ONE)
        # right after the first character of each run of O that starts a token
        tail = further & other
        after_lead = add(other_heads << ONE, tail) & ~tail
        token = other_heads | (letter & ~((letter | blank) << ONE) & ~after_lead)

        quote &= token
        if quote != ZERO:
            two = quote & (stmd >> ONE)
            three = quote & (((rv & (letter_e >> ONE)) | (letter_l & (letter_l >> ONE))) >> ONE)
            beyond = quote & (leads >> ONE)
            while beyond != ZERO:
                i = trailing_zeros(beyond)
                beyond = lowest_cleared(beyond)
                if data[position + i + 1] == 0xC5 and data[position + i + 2] == 0xBF:  # U+017F, a long s
                    three |= shift_left(ONE, i)
            token |= ((two << TWO) | (three << THREE)) & valid

        token |= number_starts(digit, further, digits)
        taken = fill_runs(newline & (other << ONE), newline)
        white, limit = white_starts(blank, newline, taken, valid & ~white, leads, further, end_bit if one_end else ZERO)
        token |= white
        trusted = min(trusted, limit)

        token &= ~ONE
        if trusted < 64:
            token &= shift_left(ONE, trusted) - ONE
        return token, trusted == 64

    @kernel
    def fill_spans_cl100k(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
        """Append the cl100k tokens from ``position`` on until the text ends or ``limit`` spans are reached.

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
                token, whole = _token_starts(class_index, class_blocks, data, position, stop, 3, True)
                if token != ZERO or whole:
                    n, position = append_spans(token, whole, position, stop, starts, ends, n)
                    continue
            end = next_end_cl100k(class_index, class_blocks, data, position, stop)
            starts[n] = position
            ends[n] = end
            n += 1
            position = end
        return n, position

    @kernel
    def fill_spans_llama3(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
        """Append the Llama-3 tokens from ``position`` on; arguments as for :func:`fill_spans_cl100k`."""
        while position < stop and n < limit:
            if is_readable(data, position, 64):
                token, whole = _token_starts(class_index, class_blocks, data, position, stop, 3, False)
                if token != ZERO or whole:
                    n, position = append_spans(token, whole, position, stop, starts, ends, n)
                    continue
            end = next_end_llama3(class_index, class_blocks, data, position, stop)
            starts[n] = position
            ends[n] = end
            n += 1
            position = end
        return n, position

    @kernel
    def fill_spans_qwen2(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
        """Append the Qwen2 tokens from ``position`` on; arguments as for :func:`fill_spans_cl100k`."""
        while position < stop and n < limit:
            if is_readable(data, position, 64):
                token, whole = _token_starts(class_index, class_blocks, data, position, stop, 1, False)
                if token != ZERO or whole:
                    n, position = append_spans(token, whole, position, stop, starts, ends, n)
                    continue
            end = next_end_qwen2(class_index, class_blocks, data, position, stop)
            starts[n] = position
            ends[n] = end
            n += 1
            position = end
        return n, position

else:
    from numba_nlp.kernels.segment.fill_scalar import fill_spans_cl100k, fill_spans_llama3, fill_spans_qwen2
