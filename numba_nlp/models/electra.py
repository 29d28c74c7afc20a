"""Electra (Clark et al. 2020, arXiv:2003.10555).

The generator is a small masked language model; the discriminator says of each token whether the generator put it there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from numba_nlp.models.bert import encoder_heads, name_encoder, read_encoder_settings
from numba_nlp.models.encoder import EncoderModel, EncoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.layers.activations import ACTIVATIONS
from numba_nlp.models.settings import ConfigReader
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "Electra"]


class _Discriminator(nn.Module):
    """A logit for each token: linear map, activation, linear map."""

    def __init__(self, width: int, activation: str) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.activation = ACTIVATIONS[activation]
        self.output = nn.Linear(width, 1)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.output(self.activation(self.transform(hidden))).squeeze(-1)


class Electra(EncoderModel):
    """Electra, with or without a head.

    Parameters
    ----------
    settings : EncoderSettings
        The embeddings may be narrower than the hidden states: a linear map widens them.
    head : str
        "none", "masked_lm" (the generator), "discriminator", "sequence_classification", "token_classification" or
        "question_answering".
    """

    prefix = "electra"
    pooler_activation = "gelu"
    has_pooler = False
    masked_lm_activation = "gelu"

    def __init__(self, settings: EncoderSettings, head: str) -> None:
        super().__init__(settings, head)
        self.discriminator: Any = None
        if head == "discriminator":
            self.discriminator = _Discriminator(settings.width, settings.activation)

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        name_encoder(to, self.encoder, "electra")
        if self.masked_lm is not None:
            to.linear(self.masked_lm.transform, "generator_predictions.dense")
            to.norm(self.masked_lm.norm, "generator_predictions.LayerNorm")
            to.output(self.masked_lm.output, "generator_lm_head", "electra.embeddings.word_embeddings")
            to.tensor("generator_lm_head.bias", self.masked_lm.output.bias)
        if self.discriminator is not None:
            to.linear(self.discriminator.transform, "discriminator_predictions.dense")
            to.linear(self.discriminator.output, "discriminator_predictions.dense_prediction")
        if self.head == "sequence_classification":
            to.linear(self.pooler.linear, "classifier.dense")
            to.linear(self.classifier, "classifier.out_proj")
        elif self.classifier is not None:
            to.linear(self.classifier, "qa_outputs" if self.head == "question_answering" else "classifier")
        to.ignored("generator_*", "discriminator_predictions.*", "classifier.*", "qa_outputs.*")

    def _results(self, hidden: torch.Tensor) -> dict[str, torch.Tensor | None]:
        if self.discriminator is not None:
            return {"logits": self.discriminator(hidden)}
        return super()._results(hidden)


def _read(config: ConfigReader) -> EncoderSettings:
    return read_encoder_settings(
        config, width=256, inner_width=1024, heads=4, embedding_width=config.whole("embedding_size", 128)
    )


FAMILIES = {
    "electra": Family("electra", encoder_heads("Electra", ForPreTraining="discriminator"), _read, Electra),
}
