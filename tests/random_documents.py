"""Random ``tokenizer.json`` documents: stages, models and added tokens put together by chance, and texts for them."""

from __future__ import annotations

import json
import random
from typing import Any

from tokenizers import Tokenizer

__all__ = ["random_document", "random_texts", "reference_of"]

SPACE = "\u2581"
LETTERS = "abcdehilnorstw"
WORDS = (
    "the", "be", "to", "or", "not", "that", "is", "in", "ss", "he", "re", "at", "ing", "on", "er", "an", "hello",
    "world", "there", "no", "so",
)  # fmt: skip
#: What some normalizer, pre-tokenizer or decoder does something to.
CHARACTERS = (
    *" \t\n\r\u00a0\u3000\u2003\u0085", *"ABCDE", *"0129\u0663\u00bd\u2167", *".,!?'-_$#@", "\u00e9", "e\u0301",
    "\u0301", "\u0130",
    "\ufb01", "\u00c5", "\u212b", "\uac00", "\u1100\u1161", "\u65e5\u672c", "\u4e00", "\u200b", "\ufeff",
    "\u00ad", "\x00", "\x07", "\u200d", "\ufffd", "\U0001f600", "\u0416", "\u0903", "\u093f", "\u3002", SPACE, "##",
    "</w>", "<0x41>", "\u01c5", "\u1e9e", "\u0345", "\u0e33", "\u0f43",
)  # fmt: skip
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def _normalizer(rng: random.Random) -> dict[str, Any] | None:
    patterns: list[dict[str, str]] = [
        {"String": "a"}, {"String": " "}, {"String": "th"}, {"Regex": " {2,}"}, {"Regex": "\\s+"}, {"Regex": "[0-9]+"},
    ]  # fmt: skip
    kinds: list[Any] = [
        lambda: {
            "type": "BertNormalizer", "clean_text": rng.random() < 0.7, "handle_chinese_chars": rng.random() < 0.7,
            "strip_accents": rng.choice([None, True, False]), "lowercase": rng.random() < 0.6,
        },
        lambda: {"type": rng.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt"])},
        lambda: {"type": "Strip", "strip_left": rng.random() < 0.5, "strip_right": rng.random() < 0.5},
        lambda: {
            "type": "Replace", "pattern": rng.choice(patterns), "content": rng.choice(["", " ", SPACE, "b", "xy"])
        },
        lambda: {"type": "Prepend", "prepend": rng.choice([SPACE, " ", "a", "b\u00e9"])},
    ]  # fmt: skip
    if rng.random() < 0.15:
        return None
    stages = [rng.choice(kinds)() for _ in range(rng.choice([1, 1, 2, 3]))]
    return stages[0] if len(stages) == 1 else {"type": "Sequence", "normalizers": stages}


def _pre_tokenizer(rng: random.Random) -> dict[str, Any] | None:
    behaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
    kinds: list[Any] = [
        lambda: {"type": "BertPreTokenizer"},
        lambda: {"type": rng.choice(["Whitespace", "WhitespaceSplit"])},
        lambda: {
            "type": "Metaspace", "replacement": SPACE, "split": rng.random() < 0.7,
            "prepend_scheme": rng.choice(["always", "never", "first"]),
        },
        lambda: {"type": "Digits", "individual_digits": rng.random() < 0.5},
        lambda: {"type": "Punctuation", "behavior": rng.choice(behaviors)},
        lambda: {
            "type": "Split", "pattern": rng.choice([{"String": " "}, {"String": "a"}, {"Regex": "\\s+"},
                                                    {"Regex": "\\w+|[^\\w\\s]+"}, {"Regex": "[aeiou]"}]),
            "behavior": rng.choice(behaviors), "invert": rng.random() < 0.3,
        },
        lambda: {
            "type": "ByteLevel", "add_prefix_space": rng.random() < 0.3, "trim_offsets": True,
            "use_regex": rng.random() < 0.7,
        },
        lambda: {"type": "CharDelimiterSplit", "delimiter": rng.choice([" ", "-", "a"])},
    ]  # fmt: skip
    if rng.random() < 0.15:
        return None
    weights = [3, 3, 3, 1, 2, 2, 1, 1]
    stages = [rng.choices(kinds, weights)[0]() for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    return stages[0] if len(stages) == 1 else {"type": "Sequence", "pretokenizers": stages}


def _decoder(rng: random.Random, suffix: str) -> dict[str, Any] | None:
    kinds: list[Any] = [
        lambda: {"type": "WordPiece", "prefix": rng.choice(["##", "##", SPACE]), "cleanup": rng.random() < 0.5},
        lambda: {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": rng.choice(["always", "never", "first"])},
        lambda: {"type": "BPEDecoder", "suffix": suffix or "</w>"},
        lambda: {"type": "ByteFallback"},
        lambda: {"type": "Fuse"},
        lambda: {
            "type": "Strip", "content": rng.choice([" ", "a"]), "start": rng.randrange(3), "stop": rng.randrange(3)
        },
        lambda: {
            "type": "Replace", "pattern": {"String": rng.choice([SPACE, "a", "er"])}, "content": rng.choice([" ", ""])
        },
        lambda: {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
    ]  # fmt: skip
    if rng.random() < 0.15:
        return None
    stages = [rng.choice(kinds)() for _ in range(rng.choice([1, 1, 1, 2, 3]))]
    return stages[0] if len(stages) == 1 else {"type": "Sequence", "decoders": stages}


def _pieces(rng: random.Random, prefix: str, suffix: str) -> list[str]:
    found = ["[UNK]", "[CLS]", "[SEP]"]
    known = [letter for letter in [*LETTERS, ".", "-", "1", "\u00e9", "\u65e5", SPACE, " "] if rng.random() < 0.9]
    words = [word for word in [*WORDS, *(SPACE + word for word in WORDS)] if rng.random() < 0.6]
    for piece in (*known, *words):
        found.append(piece)
        if prefix:
            found.append(prefix + piece)
    return list(dict.fromkeys(found))


def _merged(rng: random.Random, prefix: str, suffix: str, vocab: dict[str, None]) -> list[list[str]]:
    """Merges that make some words, and the pieces that they make in ``vocab``."""
    letters = [letter for letter in [*LETTERS, ".", "1", "\u00e9", "\u65e5", SPACE, "\u0120"] if rng.random() < 0.92]
    for letter in letters:
        for piece in (letter, prefix + letter, letter + suffix, prefix + letter + suffix):
            if rng.random() < 0.95:
                vocab.setdefault(piece, None)
    merges: list[list[str]] = []
    for word in rng.sample([*WORDS, *(SPACE + word for word in WORDS)], 24):
        parts = [(prefix if i else "") + letter for i, letter in enumerate(word)]
        if rng.random() < 0.6:
            parts[-1] += suffix
        while len(parts) > 1:
            at = rng.randrange(len(parts) - 1)
            product = parts[at] + parts[at + 1][len(prefix) :]
            if parts[at] not in vocab or parts[at + 1] not in vocab:
                break
            if parts[at : at + 2] not in merges:
                merges.append(parts[at : at + 2])
                vocab.setdefault(product, None)
            parts[at : at + 2] = [product]
    return merges


def _model(rng: random.Random, kind: str) -> tuple[dict[str, Any], str]:
    if kind == "WordPiece":
        prefix = rng.choice(["##", "##", "##", "", "_"])
        pieces = _pieces(rng, prefix, "")
        return {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": prefix,
            "max_input_chars_per_word": rng.choice([100, 6]), "vocab": {piece: i for i, piece in enumerate(pieces)},
        }, ""  # fmt: skip
    if kind == "Unigram":
        falls_back = rng.random() < 0.5
        pieces = list(dict.fromkeys([*_pieces(rng, "", ""), *(BYTES if falls_back else ())]))
        scores = [[piece, 0.0 if i < 3 else -2.0 - (i * 37 % 101) / 7] for i, piece in enumerate(pieces)]
        return {"type": "Unigram", "unk_id": 0, "vocab": scores, "byte_fallback": falls_back}, ""
    prefix = suffix = ""
    if kind == "marked":
        prefix, suffix = rng.choice([("", "</w>"), ("##", ""), ("##", "</w>"), ("_", "e")])
    falls_back = kind == "BPE" and rng.random() < 0.5
    vocab = dict.fromkeys(["[UNK]", "[CLS]", "[SEP]", *(BYTES if falls_back else ())])
    merges = _merged(rng, prefix, suffix, vocab)
    return {
        "type": "BPE", "dropout": None, "unk_token": "[UNK]" if kind == "marked" or rng.random() < 0.8 else None,
        "continuing_subword_prefix": prefix or None, "end_of_word_suffix": suffix or None,
        "fuse_unk": rng.random() < 0.5, "byte_fallback": falls_back, "ignore_merges": rng.random() < 0.3,
        "vocab": {piece: i for i, piece in enumerate(vocab)}, "merges": merges,
    }, suffix  # fmt: skip


def _added(rng: random.Random, vocab: Any) -> list[dict[str, Any]]:
    pieces = vocab if isinstance(vocab, dict) else [piece for piece, _ in vocab]
    known = {piece: number for number, piece in enumerate(pieces)}
    found = []
    contents = ["[UNK]", "[CLS]", "[SEP]"]
    new = ["newword", "New", "H\u00e9llo", "[x]", "to be", " be", "\u65e5", "fi", "<a>", "the", "ER", "123"]
    contents += rng.sample(new, rng.randrange(5))
    following = len(known)
    for content in contents:
        number = known.get(content)
        if number is None:
            number, following = following, following + 1
        special = content in ("[UNK]", "[CLS]", "[SEP]") or rng.random() < 0.2
        found.append({
            "id": number, "content": content, "single_word": rng.random() < 0.3, "lstrip": rng.random() < 0.3,
            "rstrip": rng.random() < 0.3, "normalized": not special and rng.random() < 0.8, "special": special,
        })  # fmt: skip
    return found


def random_document(rng: random.Random, kind: str) -> dict[str, Any]:
    """A document with a model of a kind: ``"WordPiece"``, ``"Unigram"``, ``"BPE"`` or ``"marked"`` (BPE with marks)."""
    model, suffix = _model(rng, kind)
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}},
    }
    posts = [template, {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}, None]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": _added(rng, model["vocab"]),
        "normalizer": _normalizer(rng), "pre_tokenizer": _pre_tokenizer(rng), "post_processor": rng.choice(posts),
        "decoder": _decoder(rng, suffix), "model": model,
    }  # fmt: skip


def random_texts(rng: random.Random, document: dict[str, Any], count: int) -> list[str]:
    """Texts of characters, words and added tokens; the empty one among them."""
    added = [token["content"] for token in document["added_tokens"]]
    changed = [change(token) for token in added for change in (str.upper, str.lower, str.title)]
    texts = [""]
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(12)):
            source: Any = rng.choice([WORDS, WORDS, CHARACTERS, CHARACTERS, LETTERS, " ", " ", added + changed])
            parts.append(rng.choice(source))
        texts.append("".join(parts))
    return texts


def reference_of(document: dict[str, Any]) -> Tokenizer:
    """The tokenizer of the reference."""
    return Tokenizer.from_str(json.dumps(document))
