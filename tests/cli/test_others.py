"""``numba-nlp info``, ``warmup`` and ``cache``; the entry point; what readers of the output see."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from numba_nlp import _jit
from numba_nlp._version import __version__
from tests.cli.files import LINES, write_json_lines, write_lines
from tests.cli.messages import one_error


def test_info(run):
    said = json.loads(run("info", "--json").stdout)
    assert said["versions"]["numba_nlp"] == __version__
    assert said["versions"]["Python"].endswith(sys.version.split()[0])
    assert said["extras"]["typer"] is not None
    assert said["cache"]["digest"] == _jit.DIGEST
    assert said["what runs"]["threads by default"] >= 1
    shown = run("info").stdout
    for part in ("numba_nlp", __version__, "what runs: fast calls", "extras: pyarrow", _jit.DIGEST):
        assert part in shown


def test_warmup_of_a_tokenizer(run, vocabulary, monkeypatch):
    warmed = []
    monkeypatch.setattr("numba_nlp.tokenizer.Tokenizer.warmup", lambda tok: warmed.append(tok.vocabulary.path))
    result = run("warmup", vocabulary)
    assert warmed == [vocabulary]
    assert result.stdout.startswith(f"{vocabulary}: ready (")
    assert "nothing.safetensors" in one_error(run("warmup", "nothing.safetensors", code=1))


def test_warmup_of_models_that_read(run, tmp_path):
    pytest.importorskip("torch", reason="needs torch")
    from numba_nlp.models import create_model, save_model

    sizes = {"vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    save_model(create_model({"model_type": "bert", **sizes}, head="none"), tmp_path / "bert")
    gpt2 = {"model_type": "gpt2", "vocab_size": 10, "n_embd": 8, "n_layer": 1, "n_head": 2}
    save_model(create_model(gpt2, head="token_classification"), tmp_path / "gpt2")
    result = run("warmup", "--model", tmp_path / "bert", "--model", tmp_path / "gpt2")
    first, second = result.stdout.splitlines()
    assert first.startswith(f"{tmp_path / 'bert'}: reading ready (")
    assert second.startswith(f"{tmp_path / 'gpt2'}: nothing to compile for the head 'token_classification', ready (")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder of compiled code of three versions, one of them that in use."""
    root = tmp_path / "cache"
    for name, n_files in ((_jit.DIGEST, 2), ("0" * 20, 3), ("f" * 20, 1)):
        (root / name).mkdir(parents=True)
        for number in range(n_files):
            (root / name / f"{number}.nbc").write_bytes(b"x" * 100)
    (root / "something else").mkdir()
    monkeypatch.setattr(_jit, "cache_folder", lambda: root / _jit.DIGEST)
    return root


def test_the_cache_is_shown(run, cache):
    said = json.loads(run("cache", "show", "--json").stdout)
    assert said["folder"] == str(cache)
    assert said["versions"] == [
        {"digest": _jit.DIGEST, "in_use": True, "files": 2, "bytes": 200},
        {"digest": "0" * 20, "in_use": False, "files": 3, "bytes": 300},
        {"digest": "f" * 20, "in_use": False, "files": 1, "bytes": 100},
    ]
    shown = run("cache", "show").stdout
    assert str(cache) in shown
    assert "in use" in shown


def test_other_versions_are_cleared_and_nothing_else(run, cache):
    assert run("cache", "clear").stdout == "removed 2 versions, 0.0 MB\n"
    assert sorted(path.name for path in cache.iterdir()) == sorted([_jit.DIGEST, "something else"])
    run("cache", "clear", "--all")
    assert [path.name for path in cache.iterdir()] == ["something else"]


def test_without_a_cache(run, monkeypatch):
    monkeypatch.setattr(_jit, "cache_folder", lambda: None)
    assert "NUMBA_NLP_CACHE=0" in one_error(run("cache", "show", code=1))


def test_a_bar_moves_to_its_end_and_is_shown_on_request_only(run, monkeypatch, tmp_path):
    import tqdm

    bars = []

    class Noted(tqdm.tqdm):
        def __init__(self, *arguments, **given):
            super().__init__(*arguments, **given)
            bars.append((self, given["disable"]))

    monkeypatch.setattr(tqdm, "tqdm", Noted)
    write_lines(tmp_path / "a.txt", LINES * 50)
    write_lines(tmp_path / "b.txt.gz", LINES * 50)
    result = run("encode", "a.txt", "b.txt.gz", "-o", "out.parquet", "--progress", "--batch-rows", 7)
    size = sum((tmp_path / name).stat().st_size for name in ("a.txt", "b.txt.gz"))
    ((bar, disable),) = bars
    assert (bar.n, bar.total, disable) == (size, size, False)
    assert "100%" in result.stderr
    # None leaves it to the terminal
    result = run("encode", "a.txt", "-o", "out.parquet")
    assert bars[1][1] is None
    assert "%|" not in result.stderr


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_is_named(missing):
    result = run_python(f"import sys; sys.modules[{missing!r}] = None; import numba_nlp.cli; numba_nlp.cli.main()")
    assert result.returncode == 1
    assert result.stderr == (
        f"error: numba-nlp needs typer and rich, and {missing} is not installed; install the command-line extra in the "
        "checkout: pip install '.[cli]'\n"
    )


def test_pyarrow_is_named_where_it_is_missing(run, monkeypatch, tmp_path):
    write_lines(tmp_path / "a.txt", ["the"])
    write_lines(tmp_path / "b.txt.zst", ["the"])
    write_json_lines(tmp_path / "c.jsonl", ["the"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    needed = "error: this needs pyarrow, which is not installed: pip install 'numba_nlp[arrow]'\n"
    for name, output in (("a.txt", "out.parquet"), ("a.txt", "out.arrow"), ("b.txt.zst", "out.npz")):
        assert one_error(run("encode", name, "-o", output, code=1)) == needed
        assert not (tmp_path / output).exists()
    # everything else goes without
    for output in ("out.npz", "out.jsonl", "out.txt"):
        run("encode", "a.txt", "c.jsonl", "-o", output)


def test_the_entry_point_runs_and_imports_late():
    heavy = "[m for m in ('numba', 'numpy', 'pyarrow', 'torch') if m in sys.modules]"
    code = (
        "import sys, numba_nlp.cli as cli\n"
        "print([m for m in ('typer', 'rich') if m in sys.modules])\n"
        "sys.argv = ['numba-nlp', '--help']\n"
        "try: cli.main()\n"
        f"finally: print({heavy})"
    )
    result = run_python(code)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("[]", "[]")
    assert any(line.split()[:1] == ["encode"] for line in lines)
