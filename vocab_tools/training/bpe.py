"""``train_bpe``: byte pair encoding, learnt from counted words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from numba_nlp.kernels.training.merge_memory import RULE_CODES, RULE_COUNTS
from vocab_tools.formats.character_description import BertOptions
from vocab_tools.formats.character_vocab import SUFFIX
from vocab_tools.training._alphabet import begin
from vocab_tools.training._merging import Learned, learn
from vocab_tools.training._options import (
    check_counts,
    check_mark,
    check_tokens,
    refuse_options,
)
from vocab_tools.training.counts import Errors, count_words
from vocab_tools.training.cuts import choose_cut
from vocab_tools.training.trained import TrainedBpe

__all__ = ["KINDS", "Kind", "train_bpe"]

Kind = Literal["byte-level", "character", "subword-nmt", "sentencepiece"]


class _Defaults(NamedTuple):
    """What an option is when it is not given."""

    cut: str
    min_frequency: int
    suffix: str


#: Kinds of vocabularies.
KINDS: dict[str, _Defaults] = {
    "byte-level": _Defaults("gpt2", 0, ""),
    "character": _Defaults("bert", 0, SUFFIX),
    "subword-nmt": _Defaults("spaces", 2, SUFFIX),
    "sentencepiece": _Defaults("metaspace", 0, ""),
}
#: Ways to cut that fit a kind, besides the byte-level patterns.
_CUTS = {
    "character": ("bert", "none", "whitespace"),
    "subword-nmt": ("spaces",),
    "sentencepiece": ("metaspace",),
}
_BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))


def train_bpe(
    source: Any,
    *,
    kind: Kind = "byte-level",
    vocab_size: int | None = None,
    num_symbols: int | None = None,
    total_symbols: bool = False,
    cut: str | BertOptions | None = None,
    min_frequency: int | None = None,
    max_token_length: int | None = None,
    initial_alphabet: Iterable[str] | None = None,
    limit_alphabet: int | None = None,
    special_tokens: Sequence[str] = (),
    user_defined_symbols: Sequence[str] = (),
    unk_token: str | None = None,
    byte_fallback: bool = False,
    add_prefix_space: bool = False,
    continuing_subword_prefix: str = "",
    end_of_word_suffix: str | None = None,
    errors: Errors = "strict",
    n_threads: int | None = None,
    progress: bool = False,
    name: str = "bpe",
) -> TrainedBpe:
    """Learn a BPE vocabulary.

    From the characters of each word on, the most frequent pair of neighbours becomes one token, again and again, until
    the vocabulary has the size asked for. Of pairs that are as frequent the one with the lower ids merges first, the
    left one deciding before the right one: the rule of tokenizers' ``BpeTrainer``, whose merges these are. For
    ``kind="subword-nmt"`` it is that of subword-nmt's ``learn_bpe``: the pair that is greater as text.
    Nothing is random, so there is no seed, and the result does not depend on the number of threads.

    Parameters
    ----------
    source : path-like, str, iterable of path-like or str, Arrow column, Mapping, iterable of pairs, WordCounts
        As of :func:`vocab_tools.training.counts.count_words`; counted words are taken as they are.
    kind : {"byte-level", "character", "subword-nmt", "sentencepiece"}
        Tokens of bytes, as GPT-2's; of characters with a mark at the end of words, as GPT's; codes of subword-nmt; of
        characters with U+2581 before words, as SentencePiece's.
    vocab_size : int, optional
        Number of tokens, all counted; 30000 by default. A smaller number than that of the tokens to begin with adds
        none.
    num_symbols : int, optional
        For ``"subword-nmt"``, in place of ``vocab_size``: number of merges; 10000 by default.
    total_symbols : bool
        For ``"subword-nmt"``: the characters, inside and at the end of words, count among ``num_symbols``.
    cut : str or BertOptions, optional
        How text is cut into words: a byte-level pattern (``"gpt2"`` by default); for ``"character"`` ``"bert"`` (the
        default), ``BertOptions(...)``, ``"whitespace"`` or ``"none"``.
    min_frequency : int, optional
        A pair that occurs less often does not merge; 0 by default, 2 for ``"subword-nmt"``.
    max_token_length : int, optional
        Pairs that a merge makes are taken up when their product has fewer characters (of ``"byte-level"``: bytes) than
        this, as in tokenizers; pairs of two characters always are.
    initial_alphabet : iterable of str, optional
        Characters that are tokens whether they occur or not. ``"byte-level"`` has all bytes anyway.
    limit_alphabet : int, optional
        Most characters; the rarest are left out.
    special_tokens : sequence of str
        Get the first ids. Text is not cut at them.
    user_defined_symbols : sequence of str
        Get the next ids. Text is cut at them before words are counted, so they are in no other token.
    unk_token : str, optional
        Token of unknown characters; among ``special_tokens``.
    byte_fallback : bool
        For ``"sentencepiece"``: tokens for all bytes, which stand for unknown characters.
    add_prefix_space : bool
        For ``"byte-level"``: a space is put before text that does not begin with one.
    continuing_subword_prefix, end_of_word_suffix : str
        For ``"character"``: what tokens have before them that do not begin a word, and behind them that end one
        (``"</w>"`` by default).
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
    TrainedBpe
        With fewer tokens than asked for when no pair is left, or none is frequent enough (``reached`` is False then).

    Raises
    ------
    ValueError, TypeError
        An option has a wrong value, or does not apply to the kind; the message names it.
    InvalidTextError, OSError
        As of :func:`vocab_tools.training.counts.count_words`.

    Examples
    --------
    >>> from vocab_tools.training.bpe import train_bpe
    >>> train_bpe(["low lower lowest"] * 5, vocab_size=260).merges
    (('l', 'o'), ('lo', 'w'), ('Ġ', 'low'), ('Ġlow', 'e'))
    """
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    defaults = KINDS[kind]
    is_codes = kind == "subword-nmt"
    refuse_options(
        f"kind={kind!r}",
        cut=kind != "byte-level" and not _fits(kind, cut),
        vocab_size=is_codes and vocab_size is not None,
        num_symbols=not is_codes and num_symbols is not None,
        total_symbols=not is_codes and total_symbols,
        special_tokens=is_codes and len(special_tokens) > 0,
        unk_token=is_codes and unk_token is not None,
        initial_alphabet=kind in ("byte-level", "subword-nmt") and initial_alphabet is not None,
        limit_alphabet=kind in ("byte-level", "subword-nmt") and limit_alphabet is not None,
        byte_fallback=kind != "sentencepiece" and byte_fallback,
        add_prefix_space=kind != "byte-level" and add_prefix_space,
        continuing_subword_prefix=kind != "character" and continuing_subword_prefix != "",
        end_of_word_suffix=kind != "character" and end_of_word_suffix is not None,
    )
    check_counts(
        vocab_size=vocab_size,
        num_symbols=num_symbols,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        limit_alphabet=limit_alphabet,
    )
    specials = check_tokens("special_tokens", special_tokens)
    user_defined = check_tokens("user_defined_symbols", user_defined_symbols)
    if unk_token is not None and unk_token not in specials:
        raise ValueError(f"`unk_token` is {unk_token!r}, which must be one of `special_tokens`, {list(specials)}")
    chosen = defaults.cut if cut is None else cut
    if kind == "byte-level" and not (isinstance(chosen, str) and choose_cut(chosen).is_byte_level):
        raise ValueError(f"`cut` must be a byte-level pattern for kind='byte-level', got {cut!r}")
    prefix = check_mark("continuing_subword_prefix", continuing_subword_prefix)
    suffix = check_mark("end_of_word_suffix", defaults.suffix if end_of_word_suffix is None else end_of_word_suffix)

    counts = count_words(
        source,
        cut=chosen,
        add_prefix_space=add_prefix_space,
        user_defined_symbols=user_defined,
        errors=errors,
        n_threads=n_threads,
        progress=progress,
    )
    alphabet = begin(
        counts,
        (*specials, *(_BYTE_TOKENS if byte_fallback else ()), *user_defined),
        is_bytes=kind == "byte-level",
        initial_alphabet=initial_alphabet,
        limit_alphabet=limit_alphabet,
        prefix=prefix,
        suffix=suffix,
        keeps_plain=not is_codes,
    )
    most_tokens = None if is_codes else (30000 if vocab_size is None else vocab_size)
    most_merges = (10000 if num_symbols is None else num_symbols) if is_codes else None
    if most_merges is not None and total_symbols:
        most_merges = max(most_merges - alphabet.n_forms, 0)
    learned = learn(
        [token.encode() for token in alphabet.tokens],
        [1] * len(alphabet.tokens),
        alphabet.words,
        rule=RULE_CODES if is_codes else RULE_COUNTS,
        most_tokens=most_tokens,
        most_merges=most_merges,
        min_frequency=defaults.min_frequency if min_frequency is None else min_frequency,
        max_length=max_token_length,
        prefix=prefix.encode(),
        progress=progress,
    )
    tokens = [token.decode() for token in learned.tokens]
    return TrainedBpe(
        name=name,
        kind=kind,
        vocabulary={token: number for number, token in enumerate(tokens)},
        merges=_merges_of(learned, tokens, is_codes),
        reached=len(tokens) >= most_tokens if most_tokens is not None else len(learned.merges) == most_merges,
        special_tokens=specials,
        user_defined_symbols=user_defined,
        cut=chosen,
        add_prefix_space=add_prefix_space,
        byte_fallback=byte_fallback,
        unk_token=unk_token,
        continuing_subword_prefix=prefix,
        end_of_word_suffix=suffix,
    )


def _fits(kind: str, cut: str | BertOptions | None) -> bool:
    if cut is None or (kind == "character" and isinstance(cut, BertOptions)):
        return True
    return cut in _CUTS[kind]


def _merges_of(learned: Learned, tokens: list[str], repeats: bool) -> tuple[tuple[str, str], ...]:
    """Merges as written; of a pair that merged twice the last place counts unless repeats are kept."""
    pairs = [(tokens[left], tokens[right]) for left, right, _ in learned.merges.tolist()]
    if repeats:
        return tuple(pairs)
    last = {pair: rank for rank, pair in enumerate(pairs)}
    return tuple(sorted(last, key=last.__getitem__))
