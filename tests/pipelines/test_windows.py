"""Windows over long texts: which one has most context for a token, and what models are given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs torch")

import numba_nlp as nlp
from numba_nlp._input_layout import NO_TEXTS
from numba_nlp._input_plan import choose_template
from numba_nlp.pipelines.windows import TokenWindows, cut_windows, encode_texts
from tests import checkpoint_folders as plain

TEXTS = ["the quick brown fox " * 9, "", "a", "read the thing . " * 4]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> nlp.Tokenizer:
    folder: Path = tmp_path_factory.mktemp("bert")
    files = {**plain.bert_files(), "tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}}
    return nlp.load_tokenizer(plain.write_folder(folder, files))


def windows_of(tokenizer: nlp.Tokenizer, texts: list[str], length: int, stride: int) -> TokenWindows:
    settings = tokenizer.input_settings
    encoded = encode_texts(tokenizer, texts, spans=False, words=False)
    template = choose_template(settings, False, True)
    return cut_windows(
        settings, template, encoded, NO_TEXTS, is_second=False, max_length=length, stride=stride, first_row=0
    )


@given(st.integers(3, 12), st.data())
def test_a_token_is_taken_from_the_window_with_most_context(
    tokenizer: nlp.Tokenizer, length: int, data: st.DataObject
) -> None:
    windows = windows_of(tokenizer, TEXTS, length, data.draw(st.integers(0, length - 3)))
    owners = np.full(windows.texts.values.size, -1)
    for window, (start, end) in enumerate(zip(*windows.owned(), strict=True)):
        assert (owners[start:end] == -1).all()
        owners[start:end] = window
    offsets = windows.texts.offsets
    for token, owner in enumerate(owners.tolist()):
        row = int(np.searchsorted(offsets, token, side="right")) - 1
        depths = {}
        for window in np.flatnonzero(windows.rows == row).tolist():
            start, end = int(windows.starts[window]), int(windows.ends[window])
            if start <= token < end:
                left = token - start if start > offsets[row] else np.inf
                right = end - 1 - token if end < offsets[row + 1] else np.inf
                depths[window] = min(left, right)
        # the first one of the deepest
        assert owner == max(depths, key=lambda window: depths[window])


@pytest.mark.parametrize("side", ["right", "left"])
def test_inputs_are_those_of_the_tokenizer(tokenizer: nlp.Tokenizer, side: str) -> None:
    options = {"max_length": 9, "stride": 2, "return_overflowing_tokens": True, "padding": True, "truncation": True}
    expected = tokenizer(TEXTS, padding_side=side, **options)
    windows = windows_of(tokenizer, TEXTS, 9, 2)
    windows.settings.padding_side = side
    try:
        inputs = windows.inputs(np.arange(windows.rows.size))
        places = windows.places(np.arange(windows.rows.size))
    finally:
        windows.settings.padding_side = "right"
    assert set(inputs) == {"input_ids", "attention_mask", "token_type_ids"}
    for name, values in inputs.items():
        assert values.tolist() == expected[name].tolist()
    assert windows.rows.tolist() == expected["overflow_to_sample_mapping"].tolist()
    texts = encode_texts(tokenizer, TEXTS, spans=False, words=False)
    for window, place in enumerate(places.tolist()):
        start, end = windows.starts[window], windows.ends[window]
        held = inputs["input_ids"][window, place : place + end - start]
        assert held.tolist() == texts.values[start:end].tolist()
