"""Time and memory of training BPE and WordPiece, beside the peers: one process for each, best of several runs.

Run it as ``python -m tools.measure_training --out docs/results/training.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools.files import shared_path
from tools.tiktoken_to_tokenizer_json import BYTE_CHARACTERS

__all__ = ["TRAINERS", "main", "merges_of", "pieces_of"]

CORPUS = "text/english_16mb.txt"
SIZES = {
    "numba_nlp": (8000, 32000),
    "tokenizers": (8000, 32000),
    "gigatoken": (8000,),
    "numba_nlp_wordpiece": (32000,),
    "tokenizers_wordpiece": (32000,),
}
THREADS = 2


def _ours(path: Path, size: int) -> Any:
    from vocab_tools.training import train_bpe

    return train_bpe(path, vocab_size=size, n_threads=THREADS).merges


def _ours_wordpiece(path: Path, size: int) -> Any:
    from vocab_tools.training import train_wordpiece

    return train_wordpiece(path, vocab_size=size, n_threads=THREADS).vocabulary


def _tokenizers(path: Path, size: int) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train([str(path)], trainer)
    return tokenizer


def _tokenizers_wordpiece(path: Path, size: int) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]  # as ours
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    tokenizer.train([str(path)], trainer)
    return tokenizer


def _gigatoken(path: Path, size: int) -> Any:
    import gigatoken

    return gigatoken.train_bpe(str(path), size, [])[1]


def merges_of(made: Any) -> list[tuple[str, str]]:
    """Merges in order, in the byte-level alphabet, from what a trainer of BPE gives."""
    if hasattr(made, "to_str"):
        made = json.loads(made.to_str())["model"]["merges"]
    pairs = [tuple(pair.split(" ") if isinstance(pair, str) else pair) for pair in made]
    return [tuple(_spelled(part) for part in pair) for pair in pairs]  # type: ignore[misc]


def pieces_of(made: Any) -> set[str]:
    """Pieces from what a trainer of WordPiece gives, without special tokens, which ours has of itself."""
    pieces = made if isinstance(made, dict) else made.get_vocab()
    return {piece for piece in pieces if not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)}


def _spelled(part: str | bytes) -> str:
    return part if isinstance(part, str) else "".join(BYTE_CHARACTERS[byte] for byte in part)


#: Trainers by name: path and size to what they give (:func:`merges_of`, :func:`pieces_of`).
TRAINERS: dict[str, Callable[[Path, int], Any]] = {
    "numba_nlp": _ours,
    "tokenizers": _tokenizers,
    "gigatoken": _gigatoken,
    "numba_nlp_wordpiece": _ours_wordpiece,
    "tokenizers_wordpiece": _tokenizers_wordpiece,
}


def _one(name: str, size: int, runs: int) -> dict[str, Any]:
    """Train in this process, on a few words first, which loads all code: memory is counted from there on."""
    path = shared_path(CORPUS)
    TRAINERS[name](Path(__file__), 300)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        TRAINERS[name](path, size)
        times.append(time.perf_counter() - begun)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": times, "peak_mb": peak, "training_mb": peak - base}


def main(arguments: list[str] | None = None) -> int:
    """Measure all trainers and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("NAME", "SIZE"), help="measure this in the process itself")
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(_one(options.one[0], int(options.one[1]), options.runs)))
        return 0
    records: list[dict[str, Any]] = []
    environment = os.environ | {"RAYON_NUM_THREADS": str(THREADS)}
    for name, sizes in SIZES.items():
        for size in sizes:
            command = [
                sys.executable,
                "-m",
                "tools.measure_training",
                "--one",
                name,
                str(size),
                "--runs",
                str(options.runs),
            ]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            measured = json.loads(done.stdout.strip().splitlines()[-1])
            records.append({"trainer": name, "vocab_size": size} | measured)
            memory = f"{measured['peak_mb']:6.0f} MB, {measured['training_mb']:4.0f} MB of it for training"
            print(f"{name:22} {size:6} {min(measured['seconds']):7.2f} s {memory}")
    if options.out:
        peers = {peer: version(peer) for peer in ("numba", "numpy", "tokenizers", "gigatoken")}
        record = {"corpus": CORPUS, "threads": THREADS, "versions": peers, "results": records}
        options.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
