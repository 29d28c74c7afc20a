"""Arrays of a beam search, and its settings.

Twin: ``numba_nlp.reference.generation.beams``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numba_nlp.kernels.generation.row_values import BLOCK

__all__ = [
    "STOP_EARLY",
    "STOP_NEVER",
    "STOP_WORSE",
    "UNLIKELY",
    "BeamRules",
    "BeamScratch",
    "BeamState",
    "new_beam_scratch",
    "new_beam_state",
]

#: Values of ``BeamRules.early_stopping``: False, True and "never" of the option.
STOP_WORSE, STOP_EARLY, STOP_NEVER = 0, 1, 2
#: Score of rows that are none: beams at the start but for the first, finished rows not found yet. transformers' number;
#: what float32 makes of its sums decides which rows go on where fewer are possible than there are beams.
UNLIKELY = np.float32(-1e9)


class BeamRules(NamedTuple):
    """When rows and sentences end.

    Attributes
    ----------
    candidates : int64
        Continuations looked at in each step and sentence, K.
    prompt_width : int64
        Columns of the prompt.
    max_length : int64
        Columns at which every row ends, prompt included.
    length_penalty : float64
        Scores of finished rows are divided by their number of new tokens to this power.
    early_stopping : int64
        `STOP_WORSE`, `STOP_EARLY` or `STOP_NEVER`.
    eos_ids : int32[n]
        Tokens that end a row.
    stop_tokens : int32[m]
        Sequences that end a row, one behind the other.
    stop_offsets : int64[s + 1]
        Where each begins.
    """

    candidates: int
    prompt_width: int
    max_length: int
    length_penalty: float
    early_stopping: int
    eos_ids: np.ndarray
    stop_tokens: np.ndarray
    stop_offsets: np.ndarray


class BeamState(NamedTuple):
    """What is known of S sentences with B beams, of up to T new tokens.

    Attributes
    ----------
    running : float32[S, B]
        Sum of log-probabilities of each row that goes on, the best first.
    finished : float32[S, B]
        Scores of the best finished rows, the best first; `UNLIKELY` where there is none yet.
    finished_width : int32[S, B]
        Number of their new tokens; 0 where there is none yet.
    finished_parent, finished_token : int32[S, B]
        Beam, before its last token, and that token.
    finished_value : float32[S, B]
        Log-probability of that token.
    done : uint8[S]
        1: nothing changes any more.
    tokens, parents : int32[T, S, B]
        Token that each row took in each step, and the beam that it continued.
    values : float32[T, S, B]
        Log-probability of the token.
    """

    running: np.ndarray
    finished: np.ndarray
    finished_width: np.ndarray
    finished_parent: np.ndarray
    finished_token: np.ndarray
    finished_value: np.ndarray
    done: np.ndarray
    tokens: np.ndarray
    parents: np.ndarray
    values: np.ndarray


class BeamScratch(NamedTuple):
    """Candidates of one sentence, K of them; one thread's.

    Attributes
    ----------
    totals, values : float32[K]
        Sum of log-probabilities, the best first, and the last of them.
    beams, tokens : int32[K]
        Which beam continues with which token.
    hits : uint8[K]
        Whether the token ends the row.
    keys : float64[K]
        Of drawn candidates: what they were drawn by.
    row_values : float32[K]
        Best of one row.
    row_tokens : int32[K]
        Their tokens.
    maxima : float32[R, (V + 63) // 64]
        Largest values of the blocks of all rows, as they were before some became smaller; the first of them is
        scratch where that is not known.
    known : uint8[R]
        Of which rows that is known; other rows, and more of them, are looked at anew.
    """

    totals: np.ndarray
    values: np.ndarray
    beams: np.ndarray
    tokens: np.ndarray
    hits: np.ndarray
    keys: np.ndarray
    row_values: np.ndarray
    row_tokens: np.ndarray
    maxima: np.ndarray
    known: np.ndarray


def new_beam_state(sentences: int, beams: int, steps: int) -> BeamState:
    """State before the first step: one beam of each sentence counts, as all of them are the same.

    Parameters
    ----------
    sentences, beams, steps : int
        S, B and T.
    """
    shape = (sentences, beams)
    running = np.full(shape, UNLIKELY, np.float32)
    running[:, 0] = 0.0
    return BeamState(
        running=running,
        finished=np.full(shape, UNLIKELY, np.float32),
        finished_width=np.zeros(shape, np.int32),
        finished_parent=np.zeros(shape, np.int32),
        finished_token=np.zeros(shape, np.int32),
        finished_value=np.zeros(shape, np.float32),
        done=np.zeros(sentences, np.uint8),
        tokens=np.zeros((steps, *shape), np.int32),
        parents=np.zeros((steps, *shape), np.int32),
        values=np.zeros((steps, *shape), np.float32),
    )


def new_beam_scratch(candidates: int, vocabulary: int) -> BeamScratch:
    """Room for the candidates of one sentence; nothing is known of any row.

    Parameters
    ----------
    candidates, vocabulary : int
        K and V.
    """
    return BeamScratch(
        totals=np.zeros(candidates, np.float32),
        values=np.zeros(candidates, np.float32),
        beams=np.zeros(candidates, np.int32),
        tokens=np.zeros(candidates, np.int32),
        hits=np.zeros(candidates, np.uint8),
        keys=np.zeros(candidates, np.float64),
        row_values=np.zeros(candidates, np.float32),
        row_tokens=np.zeros(candidates, np.int32),
        maxima=np.zeros((1, (vocabulary + BLOCK - 1) // BLOCK), np.float32),
        known=np.zeros(1, np.uint8),
    )
