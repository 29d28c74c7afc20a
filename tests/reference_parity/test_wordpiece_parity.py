"""WordPiece against tokenizers and transformers: real vocabularies on real texts, every code point, fuzzed strings."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from random import Random

import numpy as np
import pytest

from numba_nlp.kernels.segment.decode import decode_ids
from numba_nlp.kernels.segment.decode_wordpiece import choose_forms
from numba_nlp.kernels.segment.normalize_bert import DELETED, LETTER, normalize, normalized_room
from numba_nlp.kernels.tables.word_cache import new_word_cache
from tests.shared_data import shared
from tests.wordpiece_cases import (
    ALL_OPTIONS,
    ALPHABET,
    UNCASED,
    byte_array,
    encode_rows,
    encode_spans,
    frozen_tables,
    named,
    reference_of,
    reference_spans,
    tables_of,
    toy,
)
from tools.bert_marks import kept_marks, units_of_all
from tools.fuzz_texts import fuzz_texts
from vocab_tools.compiler.bert_characters import bert_characters, recorded_library_version
from vocab_tools.compiler.wordpiece import build_arrays
from vocab_tools.formats import bert_vocab

#: File -> lower case.
VOCABULARIES = {"uncased_vocab.txt": True, "cased_vocab.txt": False, "chinese_vocab.txt": True}
LANGUAGES = ("cmn_hans", "jpn", "kor", "hin", "tha", "arb", "amh", "ell", "rus", "fra")
TEXTS = ("botchan.txt", "hamlet.txt", "wikinews_k2-18b.txt", *(f"udhr/{code}.txt" for code in LANGUAGES))
#: Marks that accent stripping leaves: where they are put into another order tokenizers gives them the places of others.
KEPT_MARKS = kept_marks()


@cache
def vocabulary(name: str):
    """Kernel tables, arrays, and the reference."""
    BertTokenizer = pytest.importorskip("transformers").BertTokenizer

    path = shared(f"vocab/bert/{name}")
    arrays, _ = build_arrays(bert_vocab.read(path, do_lower_case=VOCABULARIES[name]))
    reference = BertTokenizer(str(path), do_lower_case=VOCABULARIES[name])._tokenizer
    return frozen_tables(arrays), arrays, reference


def without_specials(tokenizer):
    """The reference without added tokens, which are matched before anything else."""
    from tokenizers import Tokenizer

    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = []
    state["post_processor"] = None
    return Tokenizer.from_str(json.dumps(state))


def check_rows(tables, reference, rows: list[str]) -> None:
    expected = [found.ids for found in reference.encode_batch(rows, add_special_tokens=False)]
    cache_of_rows = new_word_cache(12, 1 << 16)
    for _ in range(2):
        found = encode_rows(tables, rows, cache_of_rows)
        wrong = [row for row in range(len(rows)) if found[row] != expected[row]]
        assert not wrong, f"{len(wrong)} rows differ, the first one is {rows[wrong[0]]!r}"


@pytest.mark.parametrize("name", VOCABULARIES)
def test_texts(name):
    tables, _, reference = vocabulary(name)
    plain = without_specials(reference)
    for text in TEXTS:
        rows = shared(f"text/{text}").read_text(encoding="utf-8").split("\n")
        check_rows(tables, plain, rows)
        for row in rows[::29]:
            assert encode_spans(tables, row) == reference_spans(plain, row)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_naughty_strings(name):
    tables, _, reference = vocabulary(name)
    rows = json.loads(shared("text/blns.json").read_text(encoding="utf-8"))
    plain = without_specials(reference)
    check_rows(tables, plain, rows)
    for row in rows:
        if not KEPT_MARKS.intersection(row):
            assert encode_spans(tables, row) == reference_spans(plain, row)


@pytest.mark.parametrize("name", ["uncased_vocab.txt", "cased_vocab.txt"])
def test_fuzzed_strings(name):
    tables, _, reference = vocabulary(name)
    check_rows(tables, without_specials(reference), list(fuzz_texts(1200, seed=20)))


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=named)
def test_options(options):
    """Short strings of difficult characters with a vocabulary that knows some of them."""
    random = Random(4)
    case = toy(options, random.choice((100, 5, 2)))
    tables, reference = tables_of(case), reference_of(case)
    rows = ["".join(random.choices(ALPHABET, k=random.randrange(1, 24))) for _ in range(400)]
    check_rows(tables, reference, rows)
    for row in rows:
        if not KEPT_MARKS.intersection(row):
            assert encode_spans(tables, row) == reference_spans(reference, row)


#: Planes 0 and 1, and one of 16 beyond, where neighbours are alike.
CODE_POINTS = [chr(point) for point in (*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 16))]


@pytest.mark.parametrize("name", ["uncased_vocab.txt", "cased_vocab.txt"])
def test_every_code_point(name):
    """Each alone, between letters, twice, and with marks behind it."""
    tables, _, reference = vocabulary(name)
    plain = without_specials(reference)
    rows = [f"a{c}b {c} {c}{c} .{c}\u0301\u302e" for c in CODE_POINTS]
    rows = ["\n".join(rows[start : start + 64]) for start in range(0, len(rows), 64)]
    check_rows(tables, plain, rows)


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=named)
def test_normalized_text_of_every_code_point(options):
    """The reference normalises each code point alone, apart from marks that a letter keeps apart."""
    from tokenizers.normalizers import BertNormalizer

    tables = bert_characters(**options)
    text = "x".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
    expected = BertNormalizer(**options)
    for start in range(0, len(text), 8192):
        part = text[start : start + 8192]
        data = byte_array(part)
        out, none = np.zeros(normalized_room(data.size), np.uint8), np.zeros(0, np.int32)
        n = normalize(tables, data, 0, data.size, out, none, none)
        assert out[:n].tobytes().decode() == expected.normalize_str(part), (
            f"the tables are of tokenizers {recorded_library_version()}, {version('tokenizers')} is installed; "
            "run tools/generate_bert_tables.py with the version to follow"
        )


def test_order_of_marks():
    """All pairs of marks that stay, with a stripped mark of each class between them."""
    from tokenizers.normalizers import BertNormalizer

    characters = bert_characters(**UNCASED)
    units = units_of_all(characters)
    kept = [chr(point) for point in np.flatnonzero((units & 7 == LETTER) & (units >> 24 != 0)).tolist()]
    assert len(kept) > 50
    stripped = np.flatnonzero((units & 7 == DELETED) & (units >> 24 != 0)).tolist()
    gone = {int(units[point] >> 24): chr(point) for point in stripped if not 0xD800 <= point < 0xE000}
    assert len(gone) > 40
    expected = BertNormalizer(**UNCASED)
    for between in ("", "\u0e31", *gone.values()):
        text = "".join(f"x{a}{between}{b}" for a in kept for b in kept[:: 1 if len(between) == 0 else 9])
        data = byte_array(text)
        out, none = np.zeros(normalized_room(data.size), np.uint8), np.zeros(0, np.int32)
        n = normalize(characters, data, 0, data.size, out, none, none)
        assert out[:n].tobytes().decode() == expected.normalize_str(text)


def test_spans_of_reordered_marks():
    """Where tokenizers is wrong: of marks that change places it keeps the places, not the origins.

    U+1B44 (class 9) stays, U+0308 (class 230) is stripped; in canonical order U+1B44 comes first and is given the
    place of U+0308, so that the word seems to end before its last character.
    """
    case = toy(UNCASED)
    text = "x\u0308\u1b44"
    (theirs,) = reference_spans(reference_of(case), text)
    (ours,) = encode_spans(tables_of(case), text)
    assert theirs == (ours[0], 0, 2)
    assert ours[1:] == (0, 3)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_decoding(name):
    """Every token behind another and as the first one; clean-up included; special tokens left out."""
    _, arrays, reference = vocabulary(name)
    n = arrays["piece_kinds"].size
    kinds = np.concatenate([arrays["piece_kinds"]] * 2)
    random = Random(3)
    rows = [[token] for token in range(0, n, 17)]
    rows += [[random.randrange(n) for _ in range(random.randrange(1, 12))] for _ in range(2000)]
    texts = "don't [MASK] do not", "it's 'a' test , ok ? we've . !", "I'm , n't"
    rows += [reference.encode(text).ids for text in texts]
    rows += [list(range(start, min(start + 400, n))) for start in range(0, n, 400)]
    for skip_special in (0, 1):
        for row in rows:
            ids, forms = np.array(row, np.int32), np.zeros(len(row), np.int32)
            choose_forms(arrays["piece_kinds"], ids, np.array([0, len(row)]), skip_special, forms)
            out = np.zeros(64 * len(row) + 64, np.uint8)
            end = decode_ids(
                arrays["decoded_bytes"], arrays["decoded_offsets"], kinds, forms, 0, len(row), skip_special, 0, out,
                np.zeros(1, np.int64),
            )  # fmt: skip
            assert out[:end].tobytes().decode() == reference.decode(row, skip_special_tokens=bool(skip_special))
