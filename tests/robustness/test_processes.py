"""Tokenizers across processes: forked, spawned, pickled."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import numba_nlp as nlp
from numba_nlp.errors import VocabularyFormatError
from tests.families import FAMILIES, family
from tests.made_tokenizers import HAMLET, TEXTS, gpt2, regex_cut
from tests.robustness.children import output_of, run_child
from tests.toy_vocabulary import toy_vocabulary

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


@pytest.fixture(scope="module")
def gpt2_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocabulary") / "gpt2.safetensors"
    gpt2().ours.vocabulary.save(path)
    return path


@pytest.fixture(scope="module")
def spawned() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


# --- fork ----------------------------------------------------------------------------------------------------------

_FORKED_POOL = """
import multiprocessing, sys
import numba_nlp as nlp
tok = nlp.load_tokenizer(sys.argv[1])
lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
expected = tok.encode_batch(lines, spans=True, num_threads=4)  # threads in the parent, before the fork

def work(number):
    alone = tok.encode_batch(lines, spans=True, num_threads=1 + number % 3)
    return alone.equals(expected) and tok.decode_batch(alone) == lines and tok.encode(lines[40]).tolist()

with multiprocessing.get_context("fork").Pool(3) as pool:
    assert pool.map(work, range(9)) == [tok.encode(lines[40]).tolist()] * 9
assert tok.encode_batch(lines, spans=True, num_threads=4).equals(expected)
print("done")
"""

_FORK_WHILE_ENCODING = """
import os, sys, threading
import numba_nlp as nlp
tok = nlp.load_tokenizer(sys.argv[1])
lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
expected = tok.encode_batch(lines, num_threads=2)
single = tok.encode(lines[40]).tolist()
stop = threading.Event()

def busy():
    while not stop.is_set():
        assert tok.encode_batch(lines, num_threads=2).equals(expected)
        for line in lines[:200]:
            tok.encode(line)

threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(12):
    child = os.fork()
    if child == 0:
        ok = tok.encode(lines[40]).tolist() == single
        ok = ok and tok.encode_batch(lines[:500], num_threads=2).equals(expected[:500])
        ok = ok and tok.encode_batch(lines, num_threads=2).equals(expected)
        os._exit(7 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop.set()
for thread in threads:
    thread.join()
print("done")
"""


@needs_fork
@pytest.mark.parametrize("program", [_FORKED_POOL, _FORK_WHILE_ENCODING], ids=["pool", "while encoding"])
def test_fork(program: str, gpt2_file: Path) -> None:
    # Python 3.12 warns of every fork beside threads
    options = ("-W", "ignore::DeprecationWarning")
    assert output_of(program, gpt2_file, HAMLET, options=options) == "done\n"


# --- spawn and pickle ----------------------------------------------------------------------------------------------


def _ids_of(tok: nlp.Tokenizer, texts: list[str]) -> tuple[list[list[int] | None], str | None]:
    return tok.encode_batch(texts, num_threads=2).to_list(), tok.describe()["path"]


def test_spawned_processes(gpt2_file: Path, spawned: ProcessPoolExecutor) -> None:
    texts = HAMLET.read_text(encoding="utf-8").splitlines()[:3000]
    by_path, by_bytes = nlp.load_tokenizer(gpt2_file), gpt2().ours
    expected = by_path.encode_batch(texts).to_list()
    for tok, path in ((by_path, str(gpt2_file)), (by_bytes, None)):
        for ids, found in spawned.map(_ids_of, [tok] * 2, [texts] * 2):
            assert ids == expected
            assert found == path


def test_every_family_in_spawned_processes(spawned: ProcessPoolExecutor) -> None:
    tokenizers, texts = list(map(family, FAMILIES)), [*TEXTS, *HAMLET.read_text(encoding="utf-8").splitlines()[:50]]
    for tok, (ids, _) in zip(
        tokenizers, spawned.map(_ids_of, tokenizers, [texts] * len(tokenizers), timeout=240), strict=True
    ):
        assert ids == tok.encode_batch(texts).to_list()


def test_a_file_that_is_gone_on_the_other_side(tmp_path: Path, spawned: ProcessPoolExecutor) -> None:
    path = tmp_path / "toy.safetensors"
    toy_vocabulary().save(path)
    pickled = pickle.dumps(nlp.load_tokenizer(path))
    path.unlink()
    with pytest.raises(VocabularyFormatError, match=r"toy\.safetensors: .* not on this machine.*detached"):
        spawned.submit(pickle.loads, pickled).result()
    toy_vocabulary(name="another").save(path)
    with pytest.raises(VocabularyFormatError, match=r"the pickle expects"):
        spawned.submit(pickle.loads, pickled).result()


def test_pickles_are_small_and_do_not_change_with_use(gpt2_file: Path) -> None:
    by_path, by_bytes = nlp.load_tokenizer(gpt2_file), nlp.Tokenizer(gpt2().ours.vocabulary)
    before = pickle.dumps(by_path), pickle.dumps(by_bytes)
    assert len(before[0]) < 1000 + len(str(gpt2_file))
    assert len(before[1]) < gpt2_file.stat().st_size + 1000
    for tok, expected in zip((by_path, by_bytes), before, strict=True):
        tok.encode("To be, or not to be")
        tok.encode_batch(HAMLET.read_text(encoding="utf-8").splitlines(), spans=True, num_threads=2)
        tok.encode("x" * 100_000)
        assert pickle.dumps(tok) == expected
        assert pickle.dumps(pickle.loads(expected)) == expected
    for pair in (regex_cut().ours, by_bytes):
        assert pickle.loads(pickle.dumps(pair, protocol=2)) == pair


def test_interpreters_end_while_threads_encode(gpt2_file: Path) -> None:
    # daemon threads are cut off in the middle of calls; the interpreter must end quietly all the same
    code = """
import sys, threading, time
import numba_nlp as nlp
tok = nlp.load_tokenizer(sys.argv[1])
lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
tok.encode_batch(lines, num_threads=2)
def busy():
    while True:
        try:
            tok.encode_batch(lines, num_threads=2)
        except RuntimeError as error:  # no new threads once the interpreter ends
            assert "shutdown" in str(error), error
            return
        tok.encode(lines[40])
for _ in range(3):
    threading.Thread(target=busy, daemon=True).start()
time.sleep(0.1)
print("done")
"""
    for _ in range(3):
        assert output_of(code, gpt2_file, HAMLET) == "done\n"


def test_interrupts_leave_the_tokenizer_usable(gpt2_file: Path) -> None:
    code = """
import _thread, random, signal, sys, threading, time
import numba_nlp as nlp
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
tok = nlp.load_tokenizer(sys.argv[1])
lines = open(sys.argv[2], encoding="utf-8").read().splitlines() * 60
# the first calls compile, which takes a thousand times as long
tok.encode_batch(lines, spans=True, num_threads=2)
tok.encode_batch(lines, num_threads=2)
start = time.perf_counter()
expected = tok.encode_batch(lines, num_threads=2)
took = time.perf_counter() - start
interrupted = 0
random.seed(1)
for number in range(20):
    timer = threading.Timer(0.02 + took * random.random(), _thread.interrupt_main)
    timer.start()
    try:
        tok.encode_batch(lines, spans=bool(number % 2), num_threads=1 + number % 3)
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        interrupted += 1
    assert tok.encode(lines[40]).tolist() == expected[40].tolist()
assert interrupted > 5, interrupted
assert tok.encode_batch(lines, num_threads=2).equals(expected)
print("done")
"""
    done = run_child(code, gpt2_file, HAMLET)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_numpy_and_tokenizer_survive_many_round_trips_through_pickle() -> None:
    ours = nlp.Tokenizer(toy_vocabulary())
    for _ in range(20):
        ours = pickle.loads(pickle.dumps(ours))
    assert np.array_equal(ours.encode("the and"), nlp.Tokenizer(toy_vocabulary()).encode("the and"))
