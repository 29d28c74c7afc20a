"""Whether the modules of a model are those that Numba's kernels compute, or were changed since it was made."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from numba_nlp.models.bart import Bart
from numba_nlp.models.decoder import Decoder, DecoderModel
from numba_nlp.models.encoder_decoder import EncoderDecoder
from numba_nlp.models.gpt import Gpt
from numba_nlp.models.gpt2 import Gpt2
from numba_nlp.models.layers.activations import ACTIVATIONS
from numba_nlp.models.layers.attention import CrossAttention, SelfAttention
from numba_nlp.models.layers.decoder_block import DecoderBlock
from numba_nlp.models.layers.feed_forward import FeedForward
from numba_nlp.models.layers.heads import OutputLayer
from numba_nlp.models.layers.norms import RmsNorm
from numba_nlp.models.layers.positions import CountedSines, LearnedPositions, Sines
from numba_nlp.models.layers.relative_bias import RelativeBias
from numba_nlp.models.layers.row_classifier import RowClassifier
from numba_nlp.models.layers.source_block import Block
from numba_nlp.models.model import Model
from numba_nlp.models.stack import Stack
from numba_nlp.models.t5 import T5

__all__ = ["hooks_of_all", "parts_of", "what_hides_methods", "what_was_changed"]

#: The package's models that have such steps. A subclass may compute something else.
_MODELS = (Bart, Gpt, Gpt2, T5)
_NORMS = (nn.Identity, nn.LayerNorm, RmsNorm)
#: Modules that kernels compute, or that only hold others, by the last part of their names. No subclasses.
_LAYERS: dict[str, tuple[type[nn.Module], ...]] = {
    **dict.fromkeys(("attention_norm", "source_norm", "feed_forward_norm", "norm", "begin", "end"), _NORMS),
    **dict.fromkeys(("qkv", "query", "kv", "inner", "output", "classifier"), (nn.Linear,)),
    **dict.fromkeys(("tokens", "decoder_tokens"), (nn.Embedding,)),
    "attention": (SelfAttention,),
    "blocks": (nn.ModuleList,),
    "feed_forward": (FeedForward,),
    "relative": (RelativeBias,),
    "row_classifier": (RowClassifier,),
    "source_attention": (CrossAttention,),
}
_OF_DECODER: dict[str, tuple[type[nn.Module], ...]] = {**_LAYERS, "decoder": (Decoder,), "positions": (nn.Embedding,)}
_OF_BOTH: dict[str, tuple[type[nn.Module], ...]] = {
    **_LAYERS,
    **dict.fromkeys(("encoder", "decoder"), (Stack,)),
    "positions": (CountedSines, LearnedPositions, Sines),
}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_GLOBAL_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks")


def what_was_changed(model: Any) -> str | None:
    """What of a model's modules kernels would not compute as they are; None: nothing.

    Parameters
    ----------
    model : DecoderModel or EncoderDecoder

    Returns
    -------
    str or None
        Such as "decoder.blocks.0.attention.output is a LoraLinear".
    """
    if type(model) not in _MODELS:
        return f"the model is a {type(model).__name__}, none of the package's own classes"
    hooked = hooks_of_all()
    if hooked is not None:
        return hooked
    alone = isinstance(model, DecoderModel)
    for name, module in model.named_modules():
        if name and type(module) not in _kinds(name, alone):
            return f"{name} is a {type(module).__name__}"
        changed = what_hides_methods(name, module)
        if changed is not None:
            return changed
        if isinstance(module, nn.Embedding) and module.max_norm is not None:
            return f"{name} has a max_norm"
    for side in ["decoder"] if alone else ["encoder", "decoder"]:
        for why in _unlike_blocks(getattr(model, side), model, side):
            return why
    return _shapes(model)


def hooks_of_all() -> str | None:
    """The words for hooks that all modules have; None: there are none."""
    if any(getattr(torch.nn.modules.module, hooks) for hooks in _GLOBAL_HOOKS):
        return "all modules have hooks, by `register_module_forward_hook` or `register_module_forward_pre_hook`"
    return None


def what_hides_methods(name: str, module: nn.Module) -> str | None:
    """Hooks of a module, or methods that are set on it and hide those of its class; None: nothing does."""
    if any(getattr(module, hooks) for hooks in _HOOKS):
        return f"{name or 'the model'} has hooks"
    kind: Any = type(module)
    methods = _methods(kind)
    if not methods.isdisjoint(vars(module)):
        replaced = ", ".join(sorted(methods & vars(module).keys()))
        return f"{name or 'the model'} has methods of its own in place of those of its class: {replaced}"
    return None


def _kinds(name: str, alone: bool) -> tuple[type[nn.Module], ...]:
    """What a module of this name is in a model as it was made; nothing: it is none of those."""
    if name == "output":
        return (OutputLayer,)
    last = name.rpartition(".")[2]
    if last.isdecimal():
        return (DecoderBlock,) if alone else (Block,)
    kinds = _OF_DECODER if alone else _OF_BOTH
    return kinds.get(last, ())


@cache
def _methods(kind: Any) -> frozenset[str]:
    """Methods that take part in computing; one that is set on an instance hides that of the class."""
    own = [cls for cls in kind.__mro__ if cls not in (Model, nn.Module, object)]
    return frozenset(
        {"forward", "_call_impl"}.union(*([n for n, one in vars(c).items() if callable(one)] for c in own))
    )


def _unlike_blocks(stack: Any, model: Any, side: str) -> Iterator[str]:
    """What differs between the blocks of a stack, or from the settings."""
    s = model.settings
    shape = s if isinstance(model, DecoderModel) else getattr(s, side)
    norm_type = RmsNorm if getattr(shape, "rms_norm", False) else nn.LayerNorm
    blocks = list(stack.blocks)
    number_made = s.layers if isinstance(model, DecoderModel) else s.decoder_blocks
    if side == "decoder" and len(blocks) != number_made:
        yield f"the decoder has {len(blocks)} blocks, another number than the model was made with"
        return
    scales = s.scales if isinstance(model, DecoderModel) else (shape.scale,) * len(blocks)
    first = parts_of(blocks[0]) if blocks else []
    for number, block in enumerate(blocks):
        if parts_of(block) != first:
            yield f"{side}.blocks.{number} is unlike the first one"
        if block.norm_first != shape.norm_first:
            yield f"{side}.blocks.{number} has norms elsewhere than the model was made with"
        if block.feed_forward.gated != getattr(shape, "gated", False):
            yield f"{side}.blocks.{number} has another gate than the model was made with"
        for name in ("attention", "source_attention"):
            attention = getattr(block, name, None)
            if attention is None:
                continue
            for key, wanted in (("scale", scales[number]), ("heads", shape.heads)):
                if getattr(attention, key) != wanted:
                    has = f"{side}.blocks.{number}.{name} has the {key} {getattr(attention, key)}"
                    yield f"{has}, the model was made with {wanted}"
        if block.feed_forward.activation not in ACTIVATIONS.values():
            yield f"{side}.blocks.{number} has an activation that kernels do not know"
        if block.feed_forward.activation is not blocks[0].feed_forward.activation:
            yield f"{side}.blocks.{number} has another activation"
        for name in ("attention_norm", "source_norm", "feed_forward_norm"):
            norm = getattr(block, name, None)
            if norm is not None and (type(norm) is not norm_type or norm.eps != shape.norm_epsilon):
                yield f"{side}.blocks.{number}.{name} is no {norm_type.__name__} with the model's epsilon"
    for name in ("norm", "begin", "end"):
        norm = getattr(stack, name, None)
        norms = {"norm": getattr(s, "norm_first", False), "begin": getattr(s, "norm_begin", False)}
        there = norms.get(name, getattr(s, "norm_end", False))
        if norm is None:
            continue
        if type(norm) is not (norm_type if there else nn.Identity) or (there and norm.eps != shape.norm_epsilon):
            yield f"{side}.{name} is another norm than the model was made with"


def parts_of(block: nn.Module) -> list[tuple[Any, ...]]:
    """Names and kinds of all modules of a block, and names and shapes of their parameters."""
    return [
        (name, type(module), *((key, None if one is None else one.shape) for key, one in module._parameters.items()))
        for name, module in block.named_modules()
    ]


def _shapes(model: Any) -> str | None:
    """A table that is not as large as the settings say: kernels look into it without a check."""
    s = model.settings
    tables: dict[str, tuple[Tensor, int, int]] = {}
    sides: list[tuple[str, Any]] = []
    if isinstance(model, DecoderModel):
        tables["decoder.tokens"] = (model.decoder.tokens.weight, s.vocabulary, s.width)
        tables["decoder.positions"] = (model.decoder.positions.weight, s.positions, s.width)
        width, vocabulary = s.width, s.vocabulary
    else:
        assert isinstance(model, EncoderDecoder)
        width, vocabulary = s.decoder.width, s.decoder_vocabulary
        sides = [("encoder", model.encoder), ("decoder", model.decoder)]
        tables["tokens"] = (model.tokens.weight, s.vocabulary, s.encoder.width)
        if model.decoder_tokens is not None:
            tables["decoder_tokens"] = (model.decoder_tokens.weight, vocabulary, width)
    for name, stack in sides:
        positions = stack.positions
        if positions is not None:
            more = positions.unused if isinstance(positions, LearnedPositions) else 0
            more = positions.padding + 1 if isinstance(positions, CountedSines) else more
            if isinstance(positions, CountedSines) and positions.padding != s.padding_id:
                return f"{name}.positions has the padding {positions.padding}, the model was made with {s.padding_id}"
            tables[f"{name}.positions"] = (positions.weight, s.positions + more, width)
    if model.output is not None and model.output.weight is not None:
        tables["output"] = (model.output.weight, vocabulary, width)
    for name, (tensor, rows, columns) in tables.items():
        if tensor.shape != (rows, columns):
            return f"{name} is {list(tensor.shape)}, the model was made with [{rows}, {columns}]"
    blocks = model.decoder.blocks
    shape = s if isinstance(model, DecoderModel) else s.decoder
    joined = width if isinstance(model, DecoderModel) else shape.heads * shape.head_width
    if blocks and blocks[0].attention.qkv.weight.shape != (3 * joined, width):
        return "attention of the decoder is of another width than the model was made with"
    return None
