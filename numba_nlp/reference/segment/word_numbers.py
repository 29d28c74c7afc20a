"""Twin of ``kernels/segment/word_numbers.py`` and ``number_rows.py``: words of bytes, from which ids take theirs."""

from __future__ import annotations

from functools import partial

from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment.patterns import PATTERN_CODES
from numba_nlp.reference.segment.scan import next_end


def word_lengths(pattern, class_index, class_blocks, data, start, stop):
    """Bytes of the words of a text."""
    lengths = []
    while start < stop:
        end = stop
        if pattern != "whole":
            end = next_end(PATTERN_CODES[pattern], class_index, class_blocks, data, start, stop)
        lengths.append(end - start)
        start = end
    return lengths


def number_words(
    pattern, classes, data, starts, ends, fixed, row_first_segment, ids, id_offsets, piece_offsets, words, where
):
    """Write the word number of every id; returns the number of ids or a status."""
    for row in range(len(id_offsets) - 1):
        where[0] = row
        numbers = []
        left = [int(number) for number in ids[id_offsets[row] : id_offsets[row + 1]]]
        word = 0
        for segment in range(row_first_segment[row], row_first_segment[row + 1]):
            if fixed[segment] >= 0:
                if not left or left.pop(0) != fixed[segment]:
                    return STATUS_NOT_TILING
                numbers.append(word)
                word += 1
                continue
            for length in word_lengths(pattern, *classes, data, starts[segment], ends[segment]):
                taken = 0
                while taken < length:
                    if not left:
                        return STATUS_NOT_TILING
                    number = left.pop(0)
                    numbers.append(word)
                    taken += piece_offsets[number + 1] - piece_offsets[number]
                word += 1
        if left:
            return STATUS_NOT_TILING
        words[id_offsets[row] : id_offsets[row + 1]] = numbers
    return len(ids)


NUMBER_WORDS = {pattern: partial(number_words, pattern) for pattern in (*PATTERN_CODES, "whole")}
