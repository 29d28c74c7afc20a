"""RoBERTa (Liu et al. 2019, arXiv:1907.11692), XLM-R (arXiv:1911.02116) and CamemBERT (arXiv:1911.03894).

They are BERT with positions that are counted without padding, beginning behind the id of the padding token, and with
other names for the heads.
"""

from __future__ import annotations

from numba_nlp.models.bert import encoder_heads, name_encoder, read_encoder_settings
from numba_nlp.models.encoder import EncoderModel, EncoderSettings
from numba_nlp.models.families import Family
from numba_nlp.models.settings import ConfigReader
from numba_nlp.models.weights import TensorMap

__all__ = ["FAMILIES", "Roberta"]


class Roberta(EncoderModel):
    """RoBERTa, with or without a head.

    Parameters
    ----------
    settings : EncoderSettings
    head : str
        "none", "masked_lm", "sequence_classification", "token_classification" or "question_answering".
    """

    prefix = "roberta"
    masked_lm_activation = "gelu"

    def name_tensors(self, to: TensorMap) -> None:
        """Names in checkpoints of transformers."""
        name_encoder(to, self.encoder, "roberta")
        if self.head == "none" and self.pooler is not None:
            to.linear(self.pooler.linear, "roberta.pooler.dense")
            to.optional(self, "pooler", "roberta.pooler")
        if self.masked_lm is not None:
            to.linear(self.masked_lm.transform, "lm_head.dense")
            to.norm(self.masked_lm.norm, "lm_head.layer_norm")
            to.output(self.masked_lm.output, "lm_head.decoder", "roberta.embeddings.word_embeddings")
            to.tensor("lm_head.decoder.bias", self.masked_lm.output.bias, instead=("lm_head.bias",))
        if self.head == "sequence_classification":
            to.linear(self.pooler.linear, "classifier.dense")
            to.linear(self.classifier, "classifier.out_proj")
        elif self.classifier is not None:
            to.linear(self.classifier, "qa_outputs" if self.head == "question_answering" else "classifier")
        to.ignored("roberta.pooler.*", "lm_head.*", "classifier.*", "qa_outputs.*")


def _read(config: ConfigReader, vocabulary: int) -> EncoderSettings:
    padding_id = config.whole("pad_token_id", 1, least=0)
    settings = read_encoder_settings(config, vocabulary=vocabulary, padding_id=padding_id)
    if settings.longest < 1:
        config.malformed.append(
            f"`pad_token_id` {padding_id} leaves none of the {settings.positions} positions "
            "(`max_position_embeddings`): they are counted from it"
        )
    return settings


FAMILIES = {
    "roberta": Family("roberta", encoder_heads("Roberta"), lambda config: _read(config, 50265), Roberta),
    "xlm-roberta": Family("xlm-roberta", encoder_heads("XLMRoberta"), lambda config: _read(config, 30522), Roberta),
    "camembert": Family("camembert", encoder_heads("Camembert"), lambda config: _read(config, 30522), Roberta),
}
