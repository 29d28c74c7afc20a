"""Write the measured part of ``docs/scale_out.md``, and what is computed from it.

::

    python -m asv_benchmarks.scale_out_page

from ``docs/results/scale_out.json``, which ``asv_benchmarks.benchmarks.bench_scale_out --record`` measures, and the
speeds of held-out and warm text in the results that ``docs/benchmarks.md`` was written from. Workers, machines and the
link's speed are assumptions.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .runs import merged, read_runs, sources
from .sections import with_section

__all__ = ["PAGE", "RECORD", "main", "render", "write"]

RECORD = ROOT / "docs" / "results" / "scale_out.json"
PAGE = ROOT / "docs" / "scale_out.md"
_PROGRAM = "asv_benchmarks.scale_out_page"
_CORPUS = "english_lines"
_CORES = 32
_MACHINES = (1, 4, 16)
_TEXT = 10**12
_LINK = 10e9
#: Of `shard_bytes`: the default, and the one that the plan takes.
_SHARDS = (1 << 28, 1 << 26)

_PAGE = """\
## What was measured

`python -m asv_benchmarks.benchmarks.bench_scale_out --rounds {n_rounds} --record docs/results/scale_out.json` encodes
{text_mb:.0f} MB of English lines (reviews, news, speeches and web text, repeated) with GPT-2's vocabulary: {files} text
files into {files} Parquet files, by two workers of a `LocalCluster`, one thread each, and by two processes that know
nothing of each other, by turns. Reading, checking UTF-8, counting special tokens, encoding, compressing and writing are
all in it. The files of both are the same, byte for byte.

{date}, {processor}, {processors} processors; load of the machine when it began {load} (undisturbed: 0).

| what | median of {n_rounds} rounds | lowest to highest |
|---|---:|---:|
| two workers, MB/s of text | {workers} |
| two independent runs, MB/s of text | {runs} |
| speed of the workers as a share of that of the runs | {share} |
| ids a byte of text | {ids_per_byte:.3f} | |
| bytes of Parquet an id | {bytes_per_id:.2f} | |
| largest memory of a worker, MB | {memory:.0f} | |

A share above 1 is balance: shards go to whichever worker is free, while each run has its half, which costs time where
something disturbs one of them.

The corpus repeats itself, so the cache of words is warm. Text that was never seen is encoded at {unseen:.0f} instead of
{seen:.0f} MB/s ([`benchmarks.md`](benchmarks.md), gpt2, {corpus}, held-out and warm): {more:.1f} ms a MB more, which
makes the {worker_ms:.0f} ms that a worker takes for a MB {percent:.0f} % longer.

## The arithmetic

```python
text = 1e12  # bytes
speed = {both:.0f}e6 / 2 / {slower:.2f}  # bytes a second of one worker, text never seen
ids_per_byte, bytes_per_id = {ids_per_byte:.3f}, {bytes_per_id:.2f}


def minutes(machines: int, cores: int) -> float:
    return text / (machines * cores * speed) / 60


[round(minutes(machines, {cores}), 1) for machines in {machines}]  # -> {minutes}
```

Things that bound it beside the processors:

```python
# what {cores} workers of a machine read and write, in Gbit/s of its network
written = ids_per_byte * bytes_per_id  # bytes of Parquet a byte of text
round({cores} * speed * 8 / 1e9, 1), round({cores} * speed * written * 8 / 1e9, 1)  # -> ({read_gbit}, {write_gbit})
# minutes that {machines_words} machines with links of 10 Gbit/s take at least for reading
[round(text / (machines * 10e9 / 8) / 60, 1) for machines in {machines}]  # -> {link_minutes}
# shards, and how many each of {all_workers} workers gets; the last round of them is not a full one
shards = -(-text // 2**28)
int(shards), round(shards / {all_workers}, 1)  # -> ({shards}, {shards_each:.1f})
# the files of ids, in GB
round(text * written / 1e9)  # -> {written_gb}
```

- **Network.** Where the first of these numbers is near the link's speed, the link is the time, not the processors.
- **The last shards.** {shards_each:.1f} shards a worker take as long as {rounds_of_shards}, so {waiting:.0f} % of the
  time is waiting. `shard_bytes=1 << 26` makes {small_each:.0f} shards a worker, and at most {small_waiting:.0f} %. A
  shard costs a task of the scheduler; dask's documentation counts a millisecond for each, {scheduling:.0f} s for all
  {small_shards:,}.
- **Memory.** A worker took at most {memory:.0f} MB (batches of 16 MB of text); {cores} of them take {memory_gb:.0f} GB.
"""


def _spread(values: list[float], form: str) -> str:
    return f"{statistics.median(values):{form}} | {min(values):{form}} to {max(values):{form}}"


def _speed(records: list[dict[str, Any]], cell: str) -> float:
    """MB/s of ours on one thread, on the whole corpus."""
    wanted = {"table": "encode", "vocabulary": "gpt2", "corpus": _CORPUS, "cell": cell, "backend": "numba_nlp"}
    some = [record for record in records if all(record[name] == value for name, value in wanted.items())]
    found = max(some, key=lambda record: record["n_bytes"])
    # held-out text is measured in slices, each of which is new
    sizes = found["sizes"] or [found["n_bytes"]] * len(found["seconds"])
    return statistics.median(n / 1e6 / seconds for n, seconds in zip(sizes, found["seconds"], strict=True))


def render(record: dict[str, Any], records: list[dict[str, Any]]) -> str:
    """The section; ``records`` are those of the report."""
    found = record["corpora"][_CORPUS]
    rounds, text_mb = found["rounds"], found["text_bytes"] / 1e6
    speeds = {way: [text_mb / one[way] for one in rounds] for way in ("workers", "runs")}
    # rounded as they are written, so that the arithmetic of the page is that of its figures
    both = round(statistics.median(speeds["workers"]))
    ids_per_byte = round(found["ids"] / found["text_bytes"], 3)
    bytes_per_id = round(found["file_bytes"] / found["ids"], 2)
    unseen, seen = _speed(records, "held-out"), _speed(records, "warm")
    more, worker_ms = 1e3 / unseen - 1e3 / seen, 2e3 / both
    slower = round(1 + more / worker_ms, 2)
    speed, written = both * 1e6 / 2 / slower, ids_per_byte * bytes_per_id
    all_workers = _CORES * max(_MACHINES)
    shards, small_shards = (-(-_TEXT // size) for size in _SHARDS)
    each, small_each = shards / all_workers, small_shards / all_workers
    waiting, small_waiting = (100 * (1 - some / -(-some // 1)) for some in (each, small_each))
    memory = found["worker_bytes"] / 1e6
    return _PAGE.format(
        n_rounds=len(rounds), text_mb=text_mb, files=found["files"], corpus=_CORPUS, cores=_CORES,
        date=record["date"], load=record["machine"]["load"],
        processor=record["machine"]["processor"], processors=record["machine"]["processors"],
        workers=_spread(speeds["workers"], ".0f"), runs=_spread(speeds["runs"], ".0f"),
        share=_spread([one["runs"] / one["workers"] for one in rounds], ".2f"),
        ids_per_byte=ids_per_byte, bytes_per_id=bytes_per_id, memory=memory, memory_gb=_CORES * memory / 1e3,
        unseen=unseen, seen=seen, more=more, worker_ms=worker_ms, percent=100 * (slower - 1), both=both, slower=slower,
        machines=_MACHINES, machines_words=", ".join(map(str, _MACHINES[:-1])) + f" and {_MACHINES[-1]}",
        minutes=[round(_TEXT / (machines * _CORES * speed) / 60, 1) for machines in _MACHINES],
        read_gbit=round(_CORES * speed * 8 / 1e9, 1), write_gbit=round(_CORES * speed * written * 8 / 1e9, 1),
        link_minutes=[round(_TEXT / (machines * _LINK / 8) / 60, 1) for machines in _MACHINES],
        all_workers=all_workers, shards=shards, shards_each=each, rounds_of_shards=int(-(-each // 1)), waiting=waiting,
        small_each=small_each, small_waiting=-(-small_waiting // 1), small_shards=small_shards,
        scheduling=small_shards / 1e3, written_gb=round(_TEXT * written / 1e9),
    )  # fmt: skip


def write(records: list[dict[str, Any]]) -> str:
    """The page, from what was recorded."""
    section = render(json.loads(RECORD.read_text(encoding="utf-8")), records)
    return with_section(PAGE.read_text(encoding="utf-8"), _PROGRAM, section)


def main() -> int:
    """Write the page."""
    PAGE.write_text(write(merged(read_runs(sources()))["records"]), encoding="utf-8")
    print(f"{Path(PAGE).relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
