"""T5 (Raffel et al. 2020, arXiv:1910.10683), its version 1.1 and Flan-T5 (arXiv:2210.11416)."""

from __future__ import annotations

from dataclasses import replace

import torch

from numba_nlp.models.bart import read_token, read_tokens
from numba_nlp.models.encoder_decoder import EncoderDecoder
from numba_nlp.models.encoder_decoder_settings import EncoderDecoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.layers.activations import ACTIVATIONS
from numba_nlp.models.layers.source_block import BlockShape
from numba_nlp.models.settings import ConfigReader, shown
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "T5"]

#: A bucket is kept for each distance up to the farthest: 16 MiB a side. Models have 128.
_FARTHEST = 1 << 20
#: All heads together; one matrix holds queries, keys and values of them.
_WIDEST = 1 << 26


def read_settings(config: ConfigReader) -> EncoderDecoderSettings:
    """Settings under the names of T5's config.json."""
    config.also(hidden_size="d_model", num_hidden_layers="num_layers", num_attention_heads="num_heads", head_dim="d_kv")
    alone = config.config.get("architectures") in (["T5EncoderModel"], ["T5ForTokenClassification"])
    # transformers makes the encoder causal by them, or the decoder not
    config.only("is_causal", *((False, None) if alone else ()))
    config.only("is_decoder", False, None)
    width = config.whole("d_model", 512)
    vocabulary = config.whole("vocab_size", 32128)
    blocks = config.layers("num_layers", 6)
    has_other = config.config.get("num_decoder_layers") is not None
    gated, activation = _read_feed_forward(config)
    buckets = config.whole("relative_attention_num_buckets", 32, least=4)
    farthest = config.whole("relative_attention_max_distance", 128, most=_FARTHEST)
    if farthest <= buckets // 2:
        config.malformed.append(
            f"`relative_attention_max_distance` {farthest} must be above half of `relative_attention_num_buckets`, "
            f"{buckets // 2}"
        )
    heads, head_width = config.whole("num_heads", 8), config.whole("d_kv", 64)
    if heads * head_width > _WIDEST:
        config.malformed.append(
            f"`num_heads` {heads} of the width `d_kv` {head_width} are {heads * head_width} together; the most are "
            f"{_WIDEST}"
        )
        heads, head_width = 1, 1  # whatever reads on multiplies them
    shape = BlockShape(
        width=width,
        heads=heads,
        head_width=head_width,
        inner_width=config.whole("d_ff", 2048),
        activation=activation,
        gated=gated,
        bias=False,
        scale=1.0,
        norm_first=True,
        rms_norm=True,
        norm_epsilon=config.number("layer_norm_epsilon", 1e-6),
    )
    return EncoderDecoderSettings(
        vocabulary=vocabulary,
        decoder_vocabulary=vocabulary,
        shared=True,
        positions=None,
        encoder_blocks=blocks,
        decoder_blocks=config.layers("num_decoder_layers", blocks) if has_other else blocks,
        encoder=shape,
        decoder=shape,
        position_kind="relative",
        norm_begin=False,
        norm_end=True,
        embedding_scale=1.0,
        output_scale=width**-0.5 if _scales_output(config) else 1.0,
        # whatever config.json says; a checkpoint with another matrix unties it
        tied=True,
        logits_bias=False,
        padding_id=read_token(config, "pad_token_id", 0, vocabulary),
        start_id=read_token(config, "decoder_start_token_id", None, vocabulary),
        end_ids=read_tokens(config, "eos_token_id", 1),
        shifting_heads=("sequence_classification", "question_answering"),
        start_is_last=False,
        labels=config.labels()[0],
        encoder_only=alone,
        buckets=buckets,
        farthest=max(farthest, buckets // 2 + 1),
    )


def _read_feed_forward(config: ConfigReader) -> tuple[bool, str]:
    """Whether the feed-forward layer is gated, and its activation: "relu", "gated-gelu" ...

    ``is_gated_act`` and ``dense_act_fn``, which transformers derives and writes too, count more where they are there.
    """
    value = config.config.get("feed_forward_proj", "relu")
    gated, _, activation = value.rpartition("-") if isinstance(value, str) else ("", "", "")
    if value == "gated-gelu":  # the first models of version 1.1 say so and mean the approximation with tanh
        activation = "gelu_new"
    if gated not in ("", "gated") or activation not in ACTIVATIONS:
        config.unsupported.append(
            f"`feed_forward_proj` {shown(value)} is not supported: an activation or gated-activation of "
            + ", ".join(ACTIVATIONS)
        )
        return False, "relu"
    return config.flag("is_gated_act", gated == "gated"), config.activation("dense_act_fn", activation)


def _scales_output(config: ConfigReader) -> bool:
    """Whether what goes into the output layer is scaled: version 1.0 does, 1.1 and Flan do not.

    Their config.json files say it by ``tie_word_embeddings`` false; transformers 5 writes ``scale_decoder_outputs``.
    """
    if "scale_decoder_outputs" in config.config:
        return config.flag("scale_decoder_outputs")
    # transformers asks whether it is not false, so that null means true
    return config.config.get("tie_word_embeddings", True) is None or config.flag("tie_word_embeddings", True)


class T5(EncoderDecoder):
    """T5, with or without a head; see `EncoderDecoder`."""

    prefix = "transformer"

    def __init__(self, settings: EncoderDecoderSettings, head: str) -> None:
        alone = head == "token_classification" or (head == "none" and settings.encoder_only)
        super().__init__(replace(settings, encoder_only=alone), head)

    def cast(self, dtype: torch.dtype) -> None:
        """As transformers does it, models of float16 keep one map of the feed-forward layers in float32.

        Its products leave the range of float16 in the larger models.
        """
        super().cast(dtype)
        if dtype == torch.float16:
            for stack in (self.encoder, self.decoder):
                for block in () if stack is None else stack.blocks:
                    block.feed_forward.output.float()

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        to.embedding(self.tokens, "shared", same=("encoder.embed_tokens", "decoder.embed_tokens"))
        for side, stack in (("encoder", self.encoder), ("decoder", self.decoder)):
            if stack is None:
                continue
            assert stack.relative is not None
            to.tensor(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", stack.relative.weight)
            for i, block in enumerate(stack.blocks):
                layer = f"{side}.block.{i}.layer"
                to.stacked(block.attention.qkv, *(f"{layer}.0.SelfAttention.{part}" for part in "qkv"))
                to.linear(block.attention.output, f"{layer}.0.SelfAttention.o")
                to.norm(block.attention_norm, f"{layer}.0.layer_norm")
                if block.source_attention is not None:
                    to.linear(block.source_attention.query, f"{layer}.1.EncDecAttention.q")
                    to.stacked(block.source_attention.kv, *(f"{layer}.1.EncDecAttention.{part}" for part in "kv"))
                    to.linear(block.source_attention.output, f"{layer}.1.EncDecAttention.o")
                    to.norm(block.source_norm, f"{layer}.1.layer_norm")
                at = f"{layer}.{1 if block.source_attention is None else 2}"
                if block.feed_forward.gated:
                    to.stacked(block.feed_forward.inner, f"{at}.DenseReluDense.wi_0", f"{at}.DenseReluDense.wi_1")
                else:
                    to.linear(block.feed_forward.inner, f"{at}.DenseReluDense.wi")
                to.linear(block.feed_forward.output, f"{at}.DenseReluDense.wo")
                to.norm(block.feed_forward_norm, f"{at}.layer_norm")
            to.norm(stack.end, f"{side}.final_layer_norm")
        if self.output is not None:
            to.output(self.output, "lm_head", "shared")
        if self.row_classifier is not None:
            to.linear(self.row_classifier.inner, "classification_head.dense")
            to.linear(self.row_classifier.output, "classification_head.out_proj")
        if self.classifier is not None:
            to.linear(self.classifier, "classifier" if self.head == "token_classification" else "qa_outputs")
        # of the first checkpoints, whose attention to the source had a bias without use
        to.ignored("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")
        to.ignored("lm_head.weight", "classification_head.*", "classifier.*", "qa_outputs.*")
        if self.decoder is None:
            to.ignored("decoder.*")


FAMILIES = {
    "t5": Family(
        name="t5",
        heads={
            "T5Model": "none",
            "T5EncoderModel": "none",
            "T5ForConditionalGeneration": "conditional_generation",
            "T5WithLMHeadModel": "conditional_generation",
            "T5ForSequenceClassification": "sequence_classification",
            "T5ForTokenClassification": "token_classification",
            "T5ForQuestionAnswering": "question_answering",
        },
        read_settings=read_settings,
        build=T5,
    )
}
