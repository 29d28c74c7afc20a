"""Numbers of tokenizer.json files: the same bits as tokenizers has, which writes what it read in its shortest form."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp import load_tokenizer
from tests.shared_data import shared
from vocab_tools.formats.serde_numbers import read_float

tokenizers = pytest.importorskip("tokenizers")


def read_by_tokenizers(numbers):
    vocab = ",".join(f'["p{i}",{number}]' for i, number in enumerate(numbers))
    text = f'{{"version":"1.0","added_tokens":[],"model":{{"type":"Unigram","unk_id":0,"vocab":[{vocab}]}}}}'
    written = json.loads(tokenizers.Tokenizer.from_str(text).to_str())
    return [float(score) for _, score in written["model"]["vocab"]]


NUMBERS = st.builds(
    "{}{}.{}{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 10**22),
    st.text("0123456789", min_size=1, max_size=30),
    st.one_of(st.just(""), st.builds("e{}".format, st.integers(-400, 280))),
)


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_same_bits(numbers):
    assert [read_float(number) for number in numbers] == read_by_tokenizers(numbers)


def test_another_double_than_the_nearest():
    assert read_float("-3.9131507873535156") != -3.9131507873535156
    assert read_by_tokenizers(["-3.9131507873535156"]) == [read_float("-3.9131507873535156")]


def test_out_of_range():
    assert read_float("1.0e309") == float("inf")
    assert read_float("0.0e999") == 0.0
    assert read_float("1.0e-999999") == 0.0


def test_equal_sums_of_scores():
    """Segmentations with equal sums of the nearest doubles, of which tokenizers finds one better."""
    path = shared("vocab/xlnet/tokenizer.json")
    ours = load_tokenizer(path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    for text in ("rrr", "rrrrrrr", "ŕŕŕ", "rrrteto", "𝓻𝓻𝓻", "ṛṛṛ"):
        assert ours.encode(text).tolist() == theirs.encode(text, add_special_tokens=False).ids
