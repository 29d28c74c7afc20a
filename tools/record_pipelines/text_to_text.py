"""Record translations and summaries of transformers 4, whose pipelines version 5 has no more, for the tests.

In an environment with transformers 4 beside this package::

    pip install --target OLD --no-deps transformers==4.46.3 tokenizers==0.20.3 huggingface_hub==0.26.5
    PYTHONPATH=OLD:. python -m tools.record_pipelines.text_to_text

The models are Marian's that comes with the package, and a tiny BART that the package makes from a seed, so that the
file holds texts, options and results only.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from numba_nlp.models import create_model, own_model, save_model
from tests import checkpoint_folders as plain
from tools.files import ROOT

__all__ = ["RECORD", "load_case"]

RECORD = ROOT / "tests" / "pipelines" / "text_to_text.json"
_SIDES = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("layers", 2), ("ffn_dim", 48))}
_HEADS = {f"{side}_attention_heads": 2 for side in ("encoder", "decoder")}
_CONFIG = {
    "model_type": "bart",
    "architectures": ["BartForConditionalGeneration"],
    **_SIDES,
    **_HEADS,
    "d_model": 24,
    "max_position_embeddings": 96,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
    "is_encoder_decoder": True,
    "prefix": " ",
    "task_specific_params": {
        "summarization": {
            "early_stopping": True,
            "length_penalty": 2.0,
            "max_length": 18,
            "min_length": 8,
            "no_repeat_ngram_size": 3,
            "num_beams": 4,
        },
        "summarization_cnn": {"max_length": 5},
    },
}
_TEXTS = [
    "the quick brown fox",
    "To be, or not to be, that is the question:",
    "a",
    "Whether 'tis nobler in the mind to suffer the slings and arrows.",
]
_NUMBERS = [">>words<< 1,000,205", ">>year<< 1905", ">>digits<< July fourth, seventeen seventy-six", ">>words<< 7"]
_CASES: list[tuple[str, str, list[str], dict[str, Any]]] = [
    ("summarization", "bart", _TEXTS, {}),
    ("summarization", "bart", _TEXTS, {"num_beams": 1, "min_length": 0, "max_length": 12}),
    ("summarization", "bart", _TEXTS, {"num_beams": 3, "length_penalty": 0.3, "early_stopping": False}),
    ("summarization", "bart", _TEXTS, {"num_beams": 2, "repetition_penalty": 1.4, "max_length": 10, "min_length": 2}),
    ("translation", "numbers", _NUMBERS, {}),
    ("translation", "numbers", _NUMBERS, {"num_beams": 4, "length_penalty": 0.7}),
    ("translation", "numbers", _NUMBERS, {"max_length": 6}),
]


def load_case(name: str, folder: Path) -> Path:
    """The folder of a model, written if it is one that is made."""
    if name == "numbers":
        return own_model("numbers")
    if not (folder / "config.json").exists():
        vocabulary = plain.byte_level("<s>", "<pad>", "</s>", "<unk>", "<mask>")
        settings = {"tokenizer_class": "BartTokenizer"}
        plain.write_folder(folder, {**plain.merged_files(vocabulary), "tokenizer_config.json": settings})
        config = {**_CONFIG, "vocab_size": len(vocabulary[0])}
        model = create_model(config, head="conditional_generation", seed=3)
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for _, parameter in sorted(model.named_parameters()):
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
        save_model(model, folder)
    return folder


def main() -> int:
    """Record; 1 without transformers 4."""
    import transformers

    if not transformers.__version__.startswith("4."):
        print(f"this needs transformers 4, found {transformers.__version__}", file=sys.stderr)
        return 1
    cases = []
    with tempfile.TemporaryDirectory() as name:
        for task, model, texts, options in _CASES:
            folder = load_case(model, Path(name) / model)
            pipe = transformers.pipeline(task, model=str(folder), torch_dtype=torch.float32)
            key = "summary_text" if task == "summarization" else "translation_text"
            results = [pipe([text], **options)[0][key] for text in texts]
            cases.append({"task": task, "model": model, "texts": texts, "options": options, "results": results})
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    RECORD.write_text(f'{{"transformers": "{transformers.__version__}", "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
