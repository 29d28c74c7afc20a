"""Answers by beam: the best starts, and for each of them the best ends (Yang et al. 2019, appendix A.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from numba_nlp.models.layers.pooled import last_position, pick_position
from numba_nlp.models.weights import TensorMap

__all__ = ["SpanBeam"]


class SpanBeam(nn.Module):
    """Starts and ends of answers, and whether there is one.

    Parameters
    ----------
    width : int
        Of the hidden states.
    norm_epsilon : float
        Of the normalisation.
    starts, ends : int
        Number of starts, and of ends for each.
    """

    def __init__(self, width: int, norm_epsilon: float, starts: int, ends: int) -> None:
        super().__init__()
        self.starts, self.ends = starts, ends
        self.start = nn.Linear(width, 1)
        self.end_inner = nn.Linear(2 * width, width)
        self.end_norm = nn.LayerNorm(width, eps=norm_epsilon)
        self.end = nn.Linear(width, 1)
        self.answerable_inner = nn.Linear(2 * width, width)
        self.answerable = nn.Linear(width, 1, bias=False)

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        to.linear(self.start, "start_logits.dense")
        to.linear(self.end_inner, "end_logits.dense_0")
        to.norm(self.end_norm, "end_logits.LayerNorm")
        to.linear(self.end, "end_logits.dense_1")
        to.linear(self.answerable_inner, "answer_class.dense_0")
        to.linear(self.answerable, "answer_class.dense_1")

    def forward(self, hidden: Tensor, counts: Tensor | None) -> dict[str, Tensor]:
        """Probabilities and positions of starts and ends; see `ModelOutput`.

        Parameters
        ----------
        hidden : Tensor
            ``[rows, width, model width]``.
        counts : Tensor or None
            bool ``[rows, width]``: tokens that may start or end an answer; None: all. The last of them stands for the
            question whether there is an answer.

        Raises
        ------
        ValueError
            Rows are shorter than the beam.
        """
        rows, width, _ = hidden.shape
        if width < max(self.starts, self.ends):
            raise ValueError(
                f"the {self.starts} best starts and {self.ends} best ends are asked of rows of {width} tokens; pad "
                "them, with a mask"
            )
        start = _shares(self.start(hidden).squeeze(-1), counts)
        start_best, start_index = start.topk(self.starts, dim=-1)
        # A candidate for the end is seen together with a start: [rows, starts, width, 2 * model width].
        at_start = pick_position(hidden[:, None].expand(-1, self.starts, -1, -1).flatten(0, 1), start_index.flatten())
        at_start = at_start.view(rows, self.starts, 1, -1).expand(-1, -1, width, -1)
        both = torch.cat([hidden[:, None].expand_as(at_start), at_start], dim=-1)
        end = self.end(self.end_norm(torch.tanh(self.end_inner(both)))).squeeze(-1)
        end = _shares(end, None if counts is None else counts[:, None])
        end_best, end_index = end.topk(self.ends, dim=-1)
        # The sum of all tokens by their chance to be the start, beside the token that stands for the row.
        expected = (start[:, None] @ hidden).squeeze(1)
        row = pick_position(hidden, last_position(counts, hidden))
        answerable = self.answerable(torch.tanh(self.answerable_inner(torch.cat([expected, row], dim=-1))))
        return {
            "start_top_log_probs": start_best,
            "start_top_index": start_index,
            # end by end, each with all starts, as transformers lays them out
            "end_top_log_probs": end_best.transpose(1, 2).flatten(1),
            "end_top_index": end_index.transpose(1, 2).flatten(1),
            "cls_logits": answerable.squeeze(-1),
        }


def _shares(logits: Tensor, counts: Tensor | None) -> Tensor:
    """Softmax over the tokens that count; finite in a row without any."""
    if counts is not None:
        logits = logits.masked_fill(~counts, torch.finfo(logits.dtype).min)
    return logits.softmax(-1)
