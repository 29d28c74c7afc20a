"""XLNet (Yang et al. 2019, arXiv:1906.08237): relative positions, a memory, and a stream that does not see itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from numba_nlp.models.families import Family
from numba_nlp.models.inputs import as_tensor, refuse_unknown, take_ids, take_like, take_mask
from numba_nlp.models.layers.activations import ACTIVATIONS
from numba_nlp.models.layers.heads import OutputLayer
from numba_nlp.models.layers.permutation_masks import causal_order, stream_masks
from numba_nlp.models.layers.pooled import first_position, last_position, pick_position
from numba_nlp.models.layers.pooling import check_pooling, pool
from numba_nlp.models.layers.relative_attention import relative_sinusoids
from numba_nlp.models.layers.span_beam import SpanBeam
from numba_nlp.models.layers.two_streams import Streams, XlnetBlock, other_segment
from numba_nlp.models.model import Model
from numba_nlp.models.outputs import ModelOutput
from numba_nlp.models.weights import TensorMap
from numba_nlp.models.xlnet_settings import XlnetSettings, read_settings
from numba_nlp.models.xlnet_steps import XlnetCache, make_cache, read_prompt, read_step

__all__ = ["FAMILIES", "Xlnet"]

#: Token types are compared with each other only: any number is one.
_ANY_TYPE = 2**31


class Xlnet(Model):
    """XLNet, with or without a head.

    Parameters
    ----------
    settings : XlnetSettings
    head : str
        "none", "language_model", "sequence_classification", "token_classification" or "question_answering".
    """

    prefix = "transformer"

    def __init__(self, settings: XlnetSettings, head: str) -> None:
        super().__init__(settings, head)
        s = settings
        self.tokens = nn.Embedding(s.vocabulary, s.width)
        #: What the query stream begins with: that a token is to be predicted, not which.
        self.query_start = nn.Parameter(torch.zeros(1, 1, s.width))
        self.blocks = nn.ModuleList(
            XlnetBlock(s.width, s.heads, s.head_width, s.inner_width, s.activation, s.norm_epsilon)
            for _ in range(s.layers)
        )
        self.output = OutputLayer(s.width, s.vocabulary, tied=s.tied, bias=True) if head == "language_model" else None
        by_row = head == "sequence_classification"
        self.summary = nn.Linear(s.width, s.width) if by_row and s.summary_linear else None
        self.span_beam = None
        if head == "question_answering" and s.span_beam is not None:
            self.span_beam = SpanBeam(s.width, s.norm_epsilon, *s.span_beam)
        self.classifier = {
            "sequence_classification": nn.Linear(s.width, s.labels),
            "token_classification": nn.Linear(s.width, s.labels),
            "question_answering": nn.Linear(s.width, 2) if self.span_beam is None else None,
        }.get(head)

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        s = self.settings
        to.embedding(self.tokens, "transformer.word_embedding")
        to.tensor("transformer.mask_emb", self.query_start)
        by_head = (s.heads, s.head_width, s.width)
        for i, block in enumerate(self.blocks):
            at, attention = f"transformer.layer.{i}.rel_attn", block.attention
            # stored as [model width, heads, head width]
            for name, weight in zip("qkv", attention.qkv.weight.chunk(3), strict=True):
                to.tensor(f"{at}.{name}", weight.view(by_head).permute(2, 0, 1))
            to.tensor(f"{at}.r", attention.positions.weight.view(by_head).permute(2, 0, 1))
            to.tensor(f"{at}.o", attention.output.weight.view(s.width, s.heads, s.head_width))
            to.tensor(f"{at}.r_w_bias", attention.content_bias)
            to.tensor(f"{at}.r_r_bias", attention.position_bias)
            to.tensor(f"{at}.r_s_bias", attention.segment_bias)
            to.tensor(f"{at}.seg_embed", attention.segments)
            to.norm(block.attention_norm, f"{at}.layer_norm")
            at = f"transformer.layer.{i}.ff"
            to.linear(block.feed_forward.inner, f"{at}.layer_1")
            to.linear(block.feed_forward.output, f"{at}.layer_2")
            to.norm(block.feed_forward_norm, f"{at}.layer_norm")
        if self.output is not None:
            to.output(self.output, "lm_loss", "transformer.word_embedding")
            to.tensor("lm_loss.bias", self.output.bias)
        if self.summary is not None:
            to.linear(self.summary, "sequence_summary.summary")
        if self.span_beam is not None:
            self.span_beam.name_tensors(to)
        if self.classifier is not None:
            names = {"sequence_classification": "logits_proj", "token_classification": "classifier"}
            to.linear(self.classifier, names.get(self.head, "qa_outputs"))
        to.ignored("lm_loss.*", "sequence_summary.*", "logits_proj.*", "classifier.*", "qa_outputs.*")
        to.ignored("start_logits.*", "end_logits.*", "answer_class.*")

    def forward(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        token_type_ids: Any = None,
        *,
        mems: Sequence[Tensor] | None = None,
        perm_mask: Any = None,
        target_mapping: Any = None,
        use_mems: bool = False,
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
            1 for tokens that count, 0 for padding, ``[rows, width]``; by default all count. After a padded call it
            may be ``[rows, memory + width]`` to say which remembered tokens count; else all of them do.
        token_type_ids : array-like or Tensor, optional
            Segment of each token, of the shape of `input_ids`; by default there are no segments. Remembered tokens
            are of segment 0.
        mems : sequence of Tensor, optional
            What an earlier call remembered (`ModelOutput.mems`): one ``[memory, rows, model width]`` a layer.
        perm_mask : array-like or Tensor, optional
            ``[rows, width, width]``, 1 where the token of the row must not see that of the column: the order of
            factorisation.
        target_mapping : array-like or Tensor, optional
            ``[rows, predictions, width]``, 1 at the token that a prediction is for. With it, results are those of the
            predictions, by the stream that does not see the token itself.
        use_mems : bool, default False
            Also give the memory for the next call.
        output_hidden_states, output_attentions : bool, default False
            Also give the hidden states and the attention of each layer; with `target_mapping` of both streams,
            content before query.
        **others
            What tokenizers give and models do not read, such as ``special_tokens_mask``.

        Returns
        -------
        ModelOutput

        Raises
        ------
        ValueError
            An id is not in the vocabulary, or a shape is another.
        """
        refuse_unknown(others, self.forward)
        hidden, counts, more = self._run(
            input_ids,
            attention_mask,
            token_type_ids,
            mems,
            perm_mask,
            target_mapping,
            use_mems=use_mems,
            want_hidden=output_hidden_states,
            want_weights=output_attentions,
        )
        return ModelOutput(**more, **self._results(hidden, counts))

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
        refuse_unknown(others, self.embed)
        check_pooling(pooling)
        hidden, counts, _ = self._run(input_ids, attention_mask, token_type_ids)
        return pool(hidden, counts, pooling)

    def _run(
        self,
        input_ids: Any,
        attention_mask: Any,
        token_type_ids: Any,
        mems: Sequence[Tensor] | None = None,
        perm_mask: Any = None,
        target_mapping: Any = None,
        *,
        use_mems: bool = False,
        want_hidden: bool = False,
        want_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None, dict[str, Any]]:
        """Hidden states, which of them count (None: all), and what else was wanted, by the names of `ModelOutput`."""
        ids = take_ids(input_ids, self.settings.vocabulary, self.device)
        types = take_like(token_type_ids, ids, _ANY_TYPE, "token_type_ids")
        memory = self._take_memory(mems, ids)
        past = 0 if memory is None else memory[0].shape[1]
        real, counts = self._take_mask(attention_mask, ids, past)
        order = self._order(_take_square(perm_mask, ids), ids, past)
        targets = _take_targets(target_mapping, ids, self.dtype)
        content_mask, query_mask = stream_masks(real, order, past, self.dtype)
        streams = Streams(
            sinusoids=self.sinusoids(past + ids.shape[1], -ids.shape[1]),
            content_mask=content_mask,
            query_mask=query_mask,
            other_segment=None if types is None else other_segment(types, past),
            targets=targets,
            want_weights=want_weights,
        )
        content = self.tokens(ids)
        query = None if targets is None else self.query_start.expand(targets.shape[0], targets.shape[1], -1)
        kept, states, attentions = [], [], []
        for layer, block in enumerate(self.blocks):
            before = None if memory is None else memory[layer]
            if use_mems:
                kept.append(self._remember(content, before))
            states.append((content, query))
            content, query, weights = block(content, query, before, streams)
            attentions.append(weights)
        states.append((content, query))
        more = {
            "mems": tuple(kept) if use_mems else None,
            "hidden_states": tuple(x for both in states for x in both if x is not None) if want_hidden else None,
            "attentions": tuple(attentions) if want_weights else None,
        }
        return (content, counts, more) if query is None else (query, None, more)

    def cache_shape(self) -> dict[str, Any]:
        """What a cache must be like to fit."""
        s, weight = self.settings, self.tokens.weight
        return {
            "layers": s.layers,
            "heads": s.heads,
            "head_width": s.head_width,
            "dtype": weight.dtype,
            "device": weight.device,
        }

    def new_cache(self, rows: int, positions: int, *, static: bool = False) -> XlnetCache:
        """A cache for `prompt` and `step`, for the weights as they are now.

        Parameters
        ----------
        rows : int
            Rows of a step; of a beam search, prompts times beams.
        positions : int
            Longest row, prompt with padding and new tokens.
        static : bool, default False
            As of `KVCache`: for CUDA graphs.

        Raises
        ------
        ValueError
            The model's memory is shorter.
        """
        with torch.no_grad():
            return make_cache(self, rows, positions, static=static)

    def prompt(self, input_ids: Any, attention_mask: Any, cache: XlnetCache) -> Tensor:
        """Read the beginning of the rows.

        Parameters
        ----------
        input_ids : array-like or Tensor
            Whole numbers ``[prompts, width]``. A prompt may be read once for several rows: the cache has a multiple
            of `prompts` rows, those of a prompt side by side.
        attention_mask : array-like, Tensor or None
            1 for tokens that count, 0 for padding, which must be on the left; None: all count.
        cache : XlnetCache
            Of `new_cache`, empty; it keeps what was read.

        Returns
        -------
        Tensor
            Logits of the token after each prompt, ``[prompts, vocabulary]``.

        Raises
        ------
        ValueError
            The model has no output layer; an id is not in the vocabulary; padding is on the right; the cache is not
            empty or of another model; or the tokens do not fit. It is as it was then. Ids and masks on a CUDA device
            are not looked at.
        """
        with torch.no_grad():  # the cache is written in place
            return read_prompt(self, input_ids, attention_mask, cache)

    def step(self, tokens: Any, cache: XlnetCache) -> Tensor:
        """Read one token more in each row, and the one before it again, now that they see each other.

        Parameters
        ----------
        tokens : array-like or Tensor
            Whole numbers ``[rows]``. A tensor is not looked at where it is on a CUDA device, or the cache is static:
            nothing here waits for the device.
        cache : XlnetCache
            What was read before; it keeps the token too.

        Returns
        -------
        Tensor
            Logits of the next token, ``[rows, vocabulary]``.

        Raises
        ------
        ValueError
            The cache has another number of rows, is empty, is full, or is of another model; a token is not in the
            vocabulary. The cache is as it was then.
        """
        with torch.no_grad():
            return read_step(self, tokens, cache)

    # --- what goes in

    def _take_memory(self, mems: Sequence[Tensor] | None, ids: Tensor) -> list[Tensor] | None:
        """The memory as [rows, memory, width] a layer; None where it is empty."""
        if mems is None:
            return None
        wanted = (ids.shape[0], self.settings.width)
        if isinstance(mems, Tensor) or not isinstance(mems, Iterable):
            raise TypeError(f"`mems` must be a sequence of tensors, one a layer, got {type(mems).__name__}")
        mems = tuple(mems)
        for layer in mems:
            if not isinstance(layer, Tensor) or not layer.is_floating_point():
                got = layer.dtype if isinstance(layer, Tensor) else type(layer).__name__
                raise TypeError(
                    f"`mems` must hold tensors of floating-point numbers, as an earlier call gives them, got {got}"
                )
        shapes = [tuple(layer.shape) for layer in mems]
        if len(set(shapes)) != 1 or len(shapes) != self.settings.layers or shapes[0][1:] != wanted:
            raise ValueError(
                f"`mems` must be {self.settings.layers} tensors of one shape [memory, {wanted[0]}, {wanted[1]}], as "
                f"an earlier call with as many rows gives them, got {[list(shape) for shape in shapes]}"
            )
        return [layer.transpose(0, 1) for layer in mems] if shapes[0][0] else None

    def _take_mask(self, values: Any, ids: Tensor, past: int) -> tuple[Tensor | None, Tensor | None]:
        """Which columns, and which tokens of this call, are real; None for all."""
        rows, width = ids.shape
        values = None if values is None else as_tensor(values, "attention_mask")
        if past and values is not None and values.shape == (rows, past + width):
            columns = take_mask(values, ids.new_zeros(rows, past + width))
            return columns, None if columns is None else columns[:, past:]
        mask = take_mask(values, ids)
        if mask is None or not past:
            return mask, mask
        return torch.nn.functional.pad(mask, (past, 0), value=True), mask

    def _order(self, perm: Tensor | None, ids: Tensor, past: int) -> Tensor | None:
        """Which columns are hidden from which tokens, [rows or 1, width, memory + width]; None for none."""
        hidden = None if perm is None else torch.nn.functional.pad(perm, (past, 0))
        if self.settings.causal:
            causal = causal_order(ids.shape[1], past, same_length=self.settings.same_length, device=ids.device)[None]
            hidden = causal if hidden is None else hidden | causal
        return hidden

    def sinusoids(self, first: int, end: int) -> Tensor:
        """Of the distances from `first` down to `end`, without it."""
        distances = torch.arange(first, end, -1, dtype=torch.float32, device=self.device)
        if self.settings.longest_distance is not None:
            distances = distances.clamp(-self.settings.longest_distance, self.settings.longest_distance)
        return relative_sinusoids(distances, self.settings.width).to(self.dtype)

    def _remember(self, content: Tensor, before: Tensor | None) -> Tensor:
        """What a layer reads, for the next call: [memory, rows, width]."""
        s = self.settings
        content = content.detach()[:, : s.remember_first]
        kept = content if before is None else torch.cat([before, content], dim=1)
        return kept[:, -s.memory :].transpose(0, 1) if s.memory else kept.transpose(0, 1)

    # --- what comes out

    def _results(self, hidden: Tensor, counts: Tensor | None) -> dict[str, Tensor]:
        if self.output is not None:
            return {"logits": self.output(hidden, self.tokens.weight)}
        if self.span_beam is not None:
            return self.span_beam(hidden, counts)
        if self.classifier is None:
            return {"last_hidden_state": hidden}
        if self.head == "sequence_classification":
            hidden = self._summary(hidden, counts)
        logits = self.classifier(hidden)
        if self.head == "question_answering":
            start, end = logits.unbind(-1)
            return {"start_logits": start.contiguous(), "end_logits": end.contiguous()}
        return {"logits": logits}

    def _summary(self, hidden: Tensor, counts: Tensor | None) -> Tensor:
        """One vector for a row."""
        s = self.settings
        if s.summary == "mean":
            hidden = pool(hidden, counts, "mean")
        else:
            # "cls_index" without an index is the last token, as in transformers
            position = (first_position if s.summary == "first" else last_position)(counts, hidden)
            hidden = pick_position(hidden, position)
        if self.summary is not None:
            hidden = self.summary(hidden)
        return hidden if s.summary_activation is None else ACTIVATIONS[s.summary_activation](hidden)


def _take_square(values: Any, ids: Tensor) -> Tensor | None:
    """perm_mask as bool [rows, width, width]."""
    if values is None:
        return None
    perm = as_tensor(values, "perm_mask").to(ids.device)
    rows, width = ids.shape
    if tuple(perm.shape) != (rows, width, width):
        raise ValueError(f"`perm_mask` must be of the shape {[rows, width, width]}, got {list(perm.shape)}")
    return perm > 0


def _take_targets(values: Any, ids: Tensor, dtype: torch.dtype) -> Tensor | None:
    """target_mapping as floating-point numbers [rows, predictions, width]."""
    if values is None:
        return None
    targets = as_tensor(values, "target_mapping").to(ids.device)
    rows, width = ids.shape
    if targets.dim() != 3 or targets.shape[0] != rows or targets.shape[2] != width:
        raise ValueError(
            f"`target_mapping` must be of the shape [{rows}, predictions, {width}], got {list(targets.shape)}"
        )
    return targets.to(dtype)


FAMILIES = {
    "xlnet": Family(
        name="xlnet",
        heads={
            "XLNetLMHeadModel": "language_model",
            "XLNetModel": "none",
            "XLNetForSequenceClassification": "sequence_classification",
            "XLNetForTokenClassification": "token_classification",
            "XLNetForQuestionAnsweringSimple": "question_answering",
            "XLNetForQuestionAnswering": "question_answering",
        },
        read_settings=read_settings,
        build=Xlnet,
    )
}
