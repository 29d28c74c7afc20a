"""GPT, the first one (Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training")."""

from __future__ import annotations

from numba_nlp.models.decoder import DecoderModel, DecoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.gpt2 import SIZES, name_blocks
from numba_nlp.models.settings import ConfigReader
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "Gpt", "read_settings"]


def read_settings(config: ConfigReader) -> DecoderSettings:
    """Settings under the names of GPT's config.json."""
    config.also(**SIZES)
    width, heads, layers = config.whole("n_embd", 768), config.whole("n_head", 12), config.layers("n_layer", 12)
    head_width = config.share("n_embd", width, "n_head", heads)
    activation = config.choice("afn", "gelu", ("gelu", "relu", "silu", "swish"))
    return DecoderSettings(
        vocabulary=config.whole("vocab_size", 40478),
        positions=config.whole("n_positions", 512),
        width=width,
        inner_width=4 * width,
        layers=layers,
        heads=heads,
        # the family's "gelu" has always been the approximation with tanh
        activation="gelu_new" if activation == "gelu" else activation,
        norm_epsilon=config.number("layer_norm_epsilon", 1e-5),
        norm_first=False,
        scales=(head_width**-0.5,) * layers,
        tied=config.flag("tie_word_embeddings", True),
        labels=config.labels()[0],
        padding_id=config.optional_whole("pad_token_id", least=-1),
    )


class Gpt(DecoderModel):
    """GPT, with or without a head; see `DecoderModel`."""

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        to.embedding(self.decoder.tokens, "transformer.tokens_embed")
        to.embedding(self.decoder.positions, "transformer.positions_embed")
        name_blocks(to, self)
        if self.output is not None:
            to.output(self.output, "lm_head", "transformer.tokens_embed")


FAMILIES = {
    "openai-gpt": Family(
        name="openai-gpt",
        heads={
            "OpenAIGPTLMHeadModel": "language_model",
            "OpenAIGPTModel": "none",
            "OpenAIGPTDoubleHeadsModel": "language_model",
            "OpenAIGPTForSequenceClassification": "sequence_classification",
        },
        read_settings=read_settings,
        build=Gpt,
    )
}
