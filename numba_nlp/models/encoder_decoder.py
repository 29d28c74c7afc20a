"""What encoder-decoder models have in common: the two stacks, heads, and the steps of generation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from numba_nlp.models.encoder_decoder_rows import row_ends, shifted_source
from numba_nlp.models.encoder_decoder_settings import EncoderDecoderSettings
from numba_nlp.models.inputs import refuse_unknown, take_ids, take_mask
from numba_nlp.models.kv_cache import KVCache
from numba_nlp.models.layers.heads import OutputLayer
from numba_nlp.models.layers.pooled import pick_position
from numba_nlp.models.layers.pooling import check_pooling, pool
from numba_nlp.models.layers.positions import CountedSines, LearnedPositions, Positions, Sines
from numba_nlp.models.layers.relative_bias import RelativeBias
from numba_nlp.models.layers.row_classifier import RowClassifier
from numba_nlp.models.model import Model
from numba_nlp.models.outputs import ModelOutput
from numba_nlp.models.stack import Run, Stack
from numba_nlp.models.steps import check_cache, take_prompt, take_step

__all__ = ["EncoderDecoder"]


class EncoderDecoder(Model):
    """An encoder with a decoder, with or without a head.

    Parameters
    ----------
    settings : EncoderDecoderSettings
    head : str
        "none", "conditional_generation", "sequence_classification", "token_classification" (of the encoder alone) or
        "question_answering".
    """

    settings: EncoderDecoderSettings

    def __init__(self, settings: EncoderDecoderSettings, head: str) -> None:
        super().__init__(settings, head)
        s = settings
        width = s.encoder.width
        self.tokens = nn.Embedding(s.vocabulary, width)
        self.encoder = self._stack(decoder=False)
        self.decoder = None if s.encoder_only else self._stack(decoder=True)
        self.decoder_tokens = None if s.encoder_only or s.shared else nn.Embedding(s.decoder_vocabulary, width)
        generates = head == "conditional_generation"
        self.output = OutputLayer(width, s.decoder_vocabulary, tied=s.tied) if generates else None
        # Marian's converter makes it, training leaves it alone: no parameter
        self.logits_bias: Tensor | None
        bias = torch.zeros(1, s.decoder_vocabulary) if generates and s.logits_bias else None
        self.register_buffer("logits_bias", bias, persistent=bias is not None)
        self.row_classifier = RowClassifier(width, s.labels) if head == "sequence_classification" else None
        self.classifier = {
            "token_classification": nn.Linear(width, s.labels),
            "question_answering": nn.Linear(width, 2),
        }.get(head)

    def _stack(self, *, decoder: bool) -> Stack:
        s = self.settings
        shape = s.decoder if decoder else s.encoder
        positions: Positions | None = None
        if s.positions is not None:
            if s.position_kind == "learned":
                positions = LearnedPositions(s.positions, shape.width)
            elif s.position_kind == "sines":
                positions = Sines(s.positions, shape.width)
            else:
                assert s.padding_id is not None
                positions = CountedSines(s.positions, shape.width, s.padding_id)
        relative = RelativeBias(shape.heads, s.buckets, s.farthest, both_sides=not decoder) if s.buckets else None
        return Stack(
            shape,
            s.decoder_blocks if decoder else s.encoder_blocks,
            positions=positions,
            relative=relative,
            norm_begin=s.norm_begin,
            norm_end=s.norm_end,
            decoder=decoder,
        )

    def fill_tables(self) -> None:
        """Compute what checkpoints need not hold."""
        if self.logits_bias is not None:
            self.logits_bias.zero_()
        for stack in (self.encoder, self.decoder):
            if stack is not None:
                stack.fill_tables()

    def forward(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        decoder_input_ids: Any = None,
        decoder_attention_mask: Any = None,
        *,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
        **others: Any,
    ) -> ModelOutput:
        """Run the model.

        Parameters
        ----------
        input_ids : array-like or Tensor
            Source: whole numbers ``[rows, source width]``.
        attention_mask : array-like or Tensor, optional
            1 for tokens that count, 0 for padding, of the shape of `input_ids`; by default all count. Padding may be
            on either side.
        decoder_input_ids : array-like or Tensor, optional
            What the decoder reads: whole numbers ``[rows, width]``, the first of a row the token that begins it.
            BART and mBART, and classifiers, read the source by default, shifted by one token; others need it.
        decoder_attention_mask : array-like or Tensor, optional
            The same of `decoder_input_ids`.
        output_hidden_states, output_attentions : bool, default False
            Also give the hidden states and the attention of each layer.
        **others
            What tokenizers give and models do not read: ``token_type_ids``, ``special_tokens_mask`` and so on.

        Returns
        -------
        ModelOutput

        Raises
        ------
        ValueError
            An id is not in the vocabulary, a row is longer than the model has positions, a shape is another,
            `decoder_input_ids` is missing, or a row to classify has no token that ends it.
        """
        refuse_unknown(others, self.forward, "token_type_ids")
        ids, mask = self._take_source(input_ids, attention_mask)
        wanted = {"want_hidden": output_hidden_states, "want_weights": output_attentions}
        encoded = self._encode(ids, mask, **wanted)
        if self.decoder is None:
            if decoder_input_ids is not None or decoder_attention_mask is not None:
                raise ValueError("the model is an encoder alone: it takes no `decoder_input_ids`")
            key = "last_hidden_state" if self.classifier is None else "logits"
            result = encoded.hidden if self.classifier is None else self.classifier(encoded.hidden)
            return ModelOutput(hidden_states=encoded.states, attentions=encoded.weights, **{key: result})
        read, read_mask = self._take_decoder_ids(decoder_input_ids, decoder_attention_mask, ids, mask)
        run = self.decoder.decode(read, self._embed_decoder(read), read_mask, encoded.hidden, mask, **wanted)
        return ModelOutput(
            encoder_last_hidden_state=encoded.hidden,
            encoder_hidden_states=encoded.states,
            encoder_attentions=encoded.weights,
            decoder_hidden_states=run.states,
            decoder_attentions=run.weights,
            cross_attentions=run.source_weights,
            **self._results(ids, mask, run.hidden),
        )

    def _results(self, ids: Tensor, mask: Tensor | None, hidden: Tensor) -> dict[str, Tensor]:
        if self.output is not None:
            return {"logits": self._logits(hidden)}
        if self.row_classifier is not None:
            ends = row_ends(ids, mask, self.settings.end_ids, hidden)
            return {"logits": self.row_classifier(pick_position(hidden, ends))}
        if self.classifier is not None:
            start, end = self.classifier(hidden).unbind(-1)
            return {"start_logits": start.contiguous(), "end_logits": end.contiguous()}
        return {"last_hidden_state": hidden}

    def embed(self, input_ids: Any, attention_mask: Any = None, *, pooling: str = "mean", **others: Any) -> Tensor:
        """One vector for each row, from what the encoder gives; the head does not matter.

        Parameters
        ----------
        input_ids, attention_mask, **others
            As for calling the model.
        pooling : {"mean", "first", "last", "max", "mean_sqrt"}
            Of the tokens that count; "mean_sqrt": their sum divided by the square root of their number.

        Returns
        -------
        Tensor
            ``[rows, model width]``; zeros for a row without any token, "first" and "last" excepted.

        Raises
        ------
        ValueError
            As for calling the model, or there is no such way to pool.
        """
        refuse_unknown(others, self.embed, "token_type_ids")
        check_pooling(pooling)
        ids, mask = self._take_source(input_ids, attention_mask)
        return pool(self._encode(ids, mask).hidden, mask, pooling)

    # --- generation

    def new_cache(
        self,
        rows: int,
        positions: int | None = None,
        *,
        source_positions: int,
        sentences: int | None = None,
        static: bool = False,
    ) -> KVCache:
        """A cache for :meth:`encode_source`, :meth:`prompt` and :meth:`step`.

        Parameters
        ----------
        rows : int
            Rows of a step; of a beam search, sentences times beams.
        positions : int, optional
            Longest row of the decoder, beginning and new tokens; by default as many as the model has.
        source_positions : int
            Longest source.
        sentences : int, optional
            Number of sources, which divides `rows`; by default one a row.
        static : bool, default False
            As of `KVCache`: for CUDA graphs.

        Raises
        ------
        ValueError
            The model has fewer positions, or it has no limit and none is given.
        """
        self._whole_decoder()
        s = self.settings
        if positions is None:
            positions = s.positions
            if positions is None:
                raise ValueError("this model has no greatest length: say positions=, how long rows may become")
        if s.positions is not None and max(positions, source_positions) > s.positions:
            name = "positions" if positions > s.positions else "source_positions"
            raise ValueError(f"{name}={max(positions, source_positions)}: the model has {s.positions} positions")
        return KVCache(
            **self.cache_shape(),
            rows=rows,
            positions=positions,
            sentences=rows if sentences is None else sentences,
            source_positions=source_positions,
            static=static,
        )

    def cache_shape(self) -> dict[str, Any]:
        """What a cache must be like to fit."""
        shape, weight = self.settings.decoder, self.tokens.weight
        return {
            "layers": len(self._whole_decoder().blocks),
            "heads": shape.heads,
            "head_width": shape.head_width,
            "dtype": weight.dtype,
            "device": weight.device,
        }

    @torch.no_grad()
    def encode_source(
        self, input_ids: Any, attention_mask: Any = None, cache: KVCache | None = None, **others: Any
    ) -> Tensor:
        """Read the sources.

        Parameters
        ----------
        input_ids : array-like or Tensor
            Whole numbers ``[sentences, source width]``.
        attention_mask : array-like or Tensor, optional
            1 for tokens that count, 0 for padding, of the same shape.
        cache : KVCache, optional
            It keeps the keys and values of each decoder layer, once a sentence, and forgets its rows.
        **others
            As for calling the model.

        Returns
        -------
        Tensor
            What the encoder gives, ``[sentences, source width, model width]``.

        Raises
        ------
        ValueError
            The cache has another number of sentences or is too small, an id is not in the vocabulary, a row is longer
            than the model has positions, or a shape is another.
        """
        refuse_unknown(others, self.encode_source, "token_type_ids")
        if cache is not None:
            check_cache(cache, self.cache_shape(), source=True, longest=self.settings.positions)
        ids, mask = self._take_source(input_ids, attention_mask)
        if cache is not None and cache.sentences != ids.shape[0]:
            raise ValueError(f"the cache holds {cache.sentences} sentences, got {ids.shape[0]} rows of `input_ids`")
        hidden = self._encode(ids, mask).hidden
        if cache is not None:
            cache.set_source(ids.shape[1], mask)
            self._whole_decoder().store_source(hidden, cache)
        return hidden

    @torch.no_grad()
    def prompt(self, decoder_input_ids: Any, decoder_attention_mask: Any, cache: KVCache) -> Tensor:
        """Read the beginning of the decoder's rows, or a continuation of many tokens.

        Parameters
        ----------
        decoder_input_ids : array-like or Tensor
            Whole numbers ``[sentences or rows, width]``. Into a cache without rows, each may be read once for several:
            the rows of a sentence lie side by side.
        decoder_attention_mask : array-like, Tensor or None
            1 for tokens that count, 0 for padding, which must be at the left; None: all count.
        cache : KVCache
            Of :meth:`new_cache`, after :meth:`encode_source`; it keeps what is read.

        Returns
        -------
        Tensor
            Logits of the token after each row, ``[sentences or rows, vocabulary]``.

        Raises
        ------
        ValueError
            The model has no output layer, an id is not in the vocabulary, padding is at the right, the cache is of
            another model or has no source, or the tokens do not fit into it. It is as it was then. Ids and masks on a
            CUDA device are not looked at.
        """
        decoder = self._generating_decoder()
        check_cache(cache, self.cache_shape(), source=True, longest=self.settings.positions)
        ids, mask = take_prompt(self, decoder_input_ids, decoder_attention_mask, self.settings.decoder_vocabulary)
        return self._logits(decoder.extend(ids, self._embed_decoder(ids), mask, cache)[:, -1])

    @torch.no_grad()
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
        decoder = self._generating_decoder()
        check_cache(cache, self.cache_shape(), source=True, longest=self.settings.positions)
        ids = take_step(tokens, cache, self.settings.decoder_vocabulary)
        return self._logits(decoder.extend(ids, self._embed_decoder(ids), None, cache)[:, 0])

    # --- parts

    def _whole_decoder(self) -> Stack:
        if self.decoder is None:
            raise ValueError("the model is an encoder alone, which generates nothing")
        return self.decoder

    def _generating_decoder(self) -> Stack:
        if self.output is None:
            raise ValueError(
                f"a model with the head {self.head!r} gives no next token; load it with head='conditional_generation'"
            )
        return self._whole_decoder()

    def _take_source(self, input_ids: Any, attention_mask: Any) -> tuple[Tensor, Tensor | None]:
        ids = take_ids(input_ids, self.settings.vocabulary, self.device)
        self.check_width(ids.shape[1], self.settings.positions)
        return ids, take_mask(attention_mask, ids)

    def _take_decoder_ids(
        self, given: Any, given_mask: Any, ids: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        s = self.settings
        if given is None:
            if self.head not in s.shifting_heads:
                raise ValueError(
                    "`decoder_input_ids` is missing: rows that begin with the model's first token"
                    + ("" if s.start_id is None else f", {s.start_id}")
                )
            if given_mask is not None:
                raise ValueError("`decoder_attention_mask` is given without `decoder_input_ids`")
            return shifted_source(ids, mask, s), mask
        read = take_ids(given, s.decoder_vocabulary, self.device, "decoder_input_ids")
        if read.shape[0] != ids.shape[0]:
            raise ValueError(
                f"`decoder_input_ids` must have as many rows as `input_ids`, {ids.shape[0]}, got {read.shape[0]}"
            )
        self.check_width(read.shape[1], s.positions, "decoder_input_ids")
        return read, take_mask(given_mask, read, "decoder_attention_mask")

    def _embed(self, tokens: nn.Embedding, ids: Tensor) -> Tensor:
        embedded: Tensor = tokens(ids)
        scale = self.settings.embedding_scale
        return embedded if scale == 1.0 else embedded * scale

    def _embed_decoder(self, ids: Tensor) -> Tensor:
        return self._embed(self.tokens if self.decoder_tokens is None else self.decoder_tokens, ids)

    def _encode(self, ids: Tensor, mask: Tensor | None, **wanted: bool) -> Run:
        return self.encoder.encode(ids, self._embed(self.tokens, ids), mask, **wanted)

    def _logits(self, hidden: Tensor) -> Tensor:
        assert self.output is not None
        scale = self.settings.output_scale
        embeddings = (self.tokens if self.decoder_tokens is None else self.decoder_tokens).weight
        logits: Tensor = self.output(hidden if scale == 1.0 else hidden * scale, embeddings)
        return logits if self.logits_bias is None else logits + self.logits_bias
