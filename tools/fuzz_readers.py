"""Damage files of every format and see that each is read, or refused with a place and a reason; record the run.

::

    python -m tools.fuzz_readers --seconds 120 --seed 1 --record docs/results/fuzz_readers.json
    python -m tools.fuzz_readers --seconds 20 --reader sentencepiece --reader tiktoken --keep findings

Every reader works in a process of its own, whose memory is bounded (2 GiB above what it needs for sound files). A case
is a sound file of the format, damaged by ``tools/fuzz_mutators.py``. It passes when the file loads, and then encodes
texts to ids that are in the vocabulary and decodes them; or when it is refused by an error of ``numba_nlp.errors``
or an OSError, whose message names the file. All else is a finding: other exceptions, ids outside, a process that ends,
more memory, more than ``--limit`` seconds (what Numba compiles on the way is not counted: a case that runs out of time
is run again, twice in one process, and the second time counts). A case is the reader, the seed and a number;
``--keep`` writes its files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import random
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba_nlp
from numba_nlp.errors import AlignmentError, NumbaNlpError, UnknownTokenError
from tools.files import ROOT
from tools.fuzz_mutators import mutate
from tools.fuzz_seeds import READERS, Seed, seeds_of

__all__ = ["Report", "case_of", "check", "fuzz_reader", "main"]

MEMORY = 2 << 30
#: Start of a process with all its seeds, at most.
START_SECONDS = 600.0
TEXTS = (
    "", "To be, or not to be: that's the question.",
    "  two  spaces\t\ttabs\r\n1234 3.14", "naïve e\u0301 日本 \U0001f44d",
    "▁▁ <unk> </s> <mask> [MASK] <|endoftext|> @@ </w> ##s \x00", "the theatre in the singing, " * 8,
)  # fmt: skip


@dataclass
class Report:
    """What one reader did.

    Attributes
    ----------
    cases, loaded, refused : int
    slowest_ms : float
        Of all cases, compilation by Numba included.
    memory_mb : int
        Most memory above that after the sound files.
    findings : list of dict
        What is wrong, once a kind, with how often and the number of its first case.
    """

    reader: str
    seconds: float = 0.0
    cases: int = 0
    loaded: int = 0
    refused: int = 0
    slowest_ms: float = 0.0
    memory_mb: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)

    def add_finding(self, what: str, number: int, detail: str) -> None:
        """Note a finding, or that a known one came again."""
        for known in self.findings:
            if known["what"] == what:
                known["times"] += 1
                return
        self.findings.append({"what": what, "case": number, "times": 1, "detail": detail})


def case_of(reader: str, seeds: list[Seed], seed: int, number: int) -> Seed:
    """The damaged source of a number."""
    rng = random.Random(f"{reader} {seed} {number}")
    sound = rng.choice(seeds)
    return Seed(sound.name, mutate(rng, sound.files), sound.paths, sound.options)


def check(case: Seed, folder: Path, *, verify: bool = True) -> tuple[str, str, str]:
    """Load a source whose files lie in a folder, and use it.

    Returns
    -------
    outcome, what, detail : str, str, str
        "loaded", "refused" or "finding"; the kind of a finding; the message or the traceback.
    """
    compiled = case.paths == ("a.safetensors",)
    try:
        tokenizer = numba_nlp.load_tokenizer(
            case.source(folder), **({"verify": verify} if compiled else case.given(folder))
        )
    except (NumbaNlpError, OSError) as error:
        message = str(error)
        if str(folder) not in message and not any(name in message for name in case.files):
            return "finding", f"{_place(error)}: the message names no file", message[:2000]
        if len(message) > 4000:
            return "finding", f"{_place(error)}: a message of {len(message)} characters", message[:500]
        return "refused", "", message
    except BaseException as error:  # whatever else it is, is the finding
        return "finding", _place(error), "".join(traceback.format_exception(error))[-3000:]
    try:
        # a compiled file whose digests are right but whose arrays contradict each other may say so when it is used;
        # Marian decodes by the list of another language
        allowed = (AlignmentError, UnknownTokenError) if compiled else () if case.paths else (UnknownTokenError,)
        with contextlib.suppress(*allowed):
            return _use(tokenizer)
    except BaseException as error:
        return "finding", f"in use: {_place(error)}", "".join(traceback.format_exception(error))[-3000:]
    return "loaded", "", ""


def _use(tokenizer: Any) -> tuple[str, str, str]:
    for options in ({"special": "plain"}, {"special": "match", "add_special_tokens": True}):
        batch = tokenizer.encode_batch(list(TEXTS), num_threads=1, **options)
        ids = batch.values
        if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < tokenizer.vocab_size:
            return "finding", "an id outside of the vocabulary", f"{ids.min()} {ids.max()} {tokenizer.vocab_size}"
        tokenizer.decode_batch(batch)
        tokenizer.encode(TEXTS[1], **options)
    return "loaded", "", ""


def _place(error: BaseException) -> str:
    """The type of an error and the line of this project that it comes from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(ROOT) in frame.filename]
    own = [frame for frame in frames if "/tools/" not in frame.filename] or frames
    where = f"{Path(own[-1].filename).relative_to(ROOT)}:{own[-1].lineno}" if own else "?"
    return f"{type(error).__name__} at {where}"


def _write(case: Seed, folder: Path) -> None:
    for old in folder.iterdir():
        old.unlink()
    for name, content in case.files.items():
        (folder / name).write_bytes(content)


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _work(reader: str, seconds: float, seed: int, first: int, only: bool, folder: Path) -> None:
    """The process of a reader: one JSON line before and one after each case."""
    seeds = seeds_of(reader)
    for sound in seeds:
        _write(sound, folder)
        outcome, what, detail = check(sound, folder)
        if outcome != "loaded":
            raise RuntimeError(f"the sound source {sound.name!r} is not read: {what} {detail}")
    limit = _memory() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"ready": len(seeds)}), flush=True)
    stop = time.monotonic() + seconds
    number = first
    while time.monotonic() < stop or (only and number < first + 1):
        case = case_of(reader, seeds, seed, number)
        _write(case, folder)
        for _ in range(2 if only else 1):
            print(json.dumps({"case": number}), flush=True)
            start = time.perf_counter()
            outcome, what, detail = check(case, folder, verify=number % 2 == 0)
            spent = time.perf_counter() - start
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) >> 10
        line = {"done": number, "outcome": outcome, "what": what, "detail": detail, "ms": spent * 1e3, "mb": more}
        print(json.dumps(line), flush=True)
        number += 1
        if only:
            return


def _lines(process: subprocess.Popen[bytes], wait: float) -> Iterator[dict[str, Any] | None]:
    """What a process writes; None when it is silent for too long. Its start may take longer."""
    stream = process.stdout
    assert stream is not None
    patience, rest = START_SECONDS, b""
    while True:
        if not select.select([stream], [], [], patience)[0]:
            yield None
            return
        content = stream.read1(1 << 16)  # type: ignore[attr-defined]
        if not content:
            return
        *whole, rest = (rest + content).split(b"\n")
        for line in whole:
            yield json.loads(line)
        patience = wait


def _process(reader: str, seconds: float, seed: int, first: int, folder: Path, *, only: bool = False) -> Any:
    command = [sys.executable, "-X", "faulthandler", "-m", "tools.fuzz_readers", "--work", str(folder)]
    command += ["--reader", reader, "--seconds", str(seconds), "--seed", str(seed), "--first", str(first)]
    log = (folder.parent / "stderr.txt").open("wb")
    with log:
        return subprocess.Popen(command + ["--only"] * only, stdout=subprocess.PIPE, stderr=log, cwd=ROOT)


def fuzz_reader(reader: str, seconds: float, seed: int, limit: float, keep: Path | None = None) -> Report:
    """Fuzz one reader.

    Parameters
    ----------
    reader : str
        A key of :data:`tools.fuzz_seeds.READERS`.
    seconds : float
        How long, without the time of making the sound files and compiling kernels for them.
    seed : int
    limit : float
        Seconds that one case may take.
    keep : Path, optional
        Folder that the files of findings are written to.

    Returns
    -------
    Report
    """
    report = Report(reader)
    number = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "case"
        folder.mkdir()
        while report.seconds < seconds:
            process = _process(reader, seconds - report.seconds, seed, number, folder)
            start, current, silent = time.monotonic(), None, False
            for line in _lines(process, limit):
                if line is None:
                    silent = True
                elif "ready" in line:
                    start = time.monotonic()
                elif "case" in line:
                    current = line["case"]
                else:
                    _note(report, line)
                    _keep(keep, report, folder, line["outcome"] == "finding", current)
                    number, current = current + 1, None
            if silent:
                process.kill()
            process.communicate()  # waits and closes the pipe
            code = process.returncode
            report.seconds += time.monotonic() - start
            if current is None and (code or silent):
                raise RuntimeError(f"{reader}: no start: {(folder.parent / 'stderr.txt').read_text()[-3000:]}")
            if current is not None:
                report.cases += 1
                error = (folder.parent / "stderr.txt").read_text(errors="replace")[-3000:]
                if not silent:
                    report.add_finding(f"the process ended with {code}", current, error)
                    _keep(keep, report, folder, True, current)
                elif not _again(reader, seed, current, limit, folder):
                    report.add_finding("more time", current, f"more than {limit} s, twice")
                    _keep(keep, report, folder, True, current)
                else:
                    report.refused += 1
                number = current + 1
    report.seconds = round(report.seconds, 1)
    return report


def _note(report: Report, line: dict[str, Any]) -> None:
    report.cases += 1
    report.slowest_ms = max(report.slowest_ms, round(line["ms"], 1))
    report.memory_mb = max(report.memory_mb, line["mb"])
    if line["outcome"] == "finding":
        report.add_finding(line["what"], line["done"], line["detail"])
    else:
        setattr(report, line["outcome"], getattr(report, line["outcome"]) + 1)


def _keep(keep: Path | None, report: Report, folder: Path, found: bool, number: int) -> None:
    """Write the files of the first case of a finding."""
    if keep is None or not found or number not in [finding["case"] for finding in report.findings]:
        return
    place = keep / f"{report.reader}-{number}"
    place.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # the process may be at its next case already
            (place / path.name).write_bytes(path.read_bytes())


def _again(reader: str, seed: int, number: int, limit: float, folder: Path) -> bool:
    """Whether a case ends in time once all that it needs is compiled."""
    process = _process(reader, 0, seed, number, folder, only=True)
    passed = False
    for line in _lines(process, 20 * limit):
        if line is None:
            process.kill()
        elif "done" in line:
            passed = line["ms"] < 1e3 * limit and line["outcome"] != "finding"
    process.communicate()
    return passed


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; 1 when there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0, help="for each reader")
    parser.add_argument("--reader", action="append", choices=sorted(READERS), help="all without it; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of one case")
    parser.add_argument("--keep", type=Path, help="folder for the files of findings")
    parser.add_argument("--record", type=Path, help="JSON file; the readers of this run replace their entries in it")
    for name, kind in (("--work", Path), ("--first", int)):
        parser.add_argument(name, type=kind, default=None if kind is Path else 0, help=argparse.SUPPRESS)
    parser.add_argument("--only", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.work:
        _work(given.reader[0], given.seconds, given.seed, given.first, given.only, given.work)
        return 0
    found = 0
    for reader in given.reader or READERS:
        report = fuzz_reader(reader, given.seconds, given.seed, given.limit, given.keep)
        found += len(report.findings)
        print(
            f"{reader}: {report.cases} cases in {report.seconds} s, {report.loaded} loaded, {report.refused} refused, "
            f"{len(report.findings)} findings, slowest {report.slowest_ms} ms, {report.memory_mb} MB more",
            flush=True,
        )
        for finding in report.findings:
            print(f"  case {finding['case']} ({finding['times']} times): {finding['what']}\n{finding['detail']}")
        if given.record:
            _record(given.record, report, given.seed, given.limit)
    return 1 if found else 0


def _record(path: Path, report: Report, seed: int, limit: float) -> None:
    """Put a report into the file of results."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"readers": {}}
    content["readers"][report.reader] = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seed": seed,
        "seconds": report.seconds,
        "cases": report.cases,
        "loaded": report.loaded,
        "refused": report.refused,
        "findings": report.findings,
        "slowest_ms": report.slowest_ms,
        "memory_mb": report.memory_mb,
    }
    names = ("numpy", "numba", "protobuf", "sentencepiece", "tokenizers")
    content["versions"] = {"python": platform.python_version(), **{name: version(name) for name in names}}
    content["limits"] = {"seconds": limit, "memory_mb": MEMORY >> 20}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
