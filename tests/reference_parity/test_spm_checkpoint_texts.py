"""Checkpoint folders over SentencePiece models: ids, spans and decoded text are those of transformers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from tests.shared_data import shared
from tests.spm_checkpoint_cases import MODEL, PLAIN, SPIECE, Case, token
from tests.spm_documents import tokenizer_of

pytest.importorskip("transformers", reason="transformers 5 needs Python 3.11")

_HAMLET = Path(__file__).resolve().parents[2] / "examples" / "data" / "hamlet_gut.txt"
_PARTS = (
    *"ab .,'`A\u00c9\n\t\u2581<>s/\u00e9\u0301\u4e2d\u65e5\ufb01\u00b2\u00a0\U0001f600\u0e33",
    *("the", "Ham", "let", "<br>", "<mask>", "<s>", "</s>", "<extra_id_0>", "en_XX", "[MASK]", "  ", "``", "''", "<x>"),
)
EURO = [
    "",
    " ",
    "  To be,  or not to be: that is the question ",
    "a\nb \t c",
    "\u2581a \u2581\u2581b",
    "<mask> x a <mask>b x<s>y </s> <unk>",
    "\ufb01ne \u00bd e\u0301\u0301 \u65e5\u672c\u8a9e \u03bb\u03cc\u03b3\u03bf\u03c2 \U0001f600\u200d",
]


def texts(seed: int, n: int = 60) -> list[str]:
    """Lines of a play, and made ones of what matters to the stages."""
    choose = random.Random(seed)
    lines = [line for line in _HAMLET.read_text(encoding="utf-8").splitlines() if line]
    made = ["".join(choose.choices(_PARTS, k=choose.randint(1, 14))) for _ in range(n)]
    return [*EURO, *choose.sample(lines, n // 2), *made]


def check(ours: nlp.Tokenizer, reference: Any, given: list[str], *, spans: bool = True) -> None:
    words = ours(given, return_word_ids=True).word_ids
    for row, text in enumerate(given):
        expected = [-1 if word is None else word for word in reference(text).word_ids()]
        assert words[row].tolist() == expected, repr(text)
        wanted = reference(text, return_offsets_mapping=True)
        assert ours.encode(text, add_special_tokens=True).tolist() == wanted["input_ids"], repr(text)
        plain = reference.backend_tokenizer.encode(text, add_special_tokens=False)
        ids, starts, ends = ours.encode(text, spans=True)
        assert ids.tolist() == plain.ids, repr(text)
        if spans:
            assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == plain.offsets, repr(text)
        for skip in (False, True):
            decoded = ours.decode(wanted["input_ids"], skip_special_tokens=skip)
            assert decoded == reference.decode(wanted["input_ids"], skip_special_tokens=skip), repr(text)


@pytest.mark.parametrize(
    ("name", "model", "file", "given", "spans"),
    [
        ("T5Tokenizer", "unigram_t5", SPIECE, {}, True),
        ("T5Tokenizer", "unigram_plain", SPIECE, {"extra_ids": 3}, True),
        ("XLNetTokenizer", "unigram_xlnet", SPIECE, {"do_lower_case": True}, True),
        ("AlbertTokenizer", "unigram_albert", SPIECE, {}, True),
        ("AlbertTokenizer", "unigram_albert", SPIECE, {"keep_accents": True, "add_prefix_space": False}, True),
        ("XLMRobertaTokenizer", "unigram", MODEL, {}, True),
        ("MBartTokenizer", "unigram", MODEL, {"src_lang": "fr_XX"}, True),
        ("MBart50Tokenizer", "unigram", MODEL, {"src_lang": "fr_XX"}, True),
        ("NllbTokenizer", "bpe", MODEL, {"extra_special_tokens": ["eng_Latn"]}, True),
        ("CamembertTokenizer", "unigram", MODEL, {}, True),
        ("PegasusTokenizer", "unigram_t5", SPIECE, {}, True),
        ("BarthezTokenizer", "unigram", MODEL, {}, True),
        ("LlamaTokenizer", "bpe_llama", PLAIN, {"add_bos_token": True}, True),
        ("LlamaTokenizer", "bpe_llama", PLAIN, {"legacy": True}, True),
        ("LlamaTokenizer", "bpe_llama", PLAIN, {"add_prefix_space": False}, True),
        ("TokenizersBackend", "bpe_llama", PLAIN, {}, True),
        ("TokenizersBackend", "bpe_llama", PLAIN, {"legacy": False}, True),
        ("TokenizersBackend", "bpe_user", PLAIN, {}, True),
        ("TokenizersBackend", "bpe_plain", PLAIN, {}, True),
        ("TokenizersBackend", "unigram_xlnet", PLAIN, {}, True),
        # tokenizers gives every byte of a run of unknown characters the whole run, we give it its character
        ("TokenizersBackend", "unigram_spaces", PLAIN, {}, False),
    ],
)
def test_made_folders(name, model, file, given, spans, tmp_path: Path) -> None:
    case = Case(name, model, file, given, {})
    folder = case.write(tmp_path / "folder")
    check(tokenizer_of(case, folder), case.reference(folder), texts(7), spans=spans)


def test_added_tokens_with_options(tmp_path: Path) -> None:
    """Tokens that take the spaces beside them, and one that is found in normalized text."""
    added = {
        "0": token("<pad>"),
        "1": token("</s>"),
        "2": token("<unk>"),
        "420": token("<extra_id_99>", lstrip=True, rstrip=True),
        "530": token("<br>", special=False, normalized=True),
        "531": token("Ham", special=False, single_word=True),
    }
    case = Case("T5Tokenizer", "unigram_t5", SPIECE, {}, {"tokenizer_config": {"added_tokens_decoder": added}})
    folder = case.write(tmp_path / "folder")
    extra = ["a <extra_id_99> b", "x<br>y", "Ham Hamlet xHam", " <extra_id_99><extra_id_99> </s>"]
    check(tokenizer_of(case, folder), case.reference(folder), [*extra, *texts(5)])


@pytest.mark.parametrize("source", ["sentencepiece.bpe.model", "tokenizer.json"])
def test_barthez(source: str, tmp_path: Path) -> None:
    """Transformers 5 cannot load this vocabulary with the class of BARThez; its tokenizer.json says what is right."""
    from tokenizers import Tokenizer

    own = Tokenizer.from_file(str(shared("vocab/barthez/tokenizer.json")))
    case = Case("BarthezTokenizer", None, source, {}, {})
    folder = case.write(tmp_path / "folder")
    (folder / source).symlink_to(shared(f"vocab/barthez/{source}"))
    ours = tokenizer_of(case, folder)
    for text in [*texts(13), *shared("text/udhr/fra.txt").read_text(encoding="utf-8").splitlines()]:
        wanted = own.encode(text)
        assert ours.encode(text, add_special_tokens=True).tolist() == wanted.ids, repr(text)
        assert ours.decode(wanted.ids) == own.decode(wanted.ids, skip_special_tokens=False), repr(text)


@pytest.mark.parametrize("name", ["T5Tokenizer", "XLNetTokenizer", "MBart50Tokenizer", "CamembertTokenizer"])
def test_model_inputs(name: str, tmp_path: Path) -> None:
    """Templates of pairs, the side of padding, and clean-up of decoded text, which the settings ask for."""
    model = {"T5Tokenizer": "unigram_t5", "XLNetTokenizer": "unigram_xlnet"}.get(name, "unigram")
    settings = {"clean_up_tokenization_spaces": True, "model_max_length": 24}
    case = Case(name, model, SPIECE if "_" in model else MODEL, {}, {"tokenizer_config": settings})
    folder = case.write(tmp_path / "folder")
    ours, reference = tokenizer_of(case, folder), case.reference(folder)
    first, second = EURO[2:], EURO[:1:-1]
    for pairs in (None, second):
        for truncation in (False, True):
            options = {"padding": True, "truncation": truncation, "return_token_type_ids": True}
            wanted = reference(first, pairs, **options)
            made = ours(first, pairs, **options)
            for key in ("input_ids", "attention_mask", "token_type_ids"):
                assert made[key].tolist() == wanted[key], key
    for text in ("Do n't , it 's ' so ' .", "they 've , we 're ? I 'm !", *texts(3, 40)):
        ids = reference(text)["input_ids"]
        for skip in (False, True):
            assert ours.decode(ids, skip_special_tokens=skip) == reference.decode(ids, skip_special_tokens=skip)


@pytest.mark.parametrize(
    ("name", "source", "file", "given"),
    [
        ("T5Tokenizer", "t5/spiece.model", SPIECE, {}),
        ("T5Tokenizer", "t5/flan_t5_tokenizer.json", "tokenizer.json", {}),
        ("XLNetTokenizer", "xlnet/spiece.model", SPIECE, {}),
        ("AlbertTokenizer", "albert/30k-clean.model", SPIECE, {}),
        ("XLMRobertaTokenizer", "xlm_roberta/sentencepiece.bpe.model", MODEL, {}),
        ("LlamaTokenizer", "mistral/tokenizer.model.v1", PLAIN, {"add_bos_token": True}),
        ("LlamaTokenizer", "mistral/mistral03.json", "tokenizer.json", {}),
        ("TokenizersBackend", "mistral/tokenizer.model.v1", PLAIN, {}),
    ],
)
def test_real_models(name: str, source: str, file: str, given: dict[str, Any], tmp_path: Path) -> None:
    case = Case(name, None, file, given, {})
    folder = case.write(tmp_path / "folder")
    (folder / file).symlink_to(shared(f"vocab/{source}"))
    lines = [
        line
        for path in sorted(shared("text/udhr/eng.txt").parent.iterdir())
        for line in path.read_text(encoding="utf-8").splitlines()[:25]
    ]
    naughty = [text for text in json.loads(shared("text/blns.json").read_text(encoding="utf-8")) if "\x1b" not in text]
    check(tokenizer_of(case, folder), case.reference(folder), [*lines, *naughty, *texts(11, 100)])
