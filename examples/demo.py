"""The main job on real input: the vocabulary of GPT-2 turns the whole of Hamlet into ids, and back.

Compiles the vocabulary, loads the compiled file, encodes the play line by line with spans, writes Parquet and npz,
reads both back, decodes, and compares with the play byte for byte. Run it by ``make demo``, or in an environment that
has the extras ``arrow`` and ``cli``::

    python examples/demo.py [OUTPUT_FOLDER]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import numba_nlp as nlp
import vocab_tools

DATA = Path(__file__).resolve().parent / "data"
PLAY = DATA / "hamlet_gut.txt"
#: How often the warm measurement encodes the play.
REPEATS = 21


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that one call takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def write_parquet(path: Path, rows: nlp.TextRows, batch: nlp.Ragged, provenance: dict[str, str]) -> None:
    """One row a line: its text, ids and spans; vocabulary and version stand in the schema's metadata."""
    columns = {
        "text": rows.to_arrow(),
        "ids": batch.to_arrow().cast(pa.list_(pa.int32())),
        "starts": batch.to_arrow("starts"),
        "ends": batch.to_arrow("ends"),
    }
    pq.write_table(pa.table(columns).replace_schema_metadata(provenance), path, compression="zstd")


def check_parquet(path: Path, tok: nlp.Tokenizer, original: bytes, provenance: dict[str, str]) -> None:
    """Rows, ids and spans of the file give back the play."""
    table = pq.read_table(path)
    check_provenance(path, {key.decode(): value.decode() for key, value in table.schema.metadata.items()}, provenance)
    lines = table["text"].to_pylist()
    decoded = tok.decode_batch(nlp.Ragged.from_arrow(table["ids"]))
    for row, (line, again) in enumerate(zip(lines, decoded, strict=True)):
        if line != again:
            raise SystemExit(f"{path}: row {row} is {line!r}, decoding its ids gives {again!r}")
    check_bytes(path, "".join(decoded).encode(), original)
    spans = zip(lines, table["starts"].to_pylist(), table["ends"].to_pylist(), strict=True)
    for row, (line, starts, ends) in enumerate(spans):
        if "".join(line[start:end] for start, end in zip(starts, ends, strict=True)) != line:
            raise SystemExit(f"{path}: the spans of row {row} do not cover {line!r}")


def check_npz(path: Path, tok: nlp.Tokenizer, original: bytes, provenance: dict[str, str]) -> None:
    """All ids of the file, decoded in one call, give back the play."""
    with np.load(path) as arrays:
        check_provenance(path, {key: str(arrays[key]) for key in provenance}, provenance)
        check_bytes(path, tok.decode_bytes(arrays["ids"]), original)


def check_provenance(path: Path, found: dict[str, str], expected: dict[str, str]) -> None:
    """The file names the vocabulary and the version that wrote it."""
    if found != expected:
        raise SystemExit(f"{path}: the metadata are {found}, expected {expected}")


def check_bytes(path: Path, decoded: bytes, original: bytes) -> None:
    """The round trip, byte for byte."""
    if decoded == original:
        return
    same = next((i for i, (a, b) in enumerate(zip(decoded, original, strict=False)) if a != b), None)
    place = min(len(decoded), len(original)) if same is None else same
    raise SystemExit(
        f"{path}: decoding does not give back {PLAY.name}: {len(decoded)} bytes for {len(original)}, first difference "
        f"at byte {place}: {decoded[place : place + 20]!r} for {original[place : place + 20]!r}"
    )


def most_frequent(tok: nlp.Tokenizer, ids: NDArray[np.int32], n: int) -> list[tuple[str, int, int]]:
    """The ``n`` most frequent ids as text, id and count; ``␣`` is a space and ``⏎`` a line end."""
    counts = np.bincount(ids)
    best = np.argsort(-counts, kind="stable")[:n]
    return [(tok.decode([i]).replace(" ", "␣").replace("\n", "⏎"), int(i), int(counts[i])) for i in best]


def main(out: Path) -> None:
    """Do the job, print the table."""
    out.mkdir(parents=True, exist_ok=True)
    compiled = out / "gpt2.safetensors"

    compile_seconds, vocabulary = seconds(
        lambda: vocab_tools.compile([DATA / "gpt2" / "vocab.json", DATA / "gpt2" / "merges.txt"])
    )
    vocabulary.save(compiled)
    load_seconds, tok = seconds(lambda: nlp.load_tokenizer(compiled))

    # With their line ends, the rows one after the other are the file: nothing to put back when comparing.
    rows = nlp.TextRows.from_file(PLAY, keep_line_ends=True)
    original = PLAY.read_bytes()

    def encode() -> nlp.Ragged:
        return tok.encode_batch(rows, spans=True, num_threads=1)

    first_seconds, batch = seconds(encode)
    warm_seconds = statistics.median(seconds(encode)[0] for _ in range(REPEATS))

    provenance = {"numba_nlp.version": nlp.__version__, "numba_nlp.vocabulary_digest": vocabulary.digest}
    parquet, npz = out / "hamlet.parquet", out / "hamlet.npz"
    write_parquet(parquet, rows, batch, provenance)
    np.savez(npz, ids=batch.values, offsets=batch.offsets, starts=batch.starts, ends=batch.ends, **provenance)
    check_parquet(parquet, tok, original, provenance)
    check_npz(npz, tok, original, provenance)

    megabytes = len(original) / 1e6
    table = Table(title="Hamlet in the vocabulary of GPT-2", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("rows", f"{len(rows):,}")
    table.add_row("tokens", f"{len(batch.values):,}")
    table.add_row("bytes per token", f"{len(original) / len(batch.values):.3f}")
    table.add_row("compile the vocabulary", f"{compile_seconds:.2f} s")
    table.add_row("load the compiled vocabulary", f"{load_seconds * 1e3:.1f} ms")
    table.add_row("encode with spans, one thread, first call", f"{megabytes / first_seconds:,.1f} MB/s")
    table.add_row(f"the same, warm (median of {REPEATS})", f"{megabytes / warm_seconds:,.1f} MB/s")
    table.add_section()
    table.add_row("the ten most frequent tokens, with their ids", "times")
    for text, i, count in most_frequent(tok, batch.values, 10):
        table.add_row(f"{escape(text)}  [dim]{i}[/dim]", f"{count:,}")
    console = Console()
    console.print(table)
    console.print(
        f"Round trip through {parquet} and {npz}: {len(original):,} bytes, all equal.",
        soft_wrap=True,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out"))
