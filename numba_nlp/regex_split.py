r"""Pre-tokenisation by any regular expression, through the ``regex`` library, as the reference's engine would cut.

The expression is translated first (:mod:`numba_nlp.regex_translate`), since engines differ: in the Unicode version of
``\p{..}`` and ``\s``, in what ``$`` and ``{1,3}+`` mean, in which letters are equal when case is ignored. What cannot
be translated exactly is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import UnsupportedFeatureError
from numba_nlp.regex_translate import translate

if TYPE_CHECKING:
    import regex

__all__ = ["RegexSplitter"]


class RegexSplitter:
    """Cuts text at the matches of a regular expression.

    Parameters
    ----------
    regex_text : str
        The expression in the syntax of the reference's engine.
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        Class tables of the reference.
    reference : {"tiktoken", "tokenizers"}

    Raises
    ------
    UnsupportedFeatureError
        The expression has a construct that cannot be reproduced exactly, named in the message.

    Notes
    -----
    Instances hold no state besides the compiled expression; they can be shared between threads and pickled.
    """

    def __init__(
        self,
        regex_text: str,
        class_index: NDArray[np.uint16],
        class_blocks: NDArray[np.uint8],
        reference: str,
    ) -> None:
        self.regex_text = regex_text
        self.reference = reference
        self._class_index, self._class_blocks = class_index, class_blocks
        self._compiled, self._mentioned, self._stand_ins = _compile(
            regex_text, class_index.tobytes(), class_blocks.tobytes(), reference
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return RegexSplitter, (self.regex_text, self._class_index, self._class_blocks, self.reference)

    def __repr__(self) -> str:
        return f"RegexSplitter({self.regex_text!r}, reference={self.reference!r})"

    def piece_ends(self, text: str) -> NDArray[np.int64]:
        """Ends of the pieces of a text.

        Parameters
        ----------
        text : str
            Without lone surrogates.

        Returns
        -------
        int64[n]
            Byte offsets in the UTF-8 form of ``text``, rising; the last is its length. The pieces cover the text: what
            the expression does not match stands as pieces of its own, as ``Isolated`` splits of tokenizers keep it.

        Raises
        ------
        UnsupportedFeatureError
            The expression matched the empty string, or (tiktoken only, which silently loses such text) left part of
            the text unmatched.
        """
        code_points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        ends: list[int] = []
        position = 0
        for start, end in self._matches(code_points):
            if start > position:
                self._gap(text, position)
                ends.append(start)
            ends.append(end)
            position = end
        if position < len(text):
            self._gap(text, position)
            ends.append(len(text))
        return _byte_offsets(code_points)[np.array(ends, dtype=np.int64)]

    def match_bounds(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the expression matches in a text.

        Parameters
        ----------
        text : str
            Without lone surrogates.

        Returns
        -------
        starts, ends : int64[n], int64[n]
            Byte offsets in the UTF-8 form of ``text``, rising.

        Raises
        ------
        UnsupportedFeatureError
            The expression matched the empty string.
        """
        code_points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        bounds = np.array(list(self._matches(code_points)), dtype=np.int64).reshape(-1, 2)
        offsets = _byte_offsets(code_points)
        return offsets[bounds[:, 0]], offsets[bounds[:, 1]]

    def _matches(self, code_points: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
        for match in self._compiled.finditer(self._image(code_points)):
            start, end = match.span()
            if start == end:
                raise UnsupportedFeatureError(
                    f"the pattern {self.regex_text!r} matches the empty string (at character {start}); rewrite it so "
                    "that every match has a character"
                )
            yield start, end

    def _image(self, code_points: NDArray[np.uint32]) -> str:
        """The text with the characters that the expression does not mention replaced by stand-ins for their class."""
        classes = self._class_blocks[self._class_index[code_points >> 7].astype(np.int64) << 7 | (code_points & 127)]
        image = np.where(self._mentioned[code_points], code_points, self._stand_ins[classes])
        return image.astype("<u4").tobytes().decode("utf-32-le")

    def _gap(self, text: str, position: int) -> None:
        if self.reference == "tiktoken":
            raise UnsupportedFeatureError(
                f"the pattern {self.regex_text!r} does not match U+{ord(text[position]):04X} at character {position}; "
                "tiktoken drops such text, which cannot be decoded again. Add an alternative that matches it"
            )


def _byte_offsets(code_points: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Offset, in UTF-8, of every character, and of the end."""
    offsets = np.zeros(code_points.size + 1, dtype=np.int64)
    widths = 1 + (code_points >= 0x80).astype(np.int64) + (code_points >= 0x800) + (code_points >= 0x10000)
    np.cumsum(widths, out=offsets[1:])
    return offsets


@lru_cache(maxsize=32)
def _compile(
    regex_text: str, class_index: bytes, class_blocks: bytes, reference: str
) -> tuple[regex.Pattern[Any], NDArray[np.bool_], NDArray[np.uint32]]:
    import regex

    index = np.frombuffer(class_index, dtype=np.uint16)
    blocks = np.frombuffer(class_blocks, dtype=np.uint8)
    translated = translate(regex_text, blocks.reshape(-1, 128)[index].reshape(-1), reference)
    try:
        compiled = regex.compile(translated.regex, regex.VERSION0)
    except regex.error as error:
        raise UnsupportedFeatureError(f"the pattern {regex_text!r} is not a regular expression: {error}") from error
    return compiled, translated.mentioned, translated.stand_ins
