"""Byte-level BPE behind normalizers: ids and offsets against tokenizers, with GPT-2's files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import numba_nlp as nlp
from numba_nlp.errors import SpecialTokenError, UnsupportedFeatureError
from tests.made_tokenizers import GPT2_FILES, TEXTS
from tests.normalizer_cases import marked_texts, texts
from tests.shared_data import shared

PEERS = {
    "NFC": normalizers.NFC(),
    "NFKD": normalizers.NFKD(),
    "Lowercase": normalizers.Lowercase(),
    "Strip": normalizers.Strip(),
    "Prepend": normalizers.Prepend("\u2581"),
    "ByteLevel": normalizers.ByteLevel(),
    "Sequence": normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Replace(Regex(r"\p{P}+"), " ~ ")]
    ),
}
#: add_prefix_space, trim_offsets
OPTIONS = ((False, False), (True, True))


def made(normalizer, prefix, trim):
    peer = Tokenizer(models.BPE.from_file(*map(str, GPT2_FILES)))
    peer.normalizer = normalizer
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    peer.post_processor = processors.ByteLevel(trim_offsets=trim)
    peer.decoder = decoders.ByteLevel()
    peer.add_special_tokens([AddedToken("<s>", normalized=False)])
    peer.add_tokens([AddedToken("<mask>", normalized=False, lstrip=True, rstrip=True)])
    return peer


@pytest.fixture(scope="module", params=[(name, *options) for name in PEERS for options in OPTIONS], ids=str)
def pair(request, tmp_path_factory):
    name, prefix, trim = request.param
    peer = made(PEERS[name], prefix, trim)
    path = tmp_path_factory.mktemp("normalized") / "tokenizer.json"
    peer.save(str(path))
    return nlp.load_tokenizer(path), peer


def assert_same(ours, peer, rows):
    batch = ours.encode_batch(rows, spans=True)
    expected = peer.encode_batch(rows, add_special_tokens=False)
    for row, encoding in enumerate(expected):
        chosen = slice(batch.offsets[row], batch.offsets[row + 1])
        spans = list(zip(batch.starts[chosen].tolist(), batch.ends[chosen].tolist(), strict=True))
        assert (batch.values[chosen].tolist(), spans) == (encoding.ids, encoding.offsets), repr(rows[row])


pieces = st.one_of(texts, marked_texts, st.sampled_from(["<s>", " <mask> ", " the", "'s"]))


@given(rows=st.lists(st.lists(pieces, max_size=4).map("".join), min_size=1, max_size=4))
@example(TEXTS)
@example(["e\u0301<s>\u0301e  <mask>  \u00a8 x", "<s>", "\ufb01nd \ufb01<mask>\ufb01", " \u3000", "\u0301"])
def test_ids_and_offsets(pair, rows):
    assert_same(*pair, rows)


def test_every_way_in_gives_the_same(pair):
    ours, peer = pair
    rows = [*TEXTS, "e\u0301 \ufb01", "Plain ASCII", "\u0130<s>e\u0301"]
    expected = [encoding.ids for encoding in peer.encode_batch(rows, add_special_tokens=False)]
    assert [ours.encode(row).tolist() for row in rows] == expected
    assert [ours.encode(row.encode()).tolist() for row in rows] == expected
    assert [row.tolist() for row in ours.encode_batch(rows)] == expected
    assert [row.tolist() for row in ours.encode_batch(rows, num_threads=2)] == expected
    assert [ours.count(row) for row in rows] == list(map(len, expected))


def test_bytes_are_those_of_whole_characters(tmp_path):
    made(normalizers.NFC(), False, False).save(str(tmp_path / "tokenizer.json"))
    ours = nlp.load_tokenizer(tmp_path / "tokenizer.json")
    ids, starts, ends = ours.encode("ae\u0301 \u65e5x", spans=True, unit="byte")
    # as in tokenizers, a composed character has the range of the first one that it is made of
    assert (starts[0], ends[0]) == (0, 1)
    assert (starts[-1], ends[-1]) == (8, 9)
    assert {(5, 8), (4, 8)} & set(zip(starts.tolist(), ends.tolist(), strict=True))
    assert ours.decode(ids) == "a\u00e9 \u65e5x"


def test_threads_share_the_work(tmp_path):
    peer = made(PEERS["Sequence"], True, True)
    peer.save(str(tmp_path / "tokenizer.json"))
    ours = nlp.load_tokenizer(tmp_path / "tokenizer.json")
    rows = ["caf\u00e9 \ufb01n, e\u0301t\u0301! " * 200] * 60 + ["", "x"]
    one, four = (ours.encode_batch(rows, spans=True, num_threads=n) for n in (1, 4))
    for name in ("values", "offsets", "starts", "ends"):
        np.testing.assert_array_equal(getattr(one, name), getattr(four, name))
    assert one[0].tolist() == peer.encode(rows[0], add_special_tokens=False).ids


def test_a_compiled_file_keeps_its_normalizer(tmp_path):
    peer = made(PEERS["Sequence"], False, False)
    peer.save(str(tmp_path / "tokenizer.json"))
    first = nlp.load_tokenizer(tmp_path / "tokenizer.json")
    first.vocabulary.save(tmp_path / "compiled.safetensors")
    again = nlp.load_tokenizer(tmp_path / "compiled.safetensors")
    assert again.vocabulary == first.vocabulary
    assert_same(again, peer, TEXTS)


def test_tokens_of_normalized_text(tmp_path):
    """They are looked for in their own normalized form, and decoded to it."""
    peer = made(normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]), False, False)
    peer.add_tokens([AddedToken("<N>", normalized=True), AddedToken("E\u0301", normalized=True, lstrip=True)])
    peer.save(str(tmp_path / "tokenizer.json"))
    ours = nlp.load_tokenizer(tmp_path / "tokenizer.json")
    rows = ["a<n>b <N>", "\u00e9", "x \u00c9 e\u0301", "", "the <n", "plain text", "<n>", "\u0130<N>"]
    assert_same(ours, peer, rows)
    ids = [row.ids for row in peer.encode_batch(rows)]
    assert ours.decode_batch(ids) == peer.decode_batch(ids, skip_special_tokens=False)
    with pytest.raises(SpecialTokenError, match=r"'<N>' \(row 0\)"):
        ours.encode("<n>", special="raise")


def test_tokens_of_normalized_text_and_trimmed_spans_are_refused(tmp_path):
    peer = made(normalizers.NFC(), False, True)
    peer.add_tokens([AddedToken("<n>", normalized=True)])
    peer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UnsupportedFeatureError, match=r"added_tokens\[2\] = .*together with trimmed spans"):
        nlp.load_tokenizer(tmp_path / "tokenizer.json")


def test_texts_of_the_world(tmp_path):
    peer = made(normalizers.NFC(), False, False)
    peer.save(str(tmp_path / "tokenizer.json"))
    ours = nlp.load_tokenizer(tmp_path / "tokenizer.json")
    rows = shared("text/udhr_all_languages.txt").read_text(encoding="utf-8").splitlines()[::31]
    rows += json.loads(shared("text/blns.json").read_text(encoding="utf-8"))
    assert_same(ours, peer, rows)
