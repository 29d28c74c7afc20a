"""Models whose modules were changed are left to torch: kernels would compute them as they were made."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.errors import UnsupportedFeatureError  # noqa: E402
from numba_nlp.generation import describe  # noqa: E402
from numba_nlp.models.gpt2 import Gpt2  # noqa: E402
from tests.generation.step_models import IDS, make  # noqa: E402


@pytest.fixture(scope="module")
def gpt2() -> Any:
    return make("gpt2")


class _Doubled(torch.nn.Linear):
    def forward(self, x: Any) -> Any:
        return 2 * super().forward(x)


class _Adapted(torch.nn.Module):
    """As adapters of low rank wrap a map."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner, self.more = inner, torch.nn.Linear(inner.in_features, inner.out_features)

    def forward(self, x: Any) -> Any:
        return self.inner(x) + self.more(x)


def _replace(name: str, make_module: Any) -> Any:
    """Put another module in the place of the named one of the first block."""

    def change(model: Any) -> None:
        owner, _, last = name.rpartition(".")
        holder = model.get_submodule(owner)
        setattr(holder, last, make_module(getattr(holder, last)))

    return change


def _add_hook(model: Any) -> None:
    model.decoder.blocks[0].attention.register_forward_hook(lambda *_: None)


def _change_epsilon(model: Any) -> None:
    model.decoder.norm.eps = 0.5


def _set(owner: str, name: str, make_value: Any) -> Any:
    """Put another value in the place of an attribute of an instance."""

    def change(model: Any) -> None:
        holder = model.get_submodule(owner)
        setattr(holder, name, make_value(getattr(holder, name)))

    return change


class _AdaptedHead(torch.nn.Module):
    """As adapters wrap the output layer, with the names of its tensors."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.weight, self.bias = inner.weight, inner.bias

    def forward(self, hidden: Any, embeddings: Any) -> Any:
        return 2 * torch.nn.functional.linear(hidden, embeddings)


class _OfTwo(torch.nn.Sequential):
    def forward(self, hidden: Any, embeddings: Any) -> Any:
        return 2 * self[0](hidden, embeddings)


class _OwnStep(Gpt2):
    def step(self, tokens: Any, cache: Any) -> Any:
        return -super().step(tokens, cache)


def _make_a_subclass(model: Any) -> None:
    model.__class__ = _OwnStep


CHANGES = {
    "an adapted head": _replace("output", _AdaptedHead),
    "a head of several modules": _replace("output", _OfTwo),
    "a step of a subclass": _make_a_subclass,
    "a forward of an instance": _set(
        "decoder.blocks.1.feed_forward", "forward", lambda old: lambda hidden: 2 * old(hidden)
    ),
    "a step of an instance": _set("", "step", lambda old: lambda tokens, cache: -old(tokens, cache)),
    "a scale": _set("decoder.blocks.0.attention", "scale", lambda old: 3 * old),
    "a scale of all": lambda model: [setattr(block.attention, "scale", 2.0) for block in model.decoder.blocks],
    "a subclass": _replace("decoder.blocks.0.attention.output", lambda old: _Doubled(24, 24)),
    "an adapter": _replace("decoder.blocks.1.attention.qkv", _Adapted),
    "a bias less": _replace("decoder.blocks.0.attention.output.bias", lambda old: None),
    "a narrower layer": _replace(
        "decoder.blocks.1.feed_forward.inner", lambda old: torch.nn.Linear(24, 96, bias=False)
    ),
    "no norm": _replace("decoder.blocks.0.attention_norm", lambda old: torch.nn.Identity()),
    "another norm": _replace("decoder.norm", lambda old: torch.nn.RMSNorm(24)),
    "an activation": _replace("decoder.blocks.0.feed_forward.activation", lambda old: torch.relu),
    "bounded embeddings": _replace("decoder.tokens", lambda old: torch.nn.Embedding(60, 24, max_norm=1e6)),
    "a shorter table": _replace("decoder.positions.weight", lambda old: torch.nn.Parameter(old.detach()[:20].clone())),
    "a hook": _add_hook,
    "an epsilon": _change_epsilon,
}


@pytest.mark.parametrize("change", CHANGES)
def test_models_that_were_changed_are_left_to_torch(gpt2: Any, change: str) -> None:
    """What kernels would not see, before the first generation and after it."""
    model = pickle.loads(pickle.dumps(gpt2))
    assert describe(model)["steps"] == "numba"
    CHANGES[change](model)
    assert describe(model)["steps"] == "torch"
    with pytest.raises(
        UnsupportedFeatureError, match=r"`weights` 'int8': Numba computes models as they were made, and"
    ):
        model.generate(IDS, weights="int8")
    options = {"max_new_tokens": 6, "eos_token_id": None}
    assert torch.equal(
        model.generate(IDS, **options).sequences, model.generate(IDS, engine="torch", **options).sequences
    )


@pytest.mark.parametrize("register", ["register_module_forward_hook", "register_module_forward_pre_hook"])
def test_hooks_of_all_modules_are_seen(gpt2: Any, register: str) -> None:
    handle = getattr(torch.nn.modules.module, register)(lambda *_: None)
    try:
        assert describe(gpt2)["steps"] == "torch"
        with pytest.raises(UnsupportedFeatureError, match=r"`engine` 'numba': .* all modules have hooks"):
            gpt2.generate(IDS, engine="numba")
    finally:
        handle.remove()
    assert describe(gpt2)["steps"] == "numba"


def test_a_head_within_a_sequence_is_named(gpt2: Any) -> None:
    model = pickle.loads(pickle.dumps(gpt2))
    model.output = torch.nn.Sequential(model.output)
    assert describe(model)["steps"] == "torch"
    with pytest.raises(UnsupportedFeatureError, match=r"`engine` 'numba': .* output is a Sequential; leave it out"):
        model.generate(IDS, engine="numba")


@pytest.mark.parametrize("name", ["encoder.blocks.1.attention", "decoder.blocks.0.source_attention"])
def test_scales_of_both_sides_are_seen(name: str) -> None:
    model = make("bart")
    assert describe(model)["steps"] == "numba"
    model.get_submodule(name).scale *= 2
    with pytest.raises(UnsupportedFeatureError, match=rf"{name} has the scale .*, the model was made with"):
        model.generate(IDS, engine="numba")


def test_another_activation_of_all_layers_is_seen(gpt2: Any) -> None:
    model = pickle.loads(pickle.dumps(gpt2))
    before = model.score(IDS, IDS).scores
    for block in model.decoder.blocks:
        block.feed_forward.activation = torch.nn.functional.relu
    changed = model.score(IDS, IDS).scores
    assert describe(model)["steps"] == "numba"
    assert not torch.allclose(before, changed)
    torch.testing.assert_close(changed, model.score(IDS, IDS, engine="torch").scores, atol=1e-4, rtol=1e-4)
