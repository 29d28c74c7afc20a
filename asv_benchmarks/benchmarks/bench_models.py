"""One pass through a model, and loading it; transformers beside, at base sizes with random weights.

Passes of both by turns in one process, which asv cannot do, and the peak memory of a process each that loads the model
and makes the largest pass, are printed, and recorded for ``docs/models.md``, by

    python -m asv_benchmarks.benchmarks.bench_models --rounds 7 --record docs/results/models.json

``--models bert gpt`` takes those whose names have such a part. Set ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import inspect
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

LIBRARIES = ("transformers", "numba_nlp")
#: Whose versions are recorded.
PACKAGES = ("numpy", "torch", "transformers")
#: Sizes of one side of bart-base and of the OPUS-MT models.
_BART = {"layers": 6, "attention_heads": 12, "ffn_dim": 3072}
_MARIAN = {"layers": 6, "attention_heads": 8, "ffn_dim": 2048}
#: Class of transformers -> what differs from its default sizes, which are those of the base models.
MODELS: dict[str, dict[str, Any]] = {
    "BertModel": {},
    "DistilBertForSequenceClassification": {},
    "ElectraForPreTraining": {},
    "RobertaForMaskedLM": {},
    "GPT2LMHeadModel": {},
    "OpenAIGPTLMHeadModel": {},
    # the base model; the family's defaults are those of the large one
    "XLNetLMHeadModel": {"d_model": 768, "n_head": 12, "d_inner": 3072, "n_layer": 12, "use_mems_eval": False},
    "BartForConditionalGeneration": {
        **{f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in _BART.items()},
        "d_model": 768,
    },
    "MarianMTModel": {
        **{f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in _MARIAN.items()},
        "d_model": 512,
        "activation_function": "swish",
        "scale_embedding": True,
    },
    "T5ForConditionalGeneration": {"decoder_start_token_id": 0},
}
#: Name -> rows, width, and whether the second half of all rows but the first is padding.
BATCHES = {"1x16": (1, 16, False), "1x128": (1, 128, False), "8x32": (8, 32, False), "8x32 padded": (8, 32, True)}


def write_checkpoint(name: str, folder: Path) -> None:
    """A checkpoint with random weights, saved by transformers."""
    import transformers

    kind = getattr(transformers, name)
    kind(kind.config_class(**MODELS[name])).save_pretrained(folder)


def load(backend: str, name: str, folder: Path) -> Any:
    """The model of a checkpoint."""
    if backend == "numba_nlp":
        import numba_nlp as nlp

        return nlp.load_model(folder)
    import transformers

    return getattr(transformers, name).from_pretrained(folder).eval()


def make_call(model: Any, batch: str) -> Callable[[], Any]:
    """One pass, without gradients."""
    import torch

    rows, width, padded = BATCHES[batch]
    ids = torch.from_numpy(np.random.default_rng(0).integers(5, 20_000, (rows, width)))
    mask = torch.ones_like(ids)
    if padded:
        mask[1:, width // 2 :] = 0
    inputs = {"input_ids": ids, "attention_mask": mask}
    if "decoder_input_ids" in inspect.signature(model.forward).parameters:
        inputs["decoder_input_ids"] = ids[:, : width // 2]

    def call() -> Any:
        with torch.inference_mode():
            return model(**inputs)

    return call


class _Models:
    """A checkpoint, and its model loaded."""

    param_names = ("backend", "model", "batch")
    timeout = 300

    def setup(self, backend: str, name: str, batch: str) -> None:
        for package in ("torch", "transformers", "safetensors"):
            if find_spec(package) is None:
                raise NotImplementedError(f"{package} is not installed")
        self._folder = tempfile.TemporaryDirectory()
        write_checkpoint(name, Path(self._folder.name))
        self._call = make_call(load(backend, name, Path(self._folder.name)), batch)
        self._call()

    def teardown(self, *_: str) -> None:
        self._folder.cleanup()


class Models(_Models):
    """Forward passes."""

    params = (["numba_nlp", "transformers"], list(MODELS), list(BATCHES))

    def time_forward(self, backend: str, name: str, batch: str) -> None:
        self._call()

    def peakmem_forward(self, backend: str, name: str, batch: str) -> None:
        self._call()


class LoadModels(_Models):
    """From the folder to a model; the file is in the page cache."""

    params = (["numba_nlp", "transformers"], list(MODELS), ["1x16"])

    def time_load(self, backend: str, name: str, batch: str) -> None:
        load(backend, name, Path(self._folder.name))


def passes(name: str, folder: Path, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of each batch by both libraries, by turns, after one pass that is not counted."""
    models = {backend: load(backend, name, folder) for backend in LIBRARIES}
    found: dict[str, dict[str, list[float]]] = {}
    for batch in BATCHES:
        calls = {backend: make_call(model, batch) for backend, model in models.items()}
        found[batch] = {backend: [] for backend in calls}
        for turn in range(rounds + 1):
            for backend, call in calls.items():
                start = time.perf_counter()
                call()
                if turn:
                    found[batch][backend].append(time.perf_counter() - start)
    return found


#: Loads a model, makes a pass, and prints the peak of its process in KiB (that of getrusage begins with the parent's).
_CHILD = """
import re, sys
from pathlib import Path
from asv_benchmarks.benchmarks.bench_models import load, make_call
make_call(load(sys.argv[1], sys.argv[2], Path(sys.argv[3])), "8x32 padded")()
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def memory(name: str, folder: Path) -> dict[str, float]:
    """Peak megabytes of both libraries, each in a process of its own."""
    peaks = {}
    for backend in LIBRARIES:
        command = [sys.executable, "-c", _CHILD, backend, name, str(folder)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        peaks[backend] = int(done.stdout.split()[-1]) / 1024
    return peaks


def main() -> None:
    """Command line; see the module."""
    from asv_benchmarks.records import open_record, stamp

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=[""])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    for name in MODELS:
        if not any(part.lower() in name.lower() for part in options.models):
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_checkpoint(name, Path(folder))
            seconds, peaks = passes(name, Path(folder), options.rounds), memory(name, Path(folder))
        for batch, taken in seconds.items():
            theirs, ours = (statistics.median(taken[backend]) for backend in ("transformers", "numba_nlp"))
            print(
                f"{name:36} {batch:12} ours {1e3 * ours:8.2f} ms, transformers / ours {theirs / ours:.2f}", flush=True
            )
        print(f"{name:36} " + ", ".join(f"{backend} {peak:.0f} MB" for backend, peak in peaks.items()), flush=True)
        if options.record:
            found = open_record(options.record, PACKAGES)
            case = {"model": name, **stamp(), "rounds": options.rounds, "seconds": seconds, "peak_mb": peaks}
            found["cases"] = [one for one in found["cases"] if one["model"] != name] + [case]
            found["cases"].sort(key=lambda one: list(MODELS).index(one["model"]))
            options.record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
