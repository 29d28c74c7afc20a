"""Steps on the device: what they may not do; that one does what the other does, as a CUDA graph needs."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.generation import GenerationConfig, describe  # noqa: E402
from numba_nlp.generation.device import repeated, run  # noqa: E402
from numba_nlp.generation.device.host_calls import HostCalls  # noqa: E402
from numba_nlp.generation.device.run import DeviceSteps, make_search  # noqa: E402
from numba_nlp.generation.engines import refuse_weights  # noqa: E402
from numba_nlp.generation.plan import make_plan  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from tests.generation.tape import capture_on_tape  # noqa: E402
from tests.generation.test_edges import BART, GPT2, Recorder, sharpened  # noqa: E402
from tests.models.no_sync import WatchedStep  # noqa: E402

T5 = {"model_type": "t5", "vocab_size": 40, "d_model": 24, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 3}
XLNET = {"model_type": "xlnet", "vocab_size": 40, "d_model": 24, "n_layer": 2, "n_head": 3, "d_inner": 40}
FAMILIES = {
    "gpt2": (GPT2, "language_model"),
    "openai-gpt": ({**GPT2, "model_type": "openai-gpt"}, "language_model"),
    "xlnet": (XLNET, "language_model"),
    "bart": (BART, "conditional_generation"),
    "marian": (
        {**BART, "model_type": "marian", "pad_token_id": 0, "decoder_start_token_id": 0},
        "conditional_generation",
    ),
    "m2m_100": ({**BART, "model_type": "m2m_100"}, "conditional_generation"),
    "t5": (T5, "conditional_generation"),
}
RULES: dict[str, Any] = {
    "repetition_penalty": 1.3,
    "no_repeat_ngram_size": 3,
    "encoder_no_repeat_ngram_size": 4,
    "bad_words_ids": [[7], [8, 9], [10, 11, 12]],
    "min_length": 4,
    "min_new_tokens": 2,
    "forced_bos_token_id": 5,
    "forced_eos_token_id": 2,
    "suppress_tokens": [13],
    "begin_suppress_tokens": [14],
    "eos_token_id": [2, 3],
    "stop_sequences": [[15, 16], [17]],
    "renormalize_logits": True,
}
KEPT = {"temperature": 1.5, "top_k": 30, "top_p": 0.95, "min_p": 0.01, "typical_p": 0.95}
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "num_return_sequences": 2, **KEPT},
    "beams": {"num_beams": 3},
    "beam_sampling": {"num_beams": 3, "do_sample": True, **KEPT},
    "groups": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0},
}


def started(family: str, device: str, **options: Any) -> DeviceSteps:
    """Steps of a tiny model, the first tokens chosen."""
    config, head = FAMILIES[family]
    model: Any = create_model(config, head=head)
    settled = GenerationConfig.from_model(model).replace(
        pad_token_id=1, decoder_start_token_id=2, max_new_tokens=8, **options
    )
    plan = make_plan(model, settled, [[5, 6, 7], [8, 9]], None, None, None)
    model.to(device)
    search = make_search(plan, HostCalls(plan, (), None, None), np.uint64(3), model.device, streams=True)
    steps = DeviceSteps(model, plan, search)
    steps.start()
    return steps


def check_steps(steps: DeviceSteps) -> None:
    """No step waits for the host, and two do the same."""
    watched = []
    for _ in range(2):
        with WatchedStep() as watch:
            steps.advance()
        watched.append(watch.done)
    assert len(watched[0]) > 50
    assert watched[0] == watched[1]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_step_waits(family: str, search: str) -> None:
    """The device "meta" stands for another one than the host's: it has no values, so that a look at one fails."""
    check_steps(started(family, "meta", **SEARCHES[search], **RULES))


@pytest.mark.parametrize("search", SEARCHES)
def test_no_step_waits_on_the_host(search: str) -> None:
    """There too it does nothing that a device would wait for; with few options, as they are above."""
    check_steps(started("t5", "cpu", **SEARCHES[search]))
    check_steps(started("gpt2", "cpu", **SEARCHES[search], early_stopping="never", length_penalty=0.5))


def test_the_watch_sees() -> None:
    """What a step must not do is noticed."""
    values = torch.zeros(3)
    for wrong in (
        lambda: values.sum().item(),
        values.nonzero,
        lambda: values[values > 0],
        lambda: torch.tensor([1.0]),
        lambda: values.to("meta"),
        lambda: torch.zeros(3, device="meta").copy_(values),
        lambda: values.masked_select(values > 0),
    ):
        with pytest.raises(AssertionError, match="a step"), WatchedStep():
            wrong()
    with pytest.raises(RuntimeError, match="meta"):
        torch.zeros(3, device="meta").cpu()


@pytest.fixture
def taped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Steps are captured and run late, as on CUDA; gives what is filled with a number for each capture."""
    captures: list[int] = []

    def capture(function: Any) -> Any:
        captures.append(1)
        return capture_on_tape(function)

    monkeypatch.setattr(run, "capture_of", lambda device: capture)
    monkeypatch.setitem(run._LATE, "cpu", 3)
    return captures


@pytest.mark.parametrize(
    "family", ["GPT2LMHeadModel", "XLNetLMHeadModel", "MarianMTModel", "T5ForConditionalGeneration"]
)
def test_captured_steps_give_the_same(family: str, taped: list[int], tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")
    from tools.engine_cases import compare_engines, draw_own_case
    from tools.generation_cases import draw_case, make_pair

    pair = make_pair(family, tmp_path)
    for number in range(4):
        generator = random.Random(f"captured {family} {number}")
        case = draw_own_case(generator, pair, "device") if number % 2 else draw_case(generator, pair)
        case.engine = "device"
        case.options["max_new_tokens"] = 14
        for ending in ("max_length", "stop_strings", "tokenizer"):
            case.options.pop(ending, None)
        verdict, why = compare_engines(pair, case)
        assert verdict != "different", f"{case.options}\n{why}"
    assert len(taped) == 4


def test_streamed_rows_of_captured_steps(taped: list[int]) -> None:
    """A streamer gets what it gets without captures, and nothing of the steps behind the end."""
    model = sharpened(create_model(GPT2, head="language_model"))
    options = {"min_new_tokens": 10, "max_new_tokens": 24, "eos_token_id": [*range(2, 20)]}
    recorders = [Recorder(), Recorder()]
    outs = [
        model.generate([[5, 6, 7], [8, 9]], streamer=recorder, engine=engine, **options)
        for recorder, engine in zip(recorders, ("torch", "device"), strict=True)
    ]
    assert len(taped) == 1
    assert 13 < outs[0].sequences.shape[1] < 27
    assert torch.equal(outs[0].sequences, outs[1].sequences)
    assert len(recorders[0].given) == len(recorders[1].given)
    for expected, got in zip(recorders[0].given, recorders[1].given, strict=True):
        assert torch.equal(expected, got)


def test_a_failed_capture_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generation goes on without, and gives the same, up to the last position."""
    model = sharpened(create_model(GPT2, head="language_model"))
    expected = model.generate([[5, 6, 7]], max_new_tokens=12, eos_token_id=None)

    def fail(function: Any) -> Any:
        capture_on_tape(function)
        raise RuntimeError("no graphs here")

    monkeypatch.setattr(run, "capture_of", lambda device: fail)
    with pytest.warns(RuntimeWarning, match="could not be captured .no graphs here"):
        got = model.generate([[5, 6, 7]], max_new_tokens=12, eos_token_id=None, engine="device")
    assert torch.equal(expected.sequences, got.sequences)


@pytest.mark.parametrize(
    "options",
    [{"num_beams": 3}, {"do_sample": True, "num_return_sequences": 3, "seed": 5}, SEARCHES["groups"]],
    ids=["beams", "sampling", "groups"],
)
def test_callables_are_called_between_captured_steps(options: dict[str, Any], taped: list[int]) -> None:
    """The model's part is captured, what the user gives is not; it is called for rows of prompts that go on."""
    model = sharpened(create_model(BART, head="conditional_generation"))
    seen: list[list[Any]] = [[], []]
    outs = []
    for engine, calls in zip(("torch", "device"), seen, strict=True):

        def double(values: Any, tokens: Any, calls: list[Any] = calls) -> None:
            calls.append((values.copy(), tokens.tolist()))
            values[7] += 1

        outs.append(
            model.generate(
                [[5, 6, 7], [8]],
                max_new_tokens=14,
                eos_token_id=[*range(2, 12)],
                **options,
                processors=[double],
                prefix_allowed_tokens_fn=lambda prompt, tokens: range(len(tokens) % 2, 40 - prompt),
                engine=engine,
            )
        )
    assert len(taped) == 1
    assert torch.equal(outs[0].sequences, outs[1].sequences)
    assert [tokens for _, tokens in seen[0]] == [tokens for _, tokens in seen[1]]
    for (expected, _), (got, _) in zip(*seen, strict=True):
        np.testing.assert_allclose(expected, got, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("search", SEARCHES)
def test_texts_and_tokens_end_rows(search: str, taped: list[int]) -> None:
    """Stop strings and end tokens together, as the searches on the host have them."""
    model = sharpened(create_model(GPT2, head="language_model"))
    for stop, ends in (("17 17 17", [26]), ("26 17 3", [10, 17])):
        options = {"max_new_tokens": 14, "eos_token_id": ends, "stop_strings": stop, "seed": 3, **SEARCHES[search]}
        outs = [
            model.generate([[5, 6, 7], [8]], decode=lambda ids: " ".join(map(str, ids)) + " ", engine=engine, **options)
            for engine in ("torch", "device")
        ]
        assert torch.equal(outs[0].sequences, outs[1].sequences)
        torch.testing.assert_close(outs[0].scores, outs[1].scores, rtol=1e-4, atol=1e-4)
    assert len(taped) > 0


def test_trouble_is_said_late(taped: list[int]) -> None:
    model = sharpened(create_model(GPT2, head="language_model"))
    for options in ({"num_beams": 2}, {}, {"do_sample": True}):
        broken = sharpened(create_model(GPT2, head="language_model"))
        with torch.no_grad():
            broken.decoder.norm.weight.fill_(float("nan"))
        with pytest.raises(ValueError, match="no numbers, in row 0 after 1 tokens"):
            broken.generate([[3]], max_new_tokens=12, engine="device", **options)
    with pytest.raises(ValueError, match="no token for row 0 after 4 tokens"):
        # the last n-gram rules the last token out
        model.generate(
            [[5, 6]],
            max_new_tokens=12,
            no_repeat_ngram_size=1,
            bad_words_ids=[[i] for i in range(9, 40)],
            suppress_tokens=[0, 1, 2, 3, 4],
            eos_token_id=None,
            engine="device",
        )


def test_engines_by_name() -> None:
    model = create_model(GPT2, head="language_model")
    with pytest.raises(ValueError, match="`engine` must be one of 'auto', 'numba', 'torch', 'device', got 'fast'"):
        model.generate([[3]], engine="fast")
    message = "`weights` 'int8' is .* and `engine` 'device' .*: leave out `weights`, or leave out `engine`"
    with pytest.raises(ValueError, match=message):
        model.generate([[3]], engine="device", weights="int8")
    with pytest.raises(ValueError, match=message):
        describe(model, engine="device", weights="int8")
    with pytest.raises(ValueError, match=r"leave out `weights`, or move the model: model.to\('cpu'\)"):
        refuse_weights("int8", torch.device("cuda"))
    with pytest.raises(ValueError, match="`weights` must be one of"):
        model.generate([[3]], engine="device", weights="int4")
    what = describe(model, engine="device")
    assert (what["steps"], what["choice"]) == ("torch", "torch")
    with pytest.raises(ValueError, match="the model is on meta"):
        create_model(GPT2, head="language_model").to("meta").generate([[3]], engine="device")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("family", FAMILIES)
def test_cuda_graphs(family: str, search: str) -> None:
    """On a CUDA device: captured, without a warning, and the same tokens as on the CPU."""
    config, head = FAMILIES[family]
    options: dict[str, Any] = {"pad_token_id": 1, "decoder_start_token_id": 2, "max_new_tokens": 14, "seed": 3}
    options |= SEARCHES[search]
    model = sharpened(create_model(config, head=head))
    expected = model.generate([[5, 6, 7], [8, 9]], engine="torch", **options)
    model.to("cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = model.generate([[5, 6, 7], [8, 9]], engine="auto", **options)
    assert got.sequences.device.type == "cuda"
    assert torch.equal(expected.sequences, got.sequences.cpu())
    torch.testing.assert_close(expected.scores, got.scores.cpu(), rtol=1e-4, atol=1e-4)
    assert repeated.capture_of(model.device) is not None
