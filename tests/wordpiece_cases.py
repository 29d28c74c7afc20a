"""WordPiece vocabularies, ours and the reference's, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.wordpiece import encode_rows_wordpiece, encode_words
from numba_nlp.kernels.segment.wordpiece_memory import (
    FURTHER,
    FURTHER_BYTE,
    MAX_CHARACTERS,
    UNKNOWN,
    WordPieceTables,
    new_scratch,
)
from numba_nlp.kernels.tables.double_array import ROOT, step, value_at
from numba_nlp.kernels.tables.word_cache import SPARE_IDS, WordCache, new_word_cache
from numba_nlp.reference.segment.wordpiece import Pieces
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.compiler.wordpiece import build_arrays
from vocab_tools.formats.bert_vocab import WordPieceDescription
from vocab_tools.formats.description import KIND_ABSENT, KIND_CONTROL, KIND_NORMAL, TEXT_PLACE, AddedToken

#: The four options of the normaliser, in this order.
OPTIONS = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
ALL_OPTIONS = [dict(zip(OPTIONS, values, strict=True)) for values in product((False, True), repeat=4)]
UNCASED = dict.fromkeys(OPTIONS, True)
CASED = {**UNCASED, "strip_accents": False, "lowercase": False}
#: Characters of every kind: white space, controls, punctuation of several lengths, Chinese, marks that are stripped and
#: marks that stay, compositions, Hangul, special casing, and letters of one to four bytes.
ALPHABET = (
    "abzABZ019' \t\n\r\x0b\x0c\x85\x00\x1f\x7f\ufffd\u200b\u200d\ufeff\xad\ue000"
    ".,-#[]()$<>`~_\u00b7\u2014\u3001\u3002\u037e\u1fef\u2260\u226e\uff01\U00010100\u0964"
    "\u00a0\u1680\u2003\u2028\u3000"
    "\u4e00\u4e2d\u3400\u9fa5\uf900\ufa0e\U00020000\U0002f800\u3007\u3042\u30a2\u30fc\uac00\ud55c\ud7a3\u1100"
    "\u00e9\u00c9e\u0301o\u0308\u0130\u0131\u00df\u1e9e\u01c5\u1f88\u1fb7\u03a3\u0430\u0419\u0915\u093f\u0e01\u0e31"
    "\u302e\u302f\u1b44\ua953\u08d4\U0001d165\U0001d16d\U0001d15e\U0001e000\U0001e94a\u0344\u0f73\u0327\u0323\u093c\u0bcb"
    "\U00010400\U0001f600\U0001f44d\U0010ffff"
)
PIECES = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("a", "b", "z", "ab", "abz", "##a", "##b", "##z", "##ab", "##bz", "0", "##1", "019", "A", "##B"),
    *(".", ",", "'", "-", "#", "[", "]", "##]", "$", "\u3001", "<", "=", "##s", "s"),
    *("\u4e00", "\u4e2d", "##\u4e00", "\u8c48", "\u3042", "##\u3042", "\u1112", "##\u1161", "##\u11ab", "\ud55c"),
    *("e", "##e", "\u00e9", "##\u00e9", "\u0301", "##\u0301", "i", "##i", "i\u0307", "##\u302e", "\u302e", "##\ua953"),
    *("\u0915", "##\u093f", "##\u1b44", "\U0001f600", "##\U0001f600", "\U00010428", "ss", "\u00df", "##\U0001d165"),
)


def named(options: Mapping[str, bool]) -> str:
    """Options as the name of a test."""
    return "+".join(name for name in OPTIONS if options[name]) or "none"


class Case(NamedTuple):
    """One vocabulary with its options."""

    vocabulary: dict[str, int]
    options: dict[str, bool]
    max_characters: int = 100
    prefix: str = "##"
    unknown: str = "[UNK]"


def toy(options: Mapping[str, bool] = UNCASED, max_characters: int = 100) -> Case:
    """The vocabulary of ``PIECES``."""
    return Case({piece: number for number, piece in enumerate(PIECES)}, dict(options), max_characters)


def arrays_of(case: Case) -> dict[str, NDArray[np.generic]]:
    """Compiled arrays."""
    return build_arrays(description_of(case))[0]


def description_of(case: Case) -> WordPieceDescription:
    """What a reader would say of the vocabulary."""
    pieces: list[str | None] = [None] * (max(case.vocabulary.values()) + 1)
    for piece, number in case.vocabulary.items():
        pieces[number] = piece
    kinds = np.array([KIND_ABSENT if piece is None else KIND_NORMAL for piece in pieces], np.uint8)
    return WordPieceDescription(
        name="toy",
        source_format="vocab.txt",
        source_digest="",
        reference="tokenizers",
        pieces=pieces,
        kinds=kinds,
        unknown=case.vocabulary[case.unknown],
        added_tokens=(),
        prefix=case.prefix,
        max_input_chars_per_word=case.max_characters,
        **case.options,
    )


def tables_of(case: Case) -> WordPieceTables:
    """Kernel tables, read-only as those of a loaded vocabulary."""
    return frozen_tables(arrays_of(case))


def frozen_tables(arrays: Mapping[str, NDArray[np.generic]]) -> WordPieceTables:
    """Kernel tables out of compiled arrays."""
    tables = WordPieceTables(*(arrays[name] for name in WordPieceTables._fields))
    for array in tables:
        array.flags.writeable = False
    return tables


#: Vocabularies of the twin, by the number of the tables, which are kept with them so that no others get it.
_pieces: dict[int, tuple[WordPieceTables, Pieces]] = {}


def pieces_of(tables: WordPieceTables) -> Pieces:
    """The vocabulary of the twin; it is read from the tables once, for that takes a while without the JIT."""
    known = _pieces.get(id(tables))
    if known is None:
        known = _pieces[id(tables)] = (tables, _read_pieces(tables))
    return known[1]


def _read_pieces(tables: WordPieceTables) -> Pieces:
    constants = tables.wordpiece.tolist()
    first = keys_below(tables.trie_units, ROOT)
    return Pieces(
        {key: number for key, number in first.items() if key[0] != FURTHER_BYTE},
        keys_below(tables.trie_units, constants[FURTHER]),
        constants[UNKNOWN],
        constants[MAX_CHARACTERS],
    )


def keys_below(units: NDArray[np.uint32], node: int) -> dict[bytes, int]:
    """All keys of a double array that go on from a node, and their values."""
    found: dict[bytes, int] = {}
    pending = [(node, b"")]
    while pending:
        node, key = pending.pop()
        value = int(value_at(units, node))
        if key and value >= 0:
            found[key] = value
        children = ((int(step(units, node, byte)), key + bytes([byte])) for byte in range(256))
        pending.extend(child for child in children if child[0] >= 0)
    return found


def reference_of(case: Case):
    """The same vocabulary in tokenizers."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    made = Tokenizer(
        models.WordPiece(
            case.vocabulary,
            unk_token=case.unknown,
            max_input_chars_per_word=case.max_characters,
            continuing_subword_prefix=case.prefix,
        )
    )
    made.normalizer = normalizers.BertNormalizer(**case.options)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def reference_spans(tokenizer, text: str) -> list[tuple[int, int, int]]:
    """Id, start and end in characters of every token."""
    found = tokenizer.encode(text, add_special_tokens=False)
    return [(token, *span) for token, span in zip(found.ids, found.offsets, strict=True)]


def byte_array(text: str) -> NDArray[np.uint8]:
    """UTF-8 of a text, read-only."""
    return np.frombuffer(text.encode(), np.uint8)


def encode_spans(tables: WordPieceTables, text: str, scratch=None) -> list[tuple[int, int, int]]:
    """Id, start and end in characters of every token, by :func:`encode_words`."""
    data = byte_array(text)
    room = data.size + 1
    ids, starts, ends = np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(room, np.int64)
    scratch = new_scratch(max(data.size, 8)) if scratch is None else scratch
    n = int(encode_words(tables, data, 0, data.size, scratch, ids, starts, ends, 0))
    assert n >= 0, "the scratch holds words of this length"
    places = np.cumsum(np.concatenate([[0], (data & 0xC0) != 0x80]))[: data.size + 1]
    return list(zip(ids[:n].tolist(), places[starts[:n]].tolist(), places[ends[:n]].tolist(), strict=True))


def encode_rows(
    tables: WordPieceTables, rows: list[str], cache: WordCache | None = None, scratch=None
) -> list[list[int]]:
    """Ids of rows through the word cache."""
    texts = [row.encode() for row in rows]
    offsets = np.zeros(len(rows) + 1, np.int64)
    offsets[1:] = np.cumsum([len(text) for text in texts])
    data = np.frombuffer(b"".join(texts), np.uint8)
    ids, found = np.zeros(data.size + SPARE_IDS, np.int32), np.zeros(len(rows) + 1, np.int64)
    offsets.flags.writeable = False
    fixed = np.zeros(0, np.int32)
    fixed.flags.writeable = False
    longest = max(map(len, texts), default=0)
    n = encode_rows_wordpiece(
        tables, cache or new_word_cache(8, 1 << 12), data, offsets[:-1], offsets[1:], fixed, 0, len(rows),
        scratch or new_scratch(max(longest, 8)), ids, found, 0,
    )  # fmt: skip
    assert n == found[-1]
    return [ids[found[row] : found[row + 1]].tolist() for row in range(len(rows))]


def toy_wordpiece(**changes: Any) -> Vocabulary:
    """The vocabulary of ``PIECES``, compiled, with the special tokens of BERT."""
    description = description_of(toy())
    special = [AddedToken(piece, number) for number, piece in enumerate(PIECES[:5])]
    description.kinds[:5] = KIND_CONTROL
    template = (PIECES.index("[CLS]"), TEXT_PLACE, PIECES.index("[SEP]"))
    changes = {"added_tokens": tuple(special), "template_single": template, **changes}
    return Vocabulary(*build_arrays(replace(description, **changes)))
