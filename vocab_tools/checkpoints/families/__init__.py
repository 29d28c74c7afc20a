"""The tokenizer classes that are known, each in the module of its kind; imported when a checkpoint has it."""

from __future__ import annotations

import importlib

from vocab_tools.checkpoints.family import DirectFamily, Family

__all__ = ["KNOWN_CLASSES", "family_of"]

#: Name of a class, without "Fast" -> module with its ``FAMILIES``.
KNOWN_CLASSES = {
    "AlbertTokenizer": "albert",
    "BartTokenizer": "byte_level",
    "BarthezTokenizer": "barthez",
    "BertTokenizer": "bert",
    "CLIPTokenizer": "end_of_word",
    "CTRLTokenizer": "ctrl",
    "CamembertTokenizer": "camembert",
    "DistilBertTokenizer": "bert",
    "ElectraTokenizer": "bert",
    "GPT2Tokenizer": "byte_level",
    "LEDTokenizer": "byte_level",
    "LayoutLMTokenizer": "bert",
    "LlamaTokenizer": "llama",
    "LongformerTokenizer": "byte_level",
    "LxmertTokenizer": "bert",
    "M2M100Tokenizer": "m2m100",
    "MBart50Tokenizer": "mbart",
    "MBartTokenizer": "mbart",
    "MarianTokenizer": "marian",
    "MobileBertTokenizer": "bert",
    "MvpTokenizer": "byte_level",
    "NllbTokenizer": "nllb",
    "OpenAIGPTTokenizer": "end_of_word",
    "PegasusTokenizer": "pegasus",
    "RobertaTokenizer": "byte_level",
    "SqueezeBertTokenizer": "bert",
    "T5Tokenizer": "t5",
    "XLMRobertaTokenizer": "xlm_roberta",
    "XLNetTokenizer": "xlnet",
}


def family_of(name: str) -> Family | DirectFamily | None:
    """What a class is here; None when it is not known."""
    if name not in KNOWN_CLASSES:
        return None
    module = importlib.import_module(f"vocab_tools.checkpoints.families.{KNOWN_CLASSES[name]}")
    families: tuple[Family | DirectFamily, ...] = module.FAMILIES
    return next(family for family in families if name in family.names)
