"""Relative positions of T5 (Raffel et al. 2020, arXiv:1910.10683, section 2.1): one number a head and distance."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

__all__ = ["RelativeBias", "distance_buckets"]


def distance_buckets(buckets: int, farthest: int, *, both_sides: bool) -> Tensor:
    """Bucket of each distance between a query and a key.

    Near distances have a bucket each, those beyond share buckets that widen with the logarithm of the distance, and
    all from ``farthest`` on share the last one.

    Parameters
    ----------
    buckets : int
        Number of buckets, at least 4 where ``both_sides`` and 2 where not.
    farthest : int
        Distance from which on all are in the last bucket.
    both_sides : bool
        Whether keys after the query have buckets of their own, half of all; else they are in the bucket of distance 0.

    Returns
    -------
    Tensor
        ``int64[2 * farthest + 1]``: of the distances (key minus query) from ``-farthest`` to ``farthest``.
    """
    distances = torch.arange(-farthest, farthest + 1, device="cpu")
    if both_sides:
        buckets //= 2
        first = (distances > 0) * buckets
        distances = distances.abs()
    else:
        first = torch.zeros_like(distances)
        distances = (-distances).clamp(min=0)
    exact = buckets // 2
    # float32, as the models were trained with: the edges of the wide buckets are roundings of this
    share = torch.log(distances.clamp(min=1).float() / exact) / math.log(farthest / exact)
    wide = (exact + (share * (buckets - exact)).long()).clamp(max=buckets - 1)
    return first + torch.where(distances < exact, distances, wide)


class RelativeBias(nn.Module):
    """What is added to the products of queries and keys, by their distance.

    Parameters
    ----------
    heads : int
        Number of heads.
    buckets, farthest, both_sides
        As of :func:`distance_buckets`.
    """

    def __init__(self, heads: int, buckets: int, farthest: int, *, both_sides: bool) -> None:
        super().__init__()
        self.buckets, self.farthest, self.both_sides = buckets, farthest, both_sides
        self.weight = nn.Parameter(torch.zeros(buckets, heads))
        self.bucket_of: Tensor
        self.register_buffer("bucket_of", torch.zeros(2 * farthest + 1, dtype=torch.int64), persistent=False)

    def fill_tables(self) -> None:
        """Compute the buckets, which checkpoints do not hold."""
        self.bucket_of.copy_(distance_buckets(self.buckets, self.farthest, both_sides=self.both_sides))

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Bias ``[1, heads, queries, keys]``.

        Parameters
        ----------
        queries, keys : Tensor
            int64 ``[queries]`` and ``[keys]``: their places.
        """
        distances = (keys - queries[:, None]).clamp(-self.farthest, self.farthest)
        return self.weight.t()[:, self.bucket_of[distances + self.farthest]][None]
