"""Train Unigram models with this project and with sentencepiece on one corpus, and compare.

For each size both train on the whole corpus, each in a process of its own: seconds, seconds of processor time, peak
memory, pieces in common, and whether sentencepiece encodes with our file as our tokenizer does. Then both train on nine
lines of ten, and the logarithm of probability of a character of the others is compared (of the best segmentation).

Usage: ``python tools/compare_unigram_training.py [--sizes 8000,32000] [--threads 2] [--record RESULT.json]``
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools.files import shared_path

CORPUS = "text/english_16mb.txt"


def train(who: str, corpus: Path, size: int, threads: int, target: Path) -> dict[str, float]:
    """Train in this process; figures without the imports, but with the loading of compiled kernels."""
    if who == "ours":
        from vocab_tools.formats.sentencepiece_writer import write_model
        from vocab_tools.training.unigram import train_unigram
    else:
        import sentencepiece
    start, used = time.perf_counter(), time.process_time()
    if who == "ours":
        write_model(target, train_unigram(corpus, vocab_size=size, num_threads=threads))
    else:
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus), model_prefix=str(target.with_suffix("")), vocab_size=size, num_threads=threads,
            minloglevel=2,
        )  # fmt: skip
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "processor_seconds": round(time.process_time() - used, 2),
        "peak_megabytes": peak_megabytes(),
    }


def peak_megabytes() -> int:
    """Most memory of this process (Linux); getrusage would begin with that of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return round(int(status.partition("VmHWM:")[2].split()[0]) / 1024)


def train_apart(who: str, corpus: Path, size: int, threads: int, target: Path) -> dict[str, float]:
    """The same in a process of its own."""
    arguments = [who, str(corpus), str(size), str(threads), str(target)]
    done = subprocess.run(
        [sys.executable, "-m", "tools.compare_unigram_training", "--child", *arguments],
        cwd=Path(__file__).resolve().parents[1], check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def likelihood(model: Path, lines: list[str]) -> float:
    """Logarithm of probability of a character."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    scores = [processor.get_score(i) for i in range(processor.vocab_size())]
    scores[processor.unk_id()] = min(scores) - 10
    total = sum(scores[i] for ids in processor.encode(lines) for i in ids)
    return total / sum(map(len, lines))


def compare(corpus: Path, size: int, threads: int, folder: Path) -> dict[str, Any]:
    import sentencepiece

    import numba_nlp as nlp
    import vocab_tools

    result: dict[str, Any] = {"vocab_size": size}
    models = {who: folder / f"{who}.model" for who in ("ours", "sentencepiece")}
    for who, model in models.items():
        result[who] = train_apart(who, corpus, size, threads, model)
    processors = {who: sentencepiece.SentencePieceProcessor(model_file=str(path)) for who, path in models.items()}
    pieces = [{processor.id_to_piece(i) for i in range(size)} for processor in processors.values()]
    result["pieces_in_common"] = round(len(pieces[0] & pieces[1]) / size, 4)
    lines = corpus.read_text(encoding="utf-8").splitlines()
    ours = nlp.Tokenizer(vocab_tools.compile(models["ours"]))
    ids = [row.tolist() for row in ours.encode_batch(lines)]
    result["encodes_as_sentencepiece"] = ids == processors["ours"].encode(lines)

    part = folder / "part.txt"
    part.write_text("".join(line + "\n" for i, line in enumerate(lines) if i % 10), encoding="utf-8")
    for who, model in models.items():
        train_apart(who, part, size, threads, model)
        result[who]["held_out_log_likelihood"] = round(likelihood(model, lines[::10]), 5)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="8000,32000")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        who, corpus, size, threads, target = arguments.child
        print(json.dumps(train(who, Path(corpus), int(size), int(threads), Path(target))))
        return
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, arguments.sizes.split(",")):
            results.append(compare(shared_path(CORPUS), size, arguments.threads, Path(folder)))
            print(json.dumps(results[-1], indent=1), flush=True)
    if arguments.record:
        made = {
            "corpus": CORPUS,
            "threads": arguments.threads,
            "sentencepiece": version("sentencepiece"),
            "date": datetime.now(timezone.utc).date().isoformat(),
            "results": results,
        }
        arguments.record.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
