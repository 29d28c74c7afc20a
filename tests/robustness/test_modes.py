"""Ids and spans are the same with bounds checks, for other processors, and without a folder for compiled code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import numba_nlp as nlp
from numba_nlp import _jit
from tests.made_tokenizers import TEXTS
from tests.robustness.children import run_child
from tests.toy_vocabulary import toy_vocabulary

_PROGRAM = """
import json, sys, warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="numba")
warnings.filterwarnings("always", message="numba_nlp cannot")
import numba_nlp as nlp
from numba_nlp import _fastcall, _jit
from tests.made_tokenizers import TEXTS
tok = nlp.load_tokenizer(sys.argv[1])
texts = [*TEXTS, "the and then<|end|> and<|pad|>", "th" * 40, "and " * 300, "\\u00e9" * 30, "=" * 5000]
batch = tok.encode_batch(texts, spans=True)
again = tok.encode_batch([text.encode() for text in texts], spans=True, num_threads=2)
assert again.equals(batch)
assert tok.decode_batch(batch) == texts
print(json.dumps({
    "ids": batch.to_list(),
    "spans": [batch.starts.tolist(), batch.ends.tolist()],
    "single": [tok.encode(text).tolist() for text in texts],
    "calls": tok.describe()["calls"],
    "fast": _fastcall.AVAILABLE,
    "digest": _jit.DIGEST,
    "folder": str(_jit.cache_folder()),
}))
"""


@pytest.fixture(scope="module")
def toy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocabulary") / "toy.safetensors"
    toy_vocabulary().save(path)
    return path


def results(toy_file: Path, *, stderr: str = "", **environment: str) -> dict[str, object]:
    """What the program finds in a process with another environment."""
    done = run_child(_PROGRAM, toy_file, **environment)
    assert done.returncode == 0, done.stderr
    assert (stderr in done.stderr) if stderr else not done.stderr, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def check(found: dict[str, object]) -> None:
    """Ids and spans are those of this process."""
    tok = nlp.Tokenizer(toy_vocabulary())
    ids = found["ids"]
    assert isinstance(ids, list)
    assert ids == found["single"]
    mine = tok.encode_batch(TEXTS, spans=True)
    assert ids[: len(TEXTS)] == mine.to_list()
    assert mine.starts is not None
    spans = found["spans"]
    assert isinstance(spans, list)
    assert spans[0][: mine.n_values] == mine.starts.tolist()
    assert ids[-5] == tok.encode("the and then<|end|> and<|pad|>").tolist()


def test_this_way(toy_file: Path) -> None:
    found = results(toy_file)
    check(found)
    assert found["calls"] == "by address"
    assert found["digest"] == _jit.DIGEST


# Each compiles everything anew. The plain kernels and the interpreter are the business of test_compile_flags.py.
@pytest.mark.slow
@pytest.mark.parametrize("variable", [("NUMBA_BOUNDSCHECK", "1"), ("NUMBA_CPU_NAME", "generic")], ids=" ".join)
def test_other_machine_code(toy_file: Path, variable: tuple[str, str]) -> None:
    found = results(toy_file, **dict([variable]))
    check(found)
    # compiled code of one way is never loaded by another
    assert found["digest"] != _jit.DIGEST
    assert found["fast"] is (variable[0] == "NUMBA_CPU_NAME")
    assert found["calls"] == ("by address" if found["fast"] else "through Numba's dispatcher")


def test_a_cache_folder_that_cannot_be_written(toy_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a regular file", encoding="utf-8")
    # optimising less compiles faster, and nothing is kept anyway
    message = "numba_nlp cannot write its kernel cache"
    found = results(toy_file, stderr=message, NUMBA_NLP_CACHE_DIR=str(file / "below"), NUMBA_OPT="1")
    check(found)
    assert found["folder"] == "None"
    assert file.read_text(encoding="utf-8") == "a regular file"
