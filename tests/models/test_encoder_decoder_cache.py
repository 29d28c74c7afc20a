"""Sources, prompts and steps of encoder-decoders against whole rows of transformers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from tests.models.no_sync import WatchedStep
from tests.models.tiny import draw_ids, make_reference, pad, torch
from tests.models.tiny_pairs import PADDING, VOCABULARY, settings_of, tiny_pair

CLASSES = (
    "BartForConditionalGeneration",
    "MarianMTModel",
    "PegasusForConditionalGeneration",
    "MBartForConditionalGeneration",
    "M2M100ForConditionalGeneration",
    "T5ForConditionalGeneration",
)
STATIC = pytest.mark.parametrize("static", [False, True], ids=["sliced", "static"])
LENGTHS = [8, 3, 5]


@pytest.fixture(scope="module", params=CLASSES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return tiny_pair(request.param, tmp_path_factory.mktemp("pair"))


def whole(theirs: Any, source: Any, lengths: list[int], read: Any, begins: list[int] | None = None) -> Any:
    """Logits [rows, width, vocabulary] of rows alone and without a cache; where a row is not begun yet, zeros."""
    rows = []
    for row, ids in enumerate(read):
        begin = begins[row] if begins else 0
        with torch.no_grad():
            logits = theirs(source[row : row + 1, : lengths[row]], decoder_input_ids=ids[None, begin:]).logits[0]
        rows.append(torch.cat([torch.zeros(begin, logits.shape[1]), logits]))
    return torch.stack(rows)


def assert_close(got: Any, expected: Any) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@STATIC
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("begins", [[0, 0, 0], [0, 2, 1]], ids=["full", "padded"])
def test_step_by_step(both: tuple[Any, Any], static: bool, side: str, begins: list[int]) -> None:
    theirs, ours = both
    source, read = draw_ids(3, 8, VOCABULARY), draw_ids(3, 12, VOCABULARY, seed=3)
    padded, source_mask = pad(source, LENGTHS, side=side, padding=PADDING)
    mask = torch.stack([torch.arange(4) >= begin for begin in begins])
    expected = whole(theirs, source, LENGTHS, read, begins)
    cache = ours.new_cache(3, 12, source_positions=10, static=static)
    for _ in range(2):  # used again with another source in between
        ours.encode_source(padded, source_mask, cache)
        got = [ours.prompt(read[:, :4].masked_fill(~mask, PADDING), mask, cache)]
        got += [ours.step(column, cache) for column in read[:, 4:].unbind(1)]
        assert_close(torch.stack(got, 1), expected[:, 3:])
        ours.encode_source(draw_ids(3, 10, VOCABULARY, seed=4), None, cache)


@STATIC
def test_beams_share_their_source(both: tuple[Any, Any], static: bool) -> None:
    """Sources and prompts are read once for all beams; rows change places as in a beam search."""
    theirs, ours = both
    beams, rows = 3, 9
    source, prompt = draw_ids(3, 8, VOCABULARY), draw_ids(3, 2, VOCABULARY, seed=3)
    padded, source_mask = pad(source, LENGTHS, side="right", padding=PADDING)
    cache = ours.new_cache(rows, 8, source_positions=8, sentences=3, static=static)
    hidden = ours.encode_source(padded, source_mask, cache)
    assert hidden.shape == (3, 8, 24)
    assert cache.source_keys.shape[1] == 3
    many = source.repeat_interleave(beams, 0)
    lengths = [length for length in LENGTHS for _ in range(beams)]
    assert_close(ours.prompt(prompt, None, cache), whole(theirs, source, LENGTHS, prompt)[:, -1])
    read = prompt.repeat_interleave(beams, 0)
    generator = torch.Generator().manual_seed(6)
    for tokens in draw_ids(3, rows, VOCABULARY, seed=5):
        read = torch.cat([read, tokens[:, None]], 1)
        assert_close(ours.step(tokens, cache), whole(theirs, many, lengths, read)[:, -1])
        parents = torch.randint(beams, (rows,), generator=generator) + torch.arange(rows) // beams * beams
        read = read[parents]
        cache.reorder(parents)


@STATIC
def test_a_step_never_waits_for_the_device(both: tuple[Any, Any], static: bool) -> None:
    ours = both[1]
    source, mask = pad(draw_ids(2, 8, VOCABULARY), [8, 3], side="right", padding=PADDING)
    read, read_mask = pad(draw_ids(2, 3, VOCABULARY), [3, 1], side="left", padding=PADDING)
    cache = ours.new_cache(4, 12, source_positions=10, sentences=2, static=static)
    ours.encode_source(source, mask, cache)
    ours.prompt(read, read_mask, cache)
    tokens, parents = torch.tensor([5, 6, 7, PADDING]), torch.tensor([1, 1, 2, 3])
    done = []
    for _ in range(3):
        with WatchedStep() as watched:
            ours.step(tokens, cache)
            cache.reorder(parents)
        done.append(watched.done)
    assert len(done[0]) > 20
    if static:
        assert done[0] == done[1] == done[2]


def test_a_step_reads_the_source_where_it_is(both: tuple[Any, Any]) -> None:
    """Neither the encoder nor the maps to keys and values of the source run in a step, and nothing moves them."""
    ours = both[1]
    cache = ours.new_cache(6, 5, source_positions=8, sentences=2)
    ours.encode_source(draw_ids(2, 8, VOCABULARY), None, cache)
    ours.prompt(draw_ids(2, 1, VOCABULARY), None, cache)
    kept = cache.source_keys, cache.source_values
    before = [(each.data_ptr(), each.clone()) for each in kept]
    calls: list[Any] = []
    parts = [ours.encoder, *(block.source_attention.kv for block in ours.decoder.blocks)]
    hooks = [part.register_forward_hook(lambda *_: calls.append(1)) for part in parts]
    ours.step(torch.arange(3, 9), cache)
    cache.reorder(torch.tensor([2, 1, 0, 3, 3, 3]))
    for hook in hooks:
        hook.remove()
    assert calls == []
    assert [each.data_ptr() for each in kept] == [address for address, _ in before]
    assert all(torch.equal(each, copy) for each, (_, copy) in zip(kept, before, strict=True))


def test_several_threads(both: tuple[Any, Any]) -> None:
    theirs, ours = both
    sources = [draw_ids(1, 3 + seed, VOCABULARY, seed=seed) for seed in range(4)]
    jobs = [(source, draw_ids(1, 4, VOCABULARY, seed=9)) for source in sources]

    def run(job: tuple[Any, Any]) -> tuple[Any, Any]:
        source, read = job
        cache = ours.new_cache(1, 4, source_positions=source.shape[1])
        ours.encode_source(source, None, cache)
        got = [ours.prompt(read[:, :1], None, cache)]
        got += [ours.step(column, cache) for column in read[:, 1:].unbind(1)]
        return torch.stack(got, 1), ours(source, None, read).logits

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, jobs * 2))
    for (source, read), (stepped, at_once) in zip(jobs * 2, results, strict=True):
        expected = whole(theirs, source, [source.shape[1]], read)
        assert_close(stepped, expected)
        assert_close(at_once, expected)


def test_a_trainable_model_generates(both: tuple[Any, Any], tmp_path: Path) -> None:
    both[0].save_pretrained(tmp_path)
    ours = nlp.load_model(tmp_path, trainable=True)
    source, read = draw_ids(2, 5, VOCABULARY), draw_ids(2, 3, VOCABULARY, seed=3)
    cache = ours.new_cache(2, 3, source_positions=5)
    ours.encode_source(source, None, cache)
    ours.prompt(read[:, :2], None, cache)
    logits = ours.step(read[:, 2], cache)
    assert not any(each.requires_grad for each in (logits, cache.keys, cache.source_keys))
    assert_close(logits, whole(both[0], source, [5, 5], read)[:, -1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_step(both: tuple[Any, Any], tmp_path: Path) -> None:
    """A step of a static cache as a CUDA graph, replayed, against whole rows on the CPU."""
    theirs = both[0]
    theirs.save_pretrained(tmp_path)
    ours = nlp.load_model(tmp_path, device="cuda")
    source, read = draw_ids(3, 8, VOCABULARY), draw_ids(3, 12, VOCABULARY, seed=3)
    padded, source_mask = pad(source, LENGTHS, side="right", padding=PADDING)
    expected = whole(theirs, source, LENGTHS, read)
    cache = ours.new_cache(3, 12, source_positions=10, static=True)
    tokens = torch.zeros(3, dtype=torch.int64, device="cuda")
    ours.encode_source(padded, source_mask, cache)
    ours.prompt(read[:, :2], None, cache)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        ours.step(tokens, cache)  # what libraries allocate on first use must not fall into the capture
    torch.cuda.current_stream().wait_stream(side)
    ours.encode_source(padded, source_mask, cache)
    close = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(ours.prompt(read[:, :2], None, cache).cpu(), expected[:, 1], **close)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = ours.step(tokens, cache)
    for column in range(2, 12):
        tokens.copy_(read[:, column])
        graph.replay()
        torch.testing.assert_close(logits.cpu(), expected[:, column], **close)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("architecture", [*CLASSES, "flan"])
def test_half_precision(architecture: str, dtype: Any, tmp_path: Path) -> None:
    """At most twice the error that transformers makes in the same precision."""
    changes = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False} if architecture == "flan" else {}
    architecture = "T5ForConditionalGeneration" if architecture == "flan" else architecture
    theirs = make_reference(architecture, **settings_of(architecture, **changes))
    theirs.save_pretrained(tmp_path)
    source, read = draw_ids(4, 20, VOCABULARY), draw_ids(4, 12, VOCABULARY, seed=3)
    with torch.no_grad():
        exact = theirs(source, decoder_input_ids=read).logits
        half = type(theirs).from_pretrained(tmp_path, dtype=dtype, attn_implementation="eager").eval()
        allowed = 2 * (half(source, decoder_input_ids=read).logits.float() - exact).abs().max()
    ours = nlp.load_model(tmp_path, dtype=dtype)
    assert ours.dtype == dtype
    cache = ours.new_cache(4, 12, source_positions=20)
    assert ours.encode_source(source, None, cache).dtype == dtype
    got = [ours.prompt(read[:, :1], None, cache)] + [ours.step(column, cache) for column in read[:, 1:].unbind(1)]
    assert got[0].dtype == dtype
    assert (torch.stack(got, 1).float() - exact).abs().max() <= allowed
    assert (ours(source, None, read).logits.float() - exact).abs().max() <= allowed


@pytest.mark.parametrize(
    ("architecture", "large"),
    [
        ("PegasusForConditionalGeneration", "layers.0.fc2.weight"),
        ("M2M100ForConditionalGeneration", "layers.0.self_attn.out_proj.weight"),
        ("T5ForConditionalGeneration", "layer.1.DenseReluDense.wo.weight"),
        ("T5ForConditionalGeneration", "SelfAttention.o.weight"),
    ],
)
def test_sums_beyond_the_range_of_float16(architecture: str, large: str, tmp_path: Path) -> None:
    """Sums that nothing normalises are cut to the range; infinity would become no number in the next norm."""
    theirs = make_reference(architecture, **settings_of(architecture))
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if name.endswith(large) and "encoder" in name:
                parameter.mul_(4e4)
    theirs.save_pretrained(tmp_path)
    source, read = draw_ids(4, 20, VOCABULARY), draw_ids(4, 12, VOCABULARY, seed=3)
    exact = nlp.load_model(tmp_path)(source, output_hidden_states=True, decoder_input_ids=read)
    assert max(float(state.abs().max()) for state in exact.encoder_hidden_states) > torch.finfo(torch.float16).max
    ours = nlp.load_model(tmp_path, dtype="float16")
    assert torch.isfinite(ours(source, None, read).logits).all()


@STATIC
@pytest.mark.parametrize("lengths", [[6, 6], [6, 4]], ids=["full", "padded"])
def test_rows_that_begin_with_the_padding_token(static: bool, lengths: list[int], tmp_path: Path) -> None:
    """M2M100 gives that token no position, wherever it stands: with a cache, and among padded rows."""
    theirs, ours = tiny_pair("M2M100ForConditionalGeneration", tmp_path, decoder_start_token_id=PADDING)
    source, read = draw_ids(2, 5, VOCABULARY), draw_ids(2, 6, VOCABULARY, seed=3)
    begins = [6 - length for length in lengths]
    for row, begin in enumerate(begins):
        read[row, begin] = PADDING
    expected = whole(theirs, source, [5, 5], read, begins)
    mask = torch.stack([torch.arange(6) >= begin for begin in begins])
    read = read.masked_fill(~mask, PADDING)
    at_once = ours(source, None, read, mask).logits
    cache = ours.new_cache(2, 6, source_positions=5, static=static)
    ours.encode_source(source, None, cache)
    got = [ours.prompt(read[:, :3], mask[:, :3], cache)]
    got += [ours.step(column, cache) for column in read[:, 3:].unbind(1)]
    assert_close(torch.stack(got, 1), expected[:, 2:])
    assert_close(at_once[mask], expected[mask])


@STATIC
def test_a_source_without_tokens(both: tuple[Any, Any], static: bool) -> None:
    """It sees all of its padding, with a cache as without."""
    ours = both[1]
    source, read = draw_ids(3, 8, VOCABULARY), draw_ids(3, 4, VOCABULARY, seed=3)
    padded, mask = pad(source, [8, 0, 5], side="right", padding=PADDING)
    with torch.no_grad():
        expected = ours(padded, mask, read).logits
    cache = ours.new_cache(3, 4, source_positions=10, static=static)
    ours.encode_source(padded, mask, cache)
    got = [ours.prompt(read[:, :1], None, cache)]
    got += [ours.step(column, cache) for column in read[:, 1:].unbind(1)]
    assert torch.isfinite(expected).all()
    assert_close(torch.stack(got, 1), expected)


def test_what_does_not_fit_is_refused(both: tuple[Any, Any], tmp_path: Path) -> None:
    theirs, ours = both
    cache = ours.new_cache(4, 3, source_positions=5, sentences=2)
    with pytest.raises(ValueError, match="holds no source yet: call encode_source"):
        ours.prompt([[4], [4]], None, cache)
    cache = ours.new_cache(4, 3, source_positions=5, sentences=2)
    with pytest.raises(ValueError, match="the cache holds 2 sentences, got 1 rows"):
        ours.encode_source([[4, 5]], None, cache)
    with pytest.raises(ValueError, match="sources of up to 5 tokens, not 6"):
        ours.encode_source(draw_ids(2, 6, VOCABULARY), None, cache)
    ours.encode_source(draw_ids(2, 4, VOCABULARY), None, cache)
    ids, mask = pad(draw_ids(2, 3, VOCABULARY), [3, 2], side="right")
    with pytest.raises(ValueError, match="row 1 of the prompt ends in padding"):
        ours.prompt(ids, mask, cache)
    with pytest.raises(ValueError, match="must be from 0 to 59"):
        ours.prompt([[60], [1]], None, cache)
    with pytest.raises(ValueError, match="one token for each of the 4 rows, got "):
        ours.step(torch.zeros(2, dtype=torch.int64), cache)
    ours.prompt(ids, None, cache)
    with pytest.raises(ValueError, match="holds 3 positions and 3 are filled"):
        ours.step(torch.zeros(4, dtype=torch.int64), cache)
    if ours.settings.positions is None:
        with pytest.raises(ValueError, match="say positions="):
            ours.new_cache(1, source_positions=5)
    else:
        with pytest.raises(ValueError, match="positions=25: the model has 24 positions"):
            ours.new_cache(1, 25, source_positions=5)
        with pytest.raises(ValueError, match="source_positions=25: the model has 24 positions"):
            ours.new_cache(1, source_positions=25)
    theirs.save_pretrained(tmp_path)
    base = nlp.load_model(tmp_path, head="none")
    with pytest.raises(ValueError, match="load it with head='conditional_generation'"):
        base.step(torch.zeros(1, dtype=torch.int64), base.new_cache(1, 3, source_positions=4))
