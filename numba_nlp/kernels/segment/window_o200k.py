r"""Pre-tokenisation of o200k's family (o200k, Mistral tekken), 64 bytes at a time.

As :mod:`numba_nlp.kernels.segment.window_cl100k`, but for the words. With U, V and S as masks of upper case, lower case
and what counts as both (letters without case, and marks that stand behind a letter or a mark):

* a run of these starts a token as a run of letters of cl100k does, and again at each U behind a V: the pattern is
  ``[US]*[VS]+|[US]+[VS]*``. What happens at a U behind an S depends on what follows and is left to the scalar scanner,
  and so is a mark that stands behind anything else;
* an apostrophe behind a word belongs to it when s, t, m, d, re, ve or ll follows in any case, and a token starts right
  after these; one that starts a token leads a word as any other character does;
* the line ends that a run of other characters takes may hold slashes, ``[\r\n/]*``.

Twin: ``numba_nlp.reference.segment.fill_scalar``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.scan import next_end_o200k, next_end_tekken
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
from numba_nlp.kernels.segment.window_wide import wide_cases
from numba_nlp.kernels.words import ALL_ONES, VECTOR, add, is_readable, shift_left, trailing_zeros

__all__ = ["fill_spans_o200k", "fill_spans_tekken"]

if VECTOR:
    from numba_nlp.kernels.words import window_masks

    _masks = window_masks(
        [(0x41, 0x5A)],  # upper case
        [(0x61, 0x7A)],  # lower case
        [(0x30, 0x39)],  # digits
        [(0x20, 0x20)],  # space
        [(0x09, 0x09), (0x0B, 0x0C), (0x20, 0x20)],  # white space other than CR and LF
        [(0x0A, 0x0A), (0x0D, 0x0D)],  # CR and LF
        [(0x2F, 0x2F)],  # slash
        [(0x27, 0x27)],  # apostrophe
        [(0x80, 0xBF)],  # further bytes of a character beyond ASCII
        [(0xC0, 0xFF)],  # first byte of one
        [(0x73, 0x74), (0x6D, 0x6D), (0x64, 0x64), (0x53, 0x54), (0x4D, 0x4D), (0x44, 0x44)],  # s t m d
        [(0x72, 0x72), (0x76, 0x76), (0x52, 0x52), (0x56, 0x56)],  # r v
        [(0x65, 0x65), (0x45, 0x45)],  # e
        [(0x6C, 0x6C), (0x4C, 0x4C)],  # l
    )

    @inlined
    def _token_starts(class_index, class_blocks, data, position, stop, digits, contractions):
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
        contractions : bool
            Whether words take contractions.

        Returns
        -------
        token, whole : uint64, bool
            Bit ``i`` says that a token starts at ``position + i``, bit 0 left out; whether the text ends in the window
            and all of it is decided.
        """
        upper, lower, digit, space, blank, newline, slash, quote, further, leads, stmd, rv, letter_e, letter_l = _masks(
            data, position
        )
        room = stop - position
        # an apostrophe at bit 62 does not show whether it belongs to the word before it
        trusted = np.int64(TRUSTED - 1 if contractions else TRUSTED)
        valid = ALL_ONES
        if room < 64:
            trusted = np.int64(64)
            valid = shift_left(ONE, room) - ONE
            upper &= valid
            lower &= valid
            digit &= valid
            blank &= valid
            newline &= valid
            slash &= valid
            leads &= valid
            further &= valid
        both = ZERO
        if leads != ZERO:
            wide = wide_cases(class_index, class_blocks, data, position, leads, further)
            upper |= wide[0]
            lower |= wide[1]
            both = wide[2]
            mark = wide[3]
            number = wide[4]
            digit |= number
            blank |= wide[5]
            unsure = (mark & ~((upper | lower | both) << ONE)) | (upper & (both << ONE))
            if digits > 1:
                unsure |= number  # the starts of the run count characters, not bytes
            trusted = min(trusted, trailing_zeros(unsure))
        word = upper | lower | both
        white = blank | newline
        visible = valid & ~white
        other = visible & ~(word | digit)
        taken = fill_runs(newline & (other << ONE), newline | slash)
        other &= ~taken
        other_heads = other & ~((other | space) << ONE)
        # right after the first character of each run of O that starts a token
        tail = further & other
        after_lead = add(other_heads << ONE, tail) & ~tail
        token = other_heads | (word & ~((word | blank) << ONE) & ~after_lead) | (upper & (lower << ONE))

        if contractions:
            quote &= word << ONE
            if quote != ZERO:
                two = quote & (stmd >> ONE) & (valid >> ONE)
                three = quote & (((rv & (letter_e >> ONE)) | (letter_l & (letter_l >> ONE))) >> ONE) & (valid >> TWO)
                beyond = quote & (leads >> ONE)
                while beyond != ZERO:
                    i = trailing_zeros(beyond)
                    beyond = lowest_cleared(beyond)
                    if data[position + i + 1] == 0xC5 and data[position + i + 2] == 0xBF:  # U+017F, a long s
                        three |= shift_left(ONE, i)
                behind = (two << TWO) | (three << THREE)
                token = (token & ~(two | three | three << TWO)) | (behind & valid)
                # a word takes one contraction only
                second = behind & (two | three)
                if second != ZERO:
                    trusted = min(trusted, trailing_zeros(second) + 1)

        token |= number_starts(digit, further, digits)
        white, limit = white_starts(blank, newline, taken, visible, leads, further, ZERO)
        token |= white
        trusted = min(trusted, limit)

        token &= ~ONE
        if trusted < 64:
            token &= shift_left(ONE, trusted) - ONE
        return token, trusted == 64

    @kernel
    def fill_spans_o200k(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
        """Append the o200k tokens from ``position`` on until the text ends or ``limit`` spans are reached.

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
            end = next_end_o200k(class_index, class_blocks, data, position, stop)
            starts[n] = position
            ends[n] = end
            n += 1
            position = end
        return n, position

    @kernel
    def fill_spans_tekken(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
        """Append the Mistral tekken tokens from ``position`` on; arguments as for :func:`fill_spans_o200k`."""
        while position < stop and n < limit:
            if is_readable(data, position, 64):
                token, whole = _token_starts(class_index, class_blocks, data, position, stop, 1, False)
                if token != ZERO or whole:
                    n, position = append_spans(token, whole, position, stop, starts, ends, n)
                    continue
            end = next_end_tekken(class_index, class_blocks, data, position, stop)
            starts[n] = position
            ends[n] = end
            n += 1
            position = end
        return n, position

else:
    from numba_nlp.kernels.segment.fill_scalar import fill_spans_o200k, fill_spans_tekken
