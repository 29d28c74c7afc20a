"""Pre-tokenisation: where the token that starts at a byte ends, for each known pattern.

Every scanner has the signature ``(class_index, class_blocks, data, position, stop) -> end``: ``position`` is the start
of a token (the start of the text, or the end of the token before), ``stop`` the end of the text, which must be valid
UTF-8. They follow the regex of their pattern exactly, backtracking and order of alternatives included, in one forward
pass. None of the patterns leaves text unmatched, since the first characters of their alternatives cover all classes;
the one exception is DeepSeek-V3's, see :func:`next_end_deepseek_v3`.

The plain-Python twins in ``numba_nlp/reference/segment/scan.py`` interpret the regexes alternative by alternative.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.characters import (
    BLANK,
    LETTERS,
    NEWLINE,
    NEWLINES,
    NUMBER,
    NUMBERS,
    OTHERS,
    SPACES,
    character,
    contraction_end,
    run_end,
    space_end,
    space_or_lines_end,
)

_SPACE = 0x20
_APOSTROPHE = 0x27


@kernel
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
    lead = data[position]
    if lead == _APOSTROPHE:
        end = contraction_end(data, position, stop, False)
        if end > position:
            return end
    character_class, end = character(class_index, class_blocks, data, position)
    if lead == _SPACE and end < stop:
        next_class, next_end_ = character(class_index, class_blocks, data, end)
        if next_class < BLANK:
            character_class = next_class
            end = next_end_
    if (LETTERS >> character_class) & 1:
        return run_end(class_index, class_blocks, data, end, stop, LETTERS)
    if character_class == NUMBER:
        return run_end(class_index, class_blocks, data, end, stop, NUMBERS)
    if character_class < BLANK:
        return run_end(class_index, class_blocks, data, end, stop, OTHERS)
    return space_end(class_index, class_blocks, data, position, stop)


@kernel
def next_end_cl100k(class_index, class_blocks, data, position, stop):
    r"""End of the cl100k token that starts at ``position``.

    ``'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s``
    as tiktoken has it: because of ``\s++$`` white space at the end of the text is one token even with line ends in it,
    which is what tells this pattern from Llama-3's.

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


@kernel
def next_end_llama3(class_index, class_blocks, data, position, stop):
    r"""End of the Llama-3 token that starts at ``position``.

    ``(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+``

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


@kernel
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


@kernel
def _word_end(class_index, class_blocks, data, position, stop, digits):
    r"""End of a token of cl100k's family that is more than white space, else ``position``.

    ``(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*``
    """
    lead = data[position]
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
        next_class, next_end_ = character(class_index, class_blocks, data, end)
        if (LETTERS >> next_class) & 1:
            return run_end(class_index, class_blocks, data, next_end_, stop, LETTERS)
        if lead == _SPACE and (OTHERS >> next_class) & 1:
            character_class = next_class
            end = next_end_
    if character_class == BLANK:
        return position
    end = run_end(class_index, class_blocks, data, end, stop, OTHERS)
    return run_end(class_index, class_blocks, data, end, stop, NEWLINES)


@kernel
def digits_end(class_index, class_blocks, data, position, stop, limit):
    r"""End of a run of at most ``limit`` characters of ``\p{N}``.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a character (or ``stop``), end of the text.
    limit : int64
        Most characters to take.

    Returns
    -------
    int64
    """
    while limit > 0 and position < stop:
        character_class, end = character(class_index, class_blocks, data, position)
        if character_class != NUMBER:
            return position
        position = end
        limit -= 1
    return position
