"""What users hand to a call of `generate`: processors, functions of prefixes, streamers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

import numba_nlp as nlp  # noqa: E402
from numba_nlp.generation.edits import take_allowed  # noqa: E402
from numba_nlp.generation.locked import locked  # noqa: E402
from numba_nlp.models import create_model, own_model  # noqa: E402
from tests.generation.test_edges import BART, GPT2, sharpened  # noqa: E402

SHORT = {"max_new_tokens": 4, "eos_token_id": None}


@pytest.fixture(scope="module")
def gpt2() -> Any:
    return sharpened(create_model(GPT2, head="language_model"))


@pytest.fixture(scope="module")
def bart() -> Any:
    return sharpened(create_model(BART, head="conditional_generation"))


def gives_back(values: Any, tokens: Any) -> Any:
    return values * 2


def makes_nan(values: Any, tokens: Any) -> None:
    values[3] = np.nan


def makes_infinity(values: Any, tokens: Any) -> None:
    values[4] = np.inf


def bans(values: Any, tokens: Any) -> None:
    values[5:] = -np.inf


HOW = [{}, {"do_sample": True, "seed": 1}, {"num_beams": 2}, {"num_beams": 2, "do_sample": True, "seed": 1}]


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("options", HOW, ids=["greedy", "sampling", "beams", "drawn beams"])
def test_processors_that_do_it_wrong(gpt2: Any, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"processor 'gives_back' gives back ndarray.* in place"):
        gpt2.generate([[5, 6]], processors=[gives_back], **SHORT, **options)
    with pytest.raises(ValueError, match="processor 'makes_nan' makes the value of token 3 nan, after 2 tokens"):
        gpt2.generate([[5, 6]], processors=[bans, makes_nan], **SHORT, **options)
    with pytest.raises(ValueError, match="processor 'makes_infinity' makes the value of token 4 inf"):
        gpt2.generate([[5, 6]], processors=[makes_infinity, makes_nan], **SHORT, **options)


@pytest.mark.usefixtures("each_engine")
def test_the_model_is_blamed_for_its_own_numbers() -> None:
    model = create_model(GPT2, head="language_model")
    with torch.no_grad():
        model.decoder.norm.weight.fill_(float("nan"))
    with pytest.raises(ValueError, match="the model gives logits that are no numbers"):
        model.generate([[3]], processors=[bans])


def test_processors_that_are_none(gpt2: Any) -> None:
    expected = gpt2.generate([[5, 6]], **SHORT).sequences
    for none in (None, (), []):
        assert torch.equal(gpt2.generate([[5, 6]], processors=none, **SHORT).sequences, expected)
    for wrong, message in [(print, "pass a list with it"), (3, "list of callables, got int"), ([3], "it holds 3")]:
        with pytest.raises(TypeError, match=message):
            gpt2.generate([[5]], processors=wrong)


def test_processors_of_transformers(gpt2: Any) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")
    theirs = transformers.LogitsProcessorList([transformers.TemperatureLogitsWarper(0.5)])
    with pytest.raises(TypeError, match=r"TemperatureLogitsWarper of transformers.*\(values, tokens\)"):
        gpt2.generate([[5]], processors=theirs)


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("given", [None, [], "a", [1.5], [[1], [2, 3]], [40], [-1], [2**63], [None]], ids=str)
def test_a_prefix_function_that_gives_nonsense(gpt2: Any, given: Any) -> None:
    with pytest.raises(ValueError, match=r"must give ids from 0 to 39, at least one, for prompt 0 after the tokens"):
        gpt2.generate([[5]], prefix_allowed_tokens_fn=lambda prompt, tokens: given, **SHORT)


@pytest.mark.parametrize(
    "given",
    [set(), {"a"}, {3, 40}, {-1}, {3: 4}, {3: 4}.values(), iter([1.5]), b"ab"],
    ids=["empty", "text", "beyond", "below", "mapping", "values", "iterator", "bytes"],
)
def test_containers_of_what_is_no_token(given: Any) -> None:
    with pytest.raises(
        ValueError, match=r"must give ids from 0 to 3, at least one, for prompt 0 after the tokens \[0\]"
    ):
        take_allowed(given, 0, np.zeros(1, np.int32), 4)


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    "given", [[True, False], {True, False}, np.arange(40) > 3, torch.arange(40) > 3, True], ids=str
)
def test_a_prefix_function_that_gives_a_mask(gpt2: Any, given: Any) -> None:
    n = np.asarray(list(given) if isinstance(given, set) else given).size
    with pytest.raises(TypeError, match=rf"a mask of {n} bools for prompt 0; give the .* np.flatnonzero\(mask\)"):
        gpt2.generate([[5]], prefix_allowed_tokens_fn=lambda prompt, tokens: given, **SHORT)


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("beams", [1, 2])
def test_rows_of_a_search_cannot_be_written(gpt2: Any, beams: int) -> None:
    def write(tokens: Any) -> Any:
        tokens[0] = 3

    def unlock(tokens: Any) -> Any:
        tokens.flags.writeable = True

    for does, message in [(write, "read-only"), (unlock, "cannot set WRITEABLE flag to True")]:
        callables: list[dict[str, Any]] = [
            {"processors": [lambda values, tokens, does=does: does(tokens)]},
            {"prefix_allowed_tokens_fn": lambda prompt, tokens, does=does: does(tokens)},
            {"stop_strings": "x", "decode": does},
        ]
        for given in callables:
            with pytest.raises(ValueError, match=message):
                gpt2.generate([[5, 6]], num_beams=beams, **given, **SHORT)


def test_locked_views_are_no_copies() -> None:
    rows = np.arange(12, dtype=np.int32).reshape(3, 4)
    for array in (rows, rows[1, 1:3], rows[:, ::2], rows[:0]):
        seen = locked(array)
        assert (seen.dtype, seen.shape, seen.strides) == (array.dtype, array.shape, array.strides)
        assert not array.size or np.shares_memory(seen, array)
        for view in (seen, seen[:1]):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
                view.flags.writeable = True


@pytest.mark.usefixtures("each_engine")
def test_what_streamers_get_is_theirs(gpt2: Any) -> None:
    class Eraser:
        def put(self, value: Any) -> None:
            value.zero_()

        def end(self) -> None:
            pass

    expected = gpt2.generate([[5, 6], [7, 8]], **SHORT).sequences
    assert torch.equal(gpt2.generate([[5, 6], [7, 8]], streamer=Eraser(), **SHORT).sequences, expected)


def test_what_a_prefix_function_may_give(gpt2: Any) -> None:
    sequences = [3, 4, 3], (4, 3), range(3, 5), np.array([3, 4], np.uint64), torch.tensor([4, 3])
    others = {4, 3}, frozenset([3, 4]), {4: "a", 3: "b"}.keys(), (token for token in (4, 3)), {np.int32(3), np.int64(4)}
    for given in sequences + others:
        assert take_allowed(given, 0, np.zeros(1, np.int32), 40).tolist() == [3, 4]
    expected = gpt2.generate([[5]], prefix_allowed_tokens_fn=lambda prompt, tokens: [3, 4], **SHORT).sequences
    got = gpt2.generate([[5]], prefix_allowed_tokens_fn=lambda prompt, tokens: {4, 3}, **SHORT).sequences
    assert torch.equal(got, expected)
    with pytest.raises(TypeError, match=r"must be a function \(prompt, tokens\) -> ids, got list"):
        gpt2.generate([[5]], prefix_allowed_tokens_fn=[3])


# --- streamers -----------------------------------------------------------------------------------------------------


def test_streamers_that_are_none(gpt2: Any) -> None:
    class OnlyPut:
        def put(self, value: Any) -> None:
            raise AssertionError("nothing runs")

    for wrong, message in [
        (print, "has no `put` and no `end`"),
        (OnlyPut(), "OnlyPut has no `end`"),
        (OnlyPut, "is the class OnlyPut; make one"),
    ]:
        with pytest.raises(TypeError, match=message):
            gpt2.generate([[5]], streamer=wrong)


def test_streamers_of_transformers(capsys: pytest.CaptureFixture[str]) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")
    folder = own_model("shakespeare")
    tok, model = nlp.load_tokenizer(folder), nlp.load_model(folder, dtype="float32")
    inputs = tok(["To be, or not to be\n"])

    def lines(values: Any, tokens: Any) -> None:
        """A line's end at every third place: the streamers decode the token before it alone."""
        values[newline if tokens.size % 3 == 0 else 300 :][1:] = -np.inf
        values[: newline if tokens.size % 3 == 0 else 0] = -np.inf

    newline = tok.token_to_id("Ċ")
    options = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "processors": [lines]}
    out = model.generate(**inputs, **options, streamer=transformers.TextStreamer(tok))
    text = tok.decode(out.sequences[0].numpy())
    assert text.count("\n") > 3
    assert capsys.readouterr().out == text + "\n"
    streamer = transformers.TextIteratorStreamer(tok, skip_prompt=True, timeout=60, skip_special_tokens=True)
    model.generate(**inputs, **options, streamer=streamer)
    assert "".join(streamer) == tok.decode(out.sequences[0, out.prompt_width :].numpy())
