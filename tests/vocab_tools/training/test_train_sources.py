"""What trainers are given: every source gives the same vocabulary, and what is wrong with one is said."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("pyarrow")

import pyarrow as pa
from pyarrow import feather, ipc, parquet
from typer.testing import CliRunner

from tests.made_tokenizers import HAMLET
from vocab_tools.commands import app
from vocab_tools.training import count_words, train_bpe, train_unigram, train_wordpiece

LINES = HAMLET.read_text(encoding="utf-8").splitlines()[:300]


def written(folder):
    """One corpus in all formats of files that have columns."""
    table = pa.table({"number": range(len(LINES)), "text": LINES})
    parquet.write_table(table, folder / "a.parquet", row_group_size=100)
    feather.write_feather(table, folder / "b.feather", compression="lz4")
    with ipc.new_file(folder / "c.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=70)
    with ipc.new_stream(folder / "d.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=70)
    views = table.set_column(1, "text", table["text"].cast(pa.string_view()))
    with ipc.new_file(folder / "e.arrow", views.schema) as writer:
        writer.write_table(views)
    return sorted(folder.iterdir())


def run(*arguments, code=0, stdin=None):
    result = CliRunner().invoke(app, ["train", *map(str, arguments)], input=stdin)
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_files_with_columns(tmp_path, model_type):
    suffix = {"bpe": ".json", "unigram": ".model"}[model_type]
    options = ("--model-type", model_type, "--vocab-size", 280, "-o", tmp_path / f"made{suffix}")
    # rows of columns have no line ends, so the text itself has none either
    text = tmp_path / "text.txt"
    text.write_text("\n".join(LINES), encoding="utf-8")
    folder = tmp_path / "columns"
    folder.mkdir()
    made = {}
    for path in written(folder):
        run(path, *options)
        made[path.name] = options[-1].read_bytes()
    run(folder / "c.arrow", "--input-format", "arrow", *options)
    assert set(made.values()) == {options[-1].read_bytes()}
    if model_type == "unigram":
        run("-", *options, stdin=text.read_bytes())
        assert set(made.values()) == {options[-1].read_bytes()}
    else:
        tokens = train_bpe(LINES, vocab_size=280).vocabulary
        assert json.loads(options[-1].read_text(encoding="utf-8"))["model"]["vocab"] == tokens


def test_tables_of_words():
    words = Counter(word for line in LINES for word in line.split(" ") if word)
    expected = train_bpe(LINES, kind="subword-nmt", num_symbols=50).merges
    counted = count_words(LINES, cut="spaces")
    for source in (words, words.items(), words.most_common(), iter(words.items()), counted, list(counted.items())):
        assert train_bpe(source, kind="subword-nmt", num_symbols=50).merges == expected
    pairs = [(f"\u2581{word}", count) for word, count in words.items()]
    made = [train_unigram(source, vocab_size=150) for source in (pairs, dict(pairs))]
    assert made[0].source_digest == made[1].source_digest
    with pytest.raises(TypeError, match="item 1 of `source` is 'b', expected a word and its count as before"):
        train_wordpiece([("a", 3), "b"], vocab_size=10)
    with pytest.raises(TypeError, match="the count of 'a' must be an int, got str"):
        train_wordpiece([("a", "3")], vocab_size=10)


def test_iterators_are_read_once_and_whole():
    expected = train_wordpiece(LINES, vocab_size=200).vocabulary
    assert train_wordpiece(iter(LINES), vocab_size=200).vocabulary == expected
    assert train_wordpiece((line for line in LINES), vocab_size=200).vocabulary == expected
    batches = (pa.array(LINES[start : start + 7]) for start in range(0, len(LINES), 7))
    assert train_wordpiece(batches, vocab_size=200).vocabulary == expected


def damaged(folder):
    """Files that are not what their names say, and what is said of each."""
    table = pa.table({"text": [1, 2], "line": ["a", "b"]})
    parquet.write_table(table, folder / "numbers.parquet")
    yield ("numbers.parquet",), "the column 'text' holds int64, not text"
    yield ("numbers.parquet", "--column", "words"), "no column 'words'; it has text, line"
    twice = pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    with ipc.new_file(folder / "twice.arrow", twice.schema) as writer:
        writer.write_table(twice)
    yield ("twice.arrow",), "2 columns are called 'text'"
    for name in ("none.parquet", "none.arrow", "none.feather"):
        (folder / name).write_bytes(b"this is no such file at all")
        yield (name,), f"{name}: cannot be read as"
        (folder / f"empty_{name}").touch()
        yield (f"empty_{name}",), f"empty_{name}: cannot be read as"
    content = (folder / "numbers.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(content[: len(content) // 2])
    yield ("cut.parquet",), "cut.parquet: cannot be read as parquet"
    yield ("missing.parquet",), "missing.parquet"
    (folder / "words.txt").write_bytes(b"good 3\nbad\n")
    yield ("words.txt", "--dict-input"), "words.txt:2: 'bad' is not a word"
    (folder / "bytes.txt").write_bytes(b"good 3\n\xff\xff 4\n")
    yield ("bytes.txt", "--dict-input"), "bytes.txt:2: the word"
    (folder / "long.txt").write_bytes(b"word " + b"9" * 10000 + b"\n")
    yield ("long.txt", "--dict-input"), "long.txt:1:"
    (folder / "large.txt").write_bytes(b"a 9000000000000000000\nb 9000000000000000000\n")
    yield ("large.txt", "--dict-input"), "large.txt: the counts add up to more"
    (folder / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00")
    yield ("cut.gz",), "cut.gz: cannot be unpacked as gzip"
    yield ("-", "--input-format", "parquet"), "not read from the standard input"


def test_damaged_files_are_named_in_one_line(tmp_path):
    for (name, *options), message in damaged(tmp_path):
        given = name if name == "-" else tmp_path / name
        result = run(given, *options, "--vocab-size", 300, "-o", tmp_path / "made.model", code=1)
        assert result.stderr.count("\n") == 1, result.stderr
        assert message in result.stderr
        assert not (tmp_path / "made.model").exists()


def test_files_of_several_formats(tmp_path):
    result = run(tmp_path / "a.parquet", tmp_path / "b.txt", "-o", tmp_path / "made.model", code=2)
    assert "give files of one format" in " ".join(result.stderr.split())


def test_pyarrow_is_only_needed_for_its_files(tmp_path):
    """Without it the extra is named, in one line, and everything else trains."""
    text = tmp_path / "text.txt"
    text.write_text("\n".join(LINES), encoding="utf-8")
    parquet.write_table(pa.table({"text": LINES}), tmp_path / "a.parquet")
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from vocab_tools.cli import main\n"
        "sys.argv = ['vocab-tools', 'train', sys.argv[1], '--vocab-size', '200', '-o', sys.argv[2]]\n"
        "main()\n"
    )

    def trained(name):
        command = [sys.executable, "-c", program, tmp_path / name, tmp_path / f"{name}.model"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = trained("a.parquet")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: this needs pyarrow, which is not installed: pip install 'numba_nlp[arrow]'\n"
    done = trained("text.txt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "text.txt.model").is_file()
