"""Candidates for the pieces of a Unigram model: strings that several continuations follow.

In the sorted suffixes of all words, a string stands for a range: the suffixes that begin with it. Strings of the same
range are always continued alike, and only the longest of them is a candidate; these are the inner nodes of the suffix
tree, found from the lengths of common prefixes (Abouelhoda, Kurtz and Ohlebusch, "Replacing suffix trees with enhanced
suffix arrays", J. Discrete Algorithms 2, 2004; Kudo, "Subword regularization", ACL 2018, 3.2). The end of a word is one
continuation, whatever the word: what words only end with is no candidate. sentencepiece looks at whole sentences, where
such a string is continued by U+2581, and leaves it out as well unless some sentence ends with it. Where words end with
U+2581 themselves, the beginnings of other words continue them, so there their ends vary.

Twin: ``numba_nlp.reference.training.unigram_seeds``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["ANY_SCRIPT", "DIGIT", "INHERITED", "SPACE", "fill_nodes", "is_piece", "score_nodes"]

# Scripts that are none, in what is said of characters.
ANY_SCRIPT = -1
INHERITED = -2

# What else is said of characters.
SPACE = 1
DIGIT = 2

# What pieces may be.
SPLIT_WHITESPACE = 1
SPACE_IS_SUFFIX = 2
SPACES_ALONE = 4
SPLIT_DIGITS = 8
SPLIT_SCRIPTS = 16


@kernel
def fill_nodes(
    order,
    common,
    lengths,
    counts_at,
    limit,
    ends_vary,
    node_lengths,
    node_firsts,
    node_counts,
    node_continued,
    parents,
    node_at,
    stack,
):
    """Find the nodes of the suffix tree.

    Parameters
    ----------
    order : int32[m]
        Places of the suffixes, sorted by as many of their first characters as ``lengths`` counts.
    common : int32[m + 1]
        See :func:`numba_nlp.kernels.training.suffix_array.common_prefixes`.
    lengths : int32[n]
        Of the suffixes, up to some limit.
    counts_at : int64[n]
        How often the word at a place occurs.
    limit : int64
        Where ends vary, words up to this length have a node of their own.
    ends_vary : bool
    node_lengths, node_firsts, node_counts, node_continued, parents : int32[k], int32[k], int64[k], uint8[k], int32[k]
        Written: characters of a node's string, where it stands in ``order`` first, how often it occurs, whether it is
        continued in several ways, the node of its longest beginning that has one. Node 0 is the empty string, its
        parent is -1. ``k = m + 1`` suffices, ``2 * m + 1`` where ends vary.
    node_at : int32[n]
        Written where suffixes begin: the node with the longest string there.
    stack : int32[limit + 2]
        Scratch.

    Returns
    -------
    int64
        Number of nodes.
    """
    node_lengths[0], node_firsts[0], node_counts[0], node_continued[0], parents[0] = 0, 0, 0, 1, -1
    n_nodes = np.int64(1)
    stack[0] = 0
    depth = np.int64(0)
    for i in range(order.size):
        place = np.int64(order[i])
        following = np.int64(common[i + 1])
        if following > node_lengths[stack[depth]]:
            depth += 1
            stack[depth] = np.int32(n_nodes)
            node_lengths[n_nodes], node_firsts[n_nodes] = np.int32(following), np.int32(i)
            node_counts[n_nodes], node_continued[n_nodes] = 0, 0
            n_nodes += 1
        top = np.int64(stack[depth])
        node_at[place] = np.int32(top)
        node_counts[top] += counts_at[place]
        length = np.int64(lengths[place])
        if ends_vary and node_lengths[top] < length <= limit and counts_at[place] > 1:
            node_lengths[n_nodes], node_firsts[n_nodes] = np.int32(length), np.int32(i)
            node_counts[n_nodes], node_continued[n_nodes] = counts_at[place], 1
            parents[n_nodes] = np.int32(top)
            node_at[place] = np.int32(n_nodes)
            n_nodes += 1
        if ends_vary or length > node_lengths[top]:
            node_continued[top] = 1
        while node_lengths[top] > following:
            depth -= 1
            if node_lengths[stack[depth]] < following:
                depth += 1
                stack[depth] = np.int32(n_nodes)
                node_lengths[n_nodes], node_firsts[n_nodes] = np.int32(following), node_firsts[top]
                node_counts[n_nodes], node_continued[n_nodes] = 0, 0
                n_nodes += 1
            parents[top] = stack[depth]
            node_continued[stack[depth]] = 1
            node_counts[stack[depth]] += node_counts[top]
            top = np.int64(stack[depth])
    return n_nodes


@kernel
def is_piece(codes, start, length, scripts, marks, rules):
    """Whether a string may be a piece, by its white space, digits and scripts.

    Parameters
    ----------
    codes : int32[n]
        Numbers of characters.
    start, length : int64
        The string.
    scripts : int32[C]
        Of each character, or ``ANY_SCRIPT``, ``INHERITED``.
    marks : uint8[C]
        ``SPACE``, ``DIGIT`` or 0.
    rules : int64
        Sum of ``SPLIT_WHITESPACE`` (spaces at one end only), ``SPACE_IS_SUFFIX`` (the last one),
        ``SPACES_ALONE`` (pieces of spaces only are allowed), ``SPLIT_DIGITS`` (a digit is a piece of its own),
        ``SPLIT_SCRIPTS`` (characters of one script).

    Returns
    -------
    bool
    """
    only_spaces = True
    for i in range(length):
        only_spaces = only_spaces and (marks[codes[start + i]] & SPACE) != 0
    script = np.int64(ANY_SCRIPT)
    for i in range(length):
        code = codes[start + i]
        if marks[code] & SPACE:
            if only_spaces and rules & SPACES_ALONE:
                continue
            inside = i < length - 1 if rules & SPACE_IS_SUFFIX else i > 0
            if inside:
                # without splitting at white space, only at the far end of a piece it may not stand
                far = i == 0 if rules & SPACE_IS_SUFFIX else i == length - 1
                if rules & SPLIT_WHITESPACE or far:
                    return False
            continue
        if marks[code] & DIGIT and rules & SPLIT_DIGITS and length > 1:
            return False
        own = np.int64(scripts[code])
        if own == INHERITED:
            own = script
        if rules & SPLIT_SCRIPTS and own != ANY_SCRIPT and script != ANY_SCRIPT and own != script:
            return False
        script = own
    return True


@kernel
def score_nodes(
    codes, order, node_lengths, node_firsts, node_counts, node_continued, limit, scripts, marks, rules, scores
):
    """Characters that each node's string covers in the corpus; 0 where it is no candidate.

    Parameters
    ----------
    codes, order : int32[n], int32[m]
    node_lengths, node_firsts, node_counts, node_continued : int32[nodes], int32[nodes], int64[nodes], uint8[nodes]
        See :func:`fill_nodes`.
    limit : int64
        Candidates have 2 to this many characters, and are continued in several ways.
    scripts, marks, rules : int32[C], uint8[C], int64
        See :func:`is_piece`.
    scores : int64[nodes]
        Written.

    Returns
    -------
    int64
        Number of candidates.
    """
    n = np.int64(0)
    for node in range(scores.size):
        length = np.int64(node_lengths[node])
        scores[node] = 0
        if length < 2 or length > limit or node_continued[node] == 0:
            continue
        if is_piece(codes, np.int64(order[node_firsts[node]]), length, scripts, marks, rules):
            scores[node] = length * node_counts[node]
            n += 1
    return n
