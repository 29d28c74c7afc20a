"""A trained T5, from text to text: the Flan-T5 of `pip install traceforge-title-model` (69 MB)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import numba_nlp as nlp
from tests.models.tiny import CLOSE, torch, transformers
from tests.models.weights.title_model import PREFIX, write_title_model

package = pytest.importorskip("traceforge_title_model", reason="needs `pip install traceforge-title-model` (69 MB)")
pytestmark = pytest.mark.weights

#: Notes about steps of work, in the form that the model was taught.
STEPS = (
    "intent: Fixing the login bug | actions: edit, bash | files: login.py, test_login.py | "
    "notes: The login test fails because the session cookie is missing.",
    "actions: grep, view | files: parser.py | symbols: parse_date | notes: Let me look for where dates are parsed.",
    "notes: I will write the documentation of the new command line options.",
    "intent: Running the unit tests | actions: bash | notes: All tests pass now.",
    "actions: view, edit | files: dockerfile, requirements.txt | notes: The image needs a newer version of Python.",
    "intent: Adding dark mode | files: theme.css, settings.tsx",
)
#: Longer than the 48 tokens to which the package's tokenizer cuts.
LONG = "notes: " + "The server answers slowly, for it reads the same table of the database again for each request. " * 3
TEXTS = [PREFIX + text for text in (*STEPS, LONG)]
#: Most tokens that are generated.
MOST = 24


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    # not of pytest, which keeps the folders of three runs: this one takes 310 MB
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        write_title_model(package.span_dir(), Path(name))
        yield Path(name)


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    return transformers.T5ForConditionalGeneration.from_pretrained(folder, attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def ours(folder: Path) -> Any:
    return nlp.load_model(folder)


@pytest.fixture(scope="module")
def inputs(folder: Path) -> Any:
    """What transformers makes of the texts, padded."""
    inputs = transformers.AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    return {name: inputs[name] for name in ("input_ids", "attention_mask")}


@pytest.fixture(scope="module")
def generated(theirs: Any, inputs: Any) -> Any:
    """Tokens of transformers, the most probable at each place, begun by padding and ended by it."""
    return theirs.generate(**inputs, do_sample=False, num_beams=1, max_new_tokens=MOST)


def generate(model: Any, inputs: Any, *, static: bool = False) -> Any:
    """The same by ours."""
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    cache = model.new_cache(len(ids), MOST, source_positions=ids.shape[1], static=static)
    model.encode_source(ids, mask, cache)
    tokens = torch.full((len(ids),), model.settings.start_id)
    rows, ended = [tokens], torch.zeros(len(ids), dtype=torch.bool)
    logits = model.prompt(tokens[:, None], None, cache)
    while True:
        tokens = logits.argmax(1).masked_fill(ended, model.settings.padding_id)
        rows.append(tokens)
        ended |= torch.isin(tokens, torch.tensor(model.settings.end_ids))
        if ended.all() or len(rows) > MOST:
            return torch.stack(rows, 1)
        logits = model.step(tokens, cache)


def test_states_and_logits(theirs: Any, ours: Any, inputs: Any, generated: Any) -> None:
    with torch.no_grad():
        expected = theirs(**inputs, decoder_input_ids=generated)
    got = ours(**inputs, decoder_input_ids=generated)
    real = inputs["attention_mask"].bool()
    assert 0 < real.float().mean() < 1
    states = got.encoder_last_hidden_state[real]
    torch.testing.assert_close(states, expected.encoder_last_hidden_state[real], **CLOSE)
    torch.testing.assert_close(got.logits, expected.logits, **CLOSE)


@pytest.mark.parametrize("static", [False, True], ids=["sliced", "static"])
def test_greedy(ours: Any, inputs: Any, generated: Any, static: bool) -> None:
    assert generated.shape[1] < MOST  # all rows come to their end
    assert torch.equal(generate(ours, inputs, static=static), generated)


def test_greedy_alone(ours: Any, inputs: Any, generated: Any) -> None:
    for row, expected in enumerate(generated):
        real = inputs["attention_mask"][row].bool()
        alone = generate(ours, {name: values[row][None, real] for name, values in inputs.items()})[0]
        assert alone.tolist() == expected[: len(alone)].tolist()
        assert (expected[len(alone) :] == ours.settings.padding_id).all()


@pytest.fixture(scope="module")
def write(folder: Path, ours: Any) -> Callable[[list[str]], list[str]]:
    """From text to text by ours alone."""
    tokenizer = nlp.load_tokenizer(folder)

    def write(texts: list[str]) -> list[str]:
        tokens = generate(ours, tokenizer(texts, padding=True, return_tensors="pt"))
        return tokenizer.decode_batch(tokens.numpy(), skip_special_tokens=True)

    return write


def test_titles(folder: Path, write: Callable[[list[str]], list[str]], generated: Any) -> None:
    """The text of transformers: titles of a few English words, half of which stand in short notes."""
    titles = write(TEXTS)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert titles == tokenizer.batch_decode(generated, skip_special_tokens=True)
    for title in titles:
        assert re.fullmatch(r"[A-Z]\w*( [\w.]+){1,7}", title, re.ASCII), title
    for title, step in zip(titles, STEPS, strict=False):
        words = title.lower().split()
        assert sum(word in step.lower() for word in words) * 2 >= len(words), title


def test_translation(write: Callable[[list[str]], list[str]]) -> None:
    """An example in transformers' documentation of T5: what Flan-T5 knew is still there."""
    text = "translate English to German: The house is wonderful."
    assert write([text]) == ["Das Haus ist wunderbar."]  # codespell:ignore ist
