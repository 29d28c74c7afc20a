"""Which word of its text each id of a SentencePiece model belongs to.

sentencepiece knows no words. These are the ones that transformers counts where it makes its own tokenizer of such a
model. Unigram (T5, XLNet, ALBERT, XLM-R, with the pre-tokenizer ``Metaspace``): the normalised text is cut before each
space, that is U+2581, or behind it where the model puts it behind words. BPE (Llama, where ``Metaspace`` does not
split): a text is one word. In both a user-defined piece is a word of its own, as an added token is there. A token that
crosses a cut (a piece of several words) belongs to the word that it begins in.

Twin: ``numba_nlp.reference.segment.sentencepiece_numbers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment import sentencepiece_bpe_rows, sentencepiece_unigram
from numba_nlp.kernels.segment.normalizer_tables import ESCAPE_WHITESPACES, MARK, SPACE, WHITESPACE_AS_SUFFIX
from numba_nlp.kernels.segment.number_rows import numbers_function
from numba_nlp.kernels.specialising import specialise

__all__ = ["number_pieces", "number_words_sentencepiece", "number_words_sentencepiece_bpe"]

#: Kind of a user-defined piece.
USER_DEFINED = 3


@kernel
def number_pieces(flags, kinds, text, token_ends, ids, first, n, splits, word, words):
    """Number the ids of one text.

    Parameters
    ----------
    flags : int64
        Of the normaliser (:mod:`numba_nlp.kernels.segment.normalizer_tables`).
    kinds : uint8[V]
        Kinds of the pieces.
    text : uint8[m]
        Normalised.
    token_ends : int64[k]
        Where each token ends in ``text``, for the ``n`` of them.
    ids : int32[q]
        From ``first`` on.
    first, n : int64
    splits : int64
        Whether words are cut at spaces.
    word : int32
        Number of the first word.
    words : int32[q]
        Written from ``first`` on.

    Returns
    -------
    int32
        Number of the word after the last one.
    """
    is_suffix = flags & WHITESPACE_AS_SUFFIX != 0
    escapes = flags & ESCAPE_WHITESPACES != 0
    place, stop = np.int64(0), token_ends[n - 1] if n > 0 else np.int64(0)
    # whether the word that is counted has bytes, and whether a space has just ended it
    has_bytes, ended = False, False
    for token in range(n):
        end = token_ends[token]
        number = np.int64(ids[first + token])
        alone = 0 <= number < kinds.size and kinds[number] == USER_DEFINED
        if alone and has_bytes:
            word += np.int32(1)
            has_bytes, ended = False, False
        own = np.int32(-1)
        while place < end:
            is_space = text[place] == SPACE
            length = np.int64(1)
            if escapes:
                # a character without a piece may be three tokens, one a byte
                is_space = (
                    place + 2 < stop and text[place] == MARK[0] and text[place + 1] == MARK[1]
                    and text[place + 2] == MARK[2]
                )  # fmt: skip
                if is_space:
                    length = np.int64(3)
            if splits != 0 and not alone and has_bytes and (ended or (is_space and not is_suffix)):
                word += np.int32(1)
            has_bytes = True
            ended = is_space and is_suffix
            if own < 0:
                own = word
            place += length
        words[first + token] = word if own < 0 else own
        if alone:
            word += np.int32(1)
            has_bytes, ended = False, False
    return word + np.int32(has_bytes)


def _number_text(tables, data, start, stop, working, ids, last, word, words, at):
    kinds, splits, scratch, (from_starts, from_ends, token_ends) = working
    n = align_text(  # noqa: F821  bound by `specialise`
        tables, data, start, stop, scratch, from_starts, from_ends, token_ends, ids[:last], at
    )
    if n < 0:
        return word, n
    flags = np.int64(tables.settings[0])
    return number_pieces(flags, kinds, scratch.text, token_ends, ids, at, n, splits, word, words), at + n


def _numbers_function(name, align_text):
    return numbers_function(name, inlined(specialise(_number_text, f"_number_text_of_{name}", align_text=align_text)))


# :func:`numba_nlp.kernels.segment.number_rows.number_words` with the tables of the family. The memory: kinds of the
# pieces (uint8[V]), whether words are cut at spaces (int64), the scratch of the family, and for the alignment int32,
# int32 and int64 as long as its ``text``.
number_words_sentencepiece = _numbers_function("number_words_sentencepiece", sentencepiece_unigram.align_text)
number_words_sentencepiece_bpe = _numbers_function("number_words_sentencepiece_bpe", sentencepiece_bpe_rows.align_text)
