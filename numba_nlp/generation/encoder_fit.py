"""Whether the blocks of an encoder are those that Numba's kernels compute, or were changed since it was made."""

from __future__ import annotations

from typing import Any

from torch import nn

from numba_nlp.generation.step_fit import hooks_of_all, parts_of, what_hides_methods
from numba_nlp.models.bert import Bert
from numba_nlp.models.distilbert import DistilBert
from numba_nlp.models.electra import Electra
from numba_nlp.models.encoder import Encoder
from numba_nlp.models.layers.activations import ACTIVATIONS
from numba_nlp.models.layers.attention import SelfAttention
from numba_nlp.models.layers.feed_forward import FeedForward, PostNormBlock
from numba_nlp.models.roberta import Roberta

__all__ = ["what_was_changed_in_encoder"]

_MODELS = (Bert, DistilBert, Electra, Roberta)
#: Modules of a block by the last part of their names. No subclasses.
_LAYERS: dict[str, type[nn.Module]] = {
    "attention": SelfAttention,
    "attention_norm": nn.LayerNorm,
    "feed_forward": FeedForward,
    "feed_forward_norm": nn.LayerNorm,
    "inner": nn.Linear,
    "output": nn.Linear,
    "qkv": nn.Linear,
}


def what_was_changed_in_encoder(model: Any) -> str | None:
    """What of an encoder's blocks kernels would not compute as they are; None: nothing.

    Embeddings and heads are called as torch's modules, so these may be any.

    Parameters
    ----------
    model : EncoderModel

    Returns
    -------
    str or None
        Such as "encoder.blocks.0.attention.output is a LoraLinear".
    """
    if type(model) not in _MODELS:
        return f"the model is a {type(model).__name__}, none of the package's own encoders"
    if type(model.encoder) is not Encoder:
        return f"encoder is a {type(model.encoder).__name__}"
    if type(model.encoder.blocks) is not nn.ModuleList or not len(model.encoder.blocks):
        return "encoder.blocks is no list of blocks"
    hooked = hooks_of_all() or what_hides_methods("", model) or what_hides_methods("encoder", model.encoder)
    if hooked is not None:
        return hooked
    s, blocks = model.settings, list(model.encoder.blocks)
    made = parts_of(blocks[0])
    for number, block in enumerate(blocks):
        at = f"encoder.blocks.{number}"
        if type(block) is not PostNormBlock:
            return f"{at} is a {type(block).__name__}"
        for name, module in block.named_modules():
            if name and type(module) is not _LAYERS.get(name.rpartition(".")[2]):
                return f"{at}.{name} is a {type(module).__name__}"
            changed = what_hides_methods(f"{at}.{name}".rstrip("."), module)
            if changed is not None:
                return changed
        if parts_of(block) != made:
            return f"{at} is unlike the first one"
        attention, inner = block.attention, block.feed_forward
        if (attention.heads, attention.scale) != (s.heads, None):
            return f"{at}.attention has other heads, or another scale, than the model was made with"
        if inner.gated or inner.activation is not blocks[0].feed_forward.activation:
            return f"{at}.feed_forward is unlike the first one"
        if inner.activation not in ACTIVATIONS.values():
            return f"{at} has an activation that kernels do not know"
        for norm in (block.attention_norm, block.feed_forward_norm):
            if norm.eps != s.norm_epsilon or norm.weight is None or norm.bias is None:
                return f"{at} has another norm than the model was made with"
    if blocks[0].attention.qkv.weight.shape != (3 * s.width, s.width):
        return "attention of the encoder is of another width than the model was made with"
    return None
