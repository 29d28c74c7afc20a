"""Pre-tokenisation: where the token that starts at a byte ends, for each known pattern.

Every scanner has the signature ``(class_index, class_blocks, data, position, stop) -> end``: ``position`` is the start
of a token (the start of the text, or the end of the token before), ``stop`` the end of the text, which must be valid
UTF-8. They follow the regex of their pattern exactly, backtracking and order of alternatives included, in one forward
pass. None of the patterns leaves text unmatched, since the first characters of their alternatives cover all classes;
the one exception is DeepSeek-V3's, see :func:`next_end_deepseek_v3`.

Twin: ``numba_nlp.reference.segment.scan``, which interprets the regexes alternative by alternative.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.characters import (
    BLANK,
    CAPITALS,
    LETTERS,
    LOWER,
    MARK,
    NEWLINE,
    NUMBER,
    NUMBERS,
    OTHERS,
    SMALLS,
    SPACES,
    UPPER,
    character,
    contraction_end,
    digits_end,
    lines_end,
    run_end,
    space_end,
    space_or_lines_end,
)
from numba_nlp.kernels.segment.patterns import CL100K, GPT2, LLAMA3, O200K, QWEN2, TEKKEN
from numba_nlp.kernels.segment.scan_deepseek import next_end_deepseek_v3

#: Classes that no word of o200k starts with.
_NO_WORD = NUMBERS | 1 << NEWLINE
_SPACE = 0x20
_APOSTROPHE = 0x27


@inlined
def next_end_gpt2(class_index, class_blocks, data, position, stop):
    r"""End of the GPT-2 token that starts at ``position``.

    ``'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+``, which is the pattern of gpt2,
    r50k, p50k and RoBERTa as well.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a token, end of the text; ``position < stop``.

    Returns
    -------
    int64
    """
    lead = data[np.uint64(position)]
    if lead == _APOSTROPHE:
        end = contraction_end(data, position, stop, False)
        if end > position:
            return end
    character_class, end = character(class_index, class_blocks, data, position)
    if lead == _SPACE and end < stop:
        next_class, after = character(class_index, class_blocks, data, end)
        if next_class < BLANK:
            character_class = next_class
            end = after
    if (LETTERS >> character_class) & 1:
        return run_end(class_index, class_blocks, data, end, stop, LETTERS)
    if character_class == NUMBER:
        return run_end(class_index, class_blocks, data, end, stop, NUMBERS)
    if character_class < BLANK:
        return run_end(class_index, class_blocks, data, end, stop, OTHERS)
    return space_end(class_index, class_blocks, data, position, stop)


@inlined
def next_end_cl100k(class_index, class_blocks, data, position, stop):
    r"""End of the cl100k token that starts at ``position``.

    ``'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+`` |
    ``\s++$|\s*[\r\n]|\s+(?!\S)|\s`` as tiktoken has it: because of ``\s++$`` white space at the end of the text is one
    token even with line ends in it, which is what tells this pattern from Llama-3's.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a token, end of the text; ``position < stop``.

    Returns
    -------
    int64
    """
    end = _word_end(class_index, class_blocks, data, position, stop, 3)
    if end > position:
        return end
    if run_end(class_index, class_blocks, data, position, stop, SPACES) == stop:
        return stop
    return space_or_lines_end(class_index, class_blocks, data, position, stop)


@inlined
def next_end_llama3(class_index, class_blocks, data, position, stop):
    r"""End of the Llama-3 token that starts at ``position``.

    ``(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*`` |
    ``\s*[\r\n]+|\s+(?!\S)|\s+``

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a token, end of the text; ``position < stop``.

    Returns
    -------
    int64
    """
    end = _word_end(class_index, class_blocks, data, position, stop, 3)
    if end > position:
        return end
    return space_or_lines_end(class_index, class_blocks, data, position, stop)


@inlined
def next_end_qwen2(class_index, class_blocks, data, position, stop):
    r"""End of the Qwen2 token that starts at ``position``.

    Llama-3's pattern with ``\p{N}`` for ``\p{N}{1,3}``: each digit is a token.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a token, end of the text; ``position < stop``.

    Returns
    -------
    int64
    """
    end = _word_end(class_index, class_blocks, data, position, stop, 1)
    if end > position:
        return end
    return space_or_lines_end(class_index, class_blocks, data, position, stop)


@inlined
def _word_end(class_index, class_blocks, data, position, stop, digits):
    r"""End of a token of cl100k's family that is more than white space, else ``position``.

    ``(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*``
    """
    lead = data[np.uint64(position)]
    if lead == _APOSTROPHE:
        end = contraction_end(data, position, stop, True)
        if end > position:
            return end
    character_class, end = character(class_index, class_blocks, data, position)
    if (LETTERS >> character_class) & 1:
        return run_end(class_index, class_blocks, data, end, stop, LETTERS)
    if character_class == NUMBER:
        return digits_end(class_index, class_blocks, data, end, stop, digits - 1)
    if character_class == NEWLINE:
        return position
    if end < stop:
        next_class, after = character(class_index, class_blocks, data, end)
        if (LETTERS >> next_class) & 1:
            return run_end(class_index, class_blocks, data, after, stop, LETTERS)
        if lead == _SPACE and (OTHERS >> next_class) & 1:
            character_class = next_class
            end = after
    if character_class == BLANK:
        return position
    end = run_end(class_index, class_blocks, data, end, stop, OTHERS)
    return lines_end(data, end, stop, False)


@inlined
def next_end_o200k(class_index, class_blocks, data, position, stop):
    r"""End of the o200k token that starts at ``position``.

    ``[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?`` |
    ``[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?`` |
    ``\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+``

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a token, end of the text; ``position < stop``.

    Returns
    -------
    int64
    """
    end = _cased_word_end(class_index, class_blocks, data, position, stop)
    if end > position:
        if end < stop and data[np.uint64(end)] == _APOSTROPHE:
            return contraction_end(data, end, stop, True)
        return end
    return _uncased_end(class_index, class_blocks, data, position, stop, 3)


@inlined
def next_end_tekken(class_index, class_blocks, data, position, stop):
    r"""End of the Mistral tekken token that starts at ``position``.

    o200k's pattern without the contractions, and with ``\p{N}`` for ``\p{N}{1,3}``.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a token, end of the text; ``position < stop``.

    Returns
    -------
    int64
    """
    end = _cased_word_end(class_index, class_blocks, data, position, stop)
    if end > position:
        return end
    return _uncased_end(class_index, class_blocks, data, position, stop, 1)


@inlined
def _cased_word_end(class_index, class_blocks, data, position, stop):
    r"""End of the first match of o200k's two word alternatives without their contraction, else ``position``.

    With U = ``[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]``, W = ``[\p{Ll}\p{Lm}\p{Lo}\p{M}]`` and P = ``[^\r\n\p{L}\p{N}]``, the
    alternatives are ``P?U*W+`` and ``P?U+W*``. After P and the longest run of U:

    - a lower-case letter follows: W+ takes it and all W after it;
    - otherwise U* gives back characters until W+ can take one, the last of the run that is in both sets;
    - otherwise, when P took a mark, P gives it back and the mark alone is U*W+;
    - otherwise the run is upper case only, and the second alternative takes it if it is not empty.
    """
    first_class, end = character(class_index, class_blocks, data, position)
    if (_NO_WORD >> first_class) & 1:
        return position
    run = position if (LETTERS >> first_class) & 1 else end
    shared = position
    reached = run
    while reached < stop:
        character_class, after = character(class_index, class_blocks, data, reached)
        if character_class == LOWER:
            return run_end(class_index, class_blocks, data, after, stop, SMALLS)
        if (CAPITALS >> character_class) & 1 == 0:
            break
        if character_class != UPPER:
            shared = after
        reached = after
    if shared > position:
        return shared
    if first_class == MARK:
        return end
    return reached if reached > run else position


@inlined
def _uncased_end(class_index, class_blocks, data, position, stop, digits):
    r"""End of a token of o200k's family where no word matches.

    ``\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+``
    """
    character_class, end = character(class_index, class_blocks, data, position)
    if character_class == NUMBER:
        return digits_end(class_index, class_blocks, data, end, stop, digits - 1)
    if data[np.uint64(position)] == _SPACE and end < stop:
        next_class, after = character(class_index, class_blocks, data, end)
        if (OTHERS >> next_class) & 1:
            character_class = next_class
            end = after
    if (OTHERS >> character_class) & 1:
        return lines_end(data, run_end(class_index, class_blocks, data, end, stop, OTHERS), stop, True)
    return space_or_lines_end(class_index, class_blocks, data, position, stop)


@kernel
def next_end(pattern, class_index, class_blocks, data, position, stop):
    """End of the token that starts at ``position``, for a pattern that is known only at run time.

    Callers in a hot loop choose their scanner once instead.

    Parameters
    ----------
    pattern : int64
        Code of :mod:`numba_nlp.kernels.segment.patterns`.
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a token, end of the text; ``position < stop``.

    Returns
    -------
    int64
    """
    if pattern == GPT2:
        return next_end_gpt2(class_index, class_blocks, data, position, stop)
    if pattern == CL100K:
        return next_end_cl100k(class_index, class_blocks, data, position, stop)
    if pattern == O200K:
        return next_end_o200k(class_index, class_blocks, data, position, stop)
    if pattern == LLAMA3:
        return next_end_llama3(class_index, class_blocks, data, position, stop)
    if pattern == QWEN2:
        return next_end_qwen2(class_index, class_blocks, data, position, stop)
    if pattern == TEKKEN:
        return next_end_tekken(class_index, class_blocks, data, position, stop)
    return next_end_deepseek_v3(class_index, class_blocks, data, position, stop)
