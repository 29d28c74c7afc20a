"""Character BPE besides ids: text with the cuts written into it, as subword-nmt gives it, and BPE-dropout.

``th@@ e`` is how subword-nmt and the systems around it (Marian, fairseq, OpenNMT) exchange segmented text. Dropout
(Provilkov, Emelianenko, Voita 2020) leaves merges out at random; results depend on the seed and the place of a row
only, not on the number of rows before it in a call, and are not those of the references, whose random numbers are
others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import flag, number, shown, strings, whole
from numba_nlp._encoders.character_bpe import CharacterBpeEncoder
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.character_bpe_memory import new_scratch
from numba_nlp.kernels.segment.character_rows import segment_rows
from numba_nlp.ragged import Ragged
from numba_nlp.text_rows import TextRows
from numba_nlp.tokenizer import Tokenizer

__all__ = ["encode_with_dropout", "segment_text", "segment_texts"]

#: What subword-nmt takes off the ends of a line.
_ENDS = "\r\n "


def segment_text(
    tokenizer: Tokenizer, text: str, *, glossaries: Sequence[str] = (), dropout: float = 0.0, seed: int = 0
) -> str:
    """One text with the cuts written into it; arguments and errors as of :func:`segment_texts`.

    Examples
    --------
    >>> from numba_nlp.character_text import segment_text
    >>> segment_text(tokenizer, "the theatre")  # doctest: +SKIP
    'the the@@ at@@ re'
    """
    if not isinstance(text, str):
        raise TypeError(f"`text` must be a str, got {shown(text)}; segment_texts takes many texts")
    return segment_texts(tokenizer, (text,), glossaries=glossaries, dropout=dropout, seed=seed)[0]


def segment_texts(
    tokenizer: Tokenizer,
    texts: Iterable[str],
    *,
    glossaries: Sequence[str] = (),
    dropout: float = 0.0,
    seed: int = 0,
    keep_ends: bool = False,
) -> list[str]:
    """Texts with the cuts written into them, as ``subword_nmt.apply_bpe`` writes them.

    Words are what single spaces part; every token but the last one of its word has the separator behind it, and one
    space stands between any two tokens. Characters that the codes do not know stay what they are.

    Parameters
    ----------
    tokenizer : Tokenizer
        Of codes of subword-nmt.
    texts : iterable of str
    glossaries : sequence of str
        Regular expressions: what they match is a token by itself and is not cut.
    dropout : float
        Probability with which a merge is left out, from 0 to 1.
    seed : int
        Of the random numbers; a text draws by its place in ``texts``.
    keep_ends : bool
        Keep the spaces and line ends around a text (``process_line``); else they go (``segment``).

    Returns
    -------
    list of str

    Raises
    ------
    TypeError
        The tokenizer is of another kind, or a text is no ``str``.
    ValueError
        ``dropout`` is no probability, ``seed`` is negative, or a glossary is no regular expression.
    InvalidTextError
        A text is not valid Unicode.
    """
    encoder = _encoder_of(tokenizer)
    metadata = tokenizer.vocabulary.metadata
    if metadata["source_format"] != "subword-nmt":
        raise TypeError(f"{tokenizer!r} is not of codes of subword-nmt, whose text this is")
    given: Any = texts
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or getattr(texts, "ndim", 1) == 0:
        raise TypeError(f"`texts` must hold str, got {shown(texts)}; segment_text takes one text")
    flag("keep_ends", keep_ends)
    glossaries = strings("glossaries", glossaries)
    rows = list(texts)
    for row, text in enumerate(rows):
        if not isinstance(text, str):
            raise TypeError(f"`texts` must hold str, got {type(text).__name__} (row {row})")
    state = _state(dropout, seed)
    found = _segmented(encoder, rows, metadata["separator"], dropout, state)
    if glossaries:
        parts = [_compiled(glossary) for glossary in glossaries]
        only = re.compile(f"^({'|'.join(glossaries)})$")
        for row, text in enumerate(rows):
            if any(part.search(text) for part in parts):
                state[1] = row
                found[row] = _around_glossaries(encoder, text, parts, only, metadata["separator"], dropout, state)
    if keep_ends:
        return [_with_ends(text, done) for text, done in zip(rows, found, strict=True)]
    return found


def _compiled(glossary: str) -> re.Pattern[str]:
    try:
        return re.compile(f"({glossary})")
    except re.error as error:
        raise ValueError(f"`glossaries` holds {shown(glossary)}, which is no regular expression: {error}") from error


def _with_ends(text: str, done: str) -> str:
    before = text[: len(text) - len(text.lstrip(_ENDS))]
    after = text[len(text.rstrip(_ENDS)) :]
    return before + done + (after if len(after) < len(text) else "")


def _segmented(
    encoder: CharacterBpeEncoder, texts: Sequence[str], separator: str, dropout: float, state: NDArray[np.uint64]
) -> list[str]:
    rows = TextRows.from_strings(texts)
    sizes = rows.ends - rows.starts
    mark = np.frombuffer(separator.encode(), np.uint8)
    longest, total = int(sizes.max(initial=0)), int(sizes.sum())
    room = 2 * longest + 8
    working = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
    text = np.empty(total + (2 * total + 2 * len(texts)) * (mark.size + 1) + 8, np.uint8)
    offsets = np.zeros(len(texts) + 1, np.int64)
    row, capacity = 0, encoder.kept_capacity
    while True:
        scratch = new_scratch(capacity)
        row = int(
            segment_rows(
                encoder.tables, rows.data, rows.starts, rows.ends, row, dropout, state, mark, scratch, *working, text,
                offsets,
            )
        )  # fmt: skip
        assert row != STATUS_OUTPUT_FULL, "the text is sized for a token a byte, and one more a word"
        if row == len(texts):
            break
        capacity = max(2 * capacity, longest)
    content = text.data
    return [str(content[offsets[i] : offsets[i + 1]], "utf-8") for i in range(len(texts))]


def _around_glossaries(
    encoder: CharacterBpeEncoder,
    text: str,
    parts: Sequence[re.Pattern[str]],
    whole: re.Pattern[str],
    separator: str,
    dropout: float,
    state: NDArray[np.uint64],
) -> str:
    """One text, whose words are cut around glossaries first."""
    done: list[str] = []
    for word in filter(None, text.strip(_ENDS).split(" ")):
        pieces = [word]
        for part in parts:
            pieces = [piece for one in pieces for piece in _isolated(one, part)]
        tokens: list[str] = []
        for piece in pieces:
            if whole.match(piece) or len(piece) == 1:
                tokens.append(piece)
            else:
                # between words of one character, so that line ends at its ends belong to it
                cut = _segmented(encoder, [f". {piece} ."], separator, dropout, state)[0].split(" ")[1:-1]
                tokens += [*(token.removesuffix(separator) for token in cut[:-1]), cut[-1]]
        done += [*(token + separator for token in tokens[:-1]), tokens[-1]]
    return " ".join(done)


def _isolated(word: str, glossary: re.Pattern[str]) -> list[str]:
    """A word cut around what matches a glossary."""
    if re.match(f"^{glossary.pattern[1:-1]}$", word) or not glossary.search(word):
        return [word]
    *pieces, last = glossary.split(word)
    last = last.strip(_ENDS)
    return [*filter(None, pieces), *([last] if last else [])]


def encode_with_dropout(
    tokenizer: Tokenizer,
    texts: Any,
    probability: float,
    *,
    seed: int = 0,
    add_special_tokens: bool = False,
    special: Any = None,
) -> Ragged:
    """Ids of many texts with merges left out at random.

    By the rule of the reference of the vocabulary: before each merge every pair is left out with that probability, for
    this one merge; in subword-nmt and CTRL for one pass over all places of the best pair that is left.

    Parameters
    ----------
    tokenizer : Tokenizer
        Of a character BPE vocabulary.
    texts, add_special_tokens, special
        As of :meth:`numba_nlp.Tokenizer.encode_batch`.
    probability : float
        From 0, which is encoding without dropout, to 1, which leaves the characters as they are.
    seed : int
        Of the random numbers; a text draws by its place in ``texts``.

    Returns
    -------
    Ragged

    Raises
    ------
    TypeError
        The tokenizer is of another kind.
    ValueError
        ``probability`` is none, ``seed`` is negative.
    InvalidTextError, MissingRowError, SpecialTokenError
        As of :meth:`numba_nlp.Tokenizer.encode_batch`.
    """
    _encoder_of(tokenizer)
    number("probability", probability, 0, 1)
    return tokenizer.encode_batch(
        texts, add_special_tokens=add_special_tokens, special=special, dropout=probability, seed=seed
    )


def _encoder_of(tokenizer: Any) -> CharacterBpeEncoder:
    if not isinstance(tokenizer, Tokenizer) or not isinstance(tokenizer._encoder, CharacterBpeEncoder):
        raise TypeError(f"`tokenizer` must be a Tokenizer of a character BPE vocabulary, got {tokenizer!r}")
    return tokenizer._encoder


def _state(probability: Any, seed: Any) -> NDArray[np.uint64]:
    number("dropout", probability, 0, 1)
    return np.array([whole("seed", seed, 0, (1 << 64) - 1), 0, 0], np.uint64)
