"""BERT with words that users added: they are looked for in normalized text, in their own normalized form."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import numba_nlp as nlp
from tests.reference_parity.test_staged_parity import assert_same
from tests.staged_tokenizers import compiled

PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdelnorw.", *(f"##{letter}" for letter in "abcdelnorw"))
PIECES += ("new", "word", "##word", "covid", "\u65e5")
FRAGMENTS = (
    "newword", "NewWord", "NEWWORD", "H\u00e9llo", "hello", "He\u0301llo", "covid", "Covid-19", "-19", " ", " ", "  ",
    "a", "new", "b.", "[MASK]", "[cls]", "\u65e5", "\u65e5\u672c", "\u200b", "\t", "\u0301", "\u0130",
    "\uac00", "\x00", "_", "\u0903",
)  # fmt: skip
WORDS = [
    AddedToken("NewWord", normalized=True),
    AddedToken("H\u00e9llo", normalized=True, lstrip=True),
    AddedToken("Covid", normalized=True, single_word=True),
    AddedToken("b.", normalized=True, rstrip=True, single_word=True),
    AddedToken("\u672c", normalized=True),
    AddedToken("\u1100", normalized=True),
]


def bert(**options: bool | None) -> Tokenizer:
    ids = {piece: number for number, piece in enumerate(PIECES)}
    reference = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    reference.normalizer = normalizers.BertNormalizer(**options)
    reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    reference.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    reference.decoder = decoders.WordPiece("##", cleanup=False)
    reference.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    reference.add_tokens(WORDS)
    return reference


def texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["", *("".join(rng.choices(FRAGMENTS, k=rng.randrange(9))) for _ in range(400))]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [None, True, False])
def test_words_in_normalized_text(lowercase: bool, strip_accents: bool | None) -> None:
    assert_same(compiled(bert(lowercase=lowercase, strip_accents=strip_accents)), texts(1))


@pytest.mark.parametrize("clean_text", [True, False])
@pytest.mark.parametrize("handle_chinese_chars", [True, False])
def test_other_options(clean_text: bool, handle_chinese_chars: bool) -> None:
    assert_same(compiled(bert(clean_text=clean_text, handle_chinese_chars=handle_chinese_chars)), texts(2))


@pytest.mark.slow
@pytest.mark.parametrize("named", ["added_tokens.json", "added_tokens_decoder"])
def test_checkpoint_folders(tmp_path: Path, named: str) -> None:
    transformers = pytest.importorskip("transformers")
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    settings: dict[str, object] = {"tokenizer_class": "BertTokenizer"}
    first = len(PIECES)
    if named == "added_tokens.json":
        (tmp_path / named).write_text(json.dumps({"NewWord": first, "H\u00e9llo": first + 1}), encoding="utf-8")
    else:
        options = {"lstrip": True, "rstrip": False, "normalized": True, "single_word": False, "special": False}
        settings[named] = {str(first): {"content": "NewWord", **options}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    reference = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = nlp.load_tokenizer(tmp_path)
    assert ours.special_tokens["NewWord"] == first
    expected = reference(texts(3))["input_ids"]
    assert [row.tolist() for row in ours.encode_batch(texts(3), add_special_tokens=True)] == expected
    assert [ours.decode(row) for row in expected] == reference.batch_decode(expected)
