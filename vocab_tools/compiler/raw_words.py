"""Whether raw text may be cut into words before general stages, and behind which characters.

A row is *A* and then *B*, which begins with a space; *A* ends with a character *c* that is no space. Words can be
encoded by themselves where for all such rows the stages and the model give for the row what they give for *A* and *B*
one behind the other. That is proved here for the stages in use, one at a time, and refused for all others:

- Normalizers. Normal forms: a space starts a sequence and composes with nothing before it. Maps look at one character.
  ``Precompiled`` looks at grapheme clusters, and none goes on into a space but behind the characters that are tested
  away below. ``Replace``: no match can hold the end of *A* and the start of *B* when its pattern has no space behind
  its first character, and runs of spaces do not reach into *A*, which ends with none. ``Prepend`` happens at the start
  of a row only.
- *c* must be *solid*: its normal form is not empty and does not end with a space or the mark of one, nor with other
  white space unless no stage looks at that; and before a space it is what it is alone. That is tested for every code
  point with the normalizer itself.
- Pre-tokenizers look at one character, or at a string without a space behind its first character. So their pieces are
  those of *A* and *B*, but that the last of *A* and the first of *B* may be one piece.
- Ranges in the original text count from the word then: what a stage adds to *B* has the range of a character of *B*,
  since a space stands before it.
- That piece must not matter: some stage cuts before the space, or the model is BPE without ``ignore_merges``, no piece
  has the mark of a space behind another character, and the mark is in the vocabulary, so that runs of unknown
  characters end there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._stages.normalizer import Normalizer
from vocab_tools.compiler.classes import two_stage
from vocab_tools.compiler.stages import CompiledStages, literal_of
from vocab_tools.formats.staged_json import StagedDescription
from vocab_tools.formats.stages import normalizers, pre_tokenizers

__all__ = ["raw_word_arrays"]

_MARK = "\u2581"
_CODE_POINTS = 0x110000
#: White space of Unicode, as Rust's ``char::is_whitespace`` has it.
_WHITE = "\t\n\x0b\x0c\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


def raw_word_arrays(description: StagedDescription, normalizing: CompiledStages) -> dict[str, NDArray[Any]]:
    """The arrays ``solid_pages`` and ``solid_blocks``; none where raw text must not be cut.

    Parameters
    ----------
    description : StagedDescription
    normalizing : CompiledStages
        Its normalizers.
    """
    if any(token.normalized for token in description.added_tokens) and description.normalizers:
        return {}
    if not all(map(_keeps_words, description.normalizers)) or normalizing.regexes:
        return {}
    arrays = {**normalizing.arrays, **_without_prepend(normalizing)}
    steps = Normalizer(arrays)
    space = _normalized(steps, " ")
    if space not in (" ", _MARK) or not _cuts_are_covered(description, space):
        return {}
    solid = np.zeros(_CODE_POINTS, np.uint8)
    open_ends = {_MARK, space} if _ignores_white_space(description) else {*_WHITE, _MARK, space}
    if arrays["normalizer_program"].size:
        solid[_solid_code_points(steps, space, open_ends)] = 1
    else:
        # a million code points need not be asked for when nothing changes any
        solid[_all_but(open_ends)] = 1
    pages, blocks = two_stage(solid)
    return {"solid_pages": pages, "solid_blocks": blocks}


def _without_prepend(normalizing: CompiledStages) -> dict[str, NDArray[Any]]:
    from numba_nlp.kernels.segment.normalize_program import OP_PREPEND, STEP

    steps = normalizing.arrays["normalizer_program"].reshape(-1, STEP)
    return {"normalizer_program": steps[steps[:, 0] != OP_PREPEND].reshape(-1)}


def _holds_space(text: str) -> bool:
    return any(character in text for character in (*_WHITE, _MARK))


def _keeps_words(stage: normalizers.Normalizer) -> bool:
    """Whether a normalizer does to *A* and *B* what it does to a row."""
    if isinstance(stage, normalizers.Replace):
        literal = literal_of(stage.pattern)
        if literal is None:
            # runs of one character; other expressions are refused as such. What a run becomes must part words too
            is_white = _holds_space(stage.pattern.text) or "\\s" in stage.pattern.text
            return not is_white or stage.content in (" ", _MARK)
        return not _holds_space(literal[1:]) and (not _holds_space(literal) or stage.content in (" ", _MARK))
    # BertNormalizer is maps around a normal form
    known = (
        normalizers.NormalForm
        | normalizers.CharacterMap
        | normalizers.BertNormalizer
        | normalizers.Precompiled
        | normalizers.Prepend
    )
    return isinstance(stage, known)


def _cuts_are_covered(description: StagedDescription, space: str) -> bool:
    """Whether the pieces around a space are those of both sides, or one piece that the model does not merge across."""
    is_cut = False
    for place, stage in enumerate(description.pre_tokenizers):
        if isinstance(stage, pre_tokenizers.Metaspace):
            if stage.replacement != _MARK:
                return False
            if stage.scheme == "first" and (place or description.normalizers):
                return False
            space = _MARK if space == " " else space
            is_cut |= stage.split
        elif isinstance(stage, pre_tokenizers.Split):
            literal = literal_of(stage.pattern)
            if literal is None or stage.invert or _holds_space(literal[1:]):
                return False
            is_cut |= literal == space and stage.behavior in ("Isolated", "Removed", "MergedWithNext")
        elif isinstance(stage, pre_tokenizers.CharDelimiterSplit):
            is_cut |= stage.delimiter == space
        elif isinstance(
            stage, pre_tokenizers.Whitespace | pre_tokenizers.WhitespaceSplit | pre_tokenizers.BertPreTokenizer
        ):
            is_cut |= space == " "
        elif not isinstance(stage, pre_tokenizers.Digits | pre_tokenizers.Punctuation):
            return False
    if is_cut:
        return True
    return (
        description.model == "bpe"
        and not description.ignore_merges
        and space in description.vocab
        and not any(piece.lstrip(space).count(space) for piece in description.vocab)
    )


def _ignores_white_space(description: StagedDescription) -> bool:
    """Whether no stage treats white space other than spaces in a way of its own."""
    return all(
        isinstance(stage, normalizers.Prepend)
        or (isinstance(stage, normalizers.Replace) and literal_of(stage.pattern) is not None)
        for stage in description.normalizers
    ) and all(isinstance(stage, pre_tokenizers.Metaspace) for stage in description.pre_tokenizers)


def _normalized(steps: Normalizer, text: str) -> str:
    data = np.frombuffer(text.encode(), np.uint8)
    rows = steps.normalize(data, np.zeros(1, np.int64), np.full(1, data.size, np.int64), False)
    return rows.source.text[rows.starts[0] : rows.ends[0]].tobytes().decode()


def _all_code_points() -> NDArray[np.int64]:
    """Those that UTF-8 has."""
    return np.concatenate((np.arange(0xD800), np.arange(0xE000, _CODE_POINTS)))


def _all_but(open_ends: set[str]) -> NDArray[np.int64]:
    """What :func:`_solid_code_points` gives for a normalizer that changes nothing."""
    return np.setdiff1d(_all_code_points(), [ord(character) for character in open_ends])


def _solid_code_points(steps: Normalizer, space: str, open_ends: set[str]) -> NDArray[np.int64]:
    """Code points that end a word, by what the normalizer makes of each alone and before ``" a"``.

    Parameters
    ----------
    steps : Normalizer
    space : str
        What it makes of a space.
    open_ends : set of str
        Characters that no word may end with when it is normalized.
    """
    codes = _all_code_points()
    text = "".join(map(chr, codes))
    sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    ends = np.cumsum(sizes)
    data = np.frombuffer(text.encode(), np.uint8)
    alone = steps.normalize(data, ends - sizes, ends, False)
    lengths = alone.ends - alone.starts
    filled = lengths > 0
    # ends with white space or a mark: compare the last bytes
    is_open = ~filled
    for character in open_ends:
        content = character.encode()
        same = lengths >= len(content)
        for place, byte in enumerate(reversed(content), 1):
            same &= alone.source.text[np.maximum(alone.ends - place, 0)] == byte
        is_open |= same
    # each with a space and a letter behind it
    longer = np.full(data.size + 2 * codes.size, 0x61, np.uint8)
    moved = ends + 2 * np.arange(1, codes.size + 1)
    is_own = np.ones(longer.size, bool)
    is_own[moved - 1] = is_own[moved - 2] = False
    longer[is_own] = data
    longer[moved - 2] = 0x20
    followed = steps.normalize(longer, moved - sizes - 2, moved, False)
    behind = np.frombuffer(_normalized(steps, " a").encode(), np.uint8)
    is_open |= followed.ends - followed.starts != lengths + behind.size
    checked = np.flatnonzero(~is_open)
    for place in range(behind.size):
        at = followed.ends[checked] - behind.size + place
        is_open[checked] |= followed.source.text[at] != behind[place]
    checked = np.flatnonzero(~is_open)
    for place in range(int(lengths[checked].max(initial=0))):
        inside = checked[lengths[checked] > place]
        is_open[inside] |= (
            alone.source.text[alone.starts[inside] + place] != followed.source.text[followed.starts[inside] + place]
        )
    return codes[~is_open]
