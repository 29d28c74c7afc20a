"""Record answers of the question answering pipeline of transformers 4, which version 5 has no more, for the tests.

In an environment with transformers 4 beside this package::

    pip install --target OLD --no-deps transformers==4.46.3 tokenizers==0.20.3 huggingface_hub==0.26.5
    PYTHONPATH=OLD:. python -m tools.record_pipelines.answer

XLNet is left out: its tokenizer pads at the left, for which that pipeline masks nothing but the first token of the
context, so that it finds answers in the question too. ``tests/pipelines/test_answer.py`` compares all families with the
logits of transformers 5 too.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.files import ROOT
from tools.record_pipelines.span_models import ARCHITECTURES, passage, write_checkpoint

__all__ = ["FAMILIES", "texts_of"]

RESULT = ROOT / "tests" / "pipelines" / "recorded_answers.json"
FAMILIES = tuple(family for family in ARCHITECTURES if family != "xlnet")
_CASES = 6


def texts_of(case: dict[str, Any]) -> tuple[str, str]:
    """Question and context of a case."""
    question, context = case["words"]
    return f"{passage(*question)}?", passage(*context)


def _draw(generator: random.Random, number: int) -> dict[str, Any]:
    width = generator.randint(40, 64)
    options: dict[str, Any] = {
        "top_k": 1 if number == 0 else 30,
        "max_seq_len": width,
        "doc_stride": generator.randint(0, 12),
        "max_answer_len": generator.choice([1, 5, 15]),
        "handle_impossible_answer": generator.random() < 0.5,
        "align_to_words": generator.random() < 0.5,
    }
    # one that fits into a window, too
    context = (generator.randrange(25_000), 12 if number == 1 else generator.randint(90, 140))
    return {"words": [(generator.randrange(25_000), 4), context], "options": options}


def main() -> int:
    """Record; 1 without transformers 4."""
    import transformers

    if not transformers.__version__.startswith("4."):
        print(f"this needs transformers 4, found {transformers.__version__}", file=sys.stderr)
        return 1
    cases = []
    for family in FAMILIES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            architecture = write_checkpoint(family, "question_answering", folder)
            pipe = transformers.QuestionAnsweringPipeline(
                model=getattr(transformers, architecture).from_pretrained(folder).eval(),
                tokenizer=transformers.AutoTokenizer.from_pretrained(folder),
                framework="pt",
            )
            for number in range(_CASES):
                case = {"family": family, **_draw(random.Random(f"{family} {number}"), number)}
                question, context = texts_of(case)
                found = pipe(question=question, context=context, **case["options"])
                windows = pipe.tokenizer(
                    question,
                    context,
                    truncation="only_second",
                    max_length=case["options"]["max_seq_len"],
                    stride=case["options"]["doc_stride"],
                    return_overflowing_tokens=True,
                )
                answers = found if isinstance(found, list) else [found]
                case["windows"] = len(windows["input_ids"])
                case["answers"] = [
                    [answer["start"], answer["end"], float(f"{answer['score']:.7g}")] for answer in answers
                ]
                cases.append(case)
    lines = ",\n".join(json.dumps(case) for case in cases)
    RESULT.write_text(f'{{"transformers": "{transformers.__version__}", "cases": [\n{lines}\n]}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
