"""What a model gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["ModelOutput"]


@dataclass(frozen=True)
class ModelOutput:
    """Tensors under the names that transformers uses; what the head does not make, or was not asked for, is None.

    ``out["logits"]``, ``"logits" in out``, ``out[0]`` and ``out[:2]`` see only what is there, in the order below.

    Attributes
    ----------
    logits : Tensor or None
        ``[rows, width, vocabulary]`` of language models, ``[rows, labels]`` of sequence classification,
        ``[rows, width, labels]`` of token classification, ``[rows, width]`` of discriminators.
    start_logits, end_logits : Tensor or None
        Of question answering, each ``[rows, width]``.
    start_top_log_probs, start_top_index, end_top_log_probs, end_top_index, cls_logits : Tensor or None
        Of question answering by beam (XLNet): probabilities (as such, in spite of the name) and positions of the best
        starts, ``[rows, starts]``, and of the best ends for each of them, ``[rows, ends * starts]``, with all starts of
        an end side by side; and ``[rows]``, how well the question can not be answered.
    last_hidden_state : Tensor or None
        ``[rows, width, model width]``, of models without head (the decoder's, where there are encoder and decoder).
    pooler_output : Tensor or None
        ``[rows, model width]``, of models without head whose checkpoint has a pooler.
    hidden_states, attentions : tuple of Tensor or None
        With ``output_hidden_states=True`` what goes into the first layer and what comes out of each; with
        ``output_attentions=True`` the attention of each layer, ``[rows, heads, width, width]``. Of encoder-decoder
        models they are named by their side.
    encoder_last_hidden_state, encoder_hidden_states, encoder_attentions, decoder_hidden_states, decoder_attentions, \
cross_attentions : Tensor, tuple of Tensor or None
        The same of encoder-decoder models; cross-attention is ``[rows, heads, width, source width]``.
    mems : tuple of Tensor or None
        Memory of XLNet, one tensor a layer.
    """

    logits: torch.Tensor | None = None
    start_logits: torch.Tensor | None = None
    end_logits: torch.Tensor | None = None
    start_top_log_probs: torch.Tensor | None = None
    start_top_index: torch.Tensor | None = None
    end_top_log_probs: torch.Tensor | None = None
    end_top_index: torch.Tensor | None = None
    cls_logits: torch.Tensor | None = None
    last_hidden_state: torch.Tensor | None = None
    pooler_output: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
    encoder_last_hidden_state: torch.Tensor | None = None
    encoder_hidden_states: tuple[torch.Tensor, ...] | None = None
    encoder_attentions: tuple[torch.Tensor, ...] | None = None
    decoder_hidden_states: tuple[torch.Tensor, ...] | None = None
    decoder_attentions: tuple[torch.Tensor, ...] | None = None
    cross_attentions: tuple[torch.Tensor, ...] | None = None
    mems: tuple[torch.Tensor, ...] | None = None

    def __getitem__(self, name: str | int | slice) -> Any:
        """A field by its name, or those that are there by their places.

        Raises
        ------
        KeyError, IndexError
            It is not there.
        """
        held = self.to_dict()
        if not isinstance(name, str):
            return tuple(held.values())[name]
        if name not in held:
            raise KeyError(f"{name!r} is not there; {', '.join(held)} are")
        return held[name]

    def __contains__(self, name: object) -> bool:
        return name in self.to_dict()

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def keys(self) -> tuple[str, ...]:
        """Names of the fields that are there."""
        return tuple(self)

    def to_dict(self) -> dict[str, Any]:
        """The fields that are there, by name; the tensors are not copied."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}
