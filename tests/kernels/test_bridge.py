"""Cutting where no merge can cross: the chunks of the plain twin, and that encoding them apart changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.bridge import cut_mask, fill_spans_bridge, is_cut, is_unknown
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import BLOCK, WINDOW
from numba_nlp.reference.segment import bridge as twin
from numba_nlp.reference.segment import sentencepiece_bpe as segment_twin
from numba_nlp.reference.segment.derive_splits import derive_splits
from tests.sentencepiece_models import CHARACTERS, NORMAL, UNUSED, USER_DEFINED, model_of, random_model
from vocab_tools.compiler.bridge import bridge_of

models = st.integers(0, 119).map(random_model)


@kernel
def _fill(tables, data, position, stop, starts, ends, n, limit):
    return fill_spans_bridge(tables, data, position, stop, starts, ends, n, limit)


def chunks(tables, text: str, limit: int = BLOCK) -> list[str]:
    """All chunks, in blocks, with other text around."""
    content = text.encode()
    data = np.frombuffer(b"ab" + content + b"b", np.uint8)
    starts, ends = np.zeros(limit + WINDOW, np.int64), np.zeros(limit + WINDOW, np.int64)
    found, position, stop = [], 2, 2 + len(content)
    while position < stop:
        n, position = _fill(tables, data, position, stop, starts, ends, 0, limit)
        assert n > 0
        found += [bytes(data[a:b]).decode() for a, b in zip(starts[:n].tolist(), ends[:n].tolist(), strict=True)]
    return found


def makable(model) -> list[str]:
    """Pieces that merging makes, and user-defined symbols."""
    user = [piece for piece, about in model.texts.items() if about.kind == USER_DEFINED]
    formable = {
        piece: about
        for piece, about in model.texts.items()
        if about.kind in (NORMAL, UNUSED) and not any(symbol in piece for symbol in user)
    }
    order = sorted({-about.score for about in formable.values()})
    ranks = {piece: order.index(-about.score) for piece, about in formable.items() if len(piece) > 1}
    return [*user, *(piece for piece, parts in derive_splits(ranks).items() if parts is not None)]


@given(model=models, text=st.text(CHARACTERS, max_size=200), limit=st.sampled_from((1, 7, BLOCK)))
def test_chunks_of_the_twin(model, text, limit):
    known = {piece for piece, about in model.texts.items() if about.kind == NORMAL and len(piece) == 1}

    def may_be_apart(left, right):
        unknown = [twin.is_unknown(known, character) for character in (left, right)]
        return model.byte_fallback or not all(unknown)

    assert chunks(model.tables(), text, limit) == twin.fill_spans_bridge(text, makable(model), may_be_apart)


@given(model=models, text=st.text(CHARACTERS, max_size=60))
def test_chunks_do_not_influence_each_other(model, text):
    """The twin of encoding, which knows of no chunks."""
    arguments = (model.texts, model.unknown, model.byte_ids)
    apart, start = [], 0
    for chunk in chunks(model.tables(), text):
        apart += [(number, start + end) for number, end in segment_twin.segment(chunk, *arguments)]
        start += len(chunk.encode())
    assert apart == segment_twin.segment(text, *arguments)


def test_runs_of_unknown_characters_stay_together():
    tables = model_of([("a", -1.0, 0), ("b", -1.0, 0)]).tables()
    assert chunks(tables, "ab\u00e9\u65e5Z.a\u00e9b") == ["a", "b", "\u00e9\u65e5Z.", "a", "\u00e9", "b"]
    tables = model_of([("a", -1.0, 0), ("b", -1.0, 0)], byte_fallback=True).tables()
    assert chunks(tables, "a\u00e9\u65e5Z") == ["a", "\u00e9", "\u65e5", "Z"]


@pytest.mark.parametrize("n", [1, 2, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW])
def test_texts_of_every_length(n):
    tables = model_of([("a", -1.0, 0), ("b", -1.0, 0), ("aa", -1.0, 0)]).tables()
    assert chunks(tables, "b" * n) == ["b"] * n
    assert chunks(tables, "a" * n) == ["a" * n]
    assert chunks(tables, "a" * (n - 1) + "b", 1) == [*(["a" * (n - 1)] if n > 1 else []), "b"]


def bits(bridge) -> set[bytes]:
    return {
        bytes([left, right])
        for left in range(256)
        for right in range(256)
        if int(bridge[(left << 8 | right) >> 6]) >> (right & 63) & 1
    }


def test_table_of_bridges():
    inside = {bytes([left, right]) for left in range(256) for right in range(0x80, 0xC0)}
    assert bits(bridge_of([])) == inside
    assert bits(bridge_of(["abc", "c\u00e9d"])) == inside | {b"ab", b"bc", b"c\xc3", b"\xa9d"}
    raw = bits(bridge_of(["a\u2581\u2581b"], "\u2581"))
    assert {b"a ", b"a\xe2", b"  ", b" \xe2", b"\x81 ", b"\x81\xe2", b" b", b"\x81b"} == raw - inside
    assert bits(bridge_of(["ab"], None, [0x7A, 0x78])) - inside == {b"ab", b"zx", b"xz", b"zz", b"xx"}


@kernel
def _ask(tables, text, position):
    known = is_unknown(tables.character_index, tables.character_symbols, tables.symbol_ids, np.int64(0x65E5))
    return is_cut(tables, text, position), known, cut_mask(tables.bridge, text, position, np.int64(1))


def test_single_places():
    tables = model_of([("a", -1.0, 0), ("aa", -1.0, 0)]).tables()
    data = np.frombuffer("aa\u65e5\u00e9".encode(), np.uint8)
    answers = [tuple(map(int, _ask(tables, data, place))) for place in (1, 2, 5)]
    assert answers == [(True, True, 0), (True, True, 1), (False, True, 1)]
