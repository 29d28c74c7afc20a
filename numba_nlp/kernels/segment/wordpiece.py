"""WordPiece: greedy longest match of each word; rows of text to ids and spans, or one chunk for the word cache.

A word is what white space, punctuation and Chinese characters leave between them
(:mod:`numba_nlp.kernels.segment.normalize_bert`). It is cut from the left into the longest pieces that the vocabulary
holds, those after the first one under a prefix such as ``##``; a word for which that fails, or that has more
characters than the vocabulary allows, is one unknown token (M. Schuster and K. Nakajima, "Japanese and Korean voice
search", 2012; the rules as in tokenizers). Words do not influence each other, so text may be cut beside any character
that parts words, and each chunk be encoded by itself.

Twin: ``numba_nlp.reference.segment.wordpiece``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.cached_rows import rows_function, unseen_function
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length
from numba_nlp.kernels.segment.normalize_bert import (
    DELETED,
    ITSELF,
    LETTER,
    SEVERAL,
    SPACE,
    put_character,
    settle_mark,
    unit_of,
)
from numba_nlp.kernels.segment.window_words import fill_chunks
from numba_nlp.kernels.segment.wordpiece_memory import FURTHER, MAX_CHARACTERS, UNKNOWN
from numba_nlp.kernels.tables.double_array import ROOT, longest_below

__all__ = [
    "encode_rows_wordpiece",
    "encode_unseen",
    "encode_words",
    "next_word",
    "put_word_spans",
    "segment",
    "solve_words",
]

#: Number of characters of a word that the scratch does not hold.
NO_ROOM = -1


@kernel
def segment(tables, text, start, stop, n_characters, ids, token_ends, out):
    """Ids of one word of normalised text.

    Parameters
    ----------
    tables : WordPieceTables
    text : uint8[n]
    start, stop : int64
        The word, ``start < stop``.
    n_characters : int64
        Its number of characters.
    ids : int32[k]
        Written from ``out`` on, at most one id a character.
    token_ends : int32[k] or int32[0]
        Written from ``out`` on unless empty: the place in ``text`` where each token ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id.
    """
    first = out
    if n_characters <= tables.wordpiece[MAX_CHARACTERS]:
        position = start
        node = np.int64(ROOT)
        while position < stop:
            piece, end = longest_below(tables.trie_units, node, text, position, stop)
            if piece < 0:
                break
            ids[out] = np.int32(piece)
            if token_ends.size:
                token_ends[out] = np.int32(end)
            out += 1
            position = end
            node = tables.wordpiece[FURTHER]
        if position == stop:
            return out
    ids[first] = np.int32(tables.wordpiece[UNKNOWN])
    if token_ends.size:
        token_ends[first] = np.int32(stop)
    return first + 1


@kernel
def next_word(tables, data, position, stop, start, text, from_starts, from_ends):
    """Normalise the next word.

    Parameters
    ----------
    tables : WordPieceTables
    data : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to go on, end of the text; not within a word.
    start : int64
        What places in ``from_starts`` and ``from_ends`` are relative to.
    text : uint8[room]
        Written from 0 on.
    from_starts, from_ends : int32[room] or int32[0]
        Written unless empty, as by :func:`numba_nlp.kernels.segment.normalize_bert.normalize`. Of a word with too many
        characters the end belongs to the last of them.

    Returns
    -------
    position, n, n_characters : int64, int64, int64
        Where to go on, bytes of the word (0: there is none any more), and its characters. Of a word with more
        characters than the vocabulary allows the first ones are written. ``NO_ROOM`` characters when the word does
        not fit into ``text``.
    """
    index, blocks = tables.normal_index, tables.normal_blocks
    # of longer words only the ends matter, which the first character is needed for
    limit = max(tables.wordpiece[MAX_CHARACTERS], 1)
    n, n_characters, run = np.int64(0), np.int64(0), np.int64(0)
    while position < stop:
        code_point = np.int64(data[position])
        if code_point < 0x80:
            following = position + 1
            unit = np.int64(blocks[code_point])
        else:
            code_point = code_point_at(data, position)
            following = position + encoded_length(code_point)
            unit = unit_of(index, blocks, code_point)
        kind = unit & 7
        if kind == LETTER:
            image = (unit >> 3) & 0x1FFFFF
            if image == ITSELF:
                image = code_point
            n_characters += 1
            if n_characters <= limit:
                if n + 4 > text.size:
                    return position, n, np.int64(NO_ROOM)
                before = n
                n = put_character(text, n, image)
                if from_starts.size:
                    for i in range(before, n):
                        from_starts[i] = np.int32(position - start)
                        from_ends[i] = np.int32(following - start)
                if unit >> 24 == 0:
                    run = n
                else:
                    settle_mark(index, blocks, text, from_starts, from_ends, run, before, n)
            elif from_ends.size:
                from_ends[n - 1] = np.int32(following - start)
        elif kind == SPACE:
            if n > 0:
                return following, n, n_characters
        elif kind == SEVERAL:
            place = (unit >> 3) & 0x1FFFFF
            for k in range(unit >> 24):
                part = np.int64(tables.normal_several[place + k])
                n_characters += 1
                if n_characters <= limit:
                    if n + 4 > text.size:
                        return position, n, np.int64(NO_ROOM)
                    before = n
                    n = put_character(text, n, (part >> 3) & 0x1FFFFF)
                    if from_starts.size:
                        for i in range(before, n):
                            from_starts[i] = np.int32(position - start)
                            from_ends[i] = np.int32(following - start)
                    if part >> 24 == 0:
                        run = n
                    else:
                        settle_mark(index, blocks, text, from_starts, from_ends, run, before, n)
                elif from_ends.size:
                    from_ends[n - 1] = np.int32(following - start)
        elif kind == DELETED:
            if unit >> 24 == 0:
                run = n
        else:
            if n > 0:
                return position, n, n_characters
            image = (unit >> 3) & 0x1FFFFF
            if image == ITSELF:
                image = code_point
            n = put_character(text, n, image)
            if from_starts.size:
                for i in range(n):
                    from_starts[i] = np.int32(position - start)
                    from_ends[i] = np.int32(following - start)
            return following, n, np.int64(1)
        position = following
    return position, n, n_characters


@kernel
def put_word_spans(scratch, n_ids, base, starts, ends, out):
    """Write where in the text the tokens of a word come from.

    Parameters
    ----------
    scratch : WordPieceScratch
        ``from_starts``, ``from_ends`` and ``token_ends`` as :func:`next_word` and :func:`segment` wrote them.
    n_ids : int64
        Tokens of the word.
    base : int64
        Added to each place.
    starts, ends : int64[k]
        Written from ``out`` on.
    out : int64

    Returns
    -------
    int64
        Place after the last span.
    """
    from_starts, from_ends, token_ends = scratch.from_starts, scratch.from_ends, scratch.token_ends
    first = np.int64(0)
    for i in range(n_ids):
        last = np.int64(token_ends[i])
        begin, end = np.int64(from_starts[first]), np.int64(from_ends[last - 1])
        # marks may have been put into another order
        for k in range(first, last):
            begin = min(begin, np.int64(from_starts[k]))
            end = max(end, np.int64(from_ends[k]))
        starts[out + i] = base + begin
        ends[out + i] = base + end
        first = last
    return out + n_ids


@kernel
def encode_words(tables, data, start, stop, scratch, ids, starts, ends, out):
    """Ids of a text, and where in the text each comes from.

    Parameters
    ----------
    tables : WordPieceTables
    data : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The text.
    scratch : WordPieceScratch
    ids : int32[k]
        Written from ``out`` on: room for one id a byte.
    starts, ends : int64[k] or int64[0]
        Written from ``out`` on unless empty: bytes of the text, relative to ``start``.
    out : int64

    Returns
    -------
    int64
        Place after the last id; ``-(stop - start)`` when a word does not fit into the scratch: one made for
        ``stop - start`` bytes holds all words.
    """
    text = scratch.text
    from_starts, from_ends = scratch.from_starts[:0], scratch.from_ends[:0]
    token_ends = from_ends
    if starts.size:
        from_starts, from_ends, token_ends = scratch.from_starts, scratch.from_ends, scratch.token_ends
    position = start
    while True:
        position, n, n_characters = next_word(tables, data, position, stop, start, text, from_starts, from_ends)
        if n_characters < 0:
            return start - stop
        if n == 0:
            return out
        n_ids = segment(tables, text, np.int64(0), n, n_characters, ids[out:], token_ends, np.int64(0))
        if starts.size:
            put_word_spans(scratch, n_ids, np.int64(0), starts, ends, out)
        out += n_ids


@kernel
def solve_words(tables, data, start, n, scratch, ids, first):
    """Ids of one chunk: any text that is parted from what stands around it.

    Parameters
    ----------
    tables : WordPieceTables
    data : uint8[m]
    start, n : int64
        The chunk.
    scratch : WordPieceScratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative, as of :func:`encode_words`, when the scratch is too small.
    """
    no_spans = scratch.starts[:0]
    end = encode_words(tables, data, start, start + n, scratch, ids, no_spans, no_spans, first)
    return end - first if end >= 0 else end


#: A chunk that the cache does not hold (:func:`numba_nlp.kernels.segment.cached_rows.encode_unseen`).
encode_unseen = unseen_function(inlined, "encode_unseen_wordpiece", solve_words)
#: Row encoder (:func:`numba_nlp.kernels.segment.cached_rows.encode_rows`).
encode_rows_wordpiece = rows_function(fill_chunks, kernel, "encode_rows_wordpiece", encode_unseen)
