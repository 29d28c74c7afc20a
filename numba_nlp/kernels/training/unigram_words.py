"""Words of normalised text, cut at white space and counted; characters of words, numbered.

A word begins with its U+2581 (or ends with it). Symbols that pieces may not cross stand alone between words and are
not counted.

Twin: ``numba_nlp.reference.training.unigram_words``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length
from numba_nlp.kernels.tables.darts import longest_match
from numba_nlp.kernels.tables.hashing import equal_bytes, hash_bytes

__all__ = ["ALONE", "SPLIT", "SUFFIX", "count_characters", "count_words", "cut_rows", "fill_codes"]

# Where words end.
SPLIT = 1
SUFFIX = 2
ALONE = 4
_MOST_SYMBOLS = 64


@kernel
def _is_mark(text, place, stop):
    """Whether U+2581 stands at a place."""
    return place + 2 < stop and text[place] == 0xE2 and text[place + 1] == 0x96 and text[place + 2] == 0x81


@kernel
def _cut_row(text, start, stop, rules, symbol_units, n, starts, ends):
    """Cut one row into words; returns the number of all words so far."""
    begin = start
    place = start
    after_mark = False
    while place < stop:
        if symbol_units.size:
            length, _ = longest_match(symbol_units, text, place, stop, _MOST_SYMBOLS)
            if length:
                if place > begin:
                    starts[n], ends[n] = begin, place
                    n += 1
                place += length
                begin = place
                after_mark = False
                continue
        mark = _is_mark(text, place, stop)
        if rules & SPLIT and place > begin:
            cut = after_mark if rules & SUFFIX else mark
            if rules & ALONE and mark and after_mark:
                cut = False
            if cut:
                starts[n], ends[n] = begin, place
                n += 1
                begin = place
        after_mark = mark
        place += encoded_length(code_point_at(text, place))
    if stop > begin:
        starts[n], ends[n] = begin, stop
        n += 1
    return n


@kernel
def cut_rows(text, offsets, rules, symbol_units, starts, ends):
    """Cut rows of normalised text into words.

    Parameters
    ----------
    text, offsets : uint8[n], int64[rows + 1]
        UTF-8; white space is U+2581.
    rules : int64
        Sum of ``SPLIT`` (cut at white space, not only at symbols), ``SUFFIX`` (white space ends a word, it does not
        begin one), ``ALONE`` (several U+2581 in a row begin or end a word together).
    symbol_units : uint32[u]
        Double array of symbols, may be empty.
    starts, ends : int64[n], int64[n]
        Written.

    Returns
    -------
    int64
        Number of words.
    """
    n = np.int64(0)
    for row in range(offsets.size - 1):
        n = _cut_row(text, offsets[row], offsets[row + 1], rules, symbol_units, n, starts, ends)
    return n


@kernel
def count_words(text, starts, ends, done, sizes, table, hashes, word_offsets, word_bytes, word_counts):
    """Count words in an open-addressing table.

    Parameters
    ----------
    text : uint8[n]
    starts, ends : int64[words], int64[words]
    done : int64
        How many of them were counted before.
    sizes : int64[1]
        Changed: number of distinct words.
    table : int32[2^k]
        Number of a word, or -1; half of it stays empty.
    hashes, word_offsets, word_bytes, word_counts : uint64[W], int64[W + 1], uint8[m], int64[W]
        Distinct words in the order in which they came: hash, place of the bytes, bytes, how often they occur.

    Returns
    -------
    int64
        How many words were counted: less than all of them when something is full.
    """
    mask = table.size - 1
    for i in range(done, starts.size):
        start, stop = starts[i], ends[i]
        key = hash_bytes(text, start, stop)
        slot = np.int64(key & np.uint64(mask))
        while True:
            word = np.int64(table[slot])
            if word < 0:
                n = sizes[0]
                begin = word_offsets[n]
                if n >= word_counts.size or 2 * (n + 1) > table.size or begin + stop - start > word_bytes.size:
                    return np.int64(i)
                table[slot] = np.int32(n)
                hashes[n] = key
                word_counts[n] = 1
                for place in range(stop - start):
                    word_bytes[begin + place] = text[start + place]
                word_offsets[n + 1] = begin + stop - start
                sizes[0] = n + 1
                break
            begin = word_offsets[word]
            if (
                hashes[word] == key
                and word_offsets[word + 1] - begin == stop - start
                and equal_bytes(text, start, word_bytes, begin, stop - start)
            ):
                word_counts[word] += 1
                break
            slot = (slot + 1) & mask
    return np.int64(starts.size)


@kernel
def count_characters(data, offsets, counts, character_counts):
    """Count the characters of words.

    Parameters
    ----------
    data, offsets, counts : uint8[m], int64[W + 1], int64[W]
        Words as UTF-8, and how often each occurs.
    character_counts : int64[0x110000]
        Added to.

    Returns
    -------
    int64
        Number of characters of the words, each word once.
    """
    n = np.int64(0)
    for word in range(counts.size):
        place = offsets[word]
        while place < offsets[word + 1]:
            code = code_point_at(data, place)
            character_counts[code] += counts[word]
            place += encoded_length(code)
            n += 1
    return n


@kernel
def fill_codes(data, offsets, counts, numbers, codes, starts, word_counts):
    """Write words as numbers of characters, a 0 behind each; characters without a number cut a word in two.

    Parameters
    ----------
    data, offsets, counts : uint8[m], int64[W + 1], int64[W]
    numbers : int32[0x110000]
        Number of each character from 1 on, or 0.
    codes : int32[n]
        Written; ``n`` is the number of characters and of words.
    starts, word_counts : int64[w + 1], int64[w]
        Written: place of each part, how often it occurs; ``w`` parts is the most there can be.

    Returns
    -------
    n_codes, n_words : int64, int64
    """
    n = np.int64(0)
    words = np.int64(0)
    starts[0] = 0
    for word in range(counts.size):
        place = offsets[word]
        begin = n
        while place < offsets[word + 1]:
            code = code_point_at(data, place)
            number = numbers[code]
            if number > 0:
                codes[n] = number
                n += 1
            if (number == 0 or place + encoded_length(code) >= offsets[word + 1]) and n > begin:
                codes[n] = 0
                n += 1
                word_counts[words] = counts[word]
                words += 1
                starts[words] = n
                begin = n
            place += encoded_length(code)
    return n, words
