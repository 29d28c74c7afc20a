"""Plain twin of ``numba_nlp.kernels.generation.beams``: whole lists, sorted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from numba_nlp.kernels.generation.beam_memory import STOP_EARLY, STOP_NEVER, UNLIKELY

__all__ = [
    "advance_beams",
    "advance_sentence",
    "best_candidates",
    "ends_row",
    "finish_row",
    "move_rows",
    "write_sequence",
]


def ends_row(row, begin, filled, token, eos_ids, stop_tokens, stop_offsets):
    """Whether a token ends a row."""
    new = [*row[begin:filled].tolist(), int(token)]
    stops = [stop_tokens[a:b].tolist() for a, b in pairwise(stop_offsets)]
    return token in eos_ids or any(new[-len(stop) :] == stop for stop in stops)


def best_candidates(logits, shifts, running, first_row, scratch):
    """Sort all continuations of a sentence; those in the order of the rows of unlike scores that are the same sum."""
    found = []
    for beam, score in enumerate(running):
        row = logits[first_row + beam]
        # of equal sums the one of the larger logit comes first: rounding hides that it is more probable
        for token in np.argsort(-row, kind="stable"):
            value = np.float32(np.float64(row[token]) - shifts[first_row + beam])
            found.append((np.float32(score + value), value, beam, token))
    found.sort(key=lambda candidate: -candidate[0])
    n = min(len(found), scratch.totals.size)
    for i, (total, value, beam, token) in enumerate(found[:n]):
        scratch.totals[i], scratch.values[i], scratch.beams[i], scratch.tokens[i] = total, value, beam, token
        scratch.hits[i] = 0
    return n


def finish_row(state, sentence, score, width, parent, token, value):
    """Put a finished row in its place among the best of a sentence."""
    fields = state[1:6]  # score, width, parent, token, value
    finished = [tuple(field[sentence, place] for field in fields) for place in range(fields[0].shape[1])]
    finished.append((score, width, parent, token, value))
    finished.sort(key=lambda row: -row[0])
    for place, row in enumerate(finished[:-1]):
        for field, entry in zip(fields, row, strict=True):
            field[sentence, place] = entry


def advance_sentence(rows, first_row, filled, sentence, n, rules, state, scratch):
    """Take one step of one sentence."""
    beams = state.running.shape[1]
    width = filled + 1 - rules.prompt_width
    candidates = []
    for i in range(n):
        beam, token = int(scratch.beams[i]), int(scratch.tokens[i])
        ends = ends_row(
            rows[first_row + beam],
            rules.prompt_width,
            filled,
            token,
            rules.eos_ids,
            rules.stop_tokens,
            rules.stop_offsets,
        )
        hit = ends or scratch.hits[i] == 1 or filled + 1 >= rules.max_length
        candidates.append((scratch.totals[i], beam, token, scratch.values[i], hit))

    norm = np.float32(float(width) ** rules.length_penalty)
    for total, beam, token, value, hit in candidates[:beams]:
        if hit:
            finish_row(state, sentence, np.float32(total / norm), width, beam, token, value)

    on = [(np.float32(total + UNLIKELY) if hit else total, *rest) for total, *rest, hit in candidates]
    on.sort(key=lambda row: -row[0])
    on += [(np.float32(-np.inf), 0, 0, np.float32(0))] * beams
    for place, (total, beam, token, value) in enumerate(on[:beams]):
        state.running[sentence, place] = total
        state.parents[width - 1, sentence, place] = beam
        state.tokens[width - 1, sentence, place] = token
        state.values[width - 1, sentence, place] = value

    full = all(state.finished_width[sentence] > 0)
    longest = rules.early_stopping == STOP_NEVER and rules.length_penalty > 0
    hoped_width = rules.max_length - rules.prompt_width if longest else width
    hoped = np.float32(state.running[sentence, 0] / np.float32(float(hoped_width) ** rules.length_penalty))
    improves = hoped > (state.finished[sentence].min() if full else UNLIKELY)
    all_hit = all(hit for *_, hit in candidates)
    if all_hit or not improves or (full and rules.early_stopping == STOP_EARLY):
        state.done[sentence] = 1


def advance_beams(logits, shifts, rows, filled, active, rules, state, scratch, next_rows, next_tokens, parents):
    """Take one step of all sentences that go on."""
    beams = state.running.shape[1]
    for a, sentence in enumerate(active):
        if not state.done[sentence]:
            n = best_candidates(logits, shifts, state.running[sentence], a * beams, scratch)
            advance_sentence(rows, a * beams, filled, sentence, n, rules, state, scratch)
        move_rows(rows, filled, a * beams, sentence, rules, state, next_rows, next_tokens, parents)
    return int((state.done[active] == 0).sum())


def move_rows(rows, filled, first_row, sentence, rules, state, next_rows, next_tokens, parents):
    """Let the rows of a sentence follow their beams."""
    step = filled - rules.prompt_width
    where = slice(first_row, first_row + state.running.shape[1])
    parents[where] = first_row + state.parents[step, sentence]
    next_tokens[where] = state.tokens[step, sentence]
    next_rows[where, :filled] = rows[parents[where], :filled]
    next_rows[where, filled] = next_tokens[where]


def write_sequence(state, sentence, place, tokens, values):
    """Write one finished row."""
    width = int(state.finished_width[sentence, place])
    if width == 0:
        return 0
    path = [(state.finished_token[sentence, place], state.finished_value[sentence, place])]
    beam = state.finished_parent[sentence, place]
    for step in reversed(range(width - 1)):
        path.insert(0, (state.tokens[step, sentence, beam], state.values[step, sentence, beam]))
        beam = state.parents[step, sentence, beam]
    for i, (token, value) in enumerate(path):
        tokens[i], values[i] = token, value
    return width
