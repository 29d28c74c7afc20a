"""Files to ids and back by the command ``numba-nlp``: ``python -m examples.with_command_line [FOLDER]``.

The same lines work in a shell, with ``numba-nlp`` in place of ``python -m numba_nlp``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from examples.checking import check, out_folder

DATA = Path(__file__).resolve().parent / "data"
#: Several files of one source, with a comma between.
VOCABULARY = f"{DATA / 'gpt2/vocab.json'},{DATA / 'gpt2/merges.txt'}"


def run(*arguments: str | Path) -> str:
    """One command; gives what it prints."""
    shown = ("vocab.json,merges.txt" if part == VOCABULARY else Path(part).name for part in arguments)
    print("numba-nlp", *shown)
    command = [sys.executable, "-m", "numba_nlp", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(folder: Path) -> None:
    """Encode a play to shards of Parquet, run it again, count, and decode."""
    play, ids = DATA / "hamlet_gut.txt", folder / "ids"
    first = ["encode", play, "--vocabulary", VOCABULARY, "--output", f"{ids}/", "--shard-rows", "3000"]
    print(run(*first))
    print(run(*first))  # all shards are finished: nothing is done
    shards = sorted(ids.glob("*.parquet"))
    lines = play.read_text(encoding="utf-8").splitlines()
    check("rows", sum(pq.read_table(shard).num_rows for shard in shards), len(lines), 1.0)
    print(run("decode", *shards, "--vocabulary", VOCABULARY, "--output", folder / "again.txt"))
    again = (folder / "again.txt").read_text(encoding="utf-8").splitlines()
    check("lines again", sum(one == other for one, other in zip(lines, again, strict=True)), len(lines), 1.0)
    print(run("count", play, "--vocabulary", VOCABULARY))


if __name__ == "__main__":
    with out_folder() as folder:
        main(folder)
