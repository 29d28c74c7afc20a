"""GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"); DialoGPT is the same."""

from __future__ import annotations

from numba_nlp.models.decoder import DecoderModel, DecoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.settings import ConfigReader
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "SIZES", "Gpt2", "name_blocks", "read_settings"]

#: Names that GPT and GPT-2 have for sizes, by those of other families.
SIZES = {
    "hidden_size": "n_embd",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "max_position_embeddings": "n_positions",
}


def read_settings(config: ConfigReader) -> DecoderSettings:
    """Settings under the names of GPT-2's config.json."""
    config.also(**SIZES)
    width, heads, layers = config.whole("n_embd", 768), config.whole("n_head", 12), config.layers("n_layer", 12)
    head_width = config.share("n_embd", width, "n_head", heads)
    config.only("is_causal", True)
    scale = head_width**-0.5 if config.flag("scale_attn_weights", True) else 1.0
    by_layer = config.flag("scale_attn_by_inverse_layer_idx", False)
    return DecoderSettings(
        vocabulary=config.whole("vocab_size", 50257),
        positions=config.whole("n_positions", 1024),
        width=width,
        inner_width=config.optional_whole("n_inner", least=1) or 4 * width,
        layers=layers,
        heads=heads,
        activation=config.activation("activation_function", "gelu_new"),
        norm_epsilon=config.number("layer_norm_epsilon", 1e-5),
        norm_first=True,
        scales=tuple(scale / (i + 1) if by_layer else scale for i in range(layers)),
        tied=config.flag("tie_word_embeddings", True),
        labels=config.labels()[0],
        padding_id=config.optional_whole("pad_token_id", least=-1),
    )


def name_blocks(to: TensorMap, model: DecoderModel) -> None:
    """Names of the layers and the output, which GPT and GPT-2 share; their matrices are stored input by output."""
    for i, block in enumerate(model.decoder.blocks):
        at = f"transformer.h.{i}"
        to.norm(block.attention_norm, f"{at}.ln_1")
        to.linear(block.attention.qkv, f"{at}.attn.c_attn", transposed=True)
        to.linear(block.attention.output, f"{at}.attn.c_proj", transposed=True)
        to.norm(block.feed_forward_norm, f"{at}.ln_2")
        to.linear(block.feed_forward.inner, f"{at}.mlp.c_fc", transposed=True)
        to.linear(block.feed_forward.output, f"{at}.mlp.c_proj", transposed=True)
    if model.classifier is not None:
        names = {"sequence_classification": "score", "token_classification": "classifier"}
        to.linear(model.classifier, names.get(model.head, "qa_outputs"))
    # tables of the causal mask; other heads
    to.ignored("transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias", "transformer.position_ids")
    to.ignored("lm_head.weight", "multiple_choice_head.*", "score.*", "classifier.*", "qa_outputs.*")


class Gpt2(DecoderModel):
    """GPT-2, with or without a head; see `DecoderModel`."""

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        to.embedding(self.decoder.tokens, "transformer.wte")
        to.embedding(self.decoder.positions, "transformer.wpe")
        name_blocks(to, self)
        to.norm(self.decoder.norm, "transformer.ln_f")
        if self.output is not None:
            to.output(self.output, "lm_head", "transformer.wte")


FAMILIES = {
    "gpt2": Family(
        name="gpt2",
        heads={
            "GPT2LMHeadModel": "language_model",
            "GPT2Model": "none",
            "GPT2DoubleHeadsModel": "language_model",
            "GPT2ForSequenceClassification": "sequence_classification",
            "GPT2ForTokenClassification": "token_classification",
            "GPT2ForQuestionAnswering": "question_answering",
        },
        read_settings=read_settings,
        build=Gpt2,
    )
}
