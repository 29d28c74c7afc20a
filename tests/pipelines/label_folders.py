"""Checkpoint folders of small models with a head and a tokenizer, one for each family that has it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba_nlp as nlp
from numba_nlp.pipelines import pipeline
from tests.models.test_tokenizer_inputs import CASES
from tests.models.tiny import make_reference, save, transformers

__all__ = ["CLASSIFIERS", "ENCODERS", "FILLERS", "our_pipeline", "their_pipeline", "tokenizer_of", "write_folder"]

#: Family -> class that classifies rows.
CLASSIFIERS = {
    "bert": "BertForSequenceClassification",
    "camembert": "CamembertForSequenceClassification",
    "distilbert": "DistilBertForSequenceClassification",
    "electra": "ElectraForSequenceClassification",
    "roberta": "RobertaForSequenceClassification",
    "xlm-roberta": "XLMRobertaForSequenceClassification",
    "gpt2": "GPT2ForSequenceClassification",
    "openai-gpt": "OpenAIGPTForSequenceClassification",
    "xlnet": "XLNetForSequenceClassification",
    "bart": "BartForSequenceClassification",
    "mbart": "MBartForSequenceClassification",
    "t5": "T5ForSequenceClassification",
}
#: Family -> class that fills masks.
FILLERS = {
    "bert": "BertForMaskedLM",
    "camembert": "CamembertForMaskedLM",
    "distilbert": "DistilBertForMaskedLM",
    "electra": "ElectraForMaskedLM",
    "roberta": "RobertaForMaskedLM",
    "xlm-roberta": "XLMRobertaForMaskedLM",
    "bart": "BartForConditionalGeneration",
    "mbart": "MBartForConditionalGeneration",
}
#: Family -> class without a head.
ENCODERS = {family: CASES[family][0] for family in ("bert", "distilbert", "roberta", "xlm-roberta", "gpt2", "xlnet")}


@cache
def tokenizer_of(family: str) -> nlp.Tokenizer:
    """Ours of a folder of the family, loaded once, for those of SentencePiece take most of a second."""
    with TemporaryDirectory() as folder:
        CASES[family][2](Path(folder))
        return nlp.load_tokenizer(folder)


def our_pipeline(task: str, folder: Path, family: str, **options: Any) -> Any:
    """Our pipeline over the model of a folder, and the tokenizer that it has, too."""
    return pipeline(task, model=folder, tokenizer=tokenizer_of(family), **options)


def write_folder(folder: Path, family: str, architecture: str, **settings: Any) -> Any:
    """Write a checkpoint; gives the model of transformers.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    family : str
    architecture : str
        Class of the model.
    **settings
        Of its configuration, in place of those of the small one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _, sizes, write_tokenizer = CASES[family]
    if family == "t5":  # as its checkpoints have it, and configurations by default have not
        sizes = {**sizes, "decoder_start_token_id": 0}
    write_tokenizer(folder)
    words = tokenizer_of(family).vocab_size
    reference = make_reference(architecture, **{"vocab_size": words, **sizes, **settings})
    save(reference, folder)
    return reference


def their_pipeline(task: str, folder: Path, model: Any) -> Any:
    """The pipeline of transformers over a model and the tokenizer of its folder."""
    return transformers.pipeline(task, model=model, tokenizer=transformers.AutoTokenizer.from_pretrained(folder))
