"""Normalised text, its alignment and decoded text equal those of sentencepiece, on its models and on made ones."""

from __future__ import annotations

import json
import os
import random
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.kernels.segment import decode_sentencepiece, normalize_charsmap
from tests.sentencepiece_cases import CHARACTERS, model_of, rules, run_normalize, symbols, texts
from tests.shared_data import shared
from vocab_tools.compiler.charsmap import normalizer_tables
from vocab_tools.formats import sentencepiece_model
from vocab_tools.formats.charsmap import encode_charsmap

#: Compare everything, not only what a CI run has time for.
FULL = os.environ.get("NUMBA_NLP_TEST_FULL") == "1"

MODELS = [
    "albert/30k-clean.model",
    "barthez/sentencepiece.bpe.model",
    "marian/opus-mt-en-mg/source.spm",
    "marian/opus-mt-en-mg/target.spm",
    "marian/opus-mt-uk-en/source.spm",
    "marian/opus-mt-uk-en/target.spm",
    "mistral/tokenizer.model.v1",
    "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "sentencepiece/amr_sentencepiece.bpe.model",
    "sentencepiece/blingfire_bpe_example.model",
    "sentencepiece/google_test_model.model",
    "sentencepiece/hf_test_sentencepiece.model",
    "sentencepiece/hf_test_sentencepiece_bpe.model",
    "sentencepiece/hf_test_sentencepiece_no_bos.model",
    "sentencepiece/onmt_sp_regularization.model",
    "sentencepiece/torchtext_spm_example.model",
    "t5/spiece.model",
    "xlm_roberta/sentencepiece.bpe.model",
    "xlnet/spiece.model",
]
#: One of each kind of normaliser: rules of four makings, none, with and without symbols.
NORMALIZERS = [MODELS[i] for i in (0, 2, 6, 7, 8, 10, 16, 18)]


@cache
def loaded(name):
    """sentencepiece's processor, our description, the tables of normaliser and decoder."""
    path = shared(f"vocab/{name}")
    model = sentencepiece_model.read(path)
    return (sentencepiece.SentencePieceProcessor(model_file=str(path)), *tables_of_model(model))


def tables_of_model(model):
    offsets = np.cumsum([0] + [len(piece) for piece in model.pieces], dtype=np.int64)
    spec = model.normalizer
    drop = 2 if spec.remove_extra_whitespaces else int(spec.add_dummy_prefix)
    pieces = np.frombuffer(b"".join(model.pieces), np.uint8)
    decoder = decode_sentencepiece.new_tables(pieces, offsets, model.kinds, model.unk_surface, drop)
    return model, normalizer_tables(spec, model.user_defined()), decoder


def normalized_rows(tables, rows):
    """Normalised rows by one call of the kernel."""
    data = np.frombuffer(b"".join(rows), np.uint8)
    bounds = np.cumsum([0] + [len(row) for row in rows], dtype=np.int64)
    out = np.zeros(sum(int(normalize_charsmap.normalized_room(tables, len(row))) for row in rows), np.uint8)
    offsets = np.zeros(len(rows) + 1, np.int64)
    n = normalize_charsmap.normalize_rows(tables, data, bounds[:-1], bounds[1:], out, offsets)
    content, places = out[:n].tobytes(), offsets.tolist()
    return [content[first:last] for first, last in pairwise(places)]


def decoded(tables, ids):
    """Decoded ids by the kernel."""
    array, where = np.array(ids, np.int32), np.zeros(1, np.int64)
    out = np.zeros(int(decode_sentencepiece.decoded_room(tables, array, 0, array.size, where)), np.uint8)
    n = decode_sentencepiece.decode_ids(tables, array, 0, array.size, 1, 0, out, where)
    return out[:n].tobytes()


def check_rows(name, rows):
    reference, _, tables, _ = loaded(name)
    for row, made in zip(rows, normalized_rows(tables, rows), strict=True):
        assert made == reference.normalize(row), row


def code_points(first, last):
    return [chr(code) for code in range(first, last) if not 0xD800 <= code < 0xE000]


@pytest.mark.parametrize("name", NORMALIZERS)
def test_every_code_point_among_others(name):
    """Each between letters, where it may compose, and near spaces; many to a row."""
    characters = code_points(0, 0x110000)
    for context in ("x{}y", "e{} ", " {}\u0301"):
        pieces = [context.format(character) for character in characters]
        check_rows(name, ["".join(pieces[i : i + 500]).encode() for i in range(0, len(pieces), 500)])


@pytest.mark.parametrize("name", NORMALIZERS)
def test_every_code_point_alone(name):
    """Alone and at the ends of a row, where spaces are left out; outside of the first plane in a full run only."""
    for context in ("{}", " {}", "{} ", "{0}{0}"):
        check_rows(name, [context.format(c).encode() for c in code_points(0, 0x110000 if FULL else 0x3100)])


def real_rows():
    rows = json.loads(shared("text/blns.json").read_text(encoding="utf-8"))
    rows += shared("text/udhr_all_languages.txt").read_text(encoding="utf-8").split("\n")[:: 1 if FULL else 9]
    rows.append(shared("text/udhr/jpn.txt").read_text(encoding="utf-8"))
    rows.append(shared("goldens/kitoken/utf8_input.txt").read_text(encoding="utf-8"))
    return [row.encode() for row in rows]


@pytest.mark.parametrize("name", MODELS)
def test_real_text(name):
    check_rows(name, real_rows())


def random_texts(seed, n):
    generator = random.Random(seed)
    pool = [
        *CHARACTERS,
        "ﷺ",
        "ﬁ",
        "カ\u3099",
        "ｶﾞ",
        "\u1100\u1161\u11a8",
        "\t",
        "<sep>",
        "(",
        ".",
        "[INST]",
        "\u200b",
        "A",
    ]
    return ["".join(generator.choices(pool, k=generator.randrange(14))).encode() for _ in range(n)]


@pytest.mark.parametrize("name", MODELS)
def test_alignment(name):
    """Where each byte comes from; sentencepiece's last element is the end of the text that stayed."""
    reference, _, tables, _ = loaded(name)
    for text in random_texts(1, 20000 if FULL else 1000) + real_rows()[:800]:
        expected, offsets = reference.normalize(text, with_offsets=True)
        made, starts, ends = run_normalize(normalize_charsmap, tables, text)
        assert made == expected, text
        assert starts == offsets[: len(starts)], text
        for start, end, following in zip(starts, ends, offsets[1:], strict=False):
            assert start <= end
            assert end <= following or start == following, text


@pytest.mark.parametrize("name", MODELS)
def test_token_spans_follow_from_the_alignment(name):
    """For a token of normalised bytes [a, b) sentencepiece says [from of a, from of b).

    So a token takes in what was left out behind it, which is its business; but where one character becomes several
    tokens, all but the last of them are said to come from no text. By our alignment each comes from that character.
    """
    reference, model, tables, _ = loaded(name)
    for text in random_texts(2, 5000 if FULL else 500):
        _, starts, ends = run_normalize(normalize_charsmap, tables, text)
        position = 0
        given = reference.encode(text, out_type="offset_mapping")
        for token, piece, (begin, end) in zip(given["ids"], given["pieces"], given["offsets"], strict=True):
            is_byte = model.kinds[token] == 5
            first, position = position, position + (1 if is_byte else len(piece))
            if is_byte:
                continue
            assert begin == starts[first], text
            goes_on = position < len(starts) and starts[position] == starts[position - 1]
            if position < len(starts):
                assert end == starts[position], text
            assert goes_on or end >= ends[position - 1], text
        assert position == len(starts)


def test_parts_of_a_character_come_from_that_character():
    """U+FDFA is four words: sentencepiece gives the first three of them no text, we give all of them the character."""
    reference, _, tables, _ = loaded("t5/spiece.model")
    text = "ﷺ".encode()
    assert reference.encode(text, out_type="offset_mapping")["offsets"][:7] == [(0, 0)] * 7
    made, starts, ends = run_normalize(normalize_charsmap, tables, text)
    assert made.decode() == "▁صلى▁الله▁عليه▁وسلم"
    assert set(zip(starts[3:], ends[3:], strict=True)) == {(0, 3)}


def random_ids(model, seed, n):
    """Many special pieces, spaces and bytes, and any others."""
    generator = random.Random(seed)
    spaces = {"▁".encode(), "▁▁".encode(), "▁a".encode(), "▁\u2581▁".encode()}
    special = [i for i, kind in enumerate(model.kinds.tolist()) if kind != 0 or model.pieces[i] in spaces]
    for _ in range(n):
        yield [
            generator.choice(special) if generator.random() < 0.6 else generator.randrange(len(model.pieces))
            for _ in range(generator.randrange(10))
        ]


@pytest.mark.parametrize("name", MODELS)
def test_decoding(name):
    reference, model, _, tables = loaded(name)
    for ids in random_ids(model, 3, 50000 if FULL else 3000):
        assert decoded(tables, ids).decode() == reference.decode(ids), ids
    for row in real_rows()[:500]:
        ids = reference.encode(row)
        assert decoded(tables, ids).decode() == reference.decode(ids)
    every = list(range(len(model.pieces)))
    assert decoded(tables, every).decode() == reference.decode(every)


PIECES = [("<unk>", 2), ("<s>", 3), ("▁", 1), ("▁▁", 1), ("▁a", 1), ("a", 1), (" b", 1), ("é", 5), ("▁a▁", 1)]
BYTES = [(f"<0x{byte:02X}>", 6) for byte in range(256)]
flags = st.integers(0, 15)


def made_model(rules, symbols, flags, pieces=PIECES, byte_fallback=False):
    taken = {piece for piece, _ in pieces}
    model = model_of(pieces + [(symbol, 4) for symbol in symbols if symbol not in taken])
    spec = model.normalizer_spec
    spec.add_dummy_prefix, spec.remove_extra_whitespaces = bool(flags & 1), bool(flags & 2)
    spec.escape_whitespaces = bool(flags & 4)
    model.trainer_spec.treat_whitespace_as_suffix = bool(flags & 8)
    model.trainer_spec.byte_fallback = byte_fallback
    if rules:
        spec.precompiled_charsmap = encode_charsmap({key.encode(): text.encode() for key, text in rules.items()})
    return model


def both(model):
    content = model.SerializeToString()
    reference = sentencepiece.SentencePieceProcessor(model_proto=content)
    return (reference, *tables_of_model(sentencepiece_model.parse(content, name="made")))


@given(rules, symbols, flags, st.lists(texts, min_size=1, max_size=5))
@example({}, [], 7, ["▁", "▁ ", " ▁a▁ "])
@example({"\u00a0": " ", "\x7f": ""}, ["a "], 7, ["a \x7f b", "a\u00a0 b", "a a  b"])
def test_made_normalizers(rules, symbols, flags, texts):
    reference, _, tables, _ = both(made_model(rules, symbols, flags))
    for text in texts:
        expected, offsets = reference.normalize(text.encode(), with_offsets=True)
        made, starts, _ = run_normalize(normalize_charsmap, tables, text.encode())
        assert made == expected
        assert starts == offsets[: len(starts)]


@given(
    flags,
    st.sampled_from([None, "", "?", " ⁇ "]),
    st.dictionaries(st.sampled_from(["a", "é", " "]), st.sampled_from(["", "A", " ", "x y"]), max_size=2),
    flags,
    st.lists(st.one_of(st.integers(0, 10), st.sampled_from([11 + b for b in (0x41, 0xC3, 0xA9, 0xE2, 0x96, 0x81)]))),
)
def test_made_decoders(flags, surface, rules, denormalizer_flags, ids):
    model = made_model({}, ["▁u", "▁"], flags, [*PIECES, ("[x]", 4), *BYTES], byte_fallback=True)
    if surface is not None:
        model.trainer_spec.unk_surface = surface.encode()
    denormalizer = made_model(rules, [], denormalizer_flags).normalizer_spec
    model.denormalizer_spec.CopyFrom(denormalizer)
    reference, description, _, tables = both(model)
    text = decoded(tables, ids)
    if description.denormalizer is not None:
        text = run_normalize(normalize_charsmap, normalizer_tables(description.denormalizer), text)[0]
    assert text.decode() == reference.decode(ids)


@pytest.mark.parametrize("text", ["mixed", "utf8"])
@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("mistral/mistral01.model", "mistral01"),
        ("mistral/tokenizer.model.v1", "mistral01"),
        ("mistral/mistral_instruct_tokenizer_240323.model.v3", "mistral03"),
        ("xlnet/spiece.model", "xlnet_base_cased"),
    ],
)
def test_goldens_of_others(name, golden, text):
    """Ids that another project recorded: of ``mixed`` a line for each row, of ``utf8`` one for the whole text."""
    content = shared(f"goldens/kitoken/{text}_input.txt").read_text(encoding="utf-8")
    rows = content.split("\n") if text == "mixed" else [content]
    recorded = shared(f"goldens/kitoken/sentencepiece/{text}_tokens_{golden}.txt").read_text(encoding="utf-8")
    expected = [[int(number) for number in line.split(",") if number.strip()] for line in recorded.split("\n")]
    ours = nlp.load_tokenizer(shared(f"vocab/{name}"))
    assert [row.tolist() for row in ours.encode_batch(rows, special="plain")] == expected
