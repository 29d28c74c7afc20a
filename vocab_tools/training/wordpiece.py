"""``train_wordpiece``: a WordPiece vocabulary, learnt as tokenizers' ``WordPieceTrainer`` does: by BPE."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numba_nlp.kernels.training.merge_memory import RULE_COUNTS
from vocab_tools.formats.character_description import BertOptions
from vocab_tools.training._alphabet import begin
from vocab_tools.training._merging import learn
from vocab_tools.training._options import check_counts, check_mark, check_tokens
from vocab_tools.training.counts import Errors, count_words
from vocab_tools.training.trained import TrainedWordPiece

__all__ = ["SPECIAL_TOKENS", "train_wordpiece"]

#: Those of BERT.
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_wordpiece(
    source: Any,
    *,
    vocab_size: int = 30000,
    min_frequency: int = 0,
    initial_alphabet: Iterable[str] | None = None,
    limit_alphabet: int | None = None,
    special_tokens: Sequence[str] = SPECIAL_TOKENS,
    unk_token: str = "[UNK]",  # noqa: S107  no password
    continuing_subword_prefix: str = "##",
    max_input_chars_per_word: int = 100,
    clean_text: bool = True,
    handle_chinese_chars: bool = True,
    strip_accents: bool | None = None,
    lowercase: bool = True,
    errors: Errors = "strict",
    n_threads: int | None = None,
    progress: bool = False,
    name: str = "wordpiece",
) -> TrainedWordPiece:
    """Learn a WordPiece vocabulary.

    Text goes through BERT's normaliser and pre-tokeniser. Characters that do not begin a word have the prefix, and
    pairs merge as in :func:`vocab_tools.training.bpe.train_bpe`, ties included. Ids are those of special tokens, of
    characters by code point, of characters with the prefix by code point, of products in the order in which they are
    made. (tokenizers numbers characters with the prefix in the order of a hash table that differs from run to run.)

    Parameters
    ----------
    source : path-like, str, iterable of path-like or str, Arrow column, Mapping, iterable of pairs, WordCounts
        As of :func:`vocab_tools.training.counts.count_words`; counted words are taken as they are.
    vocab_size : int
        Number of tokens, all counted.
    min_frequency : int
        A pair that occurs less often does not merge.
    initial_alphabet : iterable of str, optional
        Characters that are tokens whether they occur or not.
    limit_alphabet : int, optional
        Most characters; the rarest are left out.
    special_tokens : sequence of str
        Get the first ids.
    unk_token : str
        Token of unknown words; among ``special_tokens``.
    continuing_subword_prefix : str
        What tokens have before them that do not begin a word.
    max_input_chars_per_word : int
        Longer words are unknown when text is encoded.
    clean_text, handle_chinese_chars, strip_accents, lowercase : bool
        As of tokenizers' ``BertNormalizer``; ``strip_accents`` None means as ``lowercase``.
    errors : {"strict", "replace"}
        Bytes that are not UTF-8 raise, or become U+FFFD.
    n_threads : int, optional
        Threads that count words.
    progress : bool
        Show progress bars (tqdm) on stderr.
    name : str
        Name of the vocabulary.

    Returns
    -------
    TrainedWordPiece
        With fewer tokens than asked for when no pair is left, or none is frequent enough (``reached`` is False then).

    Raises
    ------
    ValueError, TypeError
        An option has a wrong value; the message names it.
    InvalidTextError, OSError
        As of :func:`vocab_tools.training.counts.count_words`.

    Examples
    --------
    >>> from vocab_tools.training.wordpiece import train_wordpiece
    >>> list(train_wordpiece(["hug pug hugs"], vocab_size=14, special_tokens=["[UNK]"]).vocabulary)
    ['[UNK]', 'g', 'h', 'p', 's', 'u', '##g', '##s', '##u', '##ug', 'hug', 'pug', 'hugs']
    """
    check_counts(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        limit_alphabet=limit_alphabet,
        max_input_chars_per_word=max_input_chars_per_word,
    )
    specials = check_tokens("special_tokens", special_tokens)
    if unk_token not in specials:
        raise ValueError(f"`unk_token` is {unk_token!r}, which must be one of `special_tokens`, {list(specials)}")
    prefix = check_mark("continuing_subword_prefix", continuing_subword_prefix)
    options = BertOptions(clean_text, handle_chinese_chars, strip_accents, lowercase)
    counts = count_words(source, cut=options, errors=errors, n_threads=n_threads, progress=progress)
    alphabet = begin(
        counts,
        specials,
        is_bytes=False,
        initial_alphabet=initial_alphabet,
        limit_alphabet=limit_alphabet,
        prefix=prefix,
    )
    learned = learn(
        [token.encode() for token in alphabet.tokens],
        [1] * len(alphabet.tokens),
        alphabet.words,
        rule=RULE_COUNTS,
        most_tokens=vocab_size,
        most_merges=None,
        min_frequency=min_frequency,
        max_length=None,
        prefix=prefix.encode(),
        progress=progress,
    )
    return TrainedWordPiece(
        name=name,
        vocabulary={token.decode(): number for number, token in enumerate(learned.tokens)},
        reached=len(learned.tokens) >= vocab_size,
        special_tokens=specials,
        unk_token=unk_token,
        continuing_subword_prefix=prefix,
        max_input_chars_per_word=max_input_chars_per_word,
        options=options,
    )
