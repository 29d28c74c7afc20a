"""Tables of BPE over characters: what they hold, and what is refused. Encoding with them is tested with the kernels."""

from __future__ import annotations

import numpy as np
import pytest

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import FIRST_TIED, PREFIX_SYMBOL, UNIQUE_PRODUCTS, UNKNOWN
from numba_nlp.kernels.tables.merge_table import find_merge_pair
from tests.sentencepiece_models import BYTE, UNUSED, USER_DEFINED, Model, model_of
from vocab_tools.compiler.sentencepiece_bpe import build_scored_arrays

LETTERS = [(c, -9.0, 0) for c in "abc"]


def compiled(model: Model, **options: bool):
    options = {"byte_fallback": model.byte_fallback, "escape_whitespaces": False, **options}
    return build_scored_arrays(
        model.pieces, np.array(model.scores, np.float32), np.array(model.kinds, np.uint8), **options
    )


def merges_of(arrays) -> list[tuple[int, int, int]]:
    pairs = arrays["merge_pairs"].tolist()
    return [
        (pair >> 20, pair & 0xFFFFF, product)
        for pair, product in zip(pairs, arrays["merge_symbols"].tolist(), strict=True)
    ]


def test_one_merge_a_piece_highest_score_first():
    model = model_of(
        [*LETTERS, ("bc", -2.0, 0), ("ab", -1.0, 0), ("abc", -3.0, 0), ("ca", -4.0, UNUSED), ("cab", -9.0, 0)]
    )
    arrays = compiled(model)
    # characters are symbols 0 to 2, the products follow from 256 on; "cab" is "c" and "ab" when its turn comes
    assert merges_of(arrays) == [(0, 1, 256), (1, 2, 257), (256, 2, 258), (2, 0, 259), (2, 256, 260)]
    assert arrays["flags"][UNIQUE_PRODUCTS] == 1
    assert arrays["merge_ranks"].size == 0
    assert arrays["flags"][FIRST_TIED] > 5
    for number, (left, right, _) in enumerate(merges_of(arrays)):
        assert find_merge_pair(arrays["merge_table"], arrays["merge_pairs"], left, right) == number


def test_every_split():
    model = model_of([*LETTERS, ("bc", -2.0, 0), ("ab", -1.0, 0), ("abc", -3.0, 0)])
    arrays = compiled(model, every_split=True)
    assert sorted(merges_of(arrays)) == [(0, 1, 256), (0, 257, 258), (1, 2, 257), (256, 2, 258)]
    assert arrays["merge_ranks"].tolist() == [0, 1, 2, 2]
    assert arrays["flags"][FIRST_TIED] == 2
    assert arrays["flags"][UNIQUE_PRODUCTS] == 0


def test_pieces_that_merging_never_makes_have_no_merge():
    model = model_of(
        [*LETTERS, ("bc", -1.0, 0), ("abc", -2.0, 0), ("ab", -3.0, 0), ("abab", -4.0, 0), ("aXb", -5.0, 0)]
    )
    products = {product for _, _, product in merges_of(compiled(model))}
    # "a" "X" "b" would need "aX" or "Xb"
    assert len(products) == 4


def test_pieces_around_user_defined_symbols_have_no_merge():
    model = model_of([*LETTERS, ("ab", -1.0, USER_DEFINED), ("abc", -1.0, 0), ("bc", -2.0, 0)])
    assert len(merges_of(compiled(model))) == 1


def test_equal_scores_have_equal_ranks():
    model = model_of(
        [*LETTERS, ("ab", -1.0, 0), ("bc", -2.0, 0), ("ca", -2.0, 0), ("cc", -3.0, 0), ("bb", 0.0, 0), ("aa", -0.0, 0)]
    )
    arrays = compiled(model)
    assert arrays["merge_ranks"].tolist() == [0, 0, 1, 2, 2, 3]
    assert arrays["flags"][FIRST_TIED] == 0


def test_spaces_of_raw_text():
    with_space = model_of([*LETTERS, ("\u2581", -1.0, 0)])
    arrays = compiled(with_space, escape_whitespaces=True, add_dummy_prefix=True)
    space = arrays["character_symbols"][0x20]
    assert with_space.pieces[arrays["symbol_ids"][space]] == "\u2581"
    assert arrays["flags"][PREFIX_SYMBOL] == space
    assert compiled(with_space, escape_whitespaces=True)["flags"][PREFIX_SYMBOL] == -1
    for model in (model_of(LETTERS), model_of([*LETTERS, ("\u2581", -1.0, 0), ("\u2581b", -1.0, USER_DEFINED)])):
        arrays = compiled(model, escape_whitespaces=True, add_dummy_prefix=True)
        assert arrays["flags"][PREFIX_SYMBOL] == -1
        assert arrays["symbol_ids"][arrays["character_symbols"][0x20]] == UNKNOWN


def test_arrays_are_read_only_and_flat():
    for array in compiled(model_of(LETTERS)).values():
        assert array.ndim == 1
        assert array.flags.c_contiguous
        assert not array.flags.writeable


def changed(model: Model, **columns) -> Model:
    return model._replace(**columns)


def test_what_is_refused():
    model = model_of(LETTERS)
    n = len(model.pieces)
    with pytest.raises(SourceFormatError, match="piece 'a' has the ids 3 and 4"):
        compiled(changed(model, pieces=[*model.pieces[:4], "a", *model.pieces[5:]]))
    with pytest.raises(SourceFormatError, match="piece 4 is empty"):
        compiled(changed(model, pieces=[*model.pieces[:4], "", *model.pieces[5:]]))
    with pytest.raises(SourceFormatError, match="piece 4 has 8000 bytes"):
        compiled(changed(model, pieces=[*model.pieces[:4], "\u00e9" * 4000, *model.pieces[5:]]))
    with pytest.raises(SourceFormatError, match=r"score of piece 'a' \(id 3\)"):
        compiled(changed(model, scores=[*model.scores[:3], float("nan"), *model.scores[4:]]))
    with pytest.raises(SourceFormatError, match="2 pieces are of the kind unknown"):
        compiled(changed(model, kinds=[1, 1, *model.kinds[2:]]))
    with pytest.raises(SourceFormatError, match="byte piece '<0x00>' is missing"):
        compiled(model, byte_fallback=True)
    with pytest.raises(ValueError, match=f"{n} pieces, but {n - 1} scores"):
        compiled(changed(model, scores=model.scores[1:]))
    nested = [("x" * length, 0.0, USER_DEFINED) for length in range(1, 66)]
    with pytest.raises(UnsupportedFeatureError, match="starts with 64 others"):
        compiled(model_of(nested))
    assert compiled(model_of(nested[:64]))["user_units"].size > 0


def test_byte_pieces():
    model = model_of([], byte_fallback=True)
    arrays = compiled(model)
    assert [model.pieces[number] for number in arrays["byte_ids"].tolist()] == [
        f"<0x{byte:02X}>" for byte in range(256)
    ]
    assert model.kinds.count(BYTE) == 256
