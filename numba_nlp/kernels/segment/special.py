r"""Special and added tokens that stand in the text: find them, and cut rows into text and tokens.

What the references do, found by experiment (tokenizers 0.23.3, tiktoken 0.14.0) and held by
``tests/reference_parity/test_special_spans_parity.py``:

tokenizers
    Two searches. The first takes tokens with ``normalized=False``, the second those with ``normalized=True`` in each
    stretch of text that the first left over; whether a token is special makes no difference. In a search the leftmost
    token wins and among those the longest; the next search position is the end of the token. Then, for a match:

    - ``single_word``: refused when a word character (``\w``) stands next to it within the searched stretch. The
      search goes on *behind* the refused text, so a shorter token inside it is not found either.
    - ``lstrip``: White_Space before it joins the match, up to the previous match. ``rstrip``: White_Space after it
      joins, up to the end of the stretch; the search still goes on behind the token itself, so a token that is made
      of white space can match again inside what ``rstrip`` took, and what follows that one is encoded twice.
    - A ``lstrip`` token of white space inside what ``rstrip`` took makes tokenizers panic; here nothing is matched.

    White_Space is U+0009-000D, 0020, 0085, 00A0, 1680, 2000-200A, 2028, 2029, 202F, 205F, 3000.
    Stretches of text without bytes between matches vanish.
tiktoken
    One search with an alternation of the allowed tokens: leftmost wins. Between tokens of which one begins another
    the order of a hash map decides, which follows no rule; here the longest wins. No published vocabulary has such
    tokens.

Twin: ``numba_nlp.reference.segment.special``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.code_points import (
    code_point_at,
    code_point_before,
    encoded_length,
    is_white_space,
    is_word,
)
from numba_nlp.kernels.segment.special_matcher import (
    FIRST_SEARCH,
    FLAG_LSTRIP,
    FLAG_RSTRIP,
    FLAG_SINGLE_WORD,
    SECOND_SEARCH,
    SpecialMatcher,
    build_special_matcher,
)

__all__ = ["SpecialMatcher", "build_special_matcher", "find_specials", "split_rows"]

#: Bytes a step of the search for a first byte.
_BLOCK = 64


@kernel
def find_specials(matcher, data, starts, ends, match_rows, match_starts, match_ends, match_tokens):
    """Find the special tokens in a batch of rows.

    Parameters
    ----------
    matcher : SpecialMatcher
    data : uint8[n]
        Valid UTF-8.
    starts, ends : int64[rows], int64[rows]
        Byte range of each row in ``data``.
    match_rows, match_starts, match_ends, match_tokens : int64[m], int64[m], int64[m], int32[m]
        Written: row, byte range in ``data`` (with the white space that ``lstrip`` and ``rstrip`` take in), and index
        of the token, in text order.

    Returns
    -------
    int64
        Number of matches. When it is larger than ``m`` only the first ``m`` are written: call again with arrays of
        that size (arrays of size 0 just count).

    Notes
    -----
    Where rows ascend in ``data``, as in a column of text, the search for a first byte runs across row ends, 64 bytes
    a step for one to four distinct first bytes; rows without a hit cost nothing else. Measured on one core of an
    AVX-512 machine: over 20 GB/s for one distinct first byte, 6 for two to four, 1.8 for more.
    """
    n = 0
    n_rows = starts.size
    first_bytes = matcher.first_bytes
    first_nodes = matcher.first_nodes
    if first_bytes.size == 0 or n_rows == 0:
        return n
    ascending = _rows_ascend(starts, ends)
    row = 0
    while row < n_rows:
        horizon = ends[n_rows - 1] if ascending else ends[row]
        hit = _next_hit(first_bytes, first_nodes, data, starts[row], horizon)
        if hit == horizon and ascending:
            break
        while row < n_rows and ascending and ends[row] <= hit:
            row += 1
        if hit < ends[row] and hit >= starts[row]:
            n = _find_in_row(
                matcher,
                data,
                row,
                starts[row],
                ends[row],
                hit,
                n,
                match_rows,
                match_starts,
                match_ends,
                match_tokens,
            )
            row += 1
        elif not ascending:
            row += 1
    return n


@kernel
def split_rows(
    match_rows,
    match_starts,
    match_ends,
    match_tokens,
    n_matches,
    special_ids,
    template,
    starts,
    ends,
    seg_starts,
    seg_ends,
    seg_fixed,
    row_first_segment,
):
    """Cut rows into segments of text and segments that are one id.

    Parameters
    ----------
    match_rows, match_starts, match_ends, match_tokens, n_matches : as :func:`find_specials` made them
        Matches in text order, all of them.
    special_ids : int32[K]
        Id of each token.
    template : int32[T]
        What every row becomes: ids, with -1 for the row's own text. Empty means the text alone.
    starts, ends : int64[rows], int64[rows]
        Byte range of each row.
    seg_starts, seg_ends, seg_fixed : int64[m], int64[m], int32[m]
        Written: byte range in ``data`` and id, -1 for text to encode. Ids that come from the template have the
        range ``-1, -1``. Text without bytes makes no segment. ``m >= rows * (T + 1) + 2 * n_matches`` is always
        enough for a template that holds the text once.
    row_first_segment : int64[rows + 1]
        Written: segments of row ``r`` are ``row_first_segment[r]`` to ``row_first_segment[r + 1] - 1``.

    Returns
    -------
    int64
        Number of segments, or ``STATUS_OUTPUT_FULL``.
    """
    capacity = seg_starts.size
    n_parts = max(template.size, 1)
    n = 0
    match = 0
    for row in range(starts.size):
        row_first_segment[row] = n
        match_stop = match
        while match_stop < n_matches and match_rows[match_stop] == row:
            match_stop += 1
        for part in range(n_parts):
            if template.size > 0 and template[part] >= 0:
                if n == capacity:
                    return STATUS_OUTPUT_FULL
                seg_starts[n] = -1
                seg_ends[n] = -1
                seg_fixed[n] = template[part]
                n += 1
                continue
            text = starts[row]
            for i in range(match, match_stop + 1):
                text_stop = match_starts[i] if i < match_stop else ends[row]
                if text < text_stop:
                    if n == capacity:
                        return STATUS_OUTPUT_FULL
                    seg_starts[n] = text
                    seg_ends[n] = text_stop
                    seg_fixed[n] = -1
                    n += 1
                if i < match_stop:
                    if n == capacity:
                        return STATUS_OUTPUT_FULL
                    seg_starts[n] = match_starts[i]
                    seg_ends[n] = match_ends[i]
                    seg_fixed[n] = special_ids[match_tokens[i]]
                    n += 1
                    text = match_ends[i]
        match = match_stop
    row_first_segment[starts.size] = n
    return n


@kernel
def _rows_ascend(starts, ends):
    """Whether rows follow each other in ``data`` without overlap, and fill most of the bytes that they span."""
    filled = 0
    for row in range(starts.size):
        filled += ends[row] - starts[row]
        if row > 0 and starts[row] < ends[row - 1]:
            return False
    return ends[starts.size - 1] - starts[0] <= 2 * filled


@kernel
def _next_hit(first_bytes, first_nodes, data, position, stop):
    """First place in ``data[position:stop]`` with the first byte of a token, or ``stop``."""
    n = first_bytes.size
    if n == 1:
        return _find_byte(data, position, stop, first_bytes[0])
    if n <= 4:
        last = n - 1
        return _find_any_of_four(
            data,
            position,
            stop,
            first_bytes[0],
            first_bytes[1],
            first_bytes[min(2, last)],
            first_bytes[min(3, last)],
        )
    for p in range(position, stop):
        if first_nodes[data[p]] >= 0:
            return p
    return stop


@kernel
def _find_byte(data, position, stop, wanted):
    """First place of a byte, or ``stop``. The inner loop has a constant length, so that LLVM makes vectors of it."""
    while position + _BLOCK <= stop:
        block = data[position : position + _BLOCK]
        found = np.uint8(0)
        for i in range(_BLOCK):
            found |= np.uint8(block[i] == wanted)
        if found != 0:
            break
        position += _BLOCK
    while position < stop and data[position] != wanted:
        position += 1
    return position


@kernel
def _find_any_of_four(data, position, stop, a, b, c, d):
    """First place of one of four bytes, or ``stop``."""
    while position + _BLOCK <= stop:
        block = data[position : position + _BLOCK]
        found = np.uint8(0)
        for i in range(_BLOCK):
            byte = block[i]
            found |= np.uint8(byte == a) | np.uint8(byte == b) | np.uint8(byte == c) | np.uint8(byte == d)
        if found != 0:
            break
        position += _BLOCK
    while position < stop:
        byte = data[position]
        if byte in (a, b, c, d):
            return position
        position += 1
    return stop


@kernel
def _find_in_row(matcher, data, row, start, stop, position, n, match_rows, match_starts, match_ends, match_tokens):
    """Both searches in one row, from ``position`` on; returns ``n`` plus the number of matches."""
    has_second = matcher.has_second[0] != 0
    capacity = match_rows.size
    text = start
    while True:
        token, first, last, position = _next_match(matcher, data, FIRST_SEARCH, position, text, start, stop)
        gap_stop = first if token >= 0 else stop
        if has_second and text < gap_stop:
            inner_position = text
            inner_text = text
            while True:
                inner, inner_first, inner_last, inner_position = _next_match(
                    matcher, data, SECOND_SEARCH, inner_position, inner_text, text, gap_stop
                )
                if inner < 0:
                    break
                if n < capacity:
                    match_rows[n] = row
                    match_starts[n] = inner_first
                    match_ends[n] = inner_last
                    match_tokens[n] = inner
                n += 1
                inner_text = inner_last
        if token < 0:
            return n
        if n < capacity:
            match_rows[n] = row
            match_starts[n] = first
            match_ends[n] = last
            match_tokens[n] = token
        n += 1
        text = last


@kernel
def _next_match(matcher, data, search, position, text, start, stop):
    """Next match of one search in ``data[start:stop]``, looked for from ``position``.

    ``text`` is the end of the previous match. Returns the token (-1 when there is none), its byte range, and where
    the search goes on.
    """
    # Single arrays go down to the innermost kernels: a call with the whole matcher copies twelve array headers.
    first_bytes = matcher.first_bytes
    first_nodes = matcher.first_nodes
    child_offsets = matcher.child_offsets
    node_bytes = matcher.node_bytes
    node_tokens = matcher.node_tokens
    searches = matcher.searches
    while True:
        position = _next_hit(first_bytes, first_nodes, data, position, stop)
        if position >= stop:
            return -1, stop, stop, stop
        # Longest token of this search that stands here. Written out: as a function of its own it cost 20 ns a hit.
        token = np.int64(-1)
        node = np.int64(first_nodes[data[position]])
        p = position
        while node >= 0:
            if node_tokens[node] >= 0 and searches[node_tokens[node]] == search:
                token = np.int64(node_tokens[node])
            p += 1
            if p >= stop:
                break
            byte = data[p]
            child = np.int64(child_offsets[node])
            last_child = np.int64(child_offsets[node + 1])
            while child < last_child and node_bytes[child] < byte:
                child += 1
            node = child if child < last_child and node_bytes[child] == byte else -1
        if token < 0:
            position += 1
            continue
        first = position
        last = position + np.int64(matcher.token_lengths[token])
        position = last
        flags = matcher.token_flags[token]
        if flags & FLAG_SINGLE_WORD != 0 and (
            (first > start and is_word(matcher.word_bits, code_point_before(data, first)))
            or (last < stop and is_word(matcher.word_bits, code_point_at(data, last)))
        ):
            continue
        if flags & FLAG_LSTRIP != 0:
            while first > start:
                code_point = code_point_before(data, first)
                if not is_white_space(code_point):
                    break
                first -= encoded_length(code_point)
            # What an earlier rstrip took stays there; this can leave nothing of the match (see the module's notes).
            first = max(first, text)
        if flags & FLAG_RSTRIP != 0:
            while last < stop:
                code_point = code_point_at(data, last)
                if not is_white_space(code_point):
                    break
                last += encoded_length(code_point)
        if first < last:
            return token, first, last, position
