"""Attention by content, by relative position and by segment (Yang et al. 2019, arXiv:1906.08237; Dai et al. 2019)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from numba_nlp.models.layers.attention import attend, join_heads, split_heads

__all__ = ["RelativeAttention", "relative_sinusoids", "shift_to_columns"]


def relative_sinusoids(distances: Tensor, width: int) -> Tensor:
    """Sines, then cosines, of relative distances.

    Parameters
    ----------
    distances : Tensor
        float32 [count]: column of the query minus column of the key.
    width : int
        Even; of a row of the result.

    Returns
    -------
    Tensor
        float32 [count, width].
    """
    # In float32 and in this order, as transformers has it: at a distance of 500, the last bit of a rate is 3e-5.
    steps = torch.arange(0, width, 2, dtype=torch.float32, device=distances.device)
    rates = 1 / torch.pow(10000, steps / width)
    angles = distances[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def shift_to_columns(by_distance: Tensor, columns: int) -> Tensor:
    """Scores by relative distance as scores by column of the key.

    Parameters
    ----------
    by_distance : Tensor
        [..., width, distances]: entry p of a row belongs to the distance ``columns - p``; contiguous.
    columns : int
        Number of keys; the queries are the last `width` of them.

    Returns
    -------
    Tensor
        [..., width, columns], a view: entry j of row i has the distance ``columns - width + i - j``.

    Notes
    -----
    The distance asked for lies at ``p = width - i + j``; counted through all rows that is ``width + i * (distances -
    1) + j``: windows of `columns` entries, each beginning ``distances - 1`` after the one before.
    """
    width, distances = by_distance.shape[-2:]
    return by_distance.flatten(-2)[..., width:].unfold(-1, columns, distances - 1)


class RelativeAttention(nn.Module):
    """Attention of XLNet: products with keys of content, of relative position and of segment, each with a bias.

    Parameters
    ----------
    width, heads, head_width : int
        Of the hidden states; number and width of heads.
    """

    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        inner = heads * head_width
        self.heads, self.head_width = heads, head_width
        self.qkv = nn.Linear(width, 3 * inner, bias=False)
        self.positions = nn.Linear(width, inner, bias=False)
        self.output = nn.Linear(inner, width, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, head_width))
        self.position_bias = nn.Parameter(torch.zeros(heads, head_width))
        self.segment_bias = nn.Parameter(torch.zeros(heads, head_width))
        #: Row 0: the key lies in the query's segment; row 1: in another.
        self.segments = nn.Parameter(torch.zeros(2, heads, head_width))

    def queries(self, hidden: Tensor) -> Tensor:
        """[rows, heads, width, head_width]; for both streams."""
        inner = self.heads * self.head_width
        return split_heads(F.linear(hidden, self.qkv.weight[:inner]), self.heads)

    def keys_and_values(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Each [rows, heads, columns, head_width]; of memory and content."""
        inner = self.heads * self.head_width
        both = F.linear(hidden, self.qkv.weight[inner:]).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return both[0], both[1]

    def position_keys(self, sinusoids: Tensor) -> Tensor:
        """Keys [heads, distances, head_width] of a table of sinusoids."""
        return self.positions(sinusoids).unflatten(-1, (self.heads, -1)).transpose(0, 1)

    def by_distance(self, queries: Tensor, position_keys: Tensor) -> Tensor:
        """Products with the keys of positions, [rows, heads, width, distances], unscaled."""
        return (queries + self.position_bias[:, None]) @ position_keys.transpose(-1, -2)

    def by_segment(self, queries: Tensor, other: Tensor) -> Tensor:
        """Products with the keys of segments, unscaled.

        Parameters
        ----------
        queries : Tensor
            [rows, heads, width, head_width].
        other : Tensor
            bool [rows, width, columns]: query and key are of different segments.
        """
        both = (queries + self.segment_bias[:, None]) @ self.segments.permute(1, 2, 0)
        return torch.where(other[:, None], both[..., 1:], both[..., :1])

    def combine(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        scores: Tensor,
        mask: Tensor | None,
        *,
        want_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend, with scores by position and segment added to those by content.

        Parameters
        ----------
        queries : Tensor
            [rows, heads, width, head_width].
        keys, values : Tensor
            [rows, heads, columns, head_width].
        scores : Tensor
            [rows, heads, width, columns], unscaled.
        mask : Tensor or None
            Added after the scaling; broadcasts to the scores.
        want_weights : bool
            Also return the weights.

        Returns
        -------
        Tensor
            [rows, width, model width].
        Tensor or None
            [rows, heads, width, columns].
        """
        added = scores * self.head_width**-0.5
        if mask is not None:
            added = added + mask
        context, weights = attend(queries + self.content_bias[:, None], keys, values, added, want_weights=want_weights)
        return self.output(join_heads(context)), weights
