"""Ids back to text by the decoders of tokenizers, as an array program over lists of tokens.

A program is ``int32[DECODE_STEP * n]``, five numbers a step. Tokens of a batch lie one behind the other; every step
writes them anew, and some make one token of several. What is left at the end, put together, is the text of a row.

====================  ================================  ============================================================
operation             arguments                         meaning
====================  ================================  ============================================================
``DECODE_REPLACE``    pattern, content, first, last     every match in a token by ``content``; by ``first`` in the
                                                        first token of a row, by ``last`` in its last one
``DECODE_JOIN``       prefix, joint                     in all tokens but the first: the prefix is taken off, or
                                                        ``joint`` put before; a negative prefix is none
``DECODE_STRIP``      content, start, stop              up to so often ``content`` is taken off the front, the end
``DECODE_BYTES``      -                                 runs of tokens like ``<0x0A>`` to the text of their bytes,
                                                        or to one U+FFFD a token
``DECODE_FUSE``       -                                 all tokens of a row become one
``DECODE_ALPHABET``   -                                 GPT-2's byte alphabet: all tokens of a row become its bytes
====================  ================================  ============================================================

Twin: ``numba_nlp.reference.segment.decode_tokens``, and what it is made of, ``numba_nlp.reference.segment.decoders``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length
from numba_nlp.kernels.segment.decode import KIND_CONTROL

__all__ = [
    "DECODE_ALPHABET",
    "DECODE_BYTES",
    "DECODE_FUSE",
    "DECODE_JOIN",
    "DECODE_OPERATIONS",
    "DECODE_REPLACE",
    "DECODE_STEP",
    "DECODE_STRIP",
    "alphabet_byte",
    "byte_of_token",
    "decode_step",
    "gather_tokens",
    "is_utf8",
]

DECODE_REPLACE = 0
DECODE_JOIN = 1
DECODE_STRIP = 2
DECODE_BYTES = 3
DECODE_FUSE = 4
DECODE_ALPHABET = 5
#: Number of operations.
DECODE_OPERATIONS = 6
#: Numbers of one step.
DECODE_STEP = 5


@kernel
def gather_tokens(piece_bytes, piece_offsets, piece_kinds, ids, offsets, skip_special, text, token_offsets, row_tokens):
    """Write the tokens of ids one behind the other.

    Parameters
    ----------
    piece_bytes, piece_offsets, piece_kinds : uint8[n], int64[V + 1], uint8[V]
    ids, offsets : int32[m], int64[rows + 1]
        Ids of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``, all known.
    skip_special : int64
        1 leaves out control tokens.
    text : uint8[k]
        Written; as long as :func:`numba_nlp.kernels.segment.decode.decoded_length` says.
    token_offsets : int64[m + 1]
        Written: token ``i`` is ``text[token_offsets[i]:token_offsets[i + 1]]``.
    row_tokens : int64[rows + 1]
        Written: where the tokens of each row begin.

    Returns
    -------
    int64
        Number of tokens.
    """
    n = np.int64(0)
    at = np.int64(0)
    token_offsets[0] = 0
    for row in range(offsets.size - 1):
        row_tokens[row] = n
        for i in range(offsets[row], offsets[row + 1]):
            piece = np.int64(ids[i])
            if skip_special != 0 and piece_kinds[piece] == KIND_CONTROL:
                continue
            for k in range(piece_offsets[piece], piece_offsets[piece + 1]):
                text[at] = piece_bytes[k]
                at += 1
            n += 1
            token_offsets[n] = at
    row_tokens[offsets.size - 1] = n
    return n


@kernel
def _put(source, start, stop, target, at):
    """Copy bytes; gives the place after them, or ``STATUS_OUTPUT_FULL``."""
    n = stop - start
    if at + n > target.size:
        return np.int64(STATUS_OUTPUT_FULL)
    for i in range(n):
        target[at + i] = source[start + i]
    return np.int64(at + n)


@kernel
def _matches(text, position, stop, pattern):
    """Whether a pattern stands at a place."""
    if position + pattern.size > stop:
        return False
    k = 0
    while k < pattern.size and text[position + k] == pattern[k]:
        k += 1
    return k == pattern.size


@kernel
def _replace(text, start, stop, pattern, content, out_text, at):
    """Write one token with every match of a pattern, which is not empty, replaced."""
    copied = start
    position = start
    while position < stop:
        if text[position] == pattern[0] and _matches(text, position, stop, pattern):
            at = _put(text, copied, position, out_text, at)
            if at < 0:
                return at
            at = _put(content, np.int64(0), np.int64(content.size), out_text, at)
            if at < 0:
                return at
            position += pattern.size
            copied = position
        else:
            position += 1
    return _put(text, copied, stop, out_text, at)


@kernel
def _hex(byte):
    if 0x30 <= byte <= 0x39:
        return byte - 0x30
    if 0x41 <= byte <= 0x46:
        return byte - 0x37
    if 0x61 <= byte <= 0x66:
        return byte - 0x57
    return np.int64(-1)


@kernel
def byte_of_token(text, start, stop):
    """The byte that a token like ``<0x0A>`` stands for, or -1.

    Parameters
    ----------
    text : uint8[n]
    start, stop : int64

    Returns
    -------
    int64
        A plus sign counts for the first digit, as Rust's parser has it.
    """
    if stop - start != 6 or text[start] != 0x3C or text[start + 1] != 0x30 or text[start + 2] != 0x78:
        return np.int64(-1)
    if text[start + 5] != 0x3E:
        return np.int64(-1)
    high = np.int64(0) if text[start + 3] == 0x2B else _hex(np.int64(text[start + 3]))
    low = _hex(np.int64(text[start + 4]))
    return np.int64(-1) if high < 0 or low < 0 else high << 4 | low


@kernel
def is_utf8(text, start, stop):
    """Whether bytes are UTF-8.

    Parameters
    ----------
    text : uint8[n]
    start, stop : int64

    Returns
    -------
    bool
    """
    position = start
    while position < stop:
        lead = np.int64(text[position])
        if lead < 0x80:
            position += 1
            continue
        length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        if lead < 0xC2 or lead > 0xF4 or position + length > stop:
            return False
        second = np.int64(text[position + 1])
        low, high = 0x80, 0xBF
        if lead == 0xE0:
            low = 0xA0
        elif lead == 0xED:
            high = 0x9F
        elif lead == 0xF0:
            low = 0x90
        elif lead == 0xF4:
            high = 0x8F
        if second < low or second > high:
            return False
        for k in range(2, length):
            if text[position + k] & 0xC0 != 0x80:
                return False
        position += length
    return True


@kernel
def _put_bytes(text, token_offsets, first, last, out_text, out_offsets, n, at):
    """Write a run of byte tokens; gives the tokens there are then and the place after them."""
    run = at
    if at + 3 * (last - first) > out_text.size:
        return n, np.int64(STATUS_OUTPUT_FULL)
    for token in range(first, last):
        out_text[at] = byte_of_token(text, token_offsets[token], token_offsets[token + 1])
        at += 1
    if is_utf8(out_text, run, at):
        out_offsets[n + 1] = at
        return n + 1, at
    at = run
    for _ in range(first, last):
        out_text[at] = 0xEF
        out_text[at + 1] = 0xBF
        out_text[at + 2] = 0xBD
        at += 3
        n += 1
        out_offsets[n] = at
    return n, at


@kernel
def alphabet_byte(code_point):
    """The byte that a character of GPT-2's byte alphabet stands for, or -1.

    Parameters
    ----------
    code_point : int64

    Returns
    -------
    int64
    """
    if 0x21 <= code_point <= 0x7E or 0xA1 <= code_point <= 0xAC or 0xAE <= code_point <= 0xFF:
        return np.int64(code_point)
    place = code_point - 0x100
    if 0 <= place <= 0x20:
        return np.int64(place)
    if 0x21 <= place <= 0x42:
        return np.int64(place - 0x21 + 0x7F)
    return np.int64(0xAD) if place == 0x43 else np.int64(-1)


@kernel
def _put_alphabet(text, start, stop, out_text, at):
    """Write the bytes of a token in the byte alphabet, or the token itself."""
    if at + stop - start > out_text.size:
        return np.int64(STATUS_OUTPUT_FULL)
    begin = at
    position = start
    while position < stop:
        code_point = code_point_at(text, position)
        byte = alphabet_byte(code_point)
        if byte < 0:
            return _put(text, start, stop, out_text, begin)
        out_text[at] = byte
        at += 1
        position += encoded_length(code_point)
    return np.int64(at)


@kernel
def decode_step(
    step, strings, string_offsets, text, token_offsets, row_tokens, out_text, out_offsets, out_rows
):  # fmt: skip
    """Do one step of a program with all tokens of a batch.

    Parameters
    ----------
    step : int32[DECODE_STEP]
    strings, string_offsets : uint8[n], int64[k + 1]
        String ``i`` is ``strings[string_offsets[i]:string_offsets[i + 1]]``.
    text, token_offsets, row_tokens : uint8[m], int64[t + 1], int64[rows + 1]
        Token ``i`` is ``text[token_offsets[i]:token_offsets[i + 1]]``, UTF-8; where the tokens of each row begin.
    out_text, out_offsets, out_rows : uint8[k], int64[t + rows + 1], int64[rows + 1]
        Written: the same after the step.

    Returns
    -------
    int64
        Number of bytes, or ``STATUS_OUTPUT_FULL``.
    """
    operation, first, second, third = step[0], step[1], step[2], step[3]
    n = np.int64(0)
    at = np.int64(0)
    out_offsets[0] = 0
    nothing = strings[:0]
    pattern, content = nothing, nothing
    if first >= 0:
        pattern = strings[string_offsets[first] : string_offsets[first + 1]]
    if operation in (DECODE_REPLACE, DECODE_JOIN):
        content = strings[string_offsets[second] : string_offsets[second + 1]]
    for row in range(row_tokens.size - 1):
        out_rows[row] = n
        begin, end = row_tokens[row], row_tokens[row + 1]
        token = begin
        while token < end:
            start, stop = token_offsets[token], token_offsets[token + 1]
            if operation == DECODE_REPLACE:
                chosen = second
                if token == begin and third != second:
                    chosen = third
                elif token == end - 1 and step[4] != second:
                    chosen = step[4]
                other = strings[string_offsets[chosen] : string_offsets[chosen + 1]]
                at = _replace(text, start, stop, pattern, other, out_text, at)
            elif operation == DECODE_JOIN:
                if token > begin:
                    if first >= 0 and _matches(text, start, stop, pattern):
                        start += pattern.size
                    else:
                        at = _put(content, np.int64(0), np.int64(content.size), out_text, at)
                        if at < 0:
                            return at
                at = _put(text, start, stop, out_text, at)
            elif operation == DECODE_STRIP:
                left, right = np.int64(second), np.int64(third)
                while left > 0 and _matches(text, start, stop, pattern):
                    start += pattern.size
                    left -= 1
                while right > 0 and stop - pattern.size >= start and _matches(text, stop - pattern.size, stop, pattern):
                    stop -= pattern.size
                    right -= 1
                at = _put(text, start, stop, out_text, at)
            elif operation == DECODE_BYTES and byte_of_token(text, start, stop) >= 0:
                last = token + 1
                while last < end and byte_of_token(text, token_offsets[last], token_offsets[last + 1]) >= 0:
                    last += 1
                n, at = _put_bytes(text, token_offsets, token, last, out_text, out_offsets, n, at)
                if at < 0:
                    return at
                token = last
                continue
            elif operation == DECODE_ALPHABET:
                at = _put_alphabet(text, start, stop, out_text, at)
            else:
                at = _put(text, start, stop, out_text, at)
            if at < 0:
                return at
            token += 1
            if operation != DECODE_FUSE and operation != DECODE_ALPHABET:
                n += 1
                out_offsets[n] = at
        if operation in (DECODE_FUSE, DECODE_ALPHABET):
            # also of no token
            n += 1
            out_offsets[n] = at
    out_rows[row_tokens.size - 1] = n
    return at
