"""What a generation gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

__all__ = ["GenerationOutput"]


@dataclass(frozen=True)
class GenerationOutput:
    """Rows of tokens, on the device of the model.

    ``out["sequences"]`` and ``out[0]`` are the first of them too, as in transformers.

    Attributes
    ----------
    sequences : Tensor
        int64 ``[rows, width]``: prompts and new tokens, padded at the right. The rows of a prompt lie side by side, the
        best first where beams were searched.
    scores : Tensor
        float32 ``[rows]``. Of a beam search, sums of log-probabilities divided by the number of new tokens to the power
        ``length_penalty`` (transformers: ``sequences_scores``), minus infinity where a prompt has fewer rows than were
        asked for; else the sums.
    token_scores : Tensor
        float32 ``[rows, new width]``: the log-probability of each new token, after all rules; 0 behind the end of a
        row, and for forced tokens.
    prompt_width : int
        Columns of the prompts: the new tokens are ``sequences[:, prompt_width:]``.
    """

    sequences: Tensor
    scores: Tensor
    token_scores: Tensor
    prompt_width: int

    @property
    def sequences_scores(self) -> Tensor:
        """``scores`` by transformers' name."""
        return self.scores

    def __getitem__(self, name: str | int) -> Any:
        """An attribute by its name or place.

        Raises
        ------
        KeyError, IndexError
            There is no such attribute.
        """
        if not isinstance(name, str):
            return (self.sequences, self.scores, self.token_scores, self.prompt_width)[name]
        if name not in ("sequences", "scores", "sequences_scores", "token_scores", "prompt_width"):
            raise KeyError(f"{name!r} is not there; sequences, scores, token_scores and prompt_width are")
        return getattr(self, name)
