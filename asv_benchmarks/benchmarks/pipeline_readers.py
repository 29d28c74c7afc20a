"""The tasks of `bench_pipelines` that read text with an encoder: a BERT of the size of MiniLM-L6, random weights."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tools.files import ROOT

from .pipeline_case import Peer, PipelineCase, save_model, text_lines, their_parts

__all__ = ["CASES"]

_VOCABULARY = ROOT / "examples" / "data" / "bert" / "vocab.txt"
_SIZES = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
_TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
_CANDIDATES = ["love", "war", "the sea", "politics"]


def _bert(architecture: str, labels: tuple[str, ...] = ()) -> Callable[[Path, dict[str, Any]], None]:
    def write(folder: Path, settings: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(_VOCABULARY, folder / "vocab.txt")
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "model_max_length": 512}')
        named = {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
        # weights wider than usual, so that no two labels are nearly as likely
        wide = {"initializer_range": 0.1}
        save_model(architecture, folder, {**_SIZES, **wide, **(named if labels else {}), **settings})

    return write


def _pipeline_peer(task: str, architecture: str, plain: Callable[[Any], Any]) -> Callable[..., Peer]:
    """The pipeline of version 5."""

    def make(folder: Path, options: dict[str, Any], batch: int) -> Peer:
        import transformers

        tokenizer, model = their_parts(architecture, folder)
        pipe = transformers.pipeline(task, model=model, tokenizer=tokenizer)

        def call(rows: list[Any]) -> list[Any]:
            found = pipe(rows, batch_size=batch, **options)
            # one masked text in a list comes back without the list
            one = len(rows) == 1 and task == "fill-mask"
            return [plain(result) for result in ([found] if one else found)]

        return call

    return make


def _answer_peer(folder: Path, options: dict[str, Any], batch: int) -> Peer:
    """What the pipeline of version 4 does: windows, a batch through the model, the best pair of each."""
    import torch

    tokenizer, model = their_parts("BertForQuestionAnswering", folder)

    def call(rows: list[Any]) -> list[Any]:
        windows = tokenizer(
            [row["question"] for row in rows],
            [row["context"] for row in rows],
            truncation="only_second",
            max_length=options["max_seq_len"],
            stride=options["doc_stride"],
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        row_of, spans = windows.pop("overflow_to_sample_mapping").tolist(), windows.pop("offset_mapping").numpy()
        best: list[Any] = [(0.0, 0, 0)] * len(rows)
        for first in range(0, len(row_of), batch):
            part = {name: value[first : first + batch] for name, value in windows.items()}
            with torch.no_grad():
                logits = model(**part)
            for place, (starts, ends) in enumerate(
                zip(logits.start_logits.numpy(), logits.end_logits.numpy(), strict=True), first
            ):
                inside = np.array([sequence == 1 for sequence in windows.sequence_ids(place)])
                inside[0] = True
                sides = []
                for side in (starts, ends):
                    shares = np.exp(side - side[inside].max()) * inside
                    sides.append(shares / shares.sum())
                    sides[-1][0] = 0.0
                pairs = np.tril(np.triu(np.outer(*sides)), options["max_answer_len"] - 1)
                start, end = np.unravel_index(pairs.argmax(), pairs.shape)
                found = (float(pairs[start, end]), int(spans[place, start, 0]), int(spans[place, end, 1]))
                best[row_of[place]] = max(best[row_of[place]], found, key=lambda one: one[0])
        return [(start, end) for _, start, end in best]

    return call


def _embedding_peer(folder: Path, options: dict[str, Any], batch: int) -> Peer:
    """Means over the tokens, of length one: what users of sentence embeddings write around tokenizer and model."""
    import torch

    tokenizer, model = their_parts("BertModel", folder)

    def call(rows: list[Any]) -> list[Any]:
        results: list[Any] = []
        for first in range(0, len(rows), batch):
            inputs = tokenizer(rows[first : first + batch], return_tensors="pt", padding=True, **options)
            with torch.no_grad():
                hidden = model(**inputs).last_hidden_state
            mask = inputs["attention_mask"][..., None]
            means = (hidden * mask).sum(1) / mask.sum(1)
            results += list(torch.nn.functional.normalize(means).numpy())
        return results

    return call


def _questions(n: int) -> list[Any]:
    contexts, questions = text_lines(n, 40), text_lines(n, 1)
    return [
        {"question": f"{question}?", "context": context} for question, context in zip(questions, contexts, strict=True)
    ]


def _masked(n: int) -> list[str]:
    rows = []
    for text in text_lines(n, 4):
        words = text.split()
        words[len(words) // 2] = "[MASK]"
        rows.append(" ".join(words))
    return rows


_WINDOWS = {"max_seq_len": 384, "doc_stride": 128, "max_answer_len": 15}
#: Tasks that read text.
CASES: dict[str, PipelineCase] = {
    "answer": PipelineCase(
        "answer",
        _bert("BertForQuestionAnswering"),
        _questions,
        _answer_peer,
        {**_WINDOWS, "align_to_words": False},
        _WINDOWS,
        "a BERT of the size of MiniLM-L6; contexts of 20 to 60 lines, in windows of 384 tokens",
        plain=lambda answer: (answer["start"], answer["end"]),
    ),
    "tag_tokens": PipelineCase(
        "tag_tokens",
        _bert("BertForTokenClassification", _TAGS),
        lambda n: text_lines(n, 8),
        _pipeline_peer(
            "token-classification",
            "BertForTokenClassification",
            lambda tags: [(tag["entity_group"], tag["start"], tag["end"]) for tag in tags],
        ),
        {"aggregation_strategy": "simple"},
        {"aggregation_strategy": "simple"},
        "the same model; texts of 4 to 12 lines, entities",
        plain=lambda tags: [(tag["entity_group"], tag["start"], tag["end"]) for tag in tags],
    ),
    "classify": PipelineCase(
        "classify",
        _bert("BertForSequenceClassification", ("NEGATIVE", "POSITIVE")),
        lambda n: text_lines(n, 4),
        _pipeline_peer("text-classification", "BertForSequenceClassification", lambda found: found["label"]),
        {},
        {},
        "the same model; texts of 2 to 6 lines",
        plain=lambda found: found["label"],
    ),
    "classify_zero_shot": PipelineCase(
        "classify_zero_shot",
        _bert("BertForSequenceClassification", ("contradiction", "neutral", "entailment")),
        lambda n: text_lines(n, 4),
        _pipeline_peer("zero-shot-classification", "BertForSequenceClassification", lambda found: found["labels"]),
        {"candidate_labels": _CANDIDATES},
        {"candidate_labels": _CANDIDATES},
        "the same model; the same texts, four labels",
        plain=lambda found: found["labels"],
    ),
    "embed": PipelineCase(
        "embed",
        _bert("BertModel"),
        lambda n: text_lines(n, 4),
        _embedding_peer,
        {"pooling": "mean", "normalize": True},
        {},
        "the same model; the same texts, means of length one",
        same=lambda one, other: bool(np.allclose(one, other, atol=1e-4)),
    ),
    "fill_mask": PipelineCase(
        "fill_mask",
        _bert("BertForMaskedLM"),
        _masked,
        _pipeline_peer("fill-mask", "BertForMaskedLM", lambda found: [one["token"] for one in found]),
        {},
        {},
        "the same model; the same texts with one masked word, five fillings",
        plain=lambda found: [one["token"] for one in found],
    ),
}
