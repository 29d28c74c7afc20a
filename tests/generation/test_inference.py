"""`infer`: encoders by Numba beside the same models by torch, and what is left to torch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.errors import UnsupportedFeatureError  # noqa: E402
from numba_nlp.generation.decode_plan import plan_of  # noqa: E402
from numba_nlp.generation.inference import infer_hidden, infer_vectors  # noqa: E402
from numba_nlp.generation.numba_steps import threads_of  # noqa: E402
from numba_nlp.kernels.words import VECTOR  # noqa: E402
from numba_nlp.models import create_model  # noqa: E402
from numba_nlp.models.layers.pooling import POOLINGS  # noqa: E402

_BERT = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 40,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "bert": {"model_type": "bert", **_BERT},
    "distilbert": {
        "model_type": "distilbert",
        "vocab_size": 60,
        "dim": 24,
        "n_layers": 2,
        "n_heads": 3,
        "hidden_dim": 40,
        "max_position_embeddings": 40,
    },
    "electra": {"model_type": "electra", **_BERT, "embedding_size": 10},
    "roberta": {"model_type": "roberta", **_BERT, "hidden_act": "gelu_new"},
}
HEADS = ("none", "masked_lm", "sequence_classification", "token_classification", "question_answering")
IDS = np.array([[5, 6, 7, 8, 9, 2], [10, 11, 12, 13, 1, 1], [3, 14, 15, 16, 17, 18], [19, 20, 21, 22, 23, 24]])
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1], [1, 0, 0, 1, 1, 1]])
TYPES = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]])
CLOSE = {"atol": 1e-4, "rtol": 1e-4}


def make(family: str, head: str = "none", **settings: Any) -> Any:
    model = create_model({**FAMILIES[family], **settings}, head=head)
    with torch.no_grad():
        generator = torch.Generator().manual_seed(3)
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4 + (parameter.ndim == 1))
    return model


def inputs_of(family: str) -> dict[str, Any]:
    types = {} if family in ("distilbert", "roberta") else {"token_type_ids": TYPES}
    return {"input_ids": IDS, "attention_mask": MASK, **types}


@pytest.fixture(scope="module")
def bert() -> Any:
    return make("bert", "token_classification")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", HEADS)
def test_outputs_are_those_of_torch(family: str, head: str) -> None:
    """Where tokens count: with padding at both sides and amid a row."""
    model, inputs = make(family, head), inputs_of(family)
    ours, theirs = model.infer(**inputs, engine="numba"), model(**inputs)
    assert [name for name in vars(ours) if name in ours] == [name for name in vars(theirs) if name in theirs]
    counts = torch.from_numpy(MASK).bool()
    for name in (name for name in vars(ours) if name in ours):
        found, wanted = ours[name], theirs[name].detach()
        assert found.shape == wanted.shape
        assert not found.requires_grad
        by_token = found.shape[:2] == MASK.shape
        torch.testing.assert_close(*((x[counts] if by_token else x) for x in (found, wanted)), **CLOSE)
        torch.testing.assert_close(model.infer(**inputs, engine="torch")[name], wanted, rtol=0, atol=0)
    if head == "none" and model.pooler is None:
        assert not ours.last_hidden_state[~counts].any()


@pytest.mark.parametrize("length", [1, 2, 39])
def test_rows_without_a_mask(bert: Any, length: int) -> None:
    ids = np.random.default_rng(1).integers(0, 60, (3, length))
    torch.testing.assert_close(bert.infer(input_ids=ids, engine="numba").logits, bert(ids).logits.detach(), **CLOSE)


def test_a_row_without_any_token(bert: Any) -> None:
    """Counts as if all were there, as the softmax over nothing but padding has it."""
    mask = MASK.copy()
    mask[1] = 0
    inputs = {"input_ids": IDS, "attention_mask": mask}
    ours, theirs = bert.infer(**inputs, engine="numba").logits, bert(**inputs).logits.detach()
    torch.testing.assert_close(ours[1], theirs[1], **CLOSE)


@pytest.mark.parametrize("engine", ["numba", "torch"])
@pytest.mark.parametrize("head", ["masked_lm", "token_classification"])
def test_logits_of_some_tokens(head: str, engine: str) -> None:
    model, at = make("bert", head), (np.array([3, 0, 0]), np.array([4, 1, 1]))
    found = model.infer(**inputs_of("bert"), engine=engine, at=at).logits
    torch.testing.assert_close(found, model(**inputs_of("bert")).logits.detach()[at], **CLOSE)


@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_vectors_and_hidden_states(engine: str) -> None:
    model, inputs = make("bert"), inputs_of("bert")
    for pooling in (*POOLINGS, "pooler"):
        found = infer_vectors(model, pooling, engine=engine, **inputs)
        torch.testing.assert_close(found, model.embed(**inputs, pooling=pooling).detach(), **CLOSE)
    with pytest.raises(ValueError, match="pooling= must be one of"):
        infer_vectors(model, "cls", engine=engine, **inputs)
    hidden = infer_hidden(make("bert", "token_classification"), engine=engine, **inputs)
    wanted = make("bert", "token_classification")(**inputs, output_hidden_states=True).hidden_states[-1]
    counts = torch.from_numpy(MASK).bool()
    torch.testing.assert_close(hidden[counts], wanted[counts].detach(), **CLOSE)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_weights_of_16_bits_are_exact(bert: Any, kind: str) -> None:
    """Weights that are such numbers give the very same sums, and are found by themselves."""
    model = copy.deepcopy(bert)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.copy_(parameter.to(getattr(torch, kind)))
        if kind == "bfloat16":
            model.encoder.blocks[0].attention.qkv.weight[0, 0] = 2**-40  # float16 has none so small
    assert plan_of(model).kind == kind
    whole = model.infer(**inputs_of("bert"), weights="float32").logits
    assert torch.equal(whole, model.infer(**inputs_of("bert"), engine="numba").logits)


@pytest.mark.parametrize(("kind", "room"), [("float16", 0.02), ("bfloat16", 0.15), ("int8", 0.5)])
def test_other_kinds_change_little(bert: Any, kind: str, room: float) -> None:
    whole = bert.infer(**inputs_of("bert"), weights="float32").logits
    change = (bert.infer(**inputs_of("bert"), weights=kind).logits - whole).abs().max()
    assert 0 < change < room


def test_threads_change_nothing(bert: Any) -> None:
    ids = np.random.default_rng(2).integers(0, 60, (7, 31))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(bert.infer(input_ids=ids, engine="numba").logits)
    finally:
        torch.set_num_threads(before)
    assert threads_of(plan_of(bert), 3) >= 1
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_models_of_16_bits(bert: Any) -> None:
    model = copy.deepcopy(bert).to(torch.bfloat16)
    found = model.infer(**inputs_of("bert"), engine="numba").logits
    assert found.dtype == torch.bfloat16
    counts = torch.from_numpy(MASK).bool()
    torch.testing.assert_close(found[counts], model(**inputs_of("bert")).logits[counts].detach(), atol=0.3, rtol=0.1)


def test_changed_weights_are_packed_again(bert: Any) -> None:
    model = copy.deepcopy(bert)
    before = model.infer(**inputs_of("bert"), engine="numba").logits
    with torch.no_grad():
        model.encoder.blocks[1].attention.qkv.weight *= 1.5
    after = model.infer(**inputs_of("bert"), engine="numba").logits
    assert not torch.allclose(before, after)
    counts = torch.from_numpy(MASK).bool()
    torch.testing.assert_close(after[counts], model(**inputs_of("bert")).logits[counts].detach(), **CLOSE)


class _Doubled(torch.nn.Linear):
    def forward(self, x: Any) -> Any:
        return 2 * super().forward(x)


def _double(module: Any, name: str) -> None:
    old = getattr(module, name)
    new = _Doubled(old.in_features, old.out_features)
    new.load_state_dict(old.state_dict())
    setattr(module, name, new)


CHANGES = {
    "a map": lambda model: _double(model.encoder.blocks[1].attention, "output"),
    "a hook of a block": lambda model: model.encoder.blocks[0].register_forward_hook(lambda *a: None),
    "a hook of the encoder": lambda model: model.encoder.register_forward_hook(lambda *a: None),
    "a hook of the model": lambda model: model.register_forward_pre_hook(lambda *a: None),
    "a method": lambda model: setattr(model.encoder.blocks[0], "forward", model.encoder.blocks[0].forward),
    "an epsilon": lambda model: setattr(model.encoder.blocks[1].attention_norm, "eps", 0.1),
    "heads": lambda model: setattr(model.encoder.blocks[1].attention, "heads", 4),
    "a scale": lambda model: setattr(model.encoder.blocks[0].attention, "scale", 0.5),
    "an activation": lambda model: setattr(model.encoder.blocks[1].feed_forward, "activation", torch.relu),
    "no norm": lambda model: setattr(model.encoder.blocks[0], "attention_norm", torch.nn.Identity()),
    "numbers": lambda model: model.double(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_encoders_that_were_changed_are_left_to_torch(bert: Any, change: str) -> None:
    model = copy.deepcopy(bert)
    CHANGES[change](model)
    wanted = model(**inputs_of("bert")).logits.detach()
    torch.testing.assert_close(model.infer(**inputs_of("bert")).logits, wanted, rtol=0, atol=0)
    with pytest.raises(UnsupportedFeatureError, match=r"`engine` 'numba': Numba('s steps)? compute.*; leave it out"):
        model.infer(**inputs_of("bert"), engine="numba")


def test_heads_and_embeddings_may_be_any(bert: Any) -> None:
    model = copy.deepcopy(bert)
    _double(model, "classifier")
    model.encoder.embeddings.register_forward_hook(lambda module, args, out: out + 1)
    del model.encoder.blocks[1]
    counts = torch.from_numpy(MASK).bool()
    found = model.infer(**inputs_of("bert"), engine="numba").logits
    torch.testing.assert_close(found[counts], model(**inputs_of("bert")).logits[counts].detach(), **CLOSE)
    del model.encoder.blocks[0]
    with pytest.raises(UnsupportedFeatureError, match=r"encoder.blocks is no list of blocks"):
        model.infer(**inputs_of("bert"), engine="numba")


def test_other_families_are_left_to_torch() -> None:
    config = {"model_type": "gpt2", "vocab_size": 60, "n_embd": 24, "n_layer": 1, "n_head": 3, "n_positions": 40}
    model = create_model(config, head="language_model")
    at = (np.array([0]), np.array([2]))
    assert torch.equal(model.infer(input_ids=IDS).logits, model(IDS).logits.detach())
    assert torch.equal(model.infer(input_ids=IDS, at=at).logits, model(IDS).logits.detach()[at])
    with pytest.raises(UnsupportedFeatureError, match=r"`weights` 'int8': .* the family is 'gpt2'; leave it out"):
        model.infer(input_ids=IDS, weights="int8")


@pytest.mark.skipif(not VECTOR, reason="the plain build leaves encoders to torch")
def test_numba_is_what_is_taken(bert: Any) -> None:
    assert torch.equal(bert.infer(input_ids=IDS).logits, bert.infer(input_ids=IDS, engine="numba").logits)


def test_refusals(bert: Any) -> None:
    for options, kind, message in (
        ({"engine": "jax"}, ValueError, "`engine` must be 'auto', 'numba' or 'torch', got 'jax'"),
        ({"weights": "int4"}, ValueError, "`weights` must be one of 'auto', .*, got 'int4'"),
        ({"weights": "int8", "engine": "torch"}, ValueError, "leave out `weights`, or leave out `engine`"),
        ({"input_ids": [[60]]}, ValueError, "60"),
        ({"input_ids": [[1] * 41]}, ValueError, "41"),
        ({"tokens": 3}, TypeError, "unexpected keyword argument 'tokens'"),
    ):
        with pytest.raises(kind, match=message):
            bert.infer(**{"input_ids": IDS, **options})
