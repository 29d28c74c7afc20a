"""BERT (Devlin et al. 2018, arXiv:1810.04805), and what its kin share of names."""

from __future__ import annotations

from typing import Any

from numba_nlp.models.encoder import Encoder, EncoderModel, EncoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.settings import ConfigReader
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "Bert", "encoder_heads", "name_encoder", "read_encoder_settings"]


def read_encoder_settings(
    config: ConfigReader,
    *,
    vocabulary: int = 30522,
    width: int = 768,
    inner_width: int = 3072,
    heads: int = 12,
    **more: Any,
) -> EncoderSettings:
    """Settings under the names of BERT's config.json, which its kin share.

    Parameters
    ----------
    config : ConfigReader
    vocabulary, width, inner_width, heads : int
        What the family takes where the file says nothing.
    **more
        Settings that the family adds, or reads in another way.
    """
    width = config.whole("hidden_size", width)
    heads = config.whole("num_attention_heads", heads)
    config.share("hidden_size", width, "num_attention_heads", heads)
    # relative positions (Shaw et al. 2018), which transformers had before its version 5
    config.only("position_embedding_type", "absolute")
    config.only("is_decoder", False)
    config.only("is_causal", False, None)
    read: dict[str, Any] = {
        "vocabulary": config.whole("vocab_size", vocabulary),
        "positions": config.whole("max_position_embeddings", 512),
        "types": config.whole("type_vocab_size", 2),
        "width": width,
        "embedding_width": width,
        "inner_width": config.whole("intermediate_size", inner_width),
        "layers": config.layers("num_hidden_layers", 12),
        "heads": heads,
        "activation": config.activation("hidden_act", "gelu"),
        "norm_epsilon": config.number("layer_norm_eps", 1e-12),
        "tied": config.flag("tie_word_embeddings", True),
        "labels": config.labels()[0],
    }
    return EncoderSettings(**{**read, **more})


def name_encoder(to: TensorMap, encoder: Encoder, base: str) -> None:
    """Names of the encoder's tensors below the name ``base``, which BERT and its kin share."""
    to.embedding(encoder.embeddings.tokens, f"{base}.embeddings.word_embeddings")
    to.embedding(encoder.embeddings.positions, f"{base}.embeddings.position_embeddings")
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


def encoder_heads(begin: str, **more: str) -> dict[str, str]:
    """Names of classes that begin with ``begin``, as all families of encoders have them, with their heads."""
    return {
        f"{begin}Model": "none",
        f"{begin}ForMaskedLM": "masked_lm",
        f"{begin}ForSequenceClassification": "sequence_classification",
        f"{begin}ForTokenClassification": "token_classification",
        f"{begin}ForQuestionAnswering": "question_answering",
        **{f"{begin}{end}": head for end, head in more.items()},
    }


class Bert(EncoderModel):
    """BERT, with or without a head.

    Parameters
    ----------
    settings : EncoderSettings
    head : str
        "none", "masked_lm", "sequence_classification", "token_classification" or "question_answering".
    """

    prefix = "bert"

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        name_encoder(to, self.encoder, "bert")
        if self.pooler is not None:
            to.linear(self.pooler.linear, "bert.pooler.dense")
            if self.head == "none":
                to.optional(self, "pooler", "bert.pooler")
        if self.masked_lm is not None:
            to.linear(self.masked_lm.transform, "cls.predictions.transform.dense")
            to.norm(self.masked_lm.norm, "cls.predictions.transform.LayerNorm")
            to.output(self.masked_lm.output, "cls.predictions.decoder", "bert.embeddings.word_embeddings")
            to.tensor("cls.predictions.decoder.bias", self.masked_lm.output.bias, instead=("cls.predictions.bias",))
        if self.classifier is not None:
            to.linear(self.classifier, "qa_outputs" if self.head == "question_answering" else "classifier")
        to.ignored("bert.pooler.*", "cls.*", "classifier.*", "qa_outputs.*")


FAMILIES = {
    "bert": Family(
        name="bert",
        heads=encoder_heads("Bert", ForPreTraining="masked_lm"),
        read_settings=read_encoder_settings,
        build=Bert,
    )
}
