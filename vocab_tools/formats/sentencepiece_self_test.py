"""The samples that a SentencePiece model may carry: texts, and the pieces that they must give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vocab_tools.formats.description import KIND_NORMAL, KIND_USER_DEFINED
from vocab_tools.formats.sentencepiece_model import SentencePieceModel

__all__ = ["check_self_test"]

#: How far two segmentations' scores may lie apart and still count as equal in the self-test.
_SCORE_TOLERANCE = 1e-7


def check_self_test(model: SentencePieceModel, encode: Callable[[str], Sequence[str]]) -> list[str]:
    """Run the samples that a model file carries.

    Parameters
    ----------
    model : SentencePieceModel
    encode : callable
        Takes a text, gives its pieces; characters without a piece as they are, several in a row joined.

    Returns
    -------
    list of str
        One line for each sample that fails: the text, the pieces that it should give, those that it gives. As in
        the reference, other pieces with the same sum of scores are no failure in unigram models.
    """
    failures = []
    for sample, expected in model.self_test:
        text, wanted = sample.decode(errors="replace"), expected.decode(errors="replace")
        given = " ".join(encode(text))
        if given != wanted and not (model.model_type == "unigram" and _scores_equal(model, wanted, given)):
            failures.append(f"{text!r}: expected {wanted!r}, got {given!r}")
    return failures


def _scores_equal(model: SentencePieceModel, expected: str, given: str) -> bool:
    ids = model.ids()
    # Float32 throughout, as the reference adds them up.
    normal = model.scores[model.kinds == KIND_NORMAL]
    lowest, highest = (normal.min(), normal.max()) if normal.size else (np.float32(0), np.float32(0))

    def score(pieces: str) -> np.float32:
        total = np.float32(0)
        for piece in pieces.encode().split(b" "):
            i = ids.get(piece, model.unk_id)
            if i == model.unk_id:
                total += lowest - np.float32(10)
            elif model.kinds[i] == KIND_USER_DEFINED:
                total += np.float32(len(piece) * float(highest) - 0.1)
            else:
                total += model.scores[i]
        return total

    return abs(float(score(expected)) - float(score(given))) <= _SCORE_TOLERANCE
