"""The byte trie in which special and added tokens are looked up, built once when a vocabulary is loaded.

The rules that decide between matches are in :mod:`numba_nlp.kernels.segment.special`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp.kernels.segment.word_characters import word_bits

__all__ = ["SpecialMatcher", "build_special_matcher"]

FLAG_SPECIAL = 1
FLAG_LSTRIP = 2
FLAG_RSTRIP = 4
FLAG_SINGLE_WORD = 8
FLAG_NORMALIZED = 16

#: Values of ``SpecialMatcher.searches``.
NOT_SEARCHED = 0
FIRST_SEARCH = 1
SECOND_SEARCH = 2


class SpecialMatcher(NamedTuple):
    """Byte trie of the searched tokens, in breadth-first order, with what the rules need of each token.

    Attributes
    ----------
    child_offsets : int32[N + 1]
        Children of node ``i`` are the nodes ``child_offsets[i]`` to ``child_offsets[i + 1] - 1``; node 0 is the root.
    node_bytes : uint8[N]
        Byte on the edge into each node; siblings ascend.
    node_tokens : int32[N]
        Index of the token that ends in the node, or -1.
    first_nodes : int32[256]
        Child of the root by byte, or -1.
    first_bytes : uint8[m]
        The bytes that a searched token starts with, ascending; empty when no token is searched for.
    token_lengths : int32[K]
        Length of each token in bytes.
    token_flags : uint8[K]
        ``special_flags`` of the vocabulary.
    searches : uint8[K]
        Which search a token takes part in: 0 none, 1 the first, 2 the second.
    has_second : uint8[1]
        1 when some token takes part in the second search.
    word_bits : uint8[0x110000 >> 3]
        Bit table of word characters; empty when no searched token is ``single_word``.
    special_bytes, special_offsets : uint8[n], int64[K + 1]
        The tokens, as given.
    """

    child_offsets: NDArray[np.int32]
    node_bytes: NDArray[np.uint8]
    node_tokens: NDArray[np.int32]
    first_nodes: NDArray[np.int32]
    first_bytes: NDArray[np.uint8]
    token_lengths: NDArray[np.int32]
    token_flags: NDArray[np.uint8]
    searches: NDArray[np.uint8]
    has_second: NDArray[np.uint8]
    word_bits: NDArray[np.uint8]
    special_bytes: NDArray[np.uint8]
    special_offsets: NDArray[np.int64]


def build_special_matcher(
    special_bytes: NDArray[np.uint8],
    special_offsets: NDArray[np.int64],
    special_flags: NDArray[np.uint8],
    active: ArrayLike | None = None,
) -> SpecialMatcher:
    """Build the matcher of a set of tokens; plain Python, for load time.

    Parameters
    ----------
    special_bytes, special_offsets : uint8[n], int64[K + 1]
        Contents of the tokens as they are matched in text, distinct and not empty.
    special_flags : uint8[K]
        1 special, 2 lstrip, 4 rstrip, 8 single_word, 16 normalized.
    active : bool[K], optional
        Which tokens to search for; all by default. A token left out is plain text, also where it would have won over
        a shorter one.

    Returns
    -------
    SpecialMatcher
        Read-only arrays.

    Raises
    ------
    ValueError
        If lengths disagree, or a token is empty or occurs twice.
    """
    n_tokens = special_offsets.size - 1
    chosen = np.ones(n_tokens, np.bool_) if active is None else np.asarray(active, np.bool_)
    if special_flags.size != n_tokens or chosen.shape != (n_tokens,):
        raise ValueError(
            f"special_offsets names {n_tokens} tokens, but special_flags has {special_flags.size} and active has "
            f"shape {chosen.shape}; give one flag and one truth value a token"
        )
    content = special_bytes.tobytes()
    bounds = special_offsets.tolist()
    tokens = [content[a:b] for a, b in pairwise(bounds)]
    if b"" in tokens:
        raise ValueError(f"special token {tokens.index(b'')} is empty, and would match everywhere; leave it out")
    if len(set(tokens)) < n_tokens:
        twice = next(token for token in tokens if tokens.count(token) > 1)
        raise ValueError(f"special token {twice!r} occurs twice; keep one of them")

    # Breadth-first numbering: the nodes of one depth are the distinct prefixes of that length, in sorted order.
    ends = {token: index for index, token in enumerate(tokens) if chosen[index]}
    prefixes: set[bytes] = {b""}
    for token in ends:
        prefixes.update(token[:n] for n in range(1, len(token) + 1))
    ordered = sorted(prefixes, key=lambda prefix: (len(prefix), prefix))
    numbers = {prefix: number for number, prefix in enumerate(ordered)}
    child_counts = np.zeros(len(ordered) + 1, np.int32)
    for prefix in ordered[1:]:
        child_counts[numbers[prefix[:-1]] + 1] += 1
    first_nodes = np.full(256, -1, np.int32)
    for prefix in ordered:
        if len(prefix) == 1:
            first_nodes[prefix[0]] = numbers[prefix]

    second = (special_flags & FLAG_NORMALIZED) != 0
    searches = np.where(chosen, np.where(second, SECOND_SEARCH, FIRST_SEARCH), NOT_SEARCHED).astype(np.uint8)
    needs_words = bool(np.any(chosen & ((special_flags & FLAG_SINGLE_WORD) != 0)))
    matcher = SpecialMatcher(
        child_offsets=np.cumsum(child_counts, dtype=np.int32) + np.int32(1),
        node_bytes=np.array([prefix[-1] if prefix else 0 for prefix in ordered], np.uint8),
        node_tokens=np.array([ends.get(prefix, -1) for prefix in ordered], np.int32),
        first_nodes=first_nodes,
        first_bytes=np.flatnonzero(first_nodes >= 0).astype(np.uint8),
        token_lengths=np.diff(special_offsets).astype(np.int32),
        token_flags=special_flags.astype(np.uint8),
        searches=searches,
        has_second=np.array([np.any(searches == SECOND_SEARCH)], np.uint8),
        word_bits=word_bits() if needs_words else np.zeros(0, np.uint8),
        special_bytes=special_bytes.copy(),
        special_offsets=special_offsets.astype(np.int64),
    )
    for array in matcher:
        array.flags.writeable = False
    return matcher
