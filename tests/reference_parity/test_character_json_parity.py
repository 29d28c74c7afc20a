"""A ``tokenizer.json`` whose BPE marks its pieces by a suffix or a prefix, against tokenizers."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE

import numba_nlp as nlp
import vocab_tools
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.shared_data import shared

FRAGMENTS = [
    *"abcdeéstTHE'  .,!\n\r\t\x1c\x85\u3000<>/w|@@#5日\u0301\u0308İſKﬁ가ᄀ\u1161\U0001f44d\x00\x0b",
    "<unk>", "</w>", "'s", "'LL", "<|endoftext|>", "<|ENDOFTEXT|>", "<|startoftext|>", "<|STARTOFTEXT|>", "the",
    "ing", " the ",
]  # fmt: skip


def texts() -> list[str]:
    choose = random.Random(11)
    fuzzed = ["".join(choose.choices(FRAGMENTS, k=choose.randint(0, 20))) for _ in range(1500)]
    every = [" ".join(f"a{chr(c)}b" for c in range(a, a + 64) if not 0xD800 <= c < 0xE000)
             for a in range(0, 0x30000, 64)]  # fmt: skip
    return [*fuzzed, *every]


def real_texts() -> list[str]:
    names = ("text/hamlet.txt", "text/udhr_all_languages.txt")
    lines = [line for name in names for line in shared(name).read_text(encoding="utf-8").split("\n")]
    random.Random(1).shuffle(lines)
    return lines[:800]


def compare(path: Path, rows: list[str]) -> None:
    tokenizer, reference = nlp.load_tokenizer(path), Tokenizer.from_file(str(path))
    found = tokenizer.encode_batch(rows, spans=True)
    expected = reference.encode_batch(rows, add_special_tokens=False)
    words = tokenizer(rows, return_word_ids=True, add_special_tokens=False).word_ids
    for row, encoding in enumerate(expected):
        part = slice(found.offsets[row], found.offsets[row + 1])
        assert found.values[part].tolist() == encoding.ids, rows[row]
        assert list(zip(found.starts[part], found.ends[part], strict=True)) == encoding.offsets, rows[row]
        assert tokenizer.encode(rows[row]).tolist() == encoding.ids, rows[row]
        assert words[row].tolist() == encoding.word_ids, rows[row]
    for skip in (False, True):
        decoded = [reference.decode(encoding.ids, skip_special_tokens=skip) for encoding in expected]
        assert tokenizer.decode_batch(found, skip_special_tokens=skip) == decoded
    full = tokenizer.encode_batch(rows[:50], add_special_tokens=True)
    assert [row.tolist() for row in full] == [encoding.ids for encoding in reference.encode_batch(rows[:50])]
    pairs = tokenizer(rows[:50], rows[1:51], return_token_type_ids=True)
    both = reference.encode_batch(list(pairwise(rows[:51])))
    assert pairs.input_ids.to_list() == [encoding.ids for encoding in both]
    assert pairs.token_type_ids.to_list() == [encoding.type_ids for encoding in both]


def gpt_settings(model: dict[str, Any]) -> dict[str, Any]:
    """What transformers' ``OpenAIGPTTokenizer`` builds."""
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": model["vocab"]["<unk>"], "content": "<unk>", "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True}],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None,
        "decoder": {"type": "BPEDecoder", "suffix": "</w>"}, "model": model,
    }  # fmt: skip


def model_of(vocab: list[str] | dict[str, int], merges: list[Any], **options: Any) -> dict[str, Any]:
    numbers = vocab if isinstance(vocab, dict) else {piece: number for number, piece in enumerate(vocab)}
    given = {"unk_token": "<unk>", "continuing_subword_prefix": "", "end_of_word_suffix": "</w>", "fuse_unk": False}
    return {"type": "BPE", "dropout": None, **given, "vocab": numbers, "merges": merges, **options}


def write(folder: Path, settings: dict[str, Any]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


def test_clip() -> None:
    path = shared("vocab/clip/tokenizer.json")
    compare(path, [*texts(), *real_texts()])


def test_clip_golden() -> None:
    tokenizer = nlp.load_tokenizer(shared("vocab/clip/tokenizer.json"))
    rows = shared("goldens/kitoken/mixed_input.txt").read_text(encoding="utf-8").split("\n")
    golden = shared("goldens/kitoken/tokenizers/mixed_tokens_clip_base.txt").read_text(encoding="utf-8").split("\n")
    found = [", ".join(map(str, tokenizer.encode(row).tolist())) for row in rows]
    assert [line.strip().rstrip(",") for line in golden][: len(found)] == found


def test_gpt(tmp_path: Path) -> None:
    files = [shared("vocab/openai_gpt/encoder_bpe_40000.json"), shared("vocab/openai_gpt/vocab_40000.bpe")]
    vocab, merges = BPE.read_file(*map(str, files))
    path = write(tmp_path, gpt_settings(model_of(vocab, [" ".join(pair) for pair in merges])))
    compare(path, [*texts(), *real_texts()])


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("prefix", ["", "##"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_made(tmp_path: Path, fuse: bool, prefix: str, lowercase: bool) -> None:
    """Marks of both kinds, forms that are missing, a pair that is listed twice."""
    letters = [form for c in "abcdest" for form in {c, f"{prefix}{c}", f"{c}</w>", f"{prefix}{c}</w>"}]
    pieces = ["<unk>", *sorted(set(letters) - {f"{prefix}d", "a</w>"}), "ab", f"{prefix}st", "th"]
    merges = [f"a {prefix}b", f"{prefix}s {prefix}t", f"s {prefix}t</w>", f"ab {prefix}e", f"a {prefix}b"]
    pieces += ["st</w>", "abe"]
    settings = gpt_settings(model_of(pieces, merges, fuse_unk=fuse, continuing_subword_prefix=prefix))
    settings["normalizer"] = {**settings["normalizer"], "lowercase": lowercase} if lowercase else None
    choose = random.Random(5)
    made = ["".join(choose.choices("aabbccddesst  xyzé.", k=choose.randint(0, 16))) for _ in range(800)]
    compare(write(tmp_path, settings), [*texts()[:800], *made])


def test_refusals(tmp_path: Path) -> None:
    def refused(message: str, kind: type[Exception] = UnsupportedFeatureError, **changes: Any) -> None:
        options = changes.pop("options", {})
        settings = gpt_settings(model_of(["<unk>", "a", "a</w>"], [], **options)) | changes
        with pytest.raises(kind, match=message):
            vocab_tools.compile(write(tmp_path, settings))

    refused("pre_tokenizer", pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True})
    refused("normalizer", normalizer={"type": "Novel"})
    refused("decoder", decoder={"type": "CTC"})
    refused("unk_token", options={"unk_token": None})
    refused("unk_token", SourceFormatError, options={"unk_token": "?"})
    refused("byte_fallback", options={"byte_fallback": True})
    refused("dropout", options={"dropout": 0.5})
    refused("prefix", options={"continuing_subword_prefix": "é"})
