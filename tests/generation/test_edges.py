"""What may go wrong: empty and ragged rows, limits, interruptions, threads, options that are none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.errors import UnsupportedFeatureError  # noqa: E402
from numba_nlp.generation import GenerationConfig, generate, score  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from tests.models.tiny import draw_ids  # noqa: E402

pytestmark = pytest.mark.usefixtures("each_engine")

VOCABULARY = 40
GPT2 = {
    "model_type": "gpt2",
    "vocab_size": VOCABULARY,
    "n_embd": 24,
    "n_layer": 2,
    "n_head": 3,
    "n_positions": 32,
    "eos_token_id": 2,
    "bos_token_id": 0,
}
BART = {
    "model_type": "bart",
    "vocab_size": VOCABULARY,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 32,
    "forced_eos_token_id": None,
}


def sharpened(model: Any) -> Any:
    """Larger weights, so that no two tokens are nearly as probable."""
    with torch.no_grad():
        generator = torch.Generator().manual_seed(3)
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model


@pytest.fixture(scope="module")
def gpt2() -> Any:
    return sharpened(create_model(GPT2, head="language_model"))


@pytest.fixture(scope="module")
def bart() -> Any:
    return sharpened(create_model(BART, head="conditional_generation"))


T5 = {
    "model_type": "t5",
    "vocab_size": VOCABULARY,
    "d_model": 24,
    "d_kv": 8,
    "d_ff": 32,
    "num_layers": 2,
    "num_heads": 3,
    "decoder_start_token_id": 0,
}


@pytest.mark.parametrize("sizes", [BART, T5], ids=["bart", "t5"])
@pytest.mark.parametrize("engine", ["numba", "torch", "device"])
def test_a_wholly_masked_source_is_read_without_its_mask(sizes: dict[str, Any], engine: str) -> None:
    """As docs/generation.md says of such rows."""
    model = sharpened(create_model(sizes, head="conditional_generation"))
    options = {"max_new_tokens": 9, "eos_token_id": None, "engine": engine}
    ids = [[5, 6, 7, 8], [9, 10, 11, 12]]
    masked = model.generate(ids, [[1, 1, 0, 0], [0, 0, 0, 0]], **options)
    whole = model.generate(ids, [[1, 1, 0, 0], [1, 1, 1, 1]], **options)
    assert torch.equal(masked.sequences, whole.sequences)
    torch.testing.assert_close(masked.token_scores, whole.token_scores, rtol=0, atol=1e-5)


RAGGED = [[5, 6, 7, 8, 9], [10], [11, 12, 13]]


@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "num_return_sequences": 2}], ids=["greedy", "beams"])
def test_ragged_rows_are_as_each_alone(gpt2: Any, bart: Any, options: dict[str, Any]) -> None:
    for model in (gpt2, bart):
        together = model.generate(RAGGED, max_new_tokens=9, **options)
        returned = options.get("num_return_sequences", 1)
        for number, row in enumerate(RAGGED):
            alone = model.generate([row], max_new_tokens=9, **options)
            where = slice(number * returned, (number + 1) * returned)
            torch.testing.assert_close(alone.scores, together.scores[where], rtol=1e-5, atol=1e-5)
            width = alone.sequences.shape[1] - alone.prompt_width
            got = together.sequences[where, together.prompt_width :]
            assert torch.equal(got[:, :width], alone.sequences[:, alone.prompt_width :])
            assert (got[:, width:] == 2).all()


def test_padding_at_the_right_is_moved(gpt2: Any) -> None:
    ids = torch.tensor([[5, 6, 0, 0], [7, 8, 9, 0]])
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 0]])
    got = gpt2.generate(ids, mask, max_new_tokens=5)
    expected = gpt2.generate([[5, 6], [7, 8, 9]], max_new_tokens=5)
    assert got.prompt_width == 3
    assert torch.equal(got.sequences[:, 3:], expected.sequences[:, 3:])


@pytest.mark.parametrize("beams", [1, 4])
def test_no_rows(gpt2: Any, bart: Any, beams: int) -> None:
    for model in (gpt2, bart):
        out = model.generate(torch.zeros((0, 3), dtype=torch.int64), num_beams=beams)
        assert out.sequences.shape == (0, out.prompt_width)
        assert out.scores.shape == (0,)


def test_without_a_prompt(gpt2: Any) -> None:
    out = gpt2.generate(max_new_tokens=3)
    assert torch.equal(out.sequences, gpt2.generate([[0]], max_new_tokens=3).sequences)
    with pytest.raises(ValueError, match="`input_ids` is missing"):
        gpt2.generate(bos_token_id=None)


@pytest.mark.parametrize("options", [{}, {"do_sample": True, "seed": 1}], ids=["greedy", "sampling"])
def test_padding_that_is_no_token(gpt2: Any, options: dict[str, Any]) -> None:
    """A row that has ended reads some token, while others go on."""
    ids = draw_ids(4, 3, VOCABULARY)
    written = gpt2.generate(ids, max_new_tokens=12, eos_token_id=None, **options).sequences[0, 6]
    ended = gpt2.generate(ids, max_new_tokens=12, eos_token_id=int(written), pad_token_id=VOCABULARY, **options)
    padded = (ended.sequences == VOCABULARY).sum(1)
    assert padded.min() == 0 < padded.max()


def test_many_rows(gpt2: Any) -> None:
    ids = draw_ids(500, 3, VOCABULARY)
    out = gpt2.generate(ids, max_new_tokens=3, num_beams=2)
    for row in (0, 250, 499):
        alone = gpt2.generate(ids[row : row + 1], max_new_tokens=3, num_beams=2).sequences
        assert torch.equal(out.sequences[row : row + 1, : alone.shape[1]], alone)


def test_limits(gpt2: Any, bart: Any) -> None:
    ids = draw_ids(1, 30, VOCABULARY)
    assert gpt2.generate(ids, max_length=33, eos_token_id=None).sequences.shape[1] == 33  # the last one is not read
    with pytest.raises(ValueError, match=r"prompts of 30 tokens and `max_length` 34 need 33 positions, .* has 32"):
        gpt2.generate(ids, max_length=34)
    with pytest.raises(ValueError, match="`max_new_tokens` 9 need 38 positions"):
        gpt2.generate(ids, max_new_tokens=9)
    assert gpt2.generate(ids, eos_token_id=None).sequences.shape[1] == 32  # the default is cut
    with pytest.raises(ValueError, match="`max_length` 30 leaves no room"):
        gpt2.generate(ids, max_length=30)
    with pytest.raises(ValueError, match="the model has 32;"):
        gpt2.generate(draw_ids(1, 40, VOCABULARY))
    with pytest.raises(ValueError, match="rows of 40 tokens, the model has 32"):
        bart.generate(draw_ids(1, 40, VOCABULARY))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"input_ids": [[]]}, "at least one token"),
        ({"input_ids": [[3], []]}, "row 1 of `input_ids` has no token"),
        ({"input_ids": [[3, 4]], "attention_mask": [[0, 0]]}, "row 0 of `input_ids` has no token"),
        ({"input_ids": [[99]]}, "no 99"),
        ({"input_ids": [[3], [4, 5]], "attention_mask": [[1, 1], [1, 1]]}, "need no `attention_mask`"),
        (
            {"input_ids": [[3]], "suppress_tokens": [40]},
            "`suppress_tokens` holds 40, the model has tokens from 0 to 39",
        ),
        ({"input_ids": [[3]], "decoder_input_ids": [[3]]}, "no encoder"),
        ({"input_ids": [[3]], "seed": -1}, "`seed`"),
        (
            {"input_ids": [[3]], "num_beams": 2, "streamer": SimpleNamespace(put=print, end=print)},
            "`streamer` with `num_beams` 2",
        ),
        ({"input_ids": [[3]], "prefix_allowed_tokens_fn": lambda prompt, tokens: []}, "at least one, for prompt 0"),
        ({"input_ids": [[3]], "suppress_tokens": range(40)}, "leave no token"),
    ],
)
def test_refused(gpt2: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gpt2.generate(**arguments)


def test_models_that_do_not_generate() -> None:
    encoder = create_model(
        {"model_type": "bert", "vocab_size": 30, "hidden_size": 8, "num_attention_heads": 2}, head="masked_lm"
    )
    with pytest.raises(ValueError, match="does not generate"):
        encoder.generate([[3]])
    with pytest.raises(ValueError, match="head 'none' does not generate"):
        create_model(GPT2, head="none").generate([[3]])


def test_options_of_others(gpt2: Any) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"`guidance_scale` 2.0 is not supported"):
        gpt2.generate([[3]], guidance_scale=2.0)
    with pytest.raises(TypeError, match="no option 'num_beam'"):
        gpt2.generate([[3]], num_beam=2)
    gpt2.generate([[3]], guidance_scale=1.0, epsilon_cutoff=0.0, max_new_tokens=1)


class Recorder:
    """A streamer that stops after some steps."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.given: list[Any] = []
        self.ended = False
        self.stop_after = stop_after

    def put(self, value: Any) -> None:
        self.given.append(value)
        if len(self.given) == self.stop_after:
            raise KeyboardInterrupt

    def end(self) -> None:
        self.ended = True


def test_streaming(gpt2: Any) -> None:
    ids = draw_ids(2, 3, VOCABULARY)
    recorder = Recorder()
    out = gpt2.generate(ids, max_new_tokens=5, streamer=recorder)
    assert recorder.ended
    assert torch.equal(recorder.given[0], ids)
    assert torch.equal(torch.stack(recorder.given[1:], 1), out.sequences[:, 3:])


def test_an_interruption_leaves_the_model_as_it_was(gpt2: Any) -> None:
    ids = draw_ids(2, 3, VOCABULARY)
    expected = gpt2.generate(ids, max_new_tokens=5).sequences
    with pytest.raises(KeyboardInterrupt):
        gpt2.generate(ids, max_new_tokens=5, streamer=Recorder(stop_after=3))

    def fail(values: Any, tokens: Any) -> None:
        if tokens.size > 5:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        gpt2.generate(ids, max_new_tokens=9, num_beams=3, processors=[fail], eos_token_id=None)
    assert torch.equal(gpt2.generate(ids, max_new_tokens=5).sequences, expected)


def test_threads(gpt2: Any, bart: Any) -> None:
    ids = [draw_ids(2, 3, VOCABULARY, seed=seed) for seed in range(6)]

    def run(number: int) -> Any:
        model = (gpt2, bart)[number % 2]
        return model.generate(ids[number], num_beams=3, max_new_tokens=10).sequences

    alone = [run(number) for number in range(6)]
    with ThreadPoolExecutor(2) as pool:
        for got, expected in zip(pool.map(run, range(6)), alone, strict=True):
            assert torch.equal(got, expected)


@pytest.mark.parametrize("beams", [1, 3])
def test_processors_see_values_and_tokens(gpt2: Any, beams: int) -> None:
    seen = []

    def ban_and_look(values: Any, tokens: Any) -> None:
        seen.append((values.copy(), tokens.tolist()))
        values[5:] = -np.inf

    out = gpt2.generate([[7, 8]], max_new_tokens=3, num_beams=beams, processors=[ban_and_look], eos_token_id=None)
    assert (out.sequences[:, 2:] < 5).all()
    assert seen[0][1] == [7, 8]
    assert len(seen) == 3 * beams
    logits = gpt2([[7, 8]]).logits[0, -1]
    expected = logits.log_softmax(-1) if beams > 1 else logits
    np.testing.assert_allclose(seen[0][0], expected.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_one_processor_alone_is_refused(gpt2: Any) -> None:
    with pytest.raises(TypeError, match="pass a list with it"):
        gpt2.generate([[3]], processors=print)


def test_a_compiled_processor(gpt2: Any) -> None:
    from numba import njit

    @njit
    def double_first(values: Any, tokens: Any) -> None:
        values[tokens[0]] = 1000.0

    out = gpt2.generate([[7, 8], [9, 9]], max_new_tokens=4, processors=[double_first], eos_token_id=None)
    assert out.sequences[:, 2:].tolist() == [[7] * 4, [9] * 4]


def test_stop_sequences(gpt2: Any) -> None:
    ids = draw_ids(3, 4, VOCABULARY, seed=4)
    free = gpt2.generate(ids, max_new_tokens=10, eos_token_id=None).sequences
    stop = free[1, 6:8].tolist()
    out = gpt2.generate(ids, max_new_tokens=10, eos_token_id=None, pad_token_id=0, stop_sequences=[stop]).sequences
    new = free[1, 4:].tolist()
    end = next(i for i in range(2, 11) if new[i - 2 : i] == stop)
    assert out[1, 4 : 4 + end].tolist() == new[:end]
    assert not out[1, 4 + end :].any()
    found = gpt2.generate(ids, max_new_tokens=10, eos_token_id=None, stop_sequences=[stop], num_beams=3)
    for row in found.sequences[:, 4:].tolist():
        places = [i for i in range(2, len(row) + 1) if row[i - 2 : i] == stop]
        assert len(places) <= 1 or row[places[0] :] == row[places[0] : places[0] + 1] * len(row[places[0] :])


def test_scores_of_continuations(gpt2: Any, bart: Any) -> None:
    prompts = [[5, 6, 7], [8, 9]]
    for model in (gpt2, bart):
        out = model.generate(prompts, num_beams=4, num_return_sequences=2, max_new_tokens=6, length_penalty=0.0)
        new = out.sequences[:, out.prompt_width :]
        lengths = [row.tolist().index(2) + 1 if 2 in row else len(row) for row in new]
        continuations = [row[:n].tolist() for row, n in zip(new, lengths, strict=True)]
        got = score(model, prompts, continuations)
        torch.testing.assert_close(got.scores, out.scores, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(got.token_scores, out.token_scores[:, : max(lengths)], rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="3 rows for 2 prompts"):
        score(gpt2, prompts, [[3], [4], [5]])
    with pytest.raises(ValueError, match="padding before tokens"):
        score(gpt2, [[3]], [[3, 4]], continuation_mask=[[0, 1]])


def test_scores_are_those_of_the_whole_rows(gpt2: Any) -> None:
    ids = draw_ids(2, 9, VOCABULARY)
    expected = gpt2(ids).logits.log_softmax(-1)[:, 3:-1].gather(2, ids[:, 4:, None])[..., 0]
    torch.testing.assert_close(score(gpt2, ids[:, :4], ids[:, 4:]).token_scores, expected, rtol=1e-5, atol=1e-5)


def test_decoder_prompts(bart: Any) -> None:
    """With and without the first token; padded inside where they are of unlike lengths."""
    source = draw_ids(2, 5, VOCABULARY)
    with_first = bart.generate(source, decoder_input_ids=[[2, 7, 8], [2, 9, 10]], max_new_tokens=5)
    without = bart.generate(source, decoder_input_ids=[[7, 8], [9, 10]], max_new_tokens=5)
    assert torch.equal(with_first.sequences, without.sequences)
    ragged = bart.generate(source, decoder_input_ids=[[2, 7, 8], [2, 9]], max_new_tokens=5)
    alone = bart.generate(source[1:], decoder_input_ids=[[2, 9]], max_new_tokens=5)
    assert torch.equal(ragged.sequences[1, 3:], alone.sequences[0, 2:])


def test_a_config_for_the_call(gpt2: Any) -> None:
    config = GenerationConfig(max_new_tokens=4, num_beams=2, eos_token_id=2)
    expected = gpt2.generate([[5]], max_new_tokens=4, num_beams=2).sequences
    assert torch.equal(generate(gpt2, [[5]], config=config).sequences, expected)


def test_kinds_of_numbers(gpt2: Any) -> None:
    half = create_model(GPT2, head="language_model")
    half.cast(torch.bfloat16)
    out = half.generate([[5, 6]], num_beams=2, max_new_tokens=4)
    assert out.scores.dtype == torch.float32
    assert np.isfinite(out.scores.numpy()).all()
