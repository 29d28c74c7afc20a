"""What a training run of BPE begins with: special tokens, the alphabet, and the words as symbols of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.byte_alphabet import BYTE_CHARACTERS
from numba_nlp.kernels.training.merge_memory import TrainingWords
from numba_nlp.kernels.training.word_symbols import FORMS, count_characters, fill_symbols, mark_forms
from vocab_tools.training.counts import WordCounts

__all__ = ["Alphabet", "begin", "checked_characters"]

_N_CODE_POINTS = 0x110000
#: Forms of a character that have something before them in their word, and that end it.
_GOES_ON, _ENDS = (1, 3), (2, 3)


class Alphabet(NamedTuple):
    """Symbols that words are made of, and the words.

    Attributes
    ----------
    tokens : list of str
        By symbol: tokens that were given, characters by code point, and their forms with prefix or suffix.
    words : TrainingWords
    n_characters : int
        Forms of characters that occur, counted as subword-nmt does.
    """

    tokens: list[str]
    words: TrainingWords
    n_forms: int


def checked_characters(characters: Iterable[str] | None) -> list[str]:
    """The characters of an initial alphabet.

    Raises
    ------
    ValueError
        An item is not one character.
    """
    given = list(characters or ())
    for number, character in enumerate(given):
        if len(character) != 1:
            raise ValueError(f"`initial_alphabet` must hold single characters, got {character!r} at {number}")
    return given


def begin(
    counts: WordCounts,
    tokens: Sequence[str],
    *,
    is_bytes: bool,
    initial_alphabet: Iterable[str] | None = None,
    limit_alphabet: int | None = None,
    prefix: str = "",
    suffix: str = "",
    keeps_plain: bool = True,
) -> Alphabet:
    """Choose the alphabet, and write the words in it.

    Parameters
    ----------
    counts : WordCounts
    tokens : sequence of str
        Special tokens and their like, which get the first symbols.
    is_bytes : bool
        Words are bytes, all 256 of which are in the alphabet, as GPT-2 writes them.
    initial_alphabet : iterable of str, optional
        Characters that are in the alphabet whether they occur or not.
    limit_alphabet : int, optional
        Most characters. The rarest go, of equals that with the higher code point; they are left out of words.
    prefix, suffix : str
        What characters have before them that are not the first of a word, and behind them that are the last.
    keeps_plain : bool
        Whether characters without prefix and suffix are in the alphabet when they only occur with one.

    Returns
    -------
    Alphabet
    """
    totals = np.zeros(256 if is_bytes else _N_CODE_POINTS, np.int64)
    n_symbols = int(count_characters(counts.data, counts.offsets, counts.counts, is_bytes, totals))
    if is_bytes:
        kept = sorted(range(256), key=BYTE_CHARACTERS.__getitem__)
        texts = {byte: BYTE_CHARACTERS[byte] for byte in kept}
    else:
        kept = _kept(totals, checked_characters(initial_alphabet), limit_alphabet)
        texts = {point: chr(point) for point in kept}
        # as in tokenizers, a character that is a special token stays in words whatever the alphabet is limited to
        special = {ord(token) for token in tokens if len(token) == 1}
        kept = sorted(special.union(kept))
        texts.update((point, chr(point)) for point in special)
    n_rows = max([*kept, int(np.flatnonzero(totals).max(initial=-1))], default=-1) + 1
    used = np.zeros(FORMS * n_rows, np.uint8)
    mark_forms(counts.data, counts.offsets, is_bytes, used)
    ids = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    if keeps_plain:
        for point in kept:
            ids.setdefault(texts[point], len(ids))
    form_ids = np.full(FORMS * n_rows, -1, np.int32)
    n_forms = 0
    for point in kept:
        for form in np.flatnonzero(used[FORMS * point : FORMS * (point + 1)]).tolist():
            text = f"{prefix if form in _GOES_ON else ''}{texts[point]}{suffix if form in _ENDS else ''}"
            form_ids[FORMS * point + form] = ids.setdefault(text, len(ids))
    n_forms = int(np.unique(form_ids[form_ids >= 0]).size)
    return Alphabet(list(ids), _as_symbols(counts, is_bytes, form_ids, n_symbols), n_forms)


def _kept(totals: NDArray[np.int64], initial: list[str], limit: int | None) -> list[int]:
    """Code points of the alphabet, rising."""
    given = set(map(ord, initial))
    points = sorted(given | set(np.flatnonzero(totals).tolist()))
    if limit is not None and len(points) > limit:
        most = int(totals.max(initial=0)) + 1
        points = sorted(points, key=lambda point: (-(most if point in given else int(totals[point])), point))[:limit]
    return sorted(points)


def _as_symbols(counts: WordCounts, is_bytes: bool, form_ids: NDArray[np.int32], n_symbols: int) -> TrainingWords:
    symbols = np.empty(n_symbols, np.int32)
    starts, lengths = np.empty(len(counts), np.int64), np.empty(len(counts), np.int32)
    n = int(fill_symbols(counts.data, counts.offsets, is_bytes, form_ids, symbols, starts, lengths))
    return TrainingWords(symbols[:n], starts, lengths, counts.counts)
