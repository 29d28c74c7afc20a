"""Twin of ``kernels/segment/word_numbers.py``: words as lists of bytes, from which ids take their share."""

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
    pattern,
    class_index,
    class_blocks,
    piece_offsets,
    data,
    starts,
    ends,
    fixed,
    row_first_segment,
    ids,
    id_offsets,
    words,
):
    """Write the word number of every id; returns the number of ids or a status."""
    for row in range(len(id_offsets) - 1):
        numbers = []
        left = [int(number) for number in ids[id_offsets[row] : id_offsets[row + 1]]]
        segments = range(row, row + 1)
        if len(row_first_segment):
            segments = range(row_first_segment[row], row_first_segment[row + 1])
        word = 0
        for segment in segments:
            if len(fixed) and fixed[segment] >= 0:
                lengths = [None]
            else:
                lengths = word_lengths(pattern, class_index, class_blocks, data, starts[segment], ends[segment])
            for length in lengths:
                taken = 0
                while length is None or taken < length:
                    if not left:
                        return STATUS_NOT_TILING
                    number = left.pop(0)
                    numbers.append(word)
                    if length is None:
                        break
                    taken += piece_offsets[number + 1] - piece_offsets[number]
                word += 1
        if left:
            return STATUS_NOT_TILING
        words[id_offsets[row] : id_offsets[row + 1]] = numbers
    return len(ids)


NUMBER_WORDS = {pattern: partial(number_words, pattern) for pattern in (*PATTERN_CODES, "whole")}
