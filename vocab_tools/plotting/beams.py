"""The tree that a beam search grew: every row that it kept for a step, and where the best one went."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.tokenizer import Tokenizer
from vocab_tools.plotting.trees import Tree

__all__ = ["beam_tree"]


def beam_tree(model: Any, tokenizer: Tokenizer, text: str, num_beams: int = 3, **options: Any) -> Tree:
    """Search with beams and remember what was kept.

    Parameters
    ----------
    model : Model
        That generates (:func:`numba_nlp.load_model`).
    tokenizer : Tokenizer
        Of its folder.
    text : str
        A prompt, or what is to be translated.
    num_beams : int, default 3
    **options
        Of :func:`numba_nlp.generation.generate`, but for ``processors`` and ``num_return_sequences``; values are those
        before ``renormalize_logits``.

    Returns
    -------
    Tree
        The root is what the decoder begins with. Below it is a node for each row that was a beam in some step, and for
        the ends of the rows that came out: labels are the last tokens, notes sums of log-probabilities, and the nodes
        of the best row are marked.

    Raises
    ------
    ValueError, TypeError, UnsupportedFeatureError
        As of generating; or there is one beam only.

    Notes
    -----
    A processor of the generation sees each beam of each step with the log-probabilities that are added to it, so
    nothing of the search is computed anew here.
    """
    if num_beams < 2:
        raise ValueError(f"`num_beams` must be at least 2 for a tree of beams, got {num_beams!r}")
    following: dict[tuple[int, ...], NDArray[np.float32]] = {}

    def remember(values: NDArray[np.float32], tokens: NDArray[np.int32]) -> None:
        following[tuple(tokens.tolist())] = values.copy()

    out = model.generate(
        **tokenizer([text]), num_beams=num_beams, num_return_sequences=num_beams, processors=[remember],
        **options,
    )  # fmt: skip
    root = min(following, key=len)
    ends = _ended_rows(out, following)
    nodes, scores = {root: 0}, [0.0]
    parents, labels = [-1], [""]
    # beams of a step before those of the next, each step's in the order in which they were looked at
    for row in [*sorted(following, key=len)[1:], *ends]:
        if row in nodes:
            continue
        parent = nodes[row[:-1]]
        nodes[row] = len(parents)
        parents.append(parent)
        labels.append(tokenizer.id_to_token(row[-1]))
        scores.append(scores[parent] + float(following[row[:-1]][row[-1]]))
    best = {nodes[ends[0][:length]] for length in range(len(root), len(ends[0]) + 1)}
    notes = ["", *(f"{round(score, 2) + 0.0:.2f}" for score in scores[1:])]  # no "-0.00"
    return Tree(tuple(parents), tuple(labels), tuple(notes), tuple(node in best for node in range(len(parents))))


def _ended_rows(out: Any, following: dict[tuple[int, ...], NDArray[np.float32]]) -> list[tuple[int, ...]]:
    """Rows that came out, best first, without the padding behind their ends.

    A row ends with the first token behind which nothing was looked for.
    """
    found = []
    for row, score in zip(out.sequences.tolist(), out.scores.tolist(), strict=True):
        if score == -np.inf:  # fewer rows than beams
            continue
        length = out.prompt_width
        while length < len(row) and tuple(row[:length]) in following:
            length += 1
        found.append(tuple(row[:length]))
    return found
