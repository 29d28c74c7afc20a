"""Rules, callables and warpers, in transformers' order, over the logits of one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from numba_nlp.generation.locked import locked
from numba_nlp.generation.plan import Plan
from numba_nlp.kernels.generation.row_edits import (
    allow_only,
    force_rows,
    renormalize_rows,
    restrict_rows,
    shift_rows,
    to_values,
    warp_rows,
)
from numba_nlp.kernels.generation.rules import make_row_scratch

__all__ = ["RowEdits", "no_numbers", "no_token", "refuse_no_numbers", "run_processors", "take_allowed"]

Processor = Callable[[Any, Any], Any]
PrefixFunction = Callable[[int, Any], Iterable[int]]


class RowEdits:
    """What changes the logits of a step before tokens are taken from them.

    Parameters
    ----------
    plan : Plan
    processors : sequence of callable
        Each is called with the values of a row, float32 ``[V]``, to be changed in place, and its tokens so far, int32.
    prefix_allowed_tokens_fn : callable or None
        Called with the number of the prompt and the tokens of a row; gives the ids that may follow.

    Attributes
    ----------
    rules : RowRules
        All options of rows as kernels take them.
    scratch : RowScratch
        One thread's.
    maxima, known : ndarray
        Of beams: largest values of blocks, see ``BeamScratch``.
    """

    def __init__(
        self, plan: Plan, processors: Sequence[Processor], prefix_allowed_tokens_fn: PrefixFunction | None
    ) -> None:
        self._logarithms = plan.config.num_beams > 1
        self._renormalize = plan.config.renormalize_logits
        self._processors = tuple(processors)
        self._prefix_function = prefix_allowed_tokens_fn
        self._vocabulary = plan.vocabulary
        self.rules = rules = plan.row_rules()
        # calls that would change nothing are left out
        self._restricts = bool(
            rules.repetition_penalty != 1.0
            or rules.no_repeat_ngram_size
            or rules.encoder_no_repeat_ngram_size
            or rules.bad_ids.size
            or rules.bad_sequences.size
            or (rules.eos_ids.size and (rules.min_length > plan.prompt_width or rules.min_new_tokens))
        )
        self._suppresses = bool(rules.suppressed_ids.size or rules.begin_suppressed_ids.size)
        self._sources = plan.source_ids()
        self._firsts = plan.firsts()
        self.scratch = make_row_scratch(plan.vocabulary, plan.max_length)
        rows = plan.prompts.ids.shape[0] * plan.per_prompt
        self._shifts = np.zeros(rows, np.float64)
        if self._logarithms:
            self.maxima = np.zeros((rows, self.scratch.maxima.size), np.float32)
            self.known = np.zeros(rows, np.uint8)

    def __call__(
        self,
        logits: np.ndarray,
        rows: np.ndarray,
        filled: int,
        numbers: np.ndarray,
        *,
        first: Callable[[], object] | None = None,
    ) -> np.ndarray:
        """Change the logits of one step in place.

        Parameters
        ----------
        logits : ndarray
            float32 ``[R, V]``.
        rows : ndarray
            int32 ``[R, T]``: tokens so far.
        filled : int
            Columns of them.
        numbers : ndarray
            int32: prompt of each of the groups of rows.
        first : callable, optional
            Changes the logits before the rules do.

        Returns
        -------
        ndarray
            float64 ``[R]``: the value of a token is its logit less this.

        Raises
        ------
        ValueError
            The model or a processor gave no number, or a callable gave ids that are no tokens, or none.
        TypeError
            A processor gave something back.
        """
        shifts = self._shifts[: logits.shape[0]]
        if self._logarithms:
            wrong = shift_rows(logits, shifts, self.maxima[: logits.shape[0]])
            if wrong >= 0:
                refuse_no_numbers(logits[wrong], int(wrong), filled)
            self.known.fill(not self._raises_values(filled))
        else:
            shifts.fill(0.0)
        if first is not None:
            first()
        if self._prefix_function is not None:
            self._allow(logits, locked(rows), filled, numbers)
        if self._restricts:
            saved = self.scratch.saved
            restrict_rows(logits, shifts, rows, self._firsts, filled, self._sources, numbers, self.rules, saved)
        if self._suppresses or self._forces(filled):
            force_rows(logits, shifts, filled, self.rules)
        if self._processors:
            to_values(logits, shifts)
            seen = locked(rows)
            for row in range(logits.shape[0]):
                run_processors(self._processors, logits[row], seen[row, :filled])
        return shifts

    def _forces(self, filled: int) -> bool:
        """Whether the next token is one of a few."""
        rules = self.rules
        first = filled == 1 and rules.forced_bos_id >= 0
        return bool(first or (filled == rules.max_length - 1 and rules.forced_eos_ids.size > 0))

    def _raises_values(self, filled: int) -> bool:
        """Whether some value may become larger than the model gave it."""
        return bool(self._processors or self.rules.repetition_penalty != 1.0 or self._forces(filled))

    def warp(self, logits: np.ndarray, shifts: np.ndarray) -> None:
        """Temperature, and what the options of sampling keep."""
        warp_rows(logits, shifts, self.rules, self.scratch)

    def renormalize(self, logits: np.ndarray, shifts: np.ndarray) -> None:
        """Make values log-probabilities again, if the options say so; after everything else."""
        if self._renormalize:
            renormalize_rows(logits, shifts)

    def _allow(self, logits: np.ndarray, rows: np.ndarray, filled: int, numbers: np.ndarray) -> None:
        # Before the rules, though transformers has it among them: what is minus infinity stays so through all rules
        # that precede it there.
        assert self._prefix_function is not None
        per_prompt = logits.shape[0] // numbers.size
        for row in range(logits.shape[0]):
            prompt = int(numbers[row // per_prompt])
            tokens = rows[row, :filled]
            allow_only(
                logits[row], take_allowed(self._prefix_function(prompt, tokens), prompt, tokens, self._vocabulary)
            )


def take_allowed(given: Any, prompt: int, tokens: np.ndarray, vocabulary: int) -> np.ndarray:
    """Ids that a prefix function gave, each once and in ascending order.

    Parameters
    ----------
    given : iterable of int
        A set, the keys of a dictionary or a generator too: their order does not matter.
    prompt : int
        What the function was called with, for errors.
    tokens : ndarray
        The same.
    vocabulary : int
        Ids must be below it.

    Raises
    ------
    ValueError
        There is none, or one that is no token.
    TypeError
        It gave a mask.
    """
    # NumPy makes one object of what is no sequence
    if isinstance(given, Iterable) and not isinstance(given, (Sequence, Mapping)) and not hasattr(given, "__array__"):
        given = list(given)
    try:
        allowed = np.unique(np.asarray(given))
    except (TypeError, ValueError):  # rows of unlike lengths, or kinds without an order
        allowed = np.zeros(0, np.int64)
    if allowed.dtype == np.bool_:
        raise TypeError(
            f"`prefix_allowed_tokens_fn` must give ids, got a mask of {np.asarray(given).size} bools for prompt "
            f"{prompt}; give the places at which it is true: np.flatnonzero(mask)"
        )
    if allowed.dtype.kind not in "iu" or not allowed.size or allowed[0] < 0 or allowed[-1] >= vocabulary:
        raise ValueError(
            f"`prefix_allowed_tokens_fn` must give ids from 0 to {vocabulary - 1}, at least one, for prompt {prompt} "
            f"after the tokens {tokens.tolist()}; got {given!r}"
        )
    return allowed.astype(np.int64)


def run_processors(processors: Sequence[Processor], values: np.ndarray, tokens: np.ndarray) -> None:
    """Let processors change the values of a row.

    Parameters
    ----------
    processors : sequence of callable
    values : ndarray
        float32 ``[V]``; changed in place.
    tokens : ndarray
        int32: the row so far.

    Raises
    ------
    TypeError
        One gives something back.
    ValueError
        One makes values NaN or infinity. (Where the model gave them, the choice of a token tells.)
    """
    sound = values.max() < np.inf  # false for NaN too
    for processor in processors:
        given = processor(values, tokens)
        if given is not None:
            raise TypeError(
                f"the processor {_name(processor)} gives back {_kind(given)}, which nothing reads: change `values`, "
                "its first argument, in place (values[...] = ...), and return nothing"
            )
        if sound and not values.max() < np.inf:
            token = int(np.flatnonzero(np.isnan(values) | np.isposinf(values))[0])
            raise ValueError(
                f"the processor {_name(processor)} makes the value of token {token} {values[token]}, after "
                f"{tokens.size} tokens: values are finite, or minus infinity for tokens that may not be; where one "
                "token must come, make all others minus infinity"
            )


def _name(processor: Processor) -> str:
    return repr(getattr(processor, "__name__", None) or type(processor).__name__)


def _kind(given: Any) -> str:
    return f"{type(given).__name__} {given!r}" if isinstance(given, (bool, int, float, str)) else type(given).__name__


def refuse_no_numbers(row: np.ndarray, number: int, filled: int) -> None:
    """Refuse a row of logits of which some are NaN or infinity.

    Raises
    ------
    ValueError
        It is such.
    """
    if np.isnan(row).any() or np.isposinf(row).any():
        raise no_numbers(number, filled)


def no_numbers(row: int, filled: int) -> ValueError:
    """What is raised where the model gave NaN or infinity."""
    return ValueError(
        f"the model gives logits that are no numbers, in row {row} after {filled} tokens; look at its weights, and at "
        "the range of its kind of numbers"
    )


def no_token(row: int, filled: int) -> ValueError:
    """What is raised where no token has a probability."""
    return ValueError(
        f"the options leave no token for row {row} after {filled} tokens: `suppress_tokens`, `bad_words_ids`, "
        "repeated n-grams, processors and the like rule out all of them"
    )
