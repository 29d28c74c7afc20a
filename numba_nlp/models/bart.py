"""BART (Lewis et al. 2019, arXiv:1910.13461), DistilBART, and what the families of its layout share."""

from __future__ import annotations

from dataclasses import dataclass

from numba_nlp.models.encoder_decoder import EncoderDecoder
from numba_nlp.models.encoder_decoder_settings import EncoderDecoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.layers.source_block import BlockShape
from numba_nlp.models.settings import DEFAULT_LABELS, ConfigReader, shown
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "Bart", "Switches", "read_settings", "read_token", "read_tokens"]


@dataclass(frozen=True)
class Switches:
    """How a family of BART's layout is made, and what its config.json means where it says nothing.

    Attributes
    ----------
    position_kind, norm_begin, norm_end, logits_bias, shifting_heads, start_is_last
        As of `EncoderDecoderSettings`.
    norm_first : bool
        As of `BlockShape`.
    vocabulary, padding_id, end_id, start_id, activation, scale_embedding, labels
        Defaults.
    may_split : bool
        Whether both sides may have embeddings of their own.
    """

    position_kind: str
    norm_first: bool
    norm_begin: bool
    norm_end: bool
    vocabulary: int
    padding_id: int
    end_id: int
    start_id: int | None
    activation: str = "gelu"
    scale_embedding: bool = False
    logits_bias: bool = True
    shifting_heads: tuple[str, ...] = ()
    start_is_last: bool = False
    may_split: bool = False
    labels: int = DEFAULT_LABELS


def read_token(config: ConfigReader, name: str, default: int | None, vocabulary: int) -> int | None:
    """Id of a special token, or None."""
    value = config.optional_whole(name, default)
    if value is not None and value >= vocabulary:
        config.malformed.append(f"`{name}` {value} is not in the vocabulary of {vocabulary}")
    return value


def read_tokens(config: ConfigReader, name: str, default: int) -> tuple[int, ...]:
    """Ids of special tokens: one, or a list."""
    value = config.config.get(name, default)
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in values):
        config.malformed.append(f"`{name}` must be an id or a list of ids, got {shown(value)}")
        return (default,)
    return tuple(values)


def read_settings(config: ConfigReader, switches: Switches) -> EncoderDecoderSettings:
    """Settings under BART's names."""
    s = switches
    config.also(
        hidden_size="d_model", num_hidden_layers="encoder_layers", num_attention_heads="encoder_attention_heads"
    )
    # transformers makes the encoder causal by it, or the decoder not
    config.only("is_causal")
    width = config.whole("d_model", 1024)
    vocabulary = config.whole("vocab_size", s.vocabulary)
    tied = config.flag("tie_word_embeddings", True)
    split = s.may_split and not config.flag("share_encoder_decoder_embeddings", True)
    activation = config.activation("activation_function", s.activation)
    positions = config.whole("max_position_embeddings", 1024)

    def shape(side: str) -> BlockShape:
        heads = config.whole(f"{side}_attention_heads", 16)
        head_width = config.share("d_model", width, f"{side}_attention_heads", heads)
        return BlockShape(
            width=width,
            heads=heads,
            head_width=head_width,
            inner_width=config.whole(f"{side}_ffn_dim", 4096),
            activation=activation,
            gated=False,
            bias=True,
            scale=head_width**-0.5,
            norm_first=s.norm_first,
            rms_norm=False,
            norm_epsilon=1e-5,
        )

    if s.position_kind != "learned":
        config.limit_table("max_position_embeddings", positions, width)
    padding_id = read_token(config, "pad_token_id", s.padding_id, vocabulary)
    if s.position_kind == "counted_sines":
        if padding_id is None:
            config.malformed.append("`pad_token_id` must be an id: positions are counted from it")
            padding_id = 0
        config.limit_table("pad_token_id", padding_id, width)
        if width < 4:
            config.malformed.append(f"`d_model` must be at least 4 for positions of sines, got {width}")
    decoder_vocabulary = (config.optional_whole("decoder_vocab_size", least=1) if split else None) or vocabulary
    return EncoderDecoderSettings(
        vocabulary=vocabulary,
        decoder_vocabulary=decoder_vocabulary,
        # transformers 5 ties nothing at all where config.json says that words are not tied
        shared=tied and not split,
        positions=positions,
        encoder_blocks=config.layers("encoder_layers", 12),
        decoder_blocks=config.layers("decoder_layers", 12),
        encoder=shape("encoder"),
        decoder=shape("decoder"),
        position_kind=s.position_kind,
        norm_begin=s.norm_begin,
        norm_end=s.norm_end,
        embedding_scale=width**0.5 if config.flag("scale_embedding", s.scale_embedding) else 1.0,
        output_scale=1.0,
        tied=tied,
        logits_bias=s.logits_bias,
        padding_id=padding_id,
        start_id=read_token(config, "decoder_start_token_id", s.start_id, decoder_vocabulary),
        end_ids=read_tokens(config, "eos_token_id", s.end_id),
        shifting_heads=s.shifting_heads,
        start_is_last=s.start_is_last,
        labels=config.labels(s.labels)[0],
    )


class Bart(EncoderDecoder):
    """BART and the families of its layout, with or without a head; see `EncoderDecoder`."""

    prefix = "model"

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        if self.decoder_tokens is None:
            embedding = "model.shared"
            to.embedding(self.tokens, embedding, same=("model.encoder.embed_tokens", "model.decoder.embed_tokens"))
        else:
            embedding = "model.decoder.embed_tokens"
            for tokens, side in ((self.tokens, "encoder"), (self.decoder_tokens, "decoder")):
                to.tensor(f"model.{side}.embed_tokens.weight", tokens.weight, instead=("model.shared.weight",))
        for side, stack in (("encoder", self.encoder), ("decoder", self.decoder)):
            assert stack is not None
            at = f"model.{side}"
            if self.settings.position_kind == "counted_sines":
                to.ignored(f"{at}.embed_positions.weights")
            else:
                assert stack.positions is not None
                # Sines are computed where they are absent; Marian's converter also puts learned ones in their place.
                computed = self.settings.position_kind == "sines"
                to.tensor(f"{at}.embed_positions.weight", stack.positions.weight, computed=computed)
            if self.settings.norm_begin:
                to.norm(stack.begin, f"{at}.layernorm_embedding")
            if self.settings.norm_end:
                to.norm(stack.end, f"{at}.layer_norm")
            for i, block in enumerate(stack.blocks):
                layer = f"{at}.layers.{i}"
                to.stacked(block.attention.qkv, *(f"{layer}.self_attn.{part}_proj" for part in "qkv"))
                to.linear(block.attention.output, f"{layer}.self_attn.out_proj")
                to.norm(block.attention_norm, f"{layer}.self_attn_layer_norm")
                if block.source_attention is not None:
                    to.linear(block.source_attention.query, f"{layer}.encoder_attn.q_proj")
                    to.stacked(block.source_attention.kv, *(f"{layer}.encoder_attn.{part}_proj" for part in "kv"))
                    to.linear(block.source_attention.output, f"{layer}.encoder_attn.out_proj")
                    to.norm(block.source_norm, f"{layer}.encoder_attn_layer_norm")
                to.linear(block.feed_forward.inner, f"{layer}.fc1")
                to.linear(block.feed_forward.output, f"{layer}.fc2")
                to.norm(block.feed_forward_norm, f"{layer}.final_layer_norm")
        if self.output is not None:
            to.output(self.output, "lm_head", embedding)
        if self.logits_bias is not None:
            to.tensor("final_logits_bias", self.logits_bias)
            to.optional(self, "logits_bias", "final_logits_bias")
        if self.row_classifier is not None:
            to.linear(self.row_classifier.inner, "classification_head.dense")
            to.linear(self.row_classifier.output, "classification_head.out_proj")
        if self.classifier is not None:
            to.linear(self.classifier, "qa_outputs")
        to.ignored("model.encoder.version", "model.decoder.version")
        to.ignored("lm_head.weight", "final_logits_bias", "classification_head.*", "qa_outputs.*")


def family(name: str, classes: str, switches: Switches, **heads: str) -> Family:
    """A family of BART's layout whose classes in transformers begin with ``classes``."""
    return Family(
        name=name,
        heads={f"{classes}{ending}": head for ending, head in heads.items()},
        read_settings=lambda config: read_settings(config, switches),
        build=Bart,
    )


FAMILIES = {
    "bart": family(
        "bart",
        "Bart",
        Switches(
            position_kind="learned",
            norm_first=False,
            norm_begin=True,
            norm_end=False,
            vocabulary=50265,
            padding_id=1,
            end_id=2,
            start_id=2,
            shifting_heads=("none", "conditional_generation", "sequence_classification", "question_answering"),
            labels=3,
        ),
        Model="none",
        ForConditionalGeneration="conditional_generation",
        ForSequenceClassification="sequence_classification",
        ForQuestionAnswering="question_answering",
    )
}
