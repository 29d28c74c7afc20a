"""Words and entities from the labels of tokens.

Twin: ``numba_nlp.reference.tasks.entities``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["AVERAGE", "BEGIN", "END", "FIRST", "INSIDE", "MAX", "SINGLE", "join_entities", "join_words", "span_words"]

#: How a word gets its label: that of its first token, of the one with the best score, or of the averaged shares.
FIRST = 0
MAX = 1
AVERAGE = 2
#: What a label says of the place of its token in an entity.
BEGIN = 0
INSIDE = 1
END = 2
SINGLE = 3


@kernel
def _word_end(words, first, last):
    """Behind the last token of the word that begins with token ``first``; a token without number is a word."""
    end = first + 1
    if words[first] >= 0:
        while end < last and words[end] == words[first]:
            end += 1
    return end


@kernel
def span_words(words, offsets, starts, ends, word_starts, word_ends):
    """Where the word of each token begins and ends.

    Parameters
    ----------
    words : int32[m]
        Number of the word of each token in its row, or -1.
    offsets : int64[rows + 1]
        Tokens of rows.
    starts, ends : int64[m], int64[m]
        Characters of each token.
    word_starts, word_ends : int64[m], int64[m]
        Written: characters of its word.
    """
    for row in range(offsets.size - 1):
        first = offsets[row]
        while first < offsets[row + 1]:
            end = _word_end(words, first, offsets[row + 1])
            for token in range(first, end):
                word_starts[token] = starts[first]
                word_ends[token] = ends[end - 1]
            first = end


@kernel
def join_words(words, offsets, labels, scores, shares, way, firsts, lasts, word_labels, word_scores, word_offsets):
    """One label for all tokens of a word.

    Parameters
    ----------
    words, offsets : int32[m], int64[rows + 1]
        As of :func:`span_words`.
    labels, scores : int32[m], float32[m]
        Best label of each token, the first one of several, and its share.
    shares : float32[m, labels] or float32[0, labels]
        Shares of all labels; read with ``AVERAGE`` only. They are averaged in float32, token by token.
    way : int64
        ``FIRST``, ``MAX`` (the first one of the best tokens) or ``AVERAGE`` (the first one of the best labels).
    firsts, lasts : int64[m], int64[m]
        Written: first and last token of each word.
    word_labels, word_scores : int32[m], float32[m]
        Written.
    word_offsets : int64[rows + 1]
        Written: words of rows.

    Returns
    -------
    int64
        Number of words.
    """
    n = np.int64(0)
    word_offsets[0] = 0
    for row in range(offsets.size - 1):
        first = offsets[row]
        while first < offsets[row + 1]:
            end = _word_end(words, first, offsets[row + 1])
            firsts[n] = first
            lasts[n] = end - 1
            best = first
            if way == AVERAGE:
                word_scores[n] = np.float32(-1.0)
                for label in range(shares.shape[1]):
                    total = np.float32(0.0)
                    for token in range(first, end):
                        total += shares[token, label]
                    mean = total / np.float32(end - first)
                    if mean > word_scores[n]:
                        word_scores[n] = mean
                        word_labels[n] = label
            else:
                if way == MAX:
                    for token in range(first + 1, end):
                        if scores[token] > scores[best]:
                            best = np.int64(token)
                word_labels[n] = labels[best]
                word_scores[n] = scores[best]
            n += 1
            first = end
        word_offsets[row + 1] = n
    return n


@kernel
def join_entities(types, roles, offsets, labels, scores, firsts, lasts, entity_types, entity_scores, entity_offsets):
    """Neighbours whose labels belong together.

    One belongs to the one before if it has the same type, does not begin an entity (``BEGIN``, ``SINGLE``), and the one
    before does not end one (``END``, ``SINGLE``). So a label that says "inside" begins an entity where none is open, as
    the lenient reading of these schemes has it (Ramshaw, Marcus 1995; Ratinov, Roth 2009).

    Parameters
    ----------
    types, roles : int32[labels], uint8[labels]
        What a label says: which type, and ``BEGIN``, ``INSIDE``, ``END`` or ``SINGLE``.
    offsets : int64[rows + 1]
        Tokens, or words, of rows.
    labels, scores : int32[n], float32[n]
        Of each token or word.
    firsts, lasts : int64[n], int64[n]
        Written: first and last token, or word, of each entity.
    entity_types, entity_scores : int32[n], float32[n]
        Written: its type, and the mean of its scores.
    entity_offsets : int64[rows + 1]
        Written: entities of rows.

    Returns
    -------
    int64
        Number of entities; those of a type that means "none" are counted too.
    """
    n = np.int64(0)
    entity_offsets[0] = 0
    for row in range(offsets.size - 1):
        place = offsets[row]
        while place < offsets[row + 1]:
            first = place
            kind = types[labels[first]]
            total = np.float64(scores[first])
            place += 1
            while place < offsets[row + 1]:
                role = roles[labels[place]]
                before = roles[labels[place - 1]]
                opens = role != INSIDE and role != END
                is_closed = before != BEGIN and before != INSIDE
                if types[labels[place]] != kind or opens or is_closed:
                    break
                total += np.float64(scores[place])
                place += 1
            firsts[n] = first
            lasts[n] = place - 1
            entity_types[n] = kind
            entity_scores[n] = np.float32(total / np.float64(place - first))
            n += 1
        entity_offsets[row + 1] = n
    return n
