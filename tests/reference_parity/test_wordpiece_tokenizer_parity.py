"""Whole WordPiece tokenizers against tokenizers and transformers: files, options, special tokens, spans, decoding."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import numba_nlp as nlp
from tests.made_tokenizers import BERT_FILE
from tests.shared_data import shared
from tests.wordpiece_cases import ALPHABET, CASED, PIECES, UNCASED
from tools.bert_marks import kept_marks
from tools.fuzz_texts import fuzz_texts

#: File -> lower case.
VOCABULARIES = {"uncased_vocab.txt": True, "cased_vocab.txt": False, "chinese_vocab.txt": True}
LANGUAGES = ("cmn_hans", "jpn", "kor", "hin", "tha", "arb", "ell", "rus", "fra", "spa")
TEXTS = ("hamlet.txt", "botchan.txt", "wikinews_k2-18b.txt", *(f"udhr/{code}.txt" for code in LANGUAGES))
SPECIALS = ("[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]")
KEPT_MARKS = kept_marks()


@cache
def pair(name: str) -> tuple[nlp.Tokenizer, Any]:
    """Ours, and the tokenizer inside transformers' ``BertTokenizer``."""
    BertTokenizer = pytest.importorskip("transformers").BertTokenizer
    path = shared(f"vocab/bert/{name}")
    lowercase = VOCABULARIES[name]
    ours = nlp.load_tokenizer(path, do_lower_case=lowercase)
    return ours, BertTokenizer(str(path), do_lower_case=lowercase)._tokenizer


def check(ours: nlp.Tokenizer, reference: Any, texts: list[str]) -> None:
    """Ids with and without the template, spans in both units, and decoded text."""
    expected = reference.encode_batch(texts, add_special_tokens=False)
    batch = ours.encode_batch(texts, spans=True)
    in_bytes = ours.encode_batch(texts, spans=True, unit="byte")
    framed = ours.encode_batch(texts, add_special_tokens=True)
    framed_expected = reference.encode_batch(texts, add_special_tokens=True)
    ids_only = ours.encode_batch(texts)
    for row, text in enumerate(texts):
        ids = expected[row].ids
        assert batch[row].tolist() == ids_only[row].tolist() == ids, text
        assert framed[row].tolist() == framed_expected[row].ids, text
        starts, ends = (part.tolist() for part in batch.spans(row))
        if not KEPT_MARKS.intersection(text):
            assert list(zip(starts, ends, strict=True)) == expected[row].offsets, text
        content = text.encode()
        for places, byte_places in zip((starts, ends), in_bytes.spans(row), strict=True):
            assert [len(content[:place].decode()) for place in byte_places.tolist()] == places
    for skip in (False, True):
        theirs = reference.decode_batch([found.ids for found in framed_expected], skip_special_tokens=skip)
        assert ours.decode_batch(framed, skip_special_tokens=skip) == theirs


@pytest.mark.parametrize("name", VOCABULARIES)
def test_real_texts(name: str) -> None:
    ours, reference = pair(name)
    rows = [row for text in TEXTS for row in shared(f"text/{text}").read_text(encoding="utf-8").split("\n")[::7]]
    rows += json.loads(shared("text/blns.json").read_text(encoding="utf-8"))
    check(ours, reference, rows)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_special_tokens_in_fuzzed_text(name: str) -> None:
    ours, reference = pair(name)
    random = Random(5)
    rows = []
    for text in fuzz_texts(1500, seed=77):
        characters = list(text)
        for _ in range(random.randrange(4)):
            characters.insert(random.randrange(len(characters) + 1), random.choice(SPECIALS))
        rows.append("".join(characters))
    check(ours, reference, rows)


def reference_of(vocabulary: dict[str, int], options: dict[str, Any], added: list[AddedToken], **model: Any) -> Any:
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", **model))
    made.normalizer = normalizers.BertNormalizer(**options)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece(cleanup=options["lowercase"])
    made.add_special_tokens([token for token in added if token.special])
    made.add_tokens([token for token in added if not token.special])
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP] [SEP]",
        special_tokens=[(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return made


def ours_of(reference: Any, folder: Path) -> nlp.Tokenizer:
    path = folder / "toy.json"
    reference.save(str(path))
    return nlp.load_tokenizer(path)


OPTIONS = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
#: All on, all off, and each two turned around.
PAIRS = [{}, *(dict.fromkeys(names) for names in combinations(OPTIONS, 2))]


@pytest.mark.parametrize("turned", PAIRS, ids=lambda turned: "+".join(turned) or "none")
@pytest.mark.parametrize("base", [UNCASED, CASED, dict.fromkeys(OPTIONS, False)], ids=["uncased", "cased", "off"])
def test_options_of_files(base: dict[str, bool], turned: dict[str, None], tmp_path: Path) -> None:
    random = Random(8)
    options = {name: value != (name in turned) for name, value in base.items()}
    added = [AddedToken(name, special=True, normalized=False) for name in SPECIALS]
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    reference = reference_of(vocabulary, options, added, max_input_chars_per_word=random.choice((3, 100)))
    ours = ours_of(reference, tmp_path)
    letters = [*ALPHABET, *SPECIALS]
    check(ours, reference, ["".join(random.choices(letters, k=random.randrange(1, 24))) for _ in range(300)])


def test_added_tokens_with_every_flag(tmp_path: Path) -> None:
    flags = ("lstrip", "rstrip", "single_word")
    contents = ("<l>", "<r>", "word", "<lr>", "<all>", "ab", "\u00c9")
    chosen = [{}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}, dict.fromkeys(flags[:2], True)]
    chosen += [dict.fromkeys(flags, True), {}]
    added = [AddedToken(name, special=True, normalized=False) for name in SPECIALS]
    added += [
        AddedToken(content, special=number % 2 == 0, normalized=False, **options)
        for number, (content, options) in enumerate(zip(contents, chosen, strict=True))
    ]
    reference = reference_of({piece: number for number, piece in enumerate(PIECES)}, UNCASED, added)
    ours = ours_of(reference, tmp_path)
    random = Random(9)
    letters = [*contents, *SPECIALS, "a", "b", "z", " ", "  ", "\u3000", "\n", ".", "\u4e00", "\u0301", "E"]
    check(ours, reference, ["".join(random.choices(letters, k=random.randrange(1, 14))) for _ in range(1500)])


@pytest.mark.parametrize("file", ["minilm_uncased_tokenizer.json", "bert_base_cased.json"])
def test_published_files(file: str) -> None:
    path = shared(f"vocab/bert/{file}")
    ours, reference = nlp.load_tokenizer(path, ignore=("truncation", "padding")), Tokenizer.from_file(str(path))
    reference.no_truncation()
    reference.no_padding()
    check(ours, reference, list(fuzz_texts(800, seed=11)))


def test_carried_file() -> None:
    BertTokenizer = pytest.importorskip("transformers").BertTokenizer
    reference = BertTokenizer(str(BERT_FILE))
    ours = nlp.load_tokenizer(BERT_FILE)
    check(ours, reference._tokenizer, list(fuzz_texts(800, seed=12)))
    texts = ["Hello [MASK]!", "don't do not"]
    assert ours.encode_batch(texts, add_special_tokens=True).to_list() == reference(texts)["input_ids"]
    assert ours.decode_batch(reference(texts)["input_ids"]) == reference.batch_decode(reference(texts)["input_ids"])
