"""DistilBERT (Sanh et al. 2019, arXiv:1910.01108): BERT without types of tokens and pooler, under other names."""

from __future__ import annotations

from numba_nlp.models.bert import encoder_heads
from numba_nlp.models.encoder import EncoderModel, EncoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.settings import ConfigReader
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "DistilBert"]


class DistilBert(EncoderModel):
    """DistilBERT, with or without a head.

    Parameters
    ----------
    settings : EncoderSettings
    head : str
        "none", "masked_lm", "sequence_classification", "token_classification" or "question_answering".
    """

    prefix = "distilbert"
    pooler_activation = "relu"
    has_pooler = False

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        embeddings = self.encoder.embeddings
        to.embedding(embeddings.tokens, "distilbert.embeddings.word_embeddings")
        to.embedding(embeddings.positions, "distilbert.embeddings.position_embeddings")
        to.norm(embeddings.norm, "distilbert.embeddings.LayerNorm")
        for i, block in enumerate(self.encoder.blocks):
            at = f"distilbert.transformer.layer.{i}"
            to.stacked(block.attention.qkv, *(f"{at}.attention.{part}_lin" for part in "qkv"))
            to.linear(block.attention.output, f"{at}.attention.out_lin")
            to.norm(block.attention_norm, f"{at}.sa_layer_norm")
            to.linear(block.feed_forward.inner, f"{at}.ffn.lin1")
            to.linear(block.feed_forward.output, f"{at}.ffn.lin2")
            to.norm(block.feed_forward_norm, f"{at}.output_layer_norm")
        if self.masked_lm is not None:
            to.linear(self.masked_lm.transform, "vocab_transform")
            to.norm(self.masked_lm.norm, "vocab_layer_norm")
            to.output(self.masked_lm.output, "vocab_projector", "distilbert.embeddings.word_embeddings")
            to.tensor("vocab_projector.bias", self.masked_lm.output.bias)
        if self.pooler is not None:
            to.linear(self.pooler.linear, "pre_classifier")
        if self.classifier is not None:
            to.linear(self.classifier, "qa_outputs" if self.head == "question_answering" else "classifier")
        to.ignored("distilbert.embeddings.position_ids", "vocab_*", "pre_classifier.*", "classifier.*", "qa_outputs.*")


def _read(config: ConfigReader) -> EncoderSettings:
    config.also(hidden_size="dim", num_attention_heads="n_heads", num_hidden_layers="n_layers")
    width = config.whole("dim", 768)
    heads = config.whole("n_heads", 12)
    config.share("dim", width, "n_heads", heads)
    config.only("is_causal", False, None)
    return EncoderSettings(
        vocabulary=config.whole("vocab_size", 30522),
        positions=config.whole("max_position_embeddings", 512),
        types=0,
        width=width,
        embedding_width=width,
        inner_width=config.whole("hidden_dim", 4 * 768),
        layers=config.layers("n_layers", 6),
        heads=heads,
        activation=config.activation("activation", "gelu"),
        norm_epsilon=1e-12,
        tied=config.flag("tie_word_embeddings", True),
        labels=config.labels()[0],
    )


FAMILIES = {"distilbert": Family("distilbert", encoder_heads("DistilBert"), _read, DistilBert)}
