"""BERT (Devlin et al. 2018, arXiv:1810.04805)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from numba_nlp.models.encoder import Encoder, EncoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.inputs import take_ids, take_like, take_mask
from numba_nlp.models.layers.heads import MaskedLmHead, Pooler
from numba_nlp.models.model import Model
from numba_nlp.models.outputs import ModelOutput
from numba_nlp.models.settings import ConfigReader
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "Bert", "name_encoder_layers", "read_encoder_settings"]


def read_encoder_settings(config: ConfigReader, **changed: Any) -> EncoderSettings:
    """Settings under BERT's names, which its kin share; ``changed``: defaults of a family that differ from BERT's."""
    width = config.whole("hidden_size", 768)
    config.divides("num_attention_heads", "hidden_size")
    # relative positions (Shaw et al. 2018), which transformers had until its version 5
    config.only("position_embedding_type", "absolute")
    config.only("is_decoder", False)
    return EncoderSettings(
        vocabulary=config.whole("vocab_size", changed.get("vocab_size", 30522)),
        positions=config.whole("max_position_embeddings", 512),
        types=config.whole("type_vocab_size", 2),
        width=width,
        embedding_width=config.whole("embedding_size", width) if changed.get("embeddings_may_differ") else width,
        inner_width=config.whole("intermediate_size", 3072),
        layers=config.whole("num_hidden_layers", 12),
        heads=config.whole("num_attention_heads", 12),
        activation=config.activation("hidden_act", "gelu"),
        norm_epsilon=config.number("layer_norm_eps", 1e-12),
        tied=config.flag("tie_word_embeddings", True),
        labels=config.labels()[0],
    )


def name_encoder_layers(to: TensorMap, encoder: Encoder, base: str) -> None:
    """Names of the encoder, which BERT and its kin share below the name ``base``."""
    to.embedding(encoder.embeddings.tokens, f"{base}.embeddings.word_embeddings")
    to.embedding(encoder.embeddings.positions, f"{base}.embeddings.position_embeddings")
    if encoder.embeddings.types is not None:
        to.embedding(encoder.embeddings.types, f"{base}.embeddings.token_type_embeddings")
    to.norm(encoder.embeddings.norm, f"{base}.embeddings.LayerNorm")
    if encoder.projection is not None:
        to.linear(encoder.projection, f"{base}.embeddings_project")
    for i, block in enumerate(encoder.blocks):
        at = f"{base}.encoder.layer.{i}"
        to.stacked(block.attention.qkv, *(f"{at}.attention.self.{part}" for part in ("query", "key", "value")))
        to.linear(block.attention.output, f"{at}.attention.output.dense")
        to.norm(block.attention_norm, f"{at}.attention.output.LayerNorm")
        to.linear(block.feed_forward.inner, f"{at}.intermediate.dense")
        to.linear(block.feed_forward.output, f"{at}.output.dense")
        to.norm(block.feed_forward_norm, f"{at}.output.LayerNorm")
    to.ignored(f"{base}.embeddings.position_ids", f"{base}.embeddings.token_type_ids")


class Bert(Model):
    """BERT, with or without a head.

    Parameters
    ----------
    settings : EncoderSettings
    head : str
        "none", "masked_lm", "sequence_classification", "token_classification" or "question_answering".
    """

    prefix = "bert"

    def __init__(self, settings: EncoderSettings, head: str) -> None:
        super().__init__(settings, head)
        s = settings
        self.encoder = Encoder(s)
        self.pooler: Any = Pooler(s.width) if head in ("none", "sequence_classification") else None
        self.masked_lm = (
            MaskedLmHead(s.width, s.width, s.vocabulary, s.activation, s.norm_epsilon, tied=s.tied)
            if head == "masked_lm"
            else None
        )
        self.classifier: Any = {
            "sequence_classification": nn.Linear(s.width, s.labels),
            "token_classification": nn.Linear(s.width, s.labels),
            "question_answering": nn.Linear(s.width, 2),
        }.get(head)

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        name_encoder_layers(to, self.encoder, "bert")
        if self.pooler is not None:
            to.linear(self.pooler.linear, "bert.pooler.dense")
            if self.head == "none":
                to.optional(self, "pooler", "bert.pooler")
        if self.masked_lm is not None:
            to.linear(self.masked_lm.transform, "cls.predictions.transform.dense")
            to.norm(self.masked_lm.norm, "cls.predictions.transform.LayerNorm")
            to.output(self.masked_lm.output, "cls.predictions.decoder", "bert.embeddings.word_embeddings")
            bias = ("cls.predictions.decoder.bias", "cls.predictions.bias")
            to.tensor(bias[0], self.masked_lm.output.bias, instead=bias[1:])
        if self.classifier is not None:
            to.linear(self.classifier, "qa_outputs" if self.head == "question_answering" else "classifier")
        to.ignored("bert.pooler.*", "cls.*", "classifier.*", "qa_outputs.*")

    def forward(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        token_type_ids: Any = None,
        *,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> ModelOutput:
        """Run the model.

        Parameters
        ----------
        input_ids : array-like or Tensor
            Whole numbers ``[rows, width]``.
        attention_mask : array-like or Tensor, optional
            1 for tokens that count, 0 for padding, of the same shape; by default all count.
        token_type_ids : array-like or Tensor, optional
            0 for the first text of a pair and 1 for the second, of the same shape; by default all 0.
        output_hidden_states, output_attentions : bool, default False
            Also give the hidden states and the attention of each layer.

        Returns
        -------
        ModelOutput

        Raises
        ------
        ValueError
            An id is not in the vocabulary, a row is longer than the model has positions, or a shape is another.
        """
        ids = take_ids(input_ids, self.settings.vocabulary, self.device)
        self.check_width(ids.shape[1], self.settings.positions)
        mask = take_mask(attention_mask, ids)
        types = take_like(token_type_ids, ids, self.settings.types, "token_type_ids")
        positions = torch.arange(ids.shape[1], device=ids.device)[None]
        hidden, states, attentions = self.encoder(
            ids, mask, positions, types, want_hidden=output_hidden_states, want_weights=output_attentions
        )
        return ModelOutput(hidden_states=states, attentions=attentions, **self._results(hidden))

    def _results(self, hidden: torch.Tensor) -> dict[str, torch.Tensor | None]:
        if self.masked_lm is not None:
            return {"logits": self.masked_lm(hidden, self.encoder.embeddings.tokens.weight)}
        if self.head == "sequence_classification":
            return {"logits": self.classifier(self.pooler(hidden))}
        if self.head == "token_classification":
            return {"logits": self.classifier(hidden)}
        if self.head == "question_answering":
            start, end = self.classifier(hidden).unbind(-1)
            return {"start_logits": start.contiguous(), "end_logits": end.contiguous()}
        return {
            "last_hidden_state": hidden,
            "pooler_output": None if self.pooler is None else self.pooler(hidden),
        }


FAMILIES = {
    "bert": Family(
        name="bert",
        heads={
            "BertModel": "none",
            "BertForMaskedLM": "masked_lm",
            "BertForPreTraining": "masked_lm",
            "BertForSequenceClassification": "sequence_classification",
            "BertForTokenClassification": "token_classification",
            "BertForQuestionAnswering": "question_answering",
        },
        read_settings=read_encoder_settings,
        build=Bert,
    )
}
