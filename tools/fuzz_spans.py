"""Compare answers and tags with transformers on fuzzed texts and tiny random models.

::

    python -m tools.fuzz_spans --count 200 --seed 1

Each draw is a text, joined from fuzzed ones, a question and sizes of windows. Answers are compared with the best span
by the logits of transformers 5, tags with what its pipeline makes of the shares of tokens. Differences are printed.
With ``--record`` the summary goes to ``docs/results/fuzz_spans.json``.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import tempfile
import warnings
from collections import Counter
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import transformers

from numba_nlp.pipelines import pipeline
from tests.pipelines.transformers_spans import best_answer, join_tags
from tools.files import ROOT
from tools.fuzz_texts import fuzz_texts
from tools.record_pipelines.span_models import ARCHITECTURES, passage, write_checkpoint

__all__ = ["run"]

_RESULT = ROOT / "docs" / "results" / "fuzz_spans.json"
_CLOSE = 1e-4


def _draw_text(generator: random.Random, texts: list[str]) -> str:
    parts = [generator.choice([generator.choice(texts), passage(generator.randrange(25_000), 5)]) for _ in range(12)]
    return generator.choice([" ", "\r\n", ""]).join(parts)[: generator.choice([20, 300, 900])]


def _same_answer(pipe: Any, tokenizer: Any, model: Any, generator: random.Random, text: str) -> str:
    question = passage(generator.randrange(25_000), 3)
    sizes = {"max_seq_len": generator.randint(40, 64), "doc_stride": generator.randint(0, 9)}
    sizes["max_answer_len"] = generator.choice([1, 4, 15])
    best = best_answer(tokenizer, model, question, text, **sizes)
    found = pipe(question=question, context=text, align_to_words=False, **sizes)
    if abs(found["score"] - max(best.score, 0.0)) > _CLOSE * max(best.score, 1e-30):
        return "score"
    if (found["start"], found["end"]) == (best.start, best.end) or best.score < 0:
        return "same"
    again = pipe(question=question, context=text, align_to_words=False, top_k=5, **sizes)
    ties = [(one["start"], one["end"]) for one in again if one["score"] > found["score"] * (1 - 1e-5)]
    return "tie" if (best.start, best.end) in ties else "span"


def _same_tags(pipe: Any, theirs: Any, generator: random.Random, text: str) -> str:
    strategy = generator.choice(["none", "simple", "first", "average", "max"])
    longest, stride = generator.randint(20, 60), generator.randint(0, 9)
    expected, _ = join_tags(theirs, text, strategy, longest, stride)
    found = pipe(text, aggregation_strategy=strategy, max_length=longest, stride=stride)
    names = ["entity" if strategy == "none" else "entity_group", "start", "end"]
    if strategy in ("none", "simple"):
        names.append("word")
    if [[tag[name] for name in names] for tag in found] != [[tag[name] for name in names] for tag in expected]:
        return f"tags, {strategy}"
    far = [abs(one["score"] - other["score"]) > _CLOSE for one, other in zip(found, expected, strict=True)]
    return "score" if any(far) else "same"


def run(count: int, seed: int) -> dict[str, Counter[str]]:
    """Draw ``count`` texts for each family; returns the verdicts by family and task."""
    verdicts: dict[str, Counter[str]] = {}
    for family in ARCHITECTURES:
        generator = random.Random(f"{family} {seed}")
        texts = list(fuzz_texts(600, seed))
        for head in ("question_answering", "token_classification"):
            if (family, head) == ("bart", "token_classification"):
                continue
            with tempfile.TemporaryDirectory() as name:
                architecture = write_checkpoint(family, head, Path(name), seed=seed)
                model = getattr(transformers, architecture).from_pretrained(name).eval()
                tokenizer = transformers.AutoTokenizer.from_pretrained(name)
                ours = pipeline("answer" if head == "question_answering" else "tag_tokens", model=name)
            theirs = None
            if head == "token_classification":
                theirs = transformers.TokenClassificationPipeline(model=model, tokenizer=tokenizer)
            tally = verdicts[f"{family} {ours.task}"] = Counter()
            for _ in range(count):
                text = _draw_text(generator, texts)
                if not text.strip():
                    continue
                if theirs is None:
                    verdict = _same_answer(ours, tokenizer, model, generator, text)
                else:
                    verdict = _same_tags(ours, theirs, generator, text)
                tally[verdict] += 1
                if verdict not in ("same", "tie"):
                    print(json.dumps({"family": family, "task": ours.task, "verdict": verdict, "text": text}))
            print(family, ours.task, dict(tally), flush=True)
    return verdicts


def main() -> int:
    """Run; 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Tokenizer does not support real words")
    logging.disable(logging.WARNING)
    verdicts = run(options.count, options.seed)
    if options.record:
        record = {
            "command": f"python -m tools.fuzz_spans --count {options.count} --seed {options.seed}",
            "date": datetime.now(timezone.utc).date().isoformat(),
            "versions": {name: version(name) for name in ("transformers", "tokenizers", "torch", "numba")},
            "verdicts": {name: dict(tally) for name, tally in verdicts.items()},
        }
        _RESULT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(any(set(tally) - {"same", "tie"} for tally in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
