"""Tables of positions, and the buckets of relative ones, against their definitions and those of transformers."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")

from numba_nlp.models.layers.positions import CountedSines, LearnedPositions, Sines  # noqa: E402
from numba_nlp.models.layers.relative_bias import RelativeBias, distance_buckets  # noqa: E402


@pytest.mark.parametrize("both_sides", [True, False], ids=["encoder", "decoder"])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (12, 16), (5, 3), (4, 20), (64, 1000), (33, 100)])
def test_buckets_are_those_of_transformers(buckets: int, farthest: int, both_sides: bool) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = torch.arange(-3 * farthest, 3 * farthest + 1)
    expected = T5Attention._relative_position_bucket(distances, both_sides, buckets, farthest)
    table = distance_buckets(buckets, farthest, both_sides=both_sides)
    assert table[distances.clamp(-farthest, farthest) + farthest].tolist() == expected.tolist()


@pytest.mark.parametrize("both_sides", [True, False], ids=["encoder", "decoder"])
def test_buckets_of_the_paper(both_sides: bool) -> None:
    """Raffel et al. 2020, section 2.1: all beyond 128 are in one bucket; near distances are told apart."""
    table = distance_buckets(32, 128, both_sides=both_sides).tolist()
    before = table[128::-1]  # the key is 0, 1, 2 ... tokens before the query
    assert before[: 8 if both_sides else 16] == list(range(8 if both_sides else 16))
    assert before == sorted(before)
    assert before[128] == (15 if both_sides else 31)
    assert [bucket - 16 for bucket in table[129:]] == before[1:] if both_sides else set(table[129:]) == {0}


def test_bias_by_distance() -> None:
    bias = RelativeBias(3, 12, 16, both_sides=True)
    bias.fill_tables()
    with torch.no_grad():
        bias.weight.normal_(generator=torch.Generator().manual_seed(0))
    queries, keys = torch.tensor([4, 90]), torch.tensor([0, 3, 4, 5, 200])
    got = bias(queries, keys)
    assert got.shape == (1, 3, 2, 5)
    for i, query in enumerate(queries.tolist()):
        for j, key in enumerate(keys.tolist()):
            bucket = int(bias.bucket_of[max(-16, min(16, key - query)) + 16])
            assert got[0, :, i, j].tolist() == bias.weight[bucket].tolist()


@pytest.mark.parametrize("width", [6, 8])
def test_sines(width: int) -> None:
    """Vaswani et al. 2017, section 3.5, the sines before the cosines."""
    table = Sines(20, width)
    table.fill_tables()
    for position in range(20):
        rates = [10000 ** (-2 * i / width) for i in range(width // 2)]
        row = [math.sin(position * rate) for rate in rates] + [math.cos(position * rate) for rate in rates]
        torch.testing.assert_close(table.weight[position], torch.tensor(row), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("width", "padding", "positions"), [(24, 1, 1024), (7, 0, 30), (10, 3, 20)])
def test_counted_sines_are_those_of_transformers(width: int, padding: int, positions: int) -> None:
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

    table = CountedSines(positions, width, padding)
    table.fill_tables()
    expected = M2M100SinusoidalPositionalEmbedding(positions, width, padding).weights
    shared = min(len(table.weight), len(expected))
    assert torch.equal(table.weight[:shared], expected[:shared])
    ids = torch.full((1, positions), padding + 1)
    assert int(table.of_source(ids, None).max()) == len(table.weight) - 1


def positions_of(kind: Any, ids: Any, mask: Any) -> list[list[int]]:
    positions: list[list[int]] = kind.of_source(torch.tensor(ids), None if mask is None else torch.tensor(mask) != 0)
    return torch.as_tensor(positions).tolist()


def test_positions_count_from_the_first_token() -> None:
    learned = LearnedPositions(9, 4)
    assert positions_of(learned, [[5, 6, 7]], None) == [[0, 1, 2]]
    mask = [[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]]
    assert positions_of(learned, [[5] * 4] * 4, mask) == [[0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3]]


def test_positions_by_padding_tokens() -> None:
    """Those of fairseq: padding (1 here) has none, also in the middle; what pads at the left may be another."""
    counted = CountedSines(9, 4, 1)
    assert positions_of(counted, [[5, 1, 6, 1]], None) == [[2, 1, 3, 1]]
    assert positions_of(counted, [[1, 1, 5, 6], [7, 7, 5, 6]], [[0, 0, 1, 1]] * 2) == [[1, 1, 2, 3]] * 2
