"""What BERT and its kin share: embeddings, blocks that normalise after each sum, and the heads on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from numba_nlp.models.inputs import refuse_unknown, take_ids, take_like, take_mask
from numba_nlp.models.layers.embeddings import TokenEmbeddings
from numba_nlp.models.layers.feed_forward import PostNormBlock, run_blocks
from numba_nlp.models.layers.heads import MaskedLmHead, Pooler
from numba_nlp.models.layers.masks import padding_mask
from numba_nlp.models.layers.pooling import check_pooling, pool
from numba_nlp.models.model import Model
from numba_nlp.models.outputs import ModelOutput

__all__ = ["Encoder", "EncoderModel", "EncoderSettings"]


@dataclass(frozen=True)
class EncoderSettings:
    """Settings of BERT and its kin.

    Attributes
    ----------
    vocabulary, positions, types : int
        Numbers of tokens, positions and types of tokens that have embeddings; without types 0.
    width, embedding_width, inner_width : int
        Of the hidden states, of the embeddings, and within a feed-forward layer.
    layers, heads : int
        Numbers of layers, and of heads in each.
    activation : str
        Of the feed-forward layers.
    norm_epsilon : float
        Of the normalisations.
    tied : bool
        Whether the output layer of a masked language model has the matrix of the embeddings.
    labels : int
        Of classifiers.
    padding_id : int or None
        Id of the padding token where positions depend on it: those of other tokens begin behind it.
    """

    vocabulary: int
    positions: int
    types: int
    width: int
    embedding_width: int
    inner_width: int
    layers: int
    heads: int
    activation: str
    norm_epsilon: float
    tied: bool
    labels: int
    padding_id: int | None = None

    @property
    def longest(self) -> int:
        """Tokens in the longest row."""
        return self.positions - (0 if self.padding_id is None else self.padding_id + 1)


class Encoder(nn.Module):
    """Embeddings and blocks.

    Parameters
    ----------
    settings : EncoderSettings
    """

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__()
        s = settings
        self.embeddings = TokenEmbeddings(s.vocabulary, s.positions, s.types, s.embedding_width, s.norm_epsilon)
        self.projection = nn.Linear(s.embedding_width, s.width) if s.embedding_width != s.width else None
        self.blocks = nn.ModuleList(
            PostNormBlock(s.width, s.heads, s.inner_width, s.activation, s.norm_epsilon) for _ in range(s.layers)
        )

    def forward(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor | None,
        positions: torch.Tensor,
        types: torch.Tensor | None = None,
        *,
        want_hidden: bool = False,
        want_weights: bool = False,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...] | None, tuple[torch.Tensor, ...] | None]:
        """Hidden states, and as asked for those of each layer and its attention; see ``run_blocks``."""
        hidden = self.embeddings(ids, positions, types)
        if self.projection is not None:
            hidden = self.projection(hidden)
        return run_blocks(
            self.blocks,
            hidden,
            padding_mask(mask, hidden.dtype),
            want_hidden=want_hidden,
            want_weights=want_weights,
        )


class EncoderModel(Model):
    """An encoder, with or without a head; the families add the names of the tensors.

    Parameters
    ----------
    settings : EncoderSettings
    head : str
        "none", "masked_lm", "sequence_classification", "token_classification", "question_answering", or
        "discriminator" (a logit for each token: is it another one than in the original text?).
    """

    #: Between the two linear maps that classify a row.
    pooler_activation = "tanh"
    #: Whether the model without head has a vector for the row, by a linear map of the first token.
    has_pooler = True
    #: Of the masked language model; None: that of the layers.
    masked_lm_activation: str | None = None

    def __init__(self, settings: EncoderSettings, head: str) -> None:
        super().__init__(settings, head)
        s = settings
        self.encoder = Encoder(s)
        pooled = head == "sequence_classification" or (head == "none" and self.has_pooler)
        self.pooler: Any = Pooler(s.width, self.pooler_activation) if pooled else None
        self.masked_lm: Any = None
        if head == "masked_lm":
            activation = self.masked_lm_activation or s.activation
            self.masked_lm = MaskedLmHead(
                s.width, s.embedding_width, s.vocabulary, activation, s.norm_epsilon, tied=s.tied
            )
        outputs = {
            "sequence_classification": s.labels,
            "token_classification": s.labels,
            "question_answering": 2,
        }.get(head)
        self.classifier: Any = None if outputs is None else nn.Linear(s.width, outputs)

    def forward(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        token_type_ids: Any = None,
        *,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
        **others: Any,
    ) -> ModelOutput:
        """Run the model.

        Parameters
        ----------
        input_ids : array-like or Tensor
            Whole numbers ``[rows, width]``.
        attention_mask : array-like or Tensor, optional
            1 for tokens that count, 0 for padding, of the same shape; by default all count.
        token_type_ids : array-like or Tensor, optional
            0 for the first text of a pair and 1 for the second, of the same shape; by default all 0. DistilBERT has
            no types and does not look at them.
        output_hidden_states, output_attentions : bool, default False
            Also give the hidden states and the attention of each layer.
        **others
            What tokenizers give and models do not read, such as ``special_tokens_mask``.

        Returns
        -------
        ModelOutput

        Raises
        ------
        ValueError
            An id is not in the vocabulary, a row is longer than the model has positions, or a shape is another.
        """
        refuse_unknown(others, self.forward)
        ids, mask, types = self._take(input_ids, attention_mask, token_type_ids)
        hidden, states, attentions = self.encoder(
            ids, mask, self._positions(ids), types, want_hidden=output_hidden_states, want_weights=output_attentions
        )
        return ModelOutput(hidden_states=states, attentions=attentions, **self._results(hidden))

    def embed(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        token_type_ids: Any = None,
        *,
        pooling: str = "mean",
        **others: Any,
    ) -> torch.Tensor:
        """One vector for each row, from the last hidden states; the head does not matter.

        Parameters
        ----------
        input_ids, attention_mask, token_type_ids, **others
            As for calling the model.
        pooling : {"mean", "first", "last", "max", "mean_sqrt", "pooler"}
            Of the tokens that count; "mean_sqrt": their sum divided by the square root of their number; "pooler": what
            the checkpoint's own pooler makes of the first token.

        Returns
        -------
        Tensor
            ``[rows, model width]``; zeros for a row without any token, "first", "last" and "pooler" excepted.

        Raises
        ------
        ValueError
            As for calling the model, or the model has no pooler.
        """
        refuse_unknown(others, self.embed)
        check_pooling(pooling, pooler=self.pooler is not None and self.head == "none")
        ids, mask, types = self._take(input_ids, attention_mask, token_type_ids)
        hidden = self.encoder(ids, mask, self._positions(ids), types)[0]
        return self.pooler(hidden) if pooling == "pooler" else pool(hidden, mask, pooling)

    def _take(
        self, input_ids: Any, attention_mask: Any, token_type_ids: Any
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        s = self.settings
        ids = take_ids(input_ids, s.vocabulary, self.device)
        self.check_width(ids.shape[1], s.longest)
        types = take_like(token_type_ids, ids, s.types, "token_type_ids") if s.types else None
        return ids, take_mask(attention_mask, ids), types

    def _positions(self, ids: torch.Tensor) -> torch.Tensor:
        """Positions of the tokens; where padding has its own, the others are counted without it, as fairseq does."""
        padding = self.settings.padding_id
        if padding is None:
            return torch.arange(ids.shape[1], device=ids.device)[None]
        real = ids != padding
        return real.long().cumsum(-1) * real + padding

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
