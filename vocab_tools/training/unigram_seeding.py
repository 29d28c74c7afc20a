"""The first pieces of a Unigram model: all characters, and the strings that cover most of the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.training.suffix_array import (
    DIGIT_BITS,
    common_prefixes,
    double_keys,
    measure_suffixes,
    number_ranks,
    pack_keys,
    sort_by_digit,
)
from numba_nlp.kernels.training.unigram_lattices import count_entries, fill_entries
from numba_nlp.kernels.training.unigram_seeds import (
    ANY_SCRIPT,
    DIGIT,
    INHERITED,
    SPACE,
    SPACE_IS_SUFFIX,
    SPACES_ALONE,
    SPLIT_DIGITS,
    SPLIT_SCRIPTS,
    SPLIT_WHITESPACE,
    fill_nodes,
    score_nodes,
)
from numba_nlp.kernels.training.unigram_words import count_characters, fill_codes
from vocab_tools.formats.unicode_facts import scripts
from vocab_tools.training.counts import WordCounts
from vocab_tools.training.unigram_options import TrainingOptions

__all__ = ["Alphabet", "Corpus", "Pieces", "alphabet_of", "number_words", "seed_pieces", "sort_suffixes"]

MARK = "\u2581"
#: The prolonged sound mark of Japanese, which goes with its scripts.
_PROLONGED = 0x30FC
_DIGITS = [*range(0x30, 0x3A), *range(0xFF10, 0xFF1A)]


class Alphabet(NamedTuple):
    """The characters that pieces are made of.

    Attributes
    ----------
    characters : str
        The most frequent first; of equally frequent ones the lowest code point first.
    counts : int64[n]
    numbers : int32[0x110000]
        Of each character from 1 on; 0 for others.
    n_characters : int
        Characters of all words, each word once, others included.
    """

    characters: str
    counts: NDArray[np.int64]
    numbers: NDArray[np.int32]
    n_characters: int


class Corpus(NamedTuple):
    """Words as numbers of their characters.

    Attributes
    ----------
    codes : int32[n]
        A 0 behind each word.
    starts : int64[W + 1]
    counts : int64[W]
    """

    codes: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass
class Pieces:
    """Pieces that are left, and where they stand in the words; changed as training goes on.

    Attributes
    ----------
    places, piece_lengths : int32[P], int32[P]
        A place in the codes where the piece stands, and its number of characters.
    scores : float64[P]
    character_pieces : int32[C + 1]
        Piece of each character, or -1.
    offsets, entries, lengths : int64[n + 1], int32[E], uint16[E]
        Pieces of several characters at each place of the codes.
    """

    places: NDArray[np.int32]
    piece_lengths: NDArray[np.int32]
    scores: NDArray[np.float64]
    character_pieces: NDArray[np.int32]
    offsets: NDArray[np.int64]
    entries: NDArray[np.int32]
    lengths: NDArray[np.uint16]


def alphabet_of(words: WordCounts, options: TrainingOptions) -> Alphabet:
    """Choose the characters that ``character_coverage`` and ``required_chars`` ask for."""
    counts = np.zeros(0x110000, np.int64)
    n_characters = int(count_characters(words.data, words.offsets, words.counts, counts))
    counts[0] = 0
    found = np.flatnonzero(counts)
    found = found[np.argsort(-counts[found], kind="stable")]
    if not options.use_all_vocab:
        covered = np.cumsum(counts[found]) - counts[found]
        # in float32, as the reference compares
        share = (covered / max(int(counts.sum()), 1)).astype(np.float32)
        found = found[share < np.float32(options.character_coverage)]
    required = sorted({ord(character) for character in options.required_chars} - {0} - set(found.tolist()))
    found = np.append(found, np.array(required, np.int64))
    numbers = np.zeros(0x110000, np.int32)
    numbers[found] = np.arange(1, found.size + 1)
    return Alphabet("".join(map(chr, found.tolist())), counts[found], numbers, n_characters)


def number_words(words: WordCounts, alphabet: Alphabet) -> Corpus:
    """Write words as numbers of characters, cut where a character has none."""
    room = alphabet.n_characters + 1
    codes = np.empty(2 * room, np.int32)
    starts, counts = np.empty(room + 1, np.int64), np.empty(room, np.int64)
    n, n_words = map(int, fill_codes(words.data, words.offsets, words.counts, alphabet.numbers, codes, starts, counts))
    return Corpus(codes[:n].copy(), starts[: n_words + 1].copy(), counts[:n_words].copy())


def sort_suffixes(
    codes: NDArray[np.int32], lengths: NDArray[np.int32], n_suffixes: int, n_codes: int, width: int
) -> NDArray[np.int32]:
    """Places of the suffixes in the order of at least their first ``width`` characters."""
    bits = max(n_codes.bit_length(), 1)
    packed = min(63 // bits, width)
    keys = np.empty(codes.size, np.int64)
    order, spare = np.empty(n_suffixes, np.int32), np.empty(n_suffixes, np.int32)
    counts = np.empty(1 << DIGIT_BITS, np.int64)
    pack_keys(codes, bits, packed, keys, order)
    while True:
        for shift in range(0, 64, DIGIT_BITS):
            if sort_by_digit(keys, shift, order, spare, counts):
                order, spare = spare, order
        if packed >= width:
            return order
        ranks = np.empty(codes.size, np.int32)
        number_ranks(keys, order, ranks)
        double_keys(ranks, lengths, packed, keys)
        packed *= 2


def _marks(alphabet: Alphabet, options: TrainingOptions) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Script and marks of every number of a character."""
    numbers, names = scripts()
    points = np.array([0, *map(ord, alphabet.characters)], np.int64)
    own = numbers[points].astype(np.int32)
    japanese = np.isin(own, [names.index("Hiragana"), names.index("Katakana")]) | (points == _PROLONGED)
    own[japanese] = names.index("Han")
    own[own == names.index("Inherited")] = INHERITED
    marks = np.where(points == ord(MARK), SPACE, 0).astype(np.uint8)
    digits = np.isin(points, _DIGITS)
    marks[digits] = DIGIT
    if not options.split_by_number:
        own[digits] = ANY_SCRIPT
    return own, marks


def seed_pieces(corpus: Corpus, alphabet: Alphabet, options: TrainingOptions) -> Pieces:
    """All characters, and the strings of two and more that cover most.

    Parameters
    ----------
    corpus : Corpus
    alphabet : Alphabet
    options : TrainingOptions

    Returns
    -------
    Pieces
        With the logarithm of the share of their occurrences, weighed by their length, as scores.
    """
    limit = options.max_sentencepiece_length
    codes = corpus.codes
    lengths = np.empty(codes.size, np.int32)
    n_suffixes = int(measure_suffixes(codes, limit + 1, lengths))
    n_codes = len(alphabet.characters)
    order = sort_suffixes(codes, lengths, n_suffixes, n_codes, limit + 1)
    common = np.empty(n_suffixes + 1, np.int32)
    common_prefixes(codes, lengths, order, common)

    ends_vary = options.treat_whitespace_as_suffix and options.split_by_whitespace
    room = (2 if ends_vary else 1) * n_suffixes + 1
    node_lengths, node_firsts, parents = (np.empty(room, np.int32) for _ in range(3))
    node_counts, node_continued = np.empty(room, np.int64), np.empty(room, np.uint8)
    node_at = np.empty(codes.size, np.int32)
    counts_at = np.repeat(corpus.counts, np.diff(corpus.starts))
    n_nodes = int(
        fill_nodes(
            order, common, lengths, counts_at, limit, ends_vary, node_lengths, node_firsts, node_counts,
            node_continued, parents, node_at, np.empty(limit + 3, np.int32),
        )
    )  # fmt: skip
    del common, lengths, counts_at
    rules = (
        SPLIT_WHITESPACE * options.split_by_whitespace
        + SPACE_IS_SUFFIX * options.treat_whitespace_as_suffix
        + SPACES_ALONE * options.allow_whitespace_only_pieces
        + SPLIT_DIGITS * options.split_digits
        + SPLIT_SCRIPTS * options.split_by_unicode_script
    )
    own, marks = _marks(alphabet, options)
    scores = np.empty(n_nodes, np.int64)
    n_candidates = int(
        score_nodes(
            codes, order, node_lengths, node_firsts, node_counts, node_continued, limit, own, marks, rules, scores
        )
    )
    n_chosen = min(n_candidates, max(options.seed_sentencepiece_size - n_codes, 0))
    # the best first, of equal ones the first in the order of characters
    chosen = np.argsort(-scores, kind="stable")[:n_chosen]
    node_pieces = np.full(n_nodes, -1, np.int32)
    node_pieces[chosen] = np.arange(n_codes, n_codes + n_chosen, dtype=np.int32)

    first_places = np.zeros(n_codes + 1, np.int32)
    first_places[codes] = np.arange(codes.size, dtype=np.int32)
    character_pieces = np.arange(-1, n_codes, dtype=np.int32)
    weights = np.concatenate([np.maximum(alphabet.counts, 1), scores[chosen]]).astype(np.float64)
    offsets = np.empty(codes.size + 1, np.int64)
    n_entries = int(count_entries(node_at, codes, parents, node_pieces, offsets))
    entries, entry_lengths = np.empty(n_entries, np.int32), np.empty(n_entries, np.uint16)
    fill_entries(node_at, codes, parents, node_pieces, node_lengths, entries, entry_lengths)
    return Pieces(
        places=np.concatenate([first_places[1:], order[node_firsts[chosen]]]),
        piece_lengths=np.concatenate([np.ones(n_codes, np.int32), node_lengths[chosen]]),
        scores=np.log(weights) - np.log(weights.sum()),
        character_pieces=character_pieces,
        offsets=offsets,
        entries=entries,
        lengths=entry_lengths,
    )
