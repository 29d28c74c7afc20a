"""Twin of ``numba_nlp.kernels.training.learn_merges``: the trainer that counts anew, and those with all consequences.

:func:`learn_naively` is the trainer of the articles: count the pairs of all words, join the most frequent one, begin
again. The others change counts instead, each as its reference does; where no text is made twice all three agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from numba_nlp.reference.training.count_pairs import Pair, count_pairs, places_of
from numba_nlp.reference.training.merge_queue import first_of

__all__ = ["join", "learn_as_subword_nmt", "learn_as_tokenizers", "learn_naively"]

Merge = tuple[int, int, int]


def join(word: Sequence[int], left: int, right: int, new: int) -> list[int]:
    """A word with each pair in it made one symbol, from the left on."""
    out: list[int] = []
    i = 0
    while i < len(word):
        if list(word[i : i + 2]) == [left, right]:
            out.append(new)
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


def _product(tokens: list[bytes], pair: Pair, prefix: bytes = b"") -> int:
    """Symbol of the text of a pair, added to the tokens when it is new."""
    text = tokens[pair[0]] + tokens[pair[1]].removeprefix(prefix)
    if text not in tokens:
        tokens.append(text)
    return tokens.index(text)


def learn_naively(
    words: Sequence[Sequence[int]], counts: Sequence[int], tokens: list[bytes], most_tokens: int
) -> list[Merge]:
    """Learn merges by counting all pairs for each of them; new tokens are appended."""
    merges: list[Merge] = []
    while len(tokens) < most_tokens:
        pairs = count_pairs(words, counts)
        if not pairs:
            break
        entries = [(count, pair) for pair, count in pairs.items()]
        pair = entries[first_of(entries)][1]
        new = _product(tokens, pair)
        merges.append((*pair, new))
        words = [join(word, *pair, new) for word in words]
    return merges


def learn_as_tokenizers(
    words: Sequence[Sequence[int]],
    counts: Sequence[int],
    tokens: list[bytes],
    *,
    most_tokens: int,
    frequency: int = 0,
    length: int | None = None,
    prefix: bytes = b"",
) -> list[Merge]:
    """Learn merges as ``BpeTrainer`` does; new tokens are appended.

    Every change of a word is applied to the counts at once. A pair that merged keeps its count, and words in which a
    pair appears anew are an entry of their own.
    """
    text = [list(word) for word in words]
    lengths = [1] * len(tokens)
    pairs = count_pairs(text, counts)
    queue = [(pairs[pair], pair, places) for pair, places in places_of(text).items()]
    merges: list[Merge] = []
    while len(tokens) < most_tokens and queue:
        first = first_of([(count, pair) for count, pair, _ in queue])
        count, pair, places = queue[first]
        if count != pairs[pair]:
            queue[first] = (pairs[pair], pair, places)
            continue
        if count < 1 or count < frequency:
            break
        del queue[first]
        new = _product(tokens, pair, prefix)
        size = lengths[pair[0]] + lengths[pair[1]]
        if new == len(lengths):
            lengths.append(size)
        lengths[new] = size  # of a special token too, once it is merged of others
        merges.append((*pair, new))
        found: dict[Pair, list[int]] = {}

        def change(pair: Pair, by: int, word: int, other: int | None, size: int = size, found=found) -> None:
            if other is not None and length is not None and lengths[other] + size >= length:
                return
            pairs[pair] = pairs.get(pair, 0) + by * counts[word]
            if by > 0 and word not in found.setdefault(pair, []):
                found[pair].append(word)

        for number in places:
            word = text[number]
            i = 0
            while i + 1 < len(word):
                if (word[i], word[i + 1]) == pair:
                    if i > 0:
                        change((word[i - 1], pair[0]), -1, number, None)
                        change((word[i - 1], new), 1, number, word[i - 1])
                    word[i : i + 2] = [new]
                    if i + 1 < len(word):
                        change((pair[1], word[i + 1]), -1, number, None)
                        change((new, word[i + 1]), 1, number, word[i + 1])
                i += 1
        queue += [(pairs[pair], pair, places) for pair, places in found.items() if pairs[pair] > 0]
    return merges


def learn_as_subword_nmt(
    words: Sequence[Sequence[int]], counts: Sequence[int], tokens: list[bytes], *, most_merges: int, frequency: int = 2
) -> list[Merge]:
    """Learn merges as ``learn_bpe`` does, without its pruning; new tokens are appended.

    In a word that changes, pairs beside the merged one lose its count and pairs beside the new symbol gain it, also
    where that stood in the word before.
    """
    text = [list(word) for word in words]
    pairs = count_pairs(text, counts)
    merges: list[Merge] = []
    while len(merges) < most_merges and pairs:
        entries = [(count, pair) for pair, count in pairs.items()]
        count, pair = entries[first_of(entries, tokens)]
        if count < max(frequency, 1):
            break
        new = _product(tokens, pair)
        merges.append((*pair, new))
        for number, word in enumerate(text):
            joined = join(word, *pair, new)
            if joined == word:
                continue
            by = counts[number]
            i = 0
            while i < len(word):
                if tuple(word[i : i + 2]) != pair:
                    i += 1
                    continue
                if i > 0:
                    pairs[word[i - 1], pair[0]] -= by
                if i + 2 < len(word) and tuple(word[i + 2 : i + 4]) != pair:
                    pairs[pair[1], word[i + 2]] -= by
                i += 2
            for i, symbol in enumerate(joined):
                if symbol == new and i > 0:
                    pairs[joined[i - 1], new] = pairs.get((joined[i - 1], new), 0) + by
                if symbol == new and i + 1 < len(joined) and joined[i + 1] != new:
                    pairs[new, joined[i + 1]] = pairs.get((new, joined[i + 1]), 0) + by
            text[number] = joined
        pairs[pair] = 0
    return merges
