"""Text of a generation as it comes, from a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import numpy as np

from numba_nlp.generation.streaming import TextStreamer

__all__ = ["stream_pieces"]


class _GivenUpError(Exception):
    """Nobody takes pieces any more."""


class _PieceStreamer(TextStreamer):
    """A streamer that can be told to end the generation."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer, skip_special_tokens=True)
        self.given_up = Event()

    def put_rows(self, tokens: np.ndarray, counted: np.ndarray) -> None:
        """Take tokens."""
        if self.given_up.is_set():
            raise _GivenUpError
        super().put_rows(tokens, counted)


def stream_pieces(run: Callable[[TextStreamer], object], tokenizer: Any, skipped: int) -> Iterator[str]:
    """Pieces of the text of one row while it is generated; the generation ends when the iterator is closed.

    Parameters
    ----------
    run : callable
        Generates, with the streamer that it is given.
    tokenizer : Tokenizer
    skipped : int
        Characters at the front that are not given: the prompt's.

    Raises
    ------
    Exception
        What the generation raises.
    """
    streamer = _PieceStreamer(tokenizer)

    def generate() -> None:
        try:
            run(streamer)
        except _GivenUpError:
            pass
        except BaseException as error:  # raised in the thread that takes the pieces
            streamer.fail(error)

    thread = Thread(target=generate, name="numba_nlp stream", daemon=True)
    thread.start()
    try:
        for piece in streamer:
            text = piece.text[skipped:]
            skipped = max(0, skipped - len(piece.text))
            if text:
                yield text
    except RuntimeError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None
    finally:
        streamer.given_up.set()
        thread.join()
