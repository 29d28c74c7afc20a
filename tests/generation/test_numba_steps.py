"""The Numba step behind `generate` and `score`: beside torch's steps, its kinds of weights, threads, refusals."""

from __future__ import annotations

import os
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402

from numba_nlp.errors import UnsupportedFeatureError  # noqa: E402
from numba_nlp.generation import GenerationConfig, decode_plan, describe, generate, score, step_choice  # noqa: E402
from numba_nlp.generation.numba_steps import NumbaSteps  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from tests.generation.step_models import IDS, MASK, MODELS, make  # noqa: E402


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return make(request.param)


@pytest.fixture(scope="module")
def gpt2() -> Any:
    return make("gpt2")


@pytest.mark.parametrize("options", [{"num_beams": 4, "num_return_sequences": 2}, {}, {"do_sample": True, "seed": 5}])
def test_tokens_are_those_of_torch(model: Any, options: dict[str, Any]) -> None:
    """With prompts of several tokens, padding at the left and amid them, and rows that end."""
    options = {"max_new_tokens": 10, "eos_token_id": [3, 4, 20, 21, 22], "pad_token_id": 1, **options}
    ours, theirs = (model.generate(IDS, MASK, engine=engine, **options) for engine in ("numba", "torch"))
    assert torch.equal(ours.sequences, theirs.sequences)
    torch.testing.assert_close(ours.scores, theirs.scores, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(ours.token_scores, theirs.token_scores, atol=1e-4, rtol=1e-4)


def test_beginnings_of_the_decoder(model: Any) -> None:
    """Longer ones than a token, which torch reads."""
    if model.head == "language_model":
        pytest.skip("a decoder alone has none beside its prompt")
    given = {"decoder_input_ids": [[0, 7, 8], [0, 9, 1], [0, 11, 12]], "max_new_tokens": 6, "num_beams": 3}
    ours, theirs = (model.generate(IDS, MASK, engine=engine, **given) for engine in ("numba", "torch"))
    assert torch.equal(ours.sequences, theirs.sequences)


def test_scores_are_those_of_torch(model: Any) -> None:
    given = IDS, [[20, 21, 22], [23, 24], [25], [26], [27, 28, 29], [30]]
    ours, theirs = (score(model, *given, MASK, engine=engine) for engine in ("numba", "torch"))
    torch.testing.assert_close(ours.token_scores, theirs.token_scores, atol=1e-4, rtol=1e-4)


def test_activations_have_numbers() -> None:
    from numba_nlp.generation.packed_parts import activation_code
    from numba_nlp.kernels.step.activations import CODES
    from numba_nlp.models.layers.activations import ACTIVATIONS

    assert {activation_code(function) for function in ACTIVATIONS.values()} == set(CODES.values())


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_weights_of_16_bits_are_kept_exactly(gpt2: Any, kind: str) -> None:
    """A checkpoint that had such numbers: "auto" sees it, and computes as with float32."""
    narrow = pickle.loads(pickle.dumps(gpt2))
    with torch.no_grad():
        for parameter in narrow.parameters():
            parameter.copy_(parameter.to(getattr(torch, kind)))
        if kind == "bfloat16":  # too small for float16
            narrow.decoder.blocks[0].attention.qkv.weight[0, 0] = 2.0**-40
    assert describe(narrow)["weights"] == kind
    assert describe(gpt2)["weights"] == "float32"
    options = {"max_new_tokens": 10, "num_beams": 3, "eos_token_id": None}
    found = [narrow.generate(IDS, weights=weights, **options) for weights in ("auto", "float32")]
    assert torch.equal(found[0].sequences, found[1].sequences)
    torch.testing.assert_close(found[0].scores, found[1].scores, atol=1e-5, rtol=1e-5)
    # a model of such numbers: they are kept, sums are of float32
    of_16_bits = narrow.to(getattr(torch, kind))
    assert describe(of_16_bits)["weights"] == kind
    again = of_16_bits.generate(IDS[:, :1], **options)
    assert torch.equal(again.sequences, narrow.float().generate(IDS[:, :1], **options).sequences)


@pytest.mark.parametrize(("kind", "room"), [("float16", 0.01), ("bfloat16", 0.1), ("int8", 0.3)])
def test_other_kinds_change_scores_little(model: Any, kind: str, room: float) -> None:
    given = IDS, [[20, 21, 22], [23, 24, 25], [26, 27, 28]]
    exact, found = score(model, *given).token_scores, score(model, *given, weights=kind).token_scores
    assert not torch.equal(found, exact)
    assert float((found - exact).abs().max()) < room * float(exact.abs().max())


def test_changed_weights_are_packed_again(gpt2: Any) -> None:
    model = pickle.loads(pickle.dumps(gpt2))
    before = score(model, IDS, IDS).scores
    with torch.no_grad():
        model.decoder.blocks[1].feed_forward.inner.weight.mul_(0.5)
    changed = score(model, IDS, IDS).scores
    assert not torch.allclose(before, changed)
    torch.testing.assert_close(changed, score(model, IDS, IDS, engine="torch").scores, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("through", ["data", "numpy", "exchange"])
def test_weights_changed_behind_torch_are_packed_again(gpt2: Any, through: str) -> None:
    """Writes that torch does not count, as averaging of weights makes them."""
    model = pickle.loads(pickle.dumps(gpt2))
    before = score(model, IDS, IDS).scores
    for parameter in model.parameters():
        if through == "data":
            parameter.data.mul_(0.5)
        elif through == "numpy":
            parameter.detach().numpy()[...] *= 0.5
        else:
            parameter.data = parameter.data * 0.5
    changed = score(model, IDS, IDS).scores
    assert not torch.allclose(before, changed)
    torch.testing.assert_close(changed, score(model, IDS, IDS, engine="torch").scores, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("through", ["parameter", "data"])
def test_a_tensor_at_the_address_of_a_former_one_is_seen(gpt2: Any, through: str) -> None:
    """The second one lies where the first lay, and differs from it where no number is looked at."""
    model = pickle.loads(pickle.dumps(gpt2))
    inner = model.decoder.blocks[0].feed_forward.inner
    memory = inner.weight.detach().numpy().copy()

    def exchange() -> int:
        if through == "parameter":
            inner.weight = torch.nn.Parameter(torch.from_numpy(memory))
        else:
            inner.weight.data = torch.from_numpy(memory)
        return inner.weight.data_ptr()

    address = exchange()
    before = decode_plan.plan_of(model, "float32")
    assert decode_plan.plan_of(model, "float32") is before
    memory[3, 1] += 5
    assert decode_plan.plan_of(model, "float32") is before
    assert exchange() == address
    assert decode_plan.plan_of(model, "float32") is not before
    ours = score(model, IDS, IDS, weights="float32").scores
    torch.testing.assert_close(ours, score(model, IDS, IDS, engine="torch").scores, atol=1e-4, rtol=1e-4)


def test_looks_keep_no_weights_alive(gpt2: Any) -> None:
    model = pickle.loads(pickle.dumps(gpt2))
    decode_plan.plan_of(model)
    former = weakref.ref(model.decoder.norm.weight)
    storage = StorageWeakRef(model.decoder.norm.weight.untyped_storage())
    model.decoder.norm.weight = torch.nn.Parameter(torch.ones(24))
    assert former() is None
    assert storage.expired()


def test_a_generation_looks_at_the_model_once(gpt2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    for module, name in ((decode_plan, "look_at_weights"), (step_choice, "what_was_changed")):
        look = getattr(module, name)
        monkeypatch.setattr(module, name, lambda model, name=name, look=look: looks.append(name) or look(model))
    for call in (lambda: gpt2.generate(IDS, max_new_tokens=2), lambda: score(gpt2, IDS, IDS), lambda: describe(gpt2)):
        looks.clear()
        call()
        assert sorted(looks) == ["look_at_weights", "what_was_changed"]


def test_plans_are_kept_by_kind(gpt2: Any) -> None:
    model = pickle.loads(pickle.dumps(gpt2))
    plan, narrow = decode_plan.plan_of(model), decode_plan.plan_of(model, "int8")
    assert (plan.kind, narrow.kind) == ("float32", "int8")
    assert decode_plan.plan_of(model) is decode_plan.plan_of(model, "float32") is plan
    assert decode_plan.plan_of(model, "int8") is narrow
    with torch.no_grad():
        model.decoder.norm.bias.add_(1.0)
    # those of before are kept no longer, whatever their kind
    assert decode_plan.plan_of(model) is not plan
    assert list(decode_plan._plans[model][1]) == ["float32", "auto"]


def test_packed_weights_can_be_forgotten(gpt2: Any) -> None:
    model = pickle.loads(pickle.dumps(gpt2))
    before = score(model, IDS, IDS).scores
    assert model in decode_plan._plans
    # one number, in a place that is not looked at
    model.decoder.blocks[0].attention.output.weight.data[0, 1] += 1.0
    model.forget_packed()
    assert model not in decode_plan._plans
    assert not torch.equal(model.score(IDS, IDS).scores, before)


def test_positions_of_m2m100_are_counted_by_tokens() -> None:
    """A token within a beginning that the mask leaves out has a position all the same, as in transformers."""
    model = make("m2m_100")
    given = {"decoder_input_ids": [[0, 5, 7, 6], [1, 0, 8, 9]], "decoder_attention_mask": [[1, 1, 0, 1], [0, 1, 1, 1]]}
    found = [score(model, IDS[:2], IDS[:2], engine=engine, **given).token_scores for engine in ("numba", "torch")]
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_forked_amid_packing_generates(gpt2: Any) -> None:
    with decode_plan._lock:  # as another thread holds it
        child = os.fork()
        if child == 0:
            os._exit(0 if decode_plan._lock.acquire(timeout=5) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_config_is_completed_by_the_model() -> None:
    """As transformers does it: special tokens that it leaves out are those of the model."""
    model = make("marian")
    model.generation_config = {"eos_token_id": [5, 20], "pad_token_id": 1, "decoder_start_token_id": 1}
    own = GenerationConfig.from_model(model).replace(max_new_tokens=9)
    out = model.generate(IDS, config=GenerationConfig(max_new_tokens=9))
    assert torch.equal(out["sequences"], model.generate(IDS, config=own)[0])
    assert torch.equal(out.sequences_scores, out["scores"])
    with pytest.raises(KeyError, match="'logits' is not there"):
        out["logits"]
    # said in the call, none is none
    longer = model.generate(IDS, config=GenerationConfig(max_new_tokens=9), eos_token_id=None)
    assert longer.sequences.shape[1] == 10


def test_tokens_do_not_depend_on_threads(model: Any) -> None:
    options = {"max_new_tokens": 8, "num_beams": 3, "eos_token_id": None}
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = model.generate(IDS, MASK, **options)
        # more than panels: those beyond have nothing to do
        torch.set_num_threads(3)
        three = model.generate(IDS, MASK, **options)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(one.sequences, three.sequences)


def test_several_threads_may_generate(model: Any) -> None:
    options = {"max_new_tokens": 6, "num_beams": 2, "eos_token_id": None}
    expected = [model.generate(IDS[row : row + 1], **options).sequences for row in range(3)]

    def one_row(row: int) -> Any:
        return model.generate(IDS[row : row + 1], **options).sequences

    with ThreadPoolExecutor(3) as executor:
        found = list(executor.map(one_row, [0, 1, 2] * 4))
    assert all(torch.equal(found[i], expected[i % 3]) for i in range(12))


def test_an_interrupt_ends_the_threads(gpt2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    def note(steps: NumbaSteps) -> None:
        closed.append(steps)

    monkeypatch.setattr(NumbaSteps, "close", note)

    def interrupt(values: np.ndarray, tokens: np.ndarray) -> None:
        if tokens.size == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gpt2.generate(IDS, processors=[interrupt], max_new_tokens=5)
    assert len(closed) == 1
    monkeypatch.undo()
    closed[0].close()
    assert gpt2.generate(IDS, max_new_tokens=5, eos_token_id=None).sequences.shape == (3, 10)


def test_plain_kernels_leave_steps_to_torch(gpt2: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_choice, "VECTOR", False)
    assert describe(gpt2)["steps"] == "torch"
    assert describe(gpt2, weights="int8")["steps"] == "numba"
    assert describe(gpt2, engine="numba")["weights"] == "float32"


def test_description(gpt2: Any) -> None:
    found = describe(gpt2, weights="int8")
    assert found["steps"] == "numba"
    assert found["weights"] == "int8"
    assert found["encoder"] is None
    # four matrices of a layer, 12 * width ** 2 numbers, with what fills panels
    assert found["packed_bytes"] > 2 * 12 * 24 * 24
    assert gpt2.describe() == describe(gpt2)
    assert describe(make("bart"))["encoder"] == "numba"
    assert describe(make("bart"), engine="torch")["encoder"] == "torch"


def test_refusals(gpt2: Any) -> None:
    with pytest.raises(ValueError, match=r"`weights` must be one of 'auto', .*, got 'int4'"):
        gpt2.generate(IDS, weights="int4")
    with pytest.raises(ValueError, match=r"`engine` must be one of .*, got 'rust'"):
        gpt2.generate(IDS, engine="rust")
    message = "`weights` 'int8' is .* and `engine` 'torch' .*: leave out `weights`, or leave out `engine`"
    with pytest.raises(ValueError, match=message):
        generate(gpt2, IDS, engine="torch", weights="int8")
    with pytest.raises(UnsupportedFeatureError, match=r"compute in float32, and the model is of float64"):
        pickle.loads(pickle.dumps(gpt2)).double().generate(IDS, engine="numba")
    xlnet = {"model_type": "xlnet", "vocab_size": 60, "d_model": 24, "n_layer": 1, "n_head": 3, "d_inner": 30}
    with pytest.raises(UnsupportedFeatureError, match=r"no step for the family 'xlnet'"):
        create_model(xlnet, head="language_model").generate(IDS, weights="int8")
    broken = pickle.loads(pickle.dumps(gpt2))
    with torch.no_grad():
        broken.decoder.blocks[0].attention.output.weight[3, 0] = float("nan")
    with pytest.raises(ValueError, match=r"decoder.blocks.0.attention.output.weight has a weight of magnitude nan"):
        broken.generate(IDS)
    with torch.no_grad():
        broken.decoder.blocks[0].attention.output.weight[3, 0] = 1e5
    with pytest.raises(ValueError, match=r"magnitude 100000.0, which float16 does not hold; take other `weights`"):
        broken.generate(IDS, weights="float16")
