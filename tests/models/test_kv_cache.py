"""The cache and its attention on plain tensors, against lists of tokens and attention written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="models need torch")

from numba_nlp.models.kv_cache import KVCache  # noqa: E402
from numba_nlp.models.layers.cached_attention import attend_to_cache, attend_to_source  # noqa: E402

HEADS, WIDTH, LAYERS, POSITIONS = 2, 3, 2, 16


class Rows:
    """What the cache should hold: for each row and layer the list of its real tokens' keys and values."""

    def __init__(self, rows):
        self.tokens = [[[] for _ in range(LAYERS)] for _ in range(rows)]

    def context(self, row, layer, query):
        """Softmax attention of a query [heads, width] over all tokens of the row, in float64."""
        if not self.tokens[row][layer]:
            return np.zeros_like(query)
        keys = np.stack([key for key, _ in self.tokens[row][layer]])
        values = np.stack([value for _, value in self.tokens[row][layer]])
        scores = np.einsum("hd,khd->hk", query, keys) / np.sqrt(WIDTH)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("hk,khd->hd", weights / weights.sum(-1, keepdims=True), values)

    def reorder(self, parents):
        self.tokens = [[list(layer) for layer in self.tokens[parent]] for parent in parents]


def call(cache, rows, mask, rng, as_mask):
    """One call of both: new tokens where `mask` is set; contexts and positions must agree at real tokens."""
    called, width = mask.shape
    beams = cache.rows // called
    seen = [len(rows.tokens[row][0]) for row in range(cache.rows)]
    window = cache.extend(called, width, torch.from_numpy(mask) if as_mask else None)
    for layer in range(LAYERS):
        query, key, value = rng.standard_normal((3, called, HEADS, width, WIDTH))
        tensors = [torch.from_numpy(array) for array in (query, key, value)]
        context = attend_to_cache(tensors[0], *cache.store(layer, tensors[1], tensors[2], window), window).numpy()
        assert np.isfinite(context).all()
        for row in range(cache.rows):
            for column in range(width):
                if mask[row // beams, column]:
                    at = row // beams, slice(None), column
                    rows.tokens[row][layer].append((key[at], value[at]))
                    np.testing.assert_allclose(context[at], rows.context(row, layer, query[at]), atol=1e-12)
    counted = mask.cumsum(1) - 1
    for row in range(cache.rows):
        real = mask[row // beams]
        assert (
            window.positions[row // beams].numpy()[real].tolist() == (seen[row] + counted[row // beams])[real].tolist()
        )


def left_padded(rng, rows, width):
    lengths = rng.integers(0, width + 1, rows)
    return np.arange(width) >= width - lengths[:, None]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sentences=st.integers(1, 3),
    beams=st.integers(1, 3),
    once=st.booleans(),
    padded=st.booleans(),
    static=st.booleans(),
    moves=st.lists(st.sampled_from(["step", "reorder", "prompt"]), max_size=6),
)
def test_cache_is_lists_of_tokens(seed, sentences, beams, once, padded, static, moves):
    rng = np.random.default_rng(seed)
    cache = KVCache(
        layers=LAYERS,
        rows=sentences * beams,
        heads=HEADS,
        positions=POSITIONS,
        head_width=WIDTH,
        dtype=torch.float64,
        static=static,
    )
    where = [array.data_ptr() for array in (cache.keys, cache.values, cache.visible, cache.position)]
    for _ in range(2):  # the second round finds what clear() leaves behind
        rows = Rows(cache.rows)
        width = int(rng.integers(1, 4))
        first = sentences if once else cache.rows
        mask = left_padded(rng, first, width) if padded else np.ones((first, width), dtype=bool)
        call(cache, rows, mask, rng, as_mask=padded)
        for move in moves:
            if move == "step":
                call(cache, rows, np.ones((cache.rows, 1), dtype=bool), rng, as_mask=False)
            elif move == "prompt":
                mask = left_padded(rng, cache.rows, 2) if padded else np.ones((cache.rows, 2), dtype=bool)
                call(cache, rows, mask, rng, as_mask=padded)
            elif move == "reorder":
                within = rng.integers(0, beams, cache.rows) + np.arange(cache.rows) // beams * beams
                parents = within if once else rng.integers(0, cache.rows, cache.rows)
                rows.reorder(parents)
                cache.reorder(torch.from_numpy(parents))
        assert int(cache.position) == cache.length
        assert cache.next_position.tolist() == [len(row[0]) for row in rows.tokens]
        cache.clear()
    assert where == [array.data_ptr() for array in (cache.keys, cache.values, cache.visible, cache.position)]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sentences=st.integers(1, 4),
    beams=st.integers(1, 3),
    once=st.booleans(),
    padded=st.booleans(),
)
def test_kept_rows_go_on(seed, sentences, beams, once, padded):
    rng = np.random.default_rng(seed)
    cache = KVCache(
        layers=LAYERS,
        rows=sentences * beams,
        heads=HEADS,
        positions=POSITIONS,
        head_width=WIDTH,
        sentences=sentences,
        source_positions=3,
        dtype=torch.float64,
    )
    sources = torch.from_numpy(rng.standard_normal((LAYERS, sentences, HEADS, 3, WIDTH)))
    source_mask = torch.from_numpy(rng.random((sentences, 3)) < 0.7)
    cache.set_source(3, source_mask)
    # a source without any token is attended to as a whole
    source_mask[~source_mask.any(1)] = True
    for layer in range(LAYERS):
        cache.store_source(layer, sources[layer], -sources[layer])
    rows = Rows(cache.rows)
    first = sentences if once else cache.rows
    call(cache, rows, left_padded(rng, first, 3) if padded else np.ones((first, 3), bool), rng, as_mask=padded)
    left = np.arange(sentences)
    for _ in range(3):
        kept = np.flatnonzero(rng.random(left.size) < 0.7)
        kept = kept if kept.size else np.array([0])
        rows.tokens = [rows.tokens[sentence * beams + beam] for sentence in kept for beam in range(beams)]
        cache.keep(torch.from_numpy(kept), beams)
        left = left[kept]
        assert cache.rows == left.size * beams
        within = rng.integers(0, beams, cache.rows) + np.arange(cache.rows) // beams * beams
        rows.reorder(within)
        cache.reorder(torch.from_numpy(within))
        call(cache, rows, np.ones((cache.rows, 1), dtype=bool), rng, as_mask=False)
        for layer in range(LAYERS):
            keys, values, visible = cache.source(layer)
            assert torch.equal(keys, sources[layer][left])
            assert torch.equal(values, -sources[layer][left])
            assert torch.equal(visible[:, 0, 0], source_mask[left])


def test_a_static_cache_keeps_all_rows():
    cache = KVCache(layers=1, rows=2, heads=1, positions=2, head_width=1, static=True)
    with pytest.raises(ValueError, match="static=False"):
        cache.keep(torch.tensor([0]), 1)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("beams", [1, 4])
def test_beams_share_their_source(static, masked, beams):
    rng = torch.Generator().manual_seed(0)
    sentences, width, length = 3, 2, 5
    cache = KVCache(
        layers=1,
        rows=sentences * beams,
        heads=HEADS,
        positions=4,
        head_width=WIDTH,
        sentences=sentences,
        source_positions=9,
        dtype=torch.float64,
        static=static,
    )
    with pytest.raises(ValueError, match="encode_source before the first step"):
        attend_to_source(torch.zeros(sentences, HEADS, width, WIDTH, dtype=torch.float64), cache, 0)
    for length in (8, 5):  # a shorter source after a longer one: nothing of the longer one may shine through
        keys, values = torch.randn(2, sentences, HEADS, length, WIDTH, generator=rng, dtype=torch.float64)
        mask = torch.rand(sentences, length, generator=rng) < 0.6
        mask[:, 0] = True
        cache.set_source(length, mask if masked else None)
        cache.store_source(0, keys, values)
        for rows in {sentences, sentences * beams}:
            query = torch.randn(rows, HEADS, width, WIDTH, generator=rng, dtype=torch.float64)
            copies = rows // sentences
            scores = query @ keys.repeat_interleave(copies, 0).transpose(2, 3) / WIDTH**0.5
            if masked:
                scores = scores.masked_fill(~mask.repeat_interleave(copies, 0)[:, None, None], float("-inf"))
            expected = scores.softmax(-1) @ values.repeat_interleave(copies, 0)
            torch.testing.assert_close(attend_to_source(query, cache, 0), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_bias_is_added_to_what_is_seen(static, padded):
    rng = torch.Generator().manual_seed(1)
    cache = KVCache(layers=1, rows=2, heads=HEADS, positions=6, head_width=WIDTH, dtype=torch.float64, static=static)
    all_keys, all_values, all_bias = [], [], torch.randn(1, HEADS, 6, 6, generator=rng, dtype=torch.float64)
    mask = torch.tensor([[False, True, True], [True, True, True]])
    for width in (3, 1, 2):
        begin = cache.length
        window = cache.extend(2, width, mask if padded and not begin else None)
        query, keys, values = torch.randn(3, 2, HEADS, width, WIDTH, generator=rng, dtype=torch.float64)
        held = cache.store(0, keys, values, window)
        bias = all_bias[:, :, begin : begin + width, : window.keys]
        context = attend_to_cache(query, *held, window, scale=0.5, bias=bias)
        all_keys.append(keys)
        all_values.append(values)
        end = begin + width
        scores = query @ torch.cat(all_keys, 2).transpose(2, 3) * 0.5 + all_bias[:, :, begin:end, :end]
        hidden = torch.ones(width, end, dtype=torch.bool).triu(begin + 1).expand(2, 1, width, end).clone()
        if padded:
            hidden[0, :, :, 0] = True
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1).nan_to_num(0)
        torch.testing.assert_close(context, weights @ torch.cat(all_values, 2), rtol=0, atol=1e-12)


def make(**changes):
    shape = {"layers": 1, "rows": 4, "heads": 1, "positions": 3, "head_width": 2}
    return KVCache(**(shape | changes))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"positions=0; a cache holds at least one"):
        make(positions=0)
    with pytest.raises(ValueError, match=r"rows=4 is no multiple of sentences=3"):
        make(sentences=3, source_positions=2)
    cache = make()
    with pytest.raises(ValueError, match=r"cache has 4 rows: a call with 3 rows does not fit; pass 4, or a number"):
        cache.extend(3, 1)
    with pytest.raises(ValueError, match=r"holds 3 positions and 0 are filled: 4 more do not fit"):
        cache.extend(4, 4)
    cache.extend(2, 2)
    with pytest.raises(ValueError, match=r"a call with 2 rows does not fit; pass 4 rows"):
        cache.extend(2, 1)
    with pytest.raises(ValueError, match="holds no source"):
        cache.set_source(1)
    with pytest.raises(ValueError, match="sources of up to 2 tokens, not 3"):
        make(sentences=2, source_positions=2).set_source(3)
    assert repr(cache) == "KVCache(2/3 positions, 4 rows, 1 layers, 1 heads of 2, torch.float32, cpu)"
    assert cache.nbytes == (2 + 1) * 4 * 3 * 2 * 4  # keys, values, spare; rows, positions, width, bytes
