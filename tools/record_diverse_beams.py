"""Record diverse beam searches of transformers 4, which version 5 has no more, for the tests.

In an environment with transformers 4 beside this package::

    pip install --target OLD --no-deps transformers==4.46.3 tokenizers==0.20.3 huggingface_hub==0.26.5
    PYTHONPATH=OLD:. python -m tools.record_diverse_beams

The models are tiny and made by this package, from seeds, so that the file holds options, prompts and results only.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from typing import Any

import torch

from numba_nlp.models import create_model, save_model
from tools.files import ROOT

__all__ = ["MODELS", "make_model"]

_RESULT = ROOT / "tests" / "generation" / "diverse_beams.json"
_CASES = 24
_VOCABULARY = 40
_SIDES = {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in {"layers": 2, "attention_heads": 3, "ffn_dim": 32}.items()
}
#: Class of transformers, head here, and config.
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": (
        "GPT2LMHeadModel",
        "language_model",
        {
            "model_type": "gpt2",
            "vocab_size": _VOCABULARY,
            "n_embd": 24,
            "n_layer": 2,
            "n_head": 3,
            "n_positions": 32,
            "bos_token_id": 0,
            "eos_token_id": 2,
        },
    ),
    "marian": (
        "MarianMTModel",
        "conditional_generation",
        {
            "model_type": "marian",
            "vocab_size": _VOCABULARY,
            "d_model": 24,
            **_SIDES,
            "max_position_embeddings": 32,
            "pad_token_id": 1,
            "eos_token_id": 2,
            "decoder_start_token_id": 1,
            "forced_eos_token_id": None,
        },
    ),
}


def make_model(name: str, seed: int) -> Any:
    """A tiny model with large random weights: few tokens are nearly as probable as others."""
    _, head, config = MODELS[name]
    model = create_model(config, head=head, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model


def _draw(generator: random.Random) -> dict[str, Any]:
    groups, width = generator.choice([(2, 1), (2, 2), (3, 2), (2, 3)])
    beams = groups * width
    options: dict[str, Any] = {
        "num_beams": beams,
        "num_beam_groups": groups,
        "diversity_penalty": generator.choice([0.3, 1.0, 5.0]),
        "num_return_sequences": generator.choice([1, beams]),
        "max_new_tokens": generator.randint(2, 14),
        "pad_token_id": 1,
        "eos_token_id": generator.randrange(3, _VOCABULARY),
    }
    for name, values in {
        "length_penalty": [0.0, -0.5, 2.0],
        "early_stopping": [True, "never"],
        "no_repeat_ngram_size": [1, 2],
        "min_new_tokens": [3],
        "repetition_penalty": [1.5],
    }.items():
        if generator.random() < 0.3:
            options[name] = generator.choice(values)
    return options


def main() -> int:
    """Record; 1 without transformers 4."""
    import transformers

    if not transformers.__version__.startswith("4."):
        print(f"this needs transformers 4, found {transformers.__version__}", file=sys.stderr)
        return 1
    cases = []
    for name, (kind, _, _) in MODELS.items():
        for number in range(_CASES):
            generator = random.Random(f"{name} {number}")
            seed = number % 4
            with tempfile.TemporaryDirectory() as folder:
                save_model(make_model(name, seed), folder)
                theirs = getattr(transformers, kind).from_pretrained(folder).eval()
            rows = [[generator.randrange(3, _VOCABULARY) for _ in range(4)] for _ in range(generator.randint(1, 3))]
            options = _draw(generator)
            if generator.random() < 0.7:  # an end that is reached: what the model writes
                ids = torch.tensor(rows)
                written = theirs.generate(ids, max_new_tokens=6, num_beams=1, do_sample=False, pad_token_id=1)
                options["eos_token_id"] = int(written[0, -2])
            out = theirs.generate(
                torch.tensor(rows),
                attention_mask=torch.ones(len(rows), 4, dtype=torch.int64),
                return_dict_in_generate=True,
                output_scores=True,
                **options,
            )
            cases.append(
                {
                    "model": name,
                    "seed": seed,
                    "input_ids": rows,
                    "options": options,
                    "sequences": out.sequences.tolist(),
                    "scores": [round(score, 5) for score in out.sequences_scores.tolist()],
                }
            )
    lines = ",\n".join(json.dumps(case) for case in cases)
    _RESULT.write_text(f'{{"transformers": "{transformers.__version__}", "cases": [\n{lines}\n]}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
