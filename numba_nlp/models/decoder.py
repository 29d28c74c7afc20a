"""The decoder that GPT and its kin share: summed embeddings, blocks that look back, and the heads on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from numba_nlp.models.inputs import refuse_unknown, take_ids, take_like, take_mask
from numba_nlp.models.kv_cache import KVCache
from numba_nlp.models.layers.decoder_block import DecoderBlock
from numba_nlp.models.layers.feed_forward import run_blocks
from numba_nlp.models.layers.heads import OutputLayer
from numba_nlp.models.layers.masks import causal_mask, mask_positions
from numba_nlp.models.layers.pooled import last_position, pick_position
from numba_nlp.models.layers.pooling import check_pooling, pool
from numba_nlp.models.model import Model
from numba_nlp.models.outputs import ModelOutput
from numba_nlp.models.steps import check_cache, take_prompt, take_step

__all__ = ["Decoder", "DecoderModel", "DecoderSettings"]


@dataclass(frozen=True)
class DecoderSettings:
    """Settings of GPT and its kin.

    Attributes
    ----------
    vocabulary, positions : int
        Numbers of tokens and positions that have embeddings.
    width, inner_width : int
        Of the hidden states, and within a feed-forward layer.
    layers, heads : int
        Numbers of layers, and of heads in each.
    activation : str
        Of the feed-forward layers.
    norm_epsilon : float
        Of the normalisations.
    norm_first : bool
        Whether attention and feed-forward get normalised input, with one normalisation more at the end; else the sums
        are normalised.
    scales : tuple of float
        Factor of the products of queries and keys in each layer.
    tied : bool
        Whether the output layer has the matrix of the embeddings.
    labels : int
        Of classifiers.
    padding_id : int or None
        Token that does not end a row: a classifier of rows looks at the last other one.
    """

    vocabulary: int
    positions: int
    width: int
    inner_width: int
    layers: int
    heads: int
    activation: str
    norm_epsilon: float
    norm_first: bool
    scales: tuple[float, ...]
    tied: bool
    labels: int
    padding_id: int | None


class Decoder(nn.Module):
    """Embeddings and blocks.

    Parameters
    ----------
    settings : DecoderSettings
    """

    def __init__(self, settings: DecoderSettings) -> None:
        super().__init__()
        s = settings
        self.tokens = nn.Embedding(s.vocabulary, s.width)
        self.positions = nn.Embedding(s.positions, s.width)
        self.blocks = nn.ModuleList(
            DecoderBlock(
                s.width, s.heads, s.inner_width, s.activation, s.norm_epsilon, norm_first=s.norm_first, scale=scale
            )
            for scale in s.scales
        )
        self.norm = nn.LayerNorm(s.width, eps=s.norm_epsilon) if s.norm_first else nn.Identity()

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | None,
        types: Tensor | None = None,
        *,
        want_hidden: bool = False,
        want_weights: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, ...] | None, tuple[Tensor, ...] | None]:
        """Hidden states, and as asked for those of each layer and its attention; see ``run_blocks``."""
        if mask is None:
            positions, added = torch.arange(ids.shape[1], device=ids.device)[None], None
        else:
            # Padding has no position: behind it, a row goes on as it would alone.
            positions = mask_positions(mask)
            added = causal_mask(mask, ids.shape[1], self.tokens.weight.dtype, ids.device)
        hidden = self.tokens(ids) + self.positions(positions)
        if types is not None:
            hidden = hidden + self.tokens(types)
        hidden, states, attentions = run_blocks(
            self.blocks, hidden, added, causal=mask is None, want_hidden=want_hidden, want_weights=want_weights
        )
        hidden = self.norm(hidden)
        if states is not None:
            states = (*states[:-1], hidden)
        return hidden, states, attentions

    def extend(self, ids: Tensor, mask: Tensor | None, cache: KVCache) -> Tensor:
        """Hidden states ``[rows, width, model width]`` of new tokens, whose keys and values the cache keeps."""
        window = cache.extend(ids.shape[0], ids.shape[1], mask)
        hidden = self.tokens(ids) + self.positions(window.positions)
        for layer, block in enumerate(self.blocks):
            hidden = block.extend(hidden, cache, layer, window)
        return self.norm(hidden)


class DecoderModel(Model):
    """A decoder, with or without a head.

    Parameters
    ----------
    settings : DecoderSettings
    head : str
        "none", "language_model", "sequence_classification", "token_classification" or "question_answering".
    """

    prefix = "transformer"

    def __init__(self, settings: DecoderSettings, head: str) -> None:
        super().__init__(settings, head)
        s = settings
        self.decoder = Decoder(s)
        self.output = OutputLayer(s.width, s.vocabulary, tied=s.tied) if head == "language_model" else None
        self.classifier = {
            "sequence_classification": nn.Linear(s.width, s.labels, bias=False),
            "token_classification": nn.Linear(s.width, s.labels),
            "question_answering": nn.Linear(s.width, 2),
        }.get(head)

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
            1 for tokens that count, 0 for padding, of the same shape; by default all count. Padding may be on either
            side and takes no position.
        token_type_ids : array-like or Tensor, optional
            Ids of the vocabulary, of the same shape, whose embeddings are added; by default none are.
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
        hidden, states, attentions = self.decoder(
            ids, mask, types, want_hidden=output_hidden_states, want_weights=output_attentions
        )
        return ModelOutput(hidden_states=states, attentions=attentions, **self._results(ids, mask, hidden))

    def embed(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        token_type_ids: Any = None,
        *,
        pooling: str = "mean",
        **others: Any,
    ) -> Tensor:
        """One vector for each row, from the last hidden states; the head does not matter.

        Parameters
        ----------
        input_ids, attention_mask, token_type_ids, **others
            As for calling the model.
        pooling : {"mean", "first", "last", "max", "mean_sqrt"}
            Of the tokens that count; "last": the only one that has seen all others; "mean_sqrt": their sum divided by
            the square root of their number.

        Returns
        -------
        Tensor
            ``[rows, model width]``; zeros for a row without any token, "first" and "last" excepted.

        Raises
        ------
        ValueError
            As for calling the model, or there is no such way to pool.
        """
        refuse_unknown(others, self.embed)
        check_pooling(pooling)
        ids, mask, types = self._take(input_ids, attention_mask, token_type_ids)
        return pool(self.decoder(ids, mask, types)[0], mask, pooling)

    def _take(
        self, input_ids: Any, attention_mask: Any, token_type_ids: Any
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        s = self.settings
        ids = take_ids(input_ids, s.vocabulary, self.device)
        self.check_width(ids.shape[1], s.positions)
        return ids, take_mask(attention_mask, ids), take_like(token_type_ids, ids, s.vocabulary, "token_type_ids")

    def _results(self, ids: Tensor, mask: Tensor | None, hidden: Tensor) -> dict[str, Tensor]:
        if self.output is not None:
            return {"logits": self.output(hidden, self.decoder.tokens.weight)}
        if self.classifier is None:
            return {"last_hidden_state": hidden}
        if self.head == "sequence_classification":
            counts = mask
            if self.settings.padding_id is not None:
                other = ids != self.settings.padding_id
                counts = other if mask is None else mask & other
            hidden = pick_position(hidden, last_position(counts, hidden))
        logits = self.classifier(hidden)
        if self.head == "question_answering":
            start, end = logits.unbind(-1)
            return {"start_logits": start.contiguous(), "end_logits": end.contiguous()}
        return {"logits": logits}

    def new_cache(self, rows: int, positions: int | None = None, *, static: bool = False) -> KVCache:
        """A cache for `prompt` and `step`.

        Parameters
        ----------
        rows : int
            Rows of a step; of a beam search, prompts times beams.
        positions : int, optional
            Longest row, prompt with padding and new tokens; by default as many as the model has.
        static : bool, default False
            As of `KVCache`: for CUDA graphs.

        Raises
        ------
        ValueError
            The model has fewer positions.
        """
        s = self.settings
        positions = s.positions if positions is None else positions
        if positions > s.positions:
            raise ValueError(f"positions={positions}: the model has {s.positions} positions")
        return KVCache(**self.cache_shape(), rows=rows, positions=positions, static=static)

    def cache_shape(self) -> dict[str, Any]:
        """What a cache must be like to fit."""
        s, weight = self.settings, self.decoder.tokens.weight
        return {
            "layers": s.layers,
            "heads": s.heads,
            "head_width": s.width // s.heads,
            "dtype": weight.dtype,
            "device": weight.device,
        }

    def prompt(self, input_ids: Any, attention_mask: Any, cache: KVCache) -> Tensor:
        """Read the beginning of the rows, or a continuation of many tokens.

        Parameters
        ----------
        input_ids : array-like or Tensor
            Whole numbers ``[prompts, width]``. Into an empty cache, a prompt may be read once for several rows: the
            cache has a multiple of `prompts` rows, those of a prompt side by side.
        attention_mask : array-like, Tensor or None
            1 for tokens that count, 0 for padding, which must be on the left; None: all count.
        cache : KVCache
            Of `new_cache`; it keeps what was read.

        Returns
        -------
        Tensor
            Logits of the token after each prompt, ``[prompts, vocabulary]``.

        Raises
        ------
        ValueError
            The model has no output layer; an id is not in the vocabulary; padding is on the right; the cache is of
            another model; or the tokens do not fit into it. It is as it was then. Ids and masks on a CUDA device are
            not looked at.
        """
        self._check_step(cache)
        ids, mask = take_prompt(self, input_ids, attention_mask)
        with torch.no_grad():  # the cache is written in place
            return self._logits(self.decoder.extend(ids, mask, cache)[:, -1])

    def step(self, tokens: Any, cache: KVCache) -> Tensor:
        """Read one token more in each row.

        Parameters
        ----------
        tokens : array-like or Tensor
            Whole numbers ``[rows]``. A tensor is not looked at where it is on a CUDA device, or the cache is static:
            nothing here waits for the device, and with a static cache the work is the same in every step, so that it
            can be captured as a CUDA graph.
        cache : KVCache
            What was read before; it keeps the token too.

        Returns
        -------
        Tensor
            Logits of the next token, ``[rows, vocabulary]``.

        Raises
        ------
        ValueError
            The cache has another number of rows, is full, or is of another model; a token is not in the vocabulary.
            The cache is as it was then.
        """
        self._check_step(cache)
        ids = take_step(tokens, cache, self.settings.vocabulary)
        with torch.no_grad():
            return self._logits(self.decoder.extend(ids, None, cache)[:, 0])

    def _check_step(self, cache: KVCache) -> None:
        """Refuse, before anything is written, what cannot give a next token."""
        if self.output is None:
            raise ValueError(
                f"a model with the head {self.head!r} gives no next token; load it with head='language_model'"
            )
        check_cache(cache, self.cache_shape(), source=False, longest=self.settings.positions)

    def _logits(self, hidden: Tensor) -> Tensor:
        assert self.output is not None
        return self.output(hidden, self.decoder.tokens.weight)
