"""Ends of rows by their text: stop strings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from numba_nlp.generation.token_text import TokenText
from numba_nlp.kernels.generation.beam_memory import BeamRules, BeamScratch, BeamState
from numba_nlp.kernels.generation.beams import move_rows

__all__ = ["TextEnds"]

#: Tokens that are decoded in front of those that may hold a stop string: tokens without text are among them, and the
#: first one of a text may look otherwise than in its middle.
_CONTEXT = 32


class TextEnds:
    """Says which tokens complete a stop string.

    A token does if the text of the row holds a stop string that is not whole, or not there, without the token; the
    text behind it in the same token is of no account. What the row begins with counts as text too, its padding not.
    These are the semantics of transformers (``StopStringCriteria``), but by the text as it is decoded.

    Parameters
    ----------
    stops : sequence of str
    text : TokenText
    firsts : ndarray
        int64 ``[prompts]``: columns of padding at the left of each prompt.
    """

    def __init__(self, stops: tuple[str, ...], text: TokenText, firsts: np.ndarray) -> None:
        self._stops = [stop.encode("utf-8", "surrogatepass") for stop in stops]
        self._text = text
        self._firsts = firsts
        # a character has at least one byte, and at most one token a byte
        self._window = max(map(len, self._stops)) + _CONTEXT

    def _tail(self, row: np.ndarray, prompt: int, filled: int) -> np.ndarray:
        return row[max(int(self._firsts[prompt]), filled - self._window) : filled]

    def _completes(self, after: bytes, before: Callable[[], bytes]) -> bool:
        """Whether a stop string lies in a text, and beyond what it has in common with the text without the token."""
        found = [after.rfind(stop) + len(stop) for stop in self._stops if stop in after]
        if not found:
            return False
        shared = 0
        for one, other in zip(before(), after, strict=False):
            if one != other:
                break
            shared += 1
        return max(found) > shared

    def mark_rows(self, rows: np.ndarray, filled: int, prompts: np.ndarray, done: np.ndarray) -> int:
        """Note rows that their last token ends.

        Parameters
        ----------
        rows : ndarray
            int32 ``[R, T]``.
        filled : int
            Columns of them, the last token's included.
        prompts : ndarray
            int32: prompt of each of the groups of rows.
        done : ndarray
            uint8 ``[R]``: set to 1 where a row ends; those that are 1 are left out.

        Returns
        -------
        int
            How many rows end.
        """
        per_prompt = rows.shape[0] // prompts.size
        ended = 0
        for row in np.flatnonzero(done == 0).tolist():
            ids = self._tail(rows[row], int(prompts[row // per_prompt]), filled)
            if self._completes(self._text.encoded(ids), lambda ids=ids: self._text.encoded(ids[:-1])):  # type: ignore[misc]
                done[row] = 1
                ended += 1
        return ended

    def mark_candidates(
        self, rows: np.ndarray, first_row: int, filled: int, prompt: int, n: int, scratch: BeamScratch
    ) -> None:
        """Note candidates of one sentence that their token ends.

        Parameters
        ----------
        rows, filled, n, scratch
            As of :func:`~numba_nlp.kernels.generation.beams.advance_sentence`; ``hits`` of the scratch are written.
        first_row, prompt : int
            Row of the sentence's first beam, and the prompt that it continues.
        """
        before: dict[int, bytes] = {}
        for i in range(n):
            beam = int(scratch.beams[i])
            ids = self._tail(rows[first_row + beam], prompt, filled)

            def text_before(beam: int = beam, ids: np.ndarray = ids) -> bytes:
                if beam not in before:
                    before[beam] = self._text.encoded(ids)
                return before[beam]

            after = self._text.encoded(np.append(ids, scratch.tokens[i]))
            scratch.hits[i] = self._completes(after, text_before)

    def advance(
        self,
        find: Callable[[int, int], int],
        advance: Callable[..., object],
        rest: Callable[..., object] | None,
        rows: np.ndarray,
        filled: int,
        units: np.ndarray,
        prompts: np.ndarray,
        rules: BeamRules,
        state: BeamState,
        scratch: BeamScratch,
        next_rows: np.ndarray,
        next_tokens: np.ndarray,
        parents: np.ndarray,
    ) -> int:
        """Take one step of a beam search in which candidates end by their text, sentence by sentence.

        Parameters
        ----------
        find : callable
            ``(first row, unit) -> number of candidates``, which it writes to the scratch.
        advance : callable
            :func:`~numba_nlp.kernels.generation.beams.advance_sentence`, or another of its arguments.
        rest : callable or None
            ``(unit)``: what a sentence does that is done.
        rows, filled, rules, state, scratch, next_rows, next_tokens, parents
            As for :func:`~numba_nlp.kernels.generation.beams.advance_beams`.
        units, prompts : ndarray
            int ``[A]``: number of each sentence in the state, and of its prompt.

        Returns
        -------
        int
            Number of sentences that are not done.
        """
        beams = state.running.shape[1]
        still_open = 0
        for place, (unit, prompt) in enumerate(zip(units.tolist(), prompts.tolist(), strict=True)):
            first_row = place * beams
            if not state.done[unit]:
                n = find(first_row, unit)
                self.mark_candidates(rows, first_row, filled, prompt, n, scratch)
                advance(rows, first_row, filled, unit, n, rules, state, scratch)
                still_open += int(state.done[unit] == 0)
            elif rest is not None:
                rest(unit)
            move_rows(rows, filled, first_row, unit, rules, state, next_rows, next_tokens, parents)
        return still_open
