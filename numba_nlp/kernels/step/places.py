"""What the rows of a step see: lists of places, made anew in each step, so that no keys or values ever move.

Twin: ``numba_nlp.reference.step.places``.
"""

from __future__ import annotations

from numba_nlp._jit import kernel

__all__ = ["follow_parents", "list_places"]


@kernel
def follow_parents(parents, n_new, half, memory):
    """Continue other rows.

    Parameters
    ----------
    parents : int64[n]
        Row that each continues.
    n_new : int64
        Tokens read after the prompt.
    half : int64
        Of ``memory.writers`` and ``memory.counted``, that is read; the other one is written.
    memory : RowMemory
    """
    for row in range(parents.size):
        parent = parents[row]
        for n in range(n_new):
            memory.writers[1 - half, row, n] = memory.writers[half, parent, n]
        memory.counted[1 - half, row] = memory.counted[half, parent]


@kernel
def list_places(tokens, prompts, per_prompt, column, half, weights, memory):
    """List what each row of a step sees, its own token included, and find its position.

    Parameters
    ----------
    tokens : int64[n]
        What the rows read.
    prompts : int32[p]
        Prompt of each of the groups of ``per_prompt`` rows.
    per_prompt : int64
        1 as long as prompts are read, whose rows share them.
    column : int64
        Of the tokens; columns of prompts come first, and there some tokens may be padding.
    half : int64
        Of ``memory.writers`` and ``memory.counted``.
    weights : DecoderWeights
    memory : RowMemory
        ``offsets``, ``columns``, ``lengths`` and ``positions`` are written, and the token is noted.
    """
    width, held = weights.heads * weights.head_width, memory.prompt_rows
    n_new = column - memory.prompt_columns
    for row in range(tokens.size):
        prompt = prompts[row // per_prompt]
        length, counts = 0, n_new >= 0
        for i in range(memory.prompt_lengths[prompt]):
            place = memory.prompt_places[prompt, i]
            if place >= column:
                counts = place == column
                break
            memory.offsets[row, length] = (place * held + prompt) * width
            memory.columns[row, length] = place
            length += 1
        if n_new < 0 and weights.position_padding >= 0:
            # such positions are counted by the tokens themselves, from the first one that counts on
            counts = memory.prompt_lengths[prompt] > 0 and column >= memory.prompt_places[prompt, 0]
        if n_new < 0:
            memory.offsets[row, length] = (column * held + prompt) * width
            memory.columns[row, length] = column
            length += 1
        else:
            memory.writers[half, row, n_new] = row
            for n in range(n_new + 1):
                place = memory.prompt_columns * held + n * memory.rows + memory.writers[half, row, n]
                memory.offsets[row, length] = place * width
                memory.columns[row, length] = memory.prompt_columns + n
                length += 1
        memory.lengths[row] = length
        if tokens[row] == weights.position_padding:
            memory.positions[row] = weights.position_padding
        else:
            memory.positions[row] = weights.position_offset + memory.counted[half, row]
            memory.counted[half, row] += counts
