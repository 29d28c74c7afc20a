"""Checkpoint folders over SentencePiece models: the tokenizer.json that our classes build is transformers' own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.shared_data import shared
from tests.spm_checkpoint_cases import CASES, MODEL, PLAIN, SPIECE, Case
from tests.spm_documents import document_of

pytest.importorskip("transformers", reason="transformers 5 needs Python 3.11")

PARTS = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens")


def check(case: Case, folder: Path) -> dict[str, Any]:
    """Compare the documents part by part; the models of real checkpoints are too long to be shown."""
    reference = json.loads(case.reference(folder).backend_tokenizer.to_str())
    ours = json.loads(json.dumps(document_of(case, folder)))
    for part in PARTS[1:]:
        assert ours[part] == reference[part], part
    same = {key: value == ours["model"].get(key) for key, value in reference["model"].items()}
    assert all(same.values()), same
    assert set(ours["model"]) == set(reference["model"])
    return ours


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_documents_of_made_folders(case: Case, tmp_path: Path) -> None:
    check(case, case.write(tmp_path / "folder"))


@pytest.mark.parametrize(
    ("name", "source", "file", "given"),
    [
        ("T5Tokenizer", "t5/spiece.model", SPIECE, {}),
        ("T5Tokenizer", "t5/flan_t5_tokenizer.json", "tokenizer.json", {}),
        ("XLNetTokenizer", "xlnet/spiece.model", SPIECE, {}),
        ("XLNetTokenizer", "xlnet/tokenizer.json", "tokenizer.json", {"do_lower_case": True}),
        ("AlbertTokenizer", "albert/30k-clean.model", SPIECE, {}),
        ("XLMRobertaTokenizer", "xlm_roberta/sentencepiece.bpe.model", MODEL, {}),
        ("MBart50Tokenizer", "sentencepiece/google_test_model.model", MODEL, {"src_lang": "ro_RO"}),
        ("LlamaTokenizer", "mistral/tokenizer.model.v1", PLAIN, {"add_bos_token": True}),
        ("LlamaTokenizer", "mistral/mistral03.json", "tokenizer.json", {"legacy": True}),
        ("TokenizersBackend", "mistral/tokenizer.model.v1", PLAIN, {}),
        ("TokenizersBackend", "mistral/mistral_instruct_tokenizer_240323.model.v3", PLAIN, {}),
        ("TokenizersBackend", "xlnet/spiece.model", PLAIN, {}),
        ("NllbTokenizer", "sentencepiece/amr_sentencepiece.bpe.model", MODEL, {"extra_special_tokens": ["eng_Latn"]}),
    ],
)
def test_documents_of_real_models(name: str, source: str, file: str, given: dict[str, Any], tmp_path: Path) -> None:
    case = Case(name, None, file, given, {})
    folder = case.write(tmp_path / "folder")
    (folder / file).symlink_to(shared(f"vocab/{source}"))
    check(case, folder)


@pytest.mark.parametrize("source", ["sentencepiece.bpe.model", "tokenizer.json"])
def test_barthez_is_what_its_own_file_says(source: str, tmp_path: Path) -> None:
    """The class of transformers 5 fails with the vocabulary of BARThez, which is BPE and not Unigram."""
    case = Case("BarthezTokenizer", None, source, {}, {})
    folder = case.write(tmp_path / "folder")
    (folder / source).symlink_to(shared(f"vocab/barthez/{source}"))
    with pytest.raises(TypeError, match="not an instance of 'Sequence'"):
        case.reference(folder)
    ours = json.loads(json.dumps(document_of(case, folder)))
    own = json.loads(shared("vocab/barthez/tokenizer.json").read_text(encoding="utf-8"))
    assert ours["model"]["vocab"] == own["model"]["vocab"]
    assert [" ".join(merge) for merge in ours["model"]["merges"]] == own["model"]["merges"]
    assert ours["model"]["unk_token"] == own["model"]["unk_token"]
    assert ours["normalizer"] == own["normalizer"]
    assert ours["post_processor"] == own["post_processor"]
    kinds = [stage["type"] for stage in ours["pre_tokenizer"]["pretokenizers"]]
    assert kinds == [stage["type"] for stage in own["pre_tokenizer"]["pretokenizers"]]
    contents = [(token["id"], token["content"], token["special"]) for token in ours["added_tokens"]]
    assert contents == [(token["id"], token["content"], token["special"]) for token in own["added_tokens"]]


@pytest.mark.parametrize(
    ("name", "model", "file", "given", "error", "message"),
    [
        ("MBartTokenizer", "unigram", MODEL, {"src_lang": "en"}, SourceFormatError, "src_lang='en'.*it has ar_AR"),
        ("NllbTokenizer", "bpe", MODEL, {}, SourceFormatError, "src_lang='eng_Latn'.*no language codes.*extra_special"),
        (
            "NllbTokenizer",
            "bpe",
            MODEL,
            {"extra_special_tokens": ["eng_Latn"], "src_lang": "the"},
            SourceFormatError,
            "'the'.*has eng_Latn",
        ),
        (
            "MBart50Tokenizer",
            "unigram",
            MODEL,
            {"tgt_lang": "xx_XX", "target": True},
            SourceFormatError,
            r"tgt_lang='xx_XX'.*\(52 in all\)",
        ),
        ("PegasusTokenizer", "unigram", SPIECE, {}, SourceFormatError, "'<unk>' must be a piece with the score 0"),
        ("CamembertTokenizer", "bpe", MODEL, {}, UnsupportedFeatureError, "takes a Unigram vocabulary"),
        ("T5Tokenizer", "unigram_sentinels", SPIECE, {}, SourceFormatError, "extra_ids=100, but .* 1 of the sentinels"),
        ("T5Tokenizer", "unigram_t5", SPIECE, {"extra_ids": "9"}, SourceFormatError, "extra_ids must be an integer"),
        ("MBartTokenizer", "unigram", MODEL, {"src_lang": ["a"]}, SourceFormatError, "src_lang must be a text"),
        ("XLNetTokenizer", "unigram_xlnet", SPIECE, {"sep_token": None}, SourceFormatError, "sep_token .*set to null"),
        (
            "XLNetTokenizer",
            "unigram_xlnet",
            SPIECE,
            {"sep_token": "a b"},
            SourceFormatError,
            "'a' stands in the template",
        ),
        ("AlbertTokenizer", "unigram_albert", SPIECE, {"cls_token": "<no>"}, SourceFormatError, "does not have it"),
    ],
)
def test_refusals(name, model, file, given, error, message, tmp_path) -> None:
    case = Case(name, model, file, given, {})
    with pytest.raises(error, match=message):
        document_of(case, case.write(tmp_path / "folder"))


@pytest.mark.parametrize(
    ("name", "model", "given", "target"),
    [
        ("MBartTokenizer", "unigram", {"tgt_lang": "ro_RO"}, "ro_RO"),
        ("MBart50Tokenizer", "unigram", {"tgt_lang": "de_DE", "src_lang": "fr_XX"}, "de_DE"),
        ("MBart50Tokenizer", "unigram", {"src_lang": "fr_XX"}, "fr_XX"),
        ("NllbTokenizer", "bpe", {"tgt_lang": "fra_Latn"}, "fra_Latn"),
        ("NllbTokenizer", "bpe", {"tgt_lang": "fra_Latn", "legacy_behaviour": True}, "fra_Latn"),
    ],
)
def test_templates_of_target_texts(name, model, given, target, tmp_path) -> None:
    if name == "NllbTokenizer":
        given = {**given, "extra_special_tokens": ["eng_Latn", "fra_Latn"]}
    case = Case(name, model, MODEL, given, {})
    folder = case.write(tmp_path / "folder")
    reference = case.reference(folder)
    reference._switch_to_target_mode()
    wanted = json.loads(reference.backend_tokenizer.to_str())["post_processor"]
    ours = document_of(case._replace(given={**given, "target": True}), folder)
    assert ours["post_processor"] == wanted
    assert target in wanted["special_tokens"]
