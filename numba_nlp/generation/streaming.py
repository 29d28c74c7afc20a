"""Text of rows while they are generated, in pieces that no later token changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from numba_nlp.generation.token_text import Decode, TokenText, take_decoder

__all__ = ["TextPiece", "TextStreamer", "tells_streamer"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class TextPiece(NamedTuple):
    """What one row goes on with.

    Attributes
    ----------
    row : int
        Of the output.
    text : str
    """

    row: int
    text: str


class TextStreamer:
    """A streamer of ``generate`` that gives text.

    The pieces of a row, put together, are the text of all its tokens. A piece is given when it is final: never a part
    of a character, and nothing that the decoder may still change.

    It is an iterator for another thread than that in which ``generate`` runs, which ends with the generation (an
    exception there is raised here too), or calls ``on_text``. It may be used again then.

    Parameters
    ----------
    tokenizer : Tokenizer, optional
        One of ours, or another with a method ``decode(ids, skip_special_tokens=...)``, as those of transformers.
    decode : callable, optional
        ``ids, int32 [n] -> text``, in place of a tokenizer.
    skip_prompt : bool, default False
        Give the text of the new tokens alone, else that of the whole row.
    skip_special_tokens : bool, default False
        Leave special tokens out; with a tokenizer.
    hold_back : int, default 0
        So many characters at the end are not final, for decoders that change what they wrote. Ours are known.
    on_text : callable, optional
        Is called with the number of a row and a piece; the streamer is no iterator then.
    timeout : float, optional
        Seconds that the iterator waits for the next piece at most.

    Raises
    ------
    TypeError
        Neither or both of `tokenizer` and `decode` are given, or what is given does not decode.
    ValueError
        `hold_back` is negative.
    """

    def __init__(
        self,
        tokenizer: Any = None,
        *,
        decode: Decode | None = None,
        skip_prompt: bool = False,
        skip_special_tokens: bool = False,
        hold_back: int = 0,
        on_text: Callable[[int, str], object] | None = None,
        timeout: float | None = None,
    ) -> None:
        text = take_decoder(tokenizer, decode, skip_special_tokens=skip_special_tokens)
        if text is None:
            raise TypeError("a streamer of text needs `tokenizer`, or a function from ids to text as `decode`")
        if hold_back < 0:
            raise ValueError(f"`hold_back` must be at least 0, got {hold_back}")
        self._text = text
        self._skip_prompt = skip_prompt
        self._hold_back = hold_back
        self._on_text = on_text
        self._timeout = timeout
        self._pieces: SimpleQueue[TextPiece | BaseException | None] = SimpleQueue()
        self._rows: list[_Row] | None = None

    def put(self, value: Any) -> None:
        """Take the prompts, whole numbers ``[rows, width]``, then the tokens of each step, ``[rows]``."""
        tokens = np.asarray(value)
        self.put_rows(tokens, np.ones(tokens.shape, np.bool_))

    def put_rows(self, tokens: np.ndarray, counted: np.ndarray) -> None:
        """The same, of which some are padding.

        Parameters
        ----------
        tokens : ndarray
            Whole numbers ``[rows, width]`` of prompts, then ``[rows]``.
        counted : ndarray
            bool, of the same shape: false at padding. A row whose token is padding has ended.
        """
        if self._rows is None:
            prompts = np.atleast_2d(tokens)
            self._rows = [_Row(self._text, self._hold_back) for _ in range(prompts.shape[0])]
            if self._skip_prompt:
                return
            for number, mask in enumerate(np.atleast_2d(counted)):
                self._give(number, self._rows[number].take(prompts[number, mask].tolist()))
            return
        for number, row in enumerate(self._rows):
            if counted[number]:
                self._give(number, row.take([int(tokens[number])]))
            else:
                self._give(number, row.finish())

    def end(self) -> None:
        """Give what was held back."""
        for number, row in enumerate(self._rows or ()):
            self._give(number, row.finish())
        self._rows = None
        if self._on_text is None:
            self._pieces.put(None)

    def fail(self, error: BaseException) -> None:
        """End with an exception, which the iterator raises."""
        self._rows = None
        if self._on_text is None:
            self._pieces.put(error)

    def _give(self, number: int, piece: str) -> None:
        if not piece:
            return
        if self._on_text is None:
            self._pieces.put(TextPiece(number, piece))
        else:
            self._on_text(number, piece)

    def __iter__(self) -> Iterator[TextPiece]:
        """Pieces as they come, until the generation ends.

        Raises
        ------
        TypeError
            Pieces go to `on_text`.
        TimeoutError
            None came in time.
        RuntimeError
            The generation failed, with its exception as the cause.
        """
        if self._on_text is not None:
            raise TypeError("the pieces go to `on_text`; leave it out to iterate over them")
        while True:
            try:
                piece = self._pieces.get(timeout=self._timeout)
            except Empty:
                raise TimeoutError(f"no text within {self._timeout} seconds") from None
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise RuntimeError(f"the generation failed: {piece!r}") from piece
            yield piece


class _Row:
    """Tokens of one row, and what of their text was given."""

    def __init__(self, text: TokenText, hold_back: int) -> None:
        self._text = text
        self._hold_back = hold_back
        self._tokens: list[int] = []
        self._given = ""

    def take(self, tokens: list[int]) -> str:
        """What is final now and was not before."""
        self._tokens += tokens
        ids = np.array(self._tokens, np.int32)
        text = self._text.text(ids)
        end = min(self._text.settled(ids, text), max(0, len(text) - self._hold_back))
        self._check(text)
        piece = text[len(self._given) : end]
        self._given += piece
        return piece

    def finish(self) -> str:
        """The rest; no token comes any more."""
        if not self._tokens:
            return ""
        text = self._text.text(np.array(self._tokens, np.int32))
        self._check(text)
        piece = text[len(self._given) :]
        self._given = text
        return piece

    def _check(self, text: str) -> None:
        shared = min(len(text), len(self._given))
        if text[:shared] != self._given[:shared] or (len(text) < len(self._given)):
            raise ValueError(
                f"the decoder changed text that was given already: {self._given[-40:]!r} was its end, and now the text "
                f"ends with {text[-60:]!r}; raise `hold_back`, the number of characters that may still change"
            )


def tells_streamer(function: _Function) -> _Function:
    """Let who waits for text in another thread know of an exception, if the streamer can tell.

    Parameters
    ----------
    function : callable
        With a keyword ``streamer``.
    """

    @wraps(function)
    def telling(*args: Any, streamer: Any = None, **options: Any) -> Any:
        try:
            return function(*args, streamer=streamer, **options)
        except BaseException as error:
            if hasattr(streamer, "fail"):
                streamer.fail(error)
            raise

    return cast("_Function", telling)
