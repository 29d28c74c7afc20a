"""What the tokenizer of a folder gives goes into its model as it is, in every family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sentencepiece", reason="trains small models")

import numba_nlp as nlp
from numba_nlp.models import supported_families
from tests import checkpoint_folders as plain
from tests.models.tiny import make_reference, save, torch
from tests.python_checkpoints import m2m100_folder, marian_folder
from tests.spm_folders import folder_of

TEXTS = ["the quick brown fox", "read a thing", "the"]
#: More than any of the tokenizers has.
VOCABULARY = 1200
_BERT = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 60,
}
_DISTILBERT = {"dim": 16, "hidden_dim": 24, "n_layers": 1, "n_heads": 2}
_GPT = {"n_embd": 16, "n_layer": 1, "n_head": 2}
_SIDES = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("layers", 1), ("ffn_dim", 24))}
_BART = {
    **_SIDES,
    "d_model": 16,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "max_position_embeddings": 60,
    "pad_token_id": 1,
    "decoder_start_token_id": 2,
}


def _bert(name: str) -> Callable[[Path], Any]:
    return lambda folder: plain.write_folder(
        folder, {**plain.bert_files(), "tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer"}}
    )


def _bytes(name: str, *specials: str) -> Callable[[Path], Any]:
    return lambda folder: plain.write_folder(
        folder,
        {
            **plain.merged_files(plain.byte_level(*specials)),
            "tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer"},
        },
    )


def _pieces(name: str, kind: str = "unigram", file: str = "sentencepiece.bpe.model") -> Callable[[Path], Any]:
    return lambda folder: folder_of(folder, f"{name}Tokenizer", kind, file)


def _gpt(folder: Path) -> Path:
    return plain.write_folder(
        folder,
        {
            **plain.merged_files(plain.end_of_word("<unk>")),
            "tokenizer_config.json": {"tokenizer_class": "OpenAIGPTTokenizer"},
        },
    )


_FIVE = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
#: Family -> class of transformers, its settings, what writes the tokenizer's files.
CASES: dict[str, tuple[str, dict[str, Any], Callable[[Path], Any]]] = {
    "bert": ("BertModel", _BERT, _bert("Bert")),
    "camembert": ("CamembertModel", _BERT, _pieces("Camembert")),
    "distilbert": ("DistilBertModel", _DISTILBERT, _bert("DistilBert")),
    "electra": ("ElectraModel", {**_BERT, "embedding_size": 8}, _bert("Electra")),
    "roberta": ("RobertaModel", _BERT, _bytes("Roberta", *_FIVE)),
    "xlm-roberta": ("XLMRobertaModel", _BERT, _pieces("XLMRoberta")),
    "gpt2": ("GPT2Model", _GPT, _bytes("GPT2", "<|endoftext|>")),
    "openai-gpt": ("OpenAIGPTModel", _GPT, _gpt),
    "xlnet": (
        "XLNetModel",
        {"d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 24},
        _pieces("XLNet", "unigram_xlnet", "spiece.model"),
    ),
    "bart": ("BartModel", _BART, _bytes("Bart", *_FIVE)),
    "m2m_100": ("M2M100Model", _BART, m2m100_folder),
    "marian": ("MarianModel", _BART, marian_folder),
    "mbart": ("MBartModel", _BART, _pieces("MBart")),
    "pegasus": ("PegasusModel", _BART, _pieces("Pegasus", "unigram_t5", "spiece.model")),
    "t5": (
        "T5Model",
        {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2},
        _pieces("T5", "unigram_t5", "spiece.model"),
    ),
}


def test_every_family_is_here() -> None:
    assert tuple(sorted(CASES)) == supported_families()


@pytest.mark.parametrize("family", list(CASES))
def test_the_tokenizer_of_a_folder_feeds_its_model(family: str, tmp_path: Path) -> None:
    architecture, settings, write = CASES[family]
    tmp_path.joinpath("folder").mkdir()
    folder = tmp_path / "folder"
    write(folder)
    save(make_reference(architecture, vocab_size=VOCABULARY, **settings), folder)
    tokenizer, model = nlp.load_tokenizer(folder), nlp.load_model(folder)
    # spans are asked for in one family: their kernels take long to compile
    spans = family == "bert"
    inputs = tokenizer(
        TEXTS,
        padding=True,
        pad_id=0,
        return_token_type_ids=True,
        return_special_tokens_mask=True,
        return_offsets_mapping=spans,
        return_overflowing_tokens=True,
        return_length=True,
        return_sequence_ids=True,
    )
    assert len(inputs) == (9 if spans else 7)
    # and what tokenizers give when they are asked for it, here and in transformers
    for name in ("word_ids", "starts", "ends", "offset_mapping"):
        inputs.setdefault(name, inputs["special_tokens_mask"])
    read = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    if family not in ("distilbert", "bart", "m2m_100", "marian", "mbart", "pegasus", "t5"):
        read["token_type_ids"] = inputs["token_type_ids"]
    decoder = {}
    if hasattr(model, "encode_source"):
        decoder["decoder_input_ids"] = [[2, 5]] * len(TEXTS)
        assert torch.equal(model.encode_source(**inputs), model.encode_source(**read))
    expected = model(**read, **decoder).last_hidden_state
    assert torch.equal(model(**inputs, **decoder).last_hidden_state, expected)
    assert torch.equal(model.embed(**inputs), model.embed(**read))
    with pytest.raises(TypeError, match="unexpected keyword argument 'offsets'; this call takes input_ids, attention_"):
        model(**inputs, **decoder, offsets=None)
