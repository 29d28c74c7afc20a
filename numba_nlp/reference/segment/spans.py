"""Plain-Python twin of :mod:`numba_nlp.kernels.segment.spans`: one list with a source character for every byte."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import STATUS_UNKNOWN_ID
from numba_nlp.kernels.segment.spans import STATUS_NOT_TILING, TRIM_KEEP_FIRST, TRIM_NONE, UNIT_BYTE
from numba_nlp.reference.segment.code_points import is_white_space


def fill_spans(
    shapes: NDArray[np.uint16],
    piece_offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    row_starts: NDArray[np.int64],
    row_ends: NDArray[np.int64],
    seg_starts: NDArray[np.int64],
    seg_ends: NDArray[np.int64],
    seg_fixed: NDArray[np.int32],
    row_first_segment: NDArray[np.int64],
    ids: NDArray[np.int32],
    id_offsets: NDArray[np.int64],
    unit: int,
    add_prefix_space: int,
    trim: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    where: NDArray[np.int64],
) -> int:
    """Write the span of every id of a batch."""
    for row in range(row_starts.size):
        begin, end = int(row_starts[row]), int(row_ends[row])
        if row_first_segment.size == 0:
            segments = [(begin, end, -1)] if begin < end else []
        else:
            chosen = range(int(row_first_segment[row]), int(row_first_segment[row + 1]))
            segments = [(int(seg_starts[s]), int(seg_ends[s]), int(seg_fixed[s])) for s in chosen]
        token, last = int(id_offsets[row]), int(id_offsets[row + 1])
        first_token = None
        for start, stop, fixed in segments:
            if fixed >= 0 and start < 0:
                spans = [(-1, -1)]
            else:
                first_token = token if first_token is None else first_token
                place = _Places(data[begin:end].tobytes(), unit)
                if fixed >= 0:
                    text = data[start:stop].tobytes().decode()
                    spans = [(place.first(start - begin), place.end(stop - begin))]
                    sizes = [unit_sizes(text, unit)]
                    space = [[is_white_space(ord(letter)) or letter == "\u0120" for letter in text]]
                else:
                    prefix = int(bool(add_prefix_space) and data[start] != ord(" "))
                    lengths = _tile(piece_offsets, ids, token, last, stop - start + prefix)
                    if isinstance(lengths, tuple):
                        where[0], where[1] = row, lengths[1]
                        return lengths[0]
                    spans, sizes, space = [], [], []
                    position = start - begin - prefix
                    for length in lengths:
                        # The added space lies, for the characters, in the first character of the text.
                        a, b = max(position, start - begin), position + length
                        if unit == UNIT_BYTE:
                            spans.append((a, b))
                        else:
                            spans.append((place.first(a), place.end(max(b, a + 1))))
                        own = b" " * (a - position) + data[begin + a : begin + b].tobytes()
                        sizes.append([1] * len(own))
                        space.append([byte == ord(" ") for byte in own])
                        position = b
                if trim != TRIM_NONE:
                    keeps = [
                        trim == TRIM_KEEP_FIRST and (token + i == first_token or span[0] == 0)
                        for i, span in enumerate(spans)
                    ]
                    spans = [_trimmed(*items) for items in zip(spans, sizes, space, keeps, strict=True)]
            if token + len(spans) > last:
                where[0], where[1] = row, token
                return STATUS_NOT_TILING
            for first, stop_unit in spans:
                starts[token], ends[token] = first, stop_unit
                token += 1
        if token != last:
            where[0], where[1] = row, token
            return STATUS_NOT_TILING
    return int(id_offsets[-1] - id_offsets[0])


class _Places:
    """Place of the character, or byte, that holds a byte of a row."""

    def __init__(self, row: bytes, unit: int) -> None:
        self._of_byte = []
        for number, letter in enumerate(row.decode()):
            self._of_byte += [number] * len(letter.encode())
        if unit == UNIT_BYTE:
            self._of_byte = list(range(len(row)))

    def first(self, byte: int) -> int:
        """Start of a range whose first byte this is."""
        return self._of_byte[byte]

    def end(self, byte: int) -> int:
        """End of a range that ends before this byte."""
        return self._of_byte[byte - 1] + 1


def count_to(data: NDArray[np.uint8], byte: int, character: int, target: int) -> tuple[int, int]:
    """A place in bytes and characters, from another one that is known in both."""
    content = data.tobytes()
    return target, character + len(content[:target].decode()) - len(content[:byte].decode())


def unit_sizes(text: str, unit: int) -> list[int]:
    """How far each character counts."""
    return [len(letter.encode()) if unit == UNIT_BYTE else 1 for letter in text]


def _tile(
    piece_offsets: NDArray[np.int64], ids: NDArray[np.int32], token: int, last: int, n_bytes: int
) -> list[int] | tuple[int, int]:
    """Piece lengths that add up to ``n_bytes``, or (status, index of the id that does not fit)."""
    lengths: list[int] = []
    while sum(lengths) < n_bytes:
        at = token + len(lengths)
        if at == last:
            return STATUS_NOT_TILING, at
        piece = int(ids[at])
        if not 0 <= piece < piece_offsets.size - 1:
            return STATUS_UNKNOWN_ID, at
        lengths.append(int(piece_offsets[piece + 1] - piece_offsets[piece]))
        if sum(lengths) > n_bytes:
            return STATUS_NOT_TILING, at
    return lengths


def _trimmed(span: tuple[int, int], sizes: list[int], space: list[bool], keep_one: bool) -> tuple[int, int]:
    """Move both ends over the white space of a token, as ByteLevel's ``process_offsets`` of tokenizers does."""
    leading = _run(sizes, space)
    trailing = _run(sizes[::-1], space[::-1])
    first, last = span
    if not keep_one or space[:2] == [True, True]:
        first = min(first + leading, last)
    if last >= trailing:
        last = max(last - trailing, first)
    return first, last


def _run(sizes: list[int], space: list[bool]) -> int:
    """Size of the white space that a token starts with."""
    total = 0
    for size, is_space in zip(sizes, space, strict=True):
        if not is_space:
            break
        total += size
    return total
