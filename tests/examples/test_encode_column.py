"""The batch script: rows in order, nulls kept, special text counted, all or nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import numba_nlp as nlp
from examples import encode_column

SPECIAL = "<|endoftext|>"
TEXTS = [
    "To be, or not to be",
    None,
    "",
    f"one {SPECIAL}{SPECIAL} two",
    "naïve café ☃ 🙂",
    " \n\t ",
    None,
] * 5


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"n": range(len(TEXTS)), "text": TEXTS}), path)
    return path


def arguments(source: Path, vocabulary: Path, output: Path, *more: str) -> list[str]:
    return [
        *(str(source), "--column", "text", "--vocabulary", str(vocabulary)),
        *("--output", str(output), "--batch-rows", "4", *more),
    ]


def only_file(folder: Path, names: set[str]) -> bool:
    return {path.name for path in folder.iterdir()} == names


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("special", ["plain", "match"])
def test_every_row_as_encode_gives_it(
    kind: pa.DataType, special: str, compiled_gpt2: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"text": pa.array(TEXTS, pa.string()).cast(kind)}), source)
    assert encode_column.main(arguments(source, compiled_gpt2, output, "--special", special)) == 0
    tok = nlp.load_tokenizer(compiled_gpt2)
    expected = [None if text is None else tok.encode(text, special=special).tolist() for text in TEXTS]
    table = pq.read_table(output)
    assert table.schema.field("ids").type == pa.list_(pa.int32())
    assert table["ids"].to_pylist() == expected
    metadata = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert metadata == {
        "numba_nlp.version": nlp.__version__,
        "numba_nlp.vocabulary_digest": nlp.Vocabulary.load(compiled_gpt2).digest,
        "numba_nlp.column": "text",
        "numba_nlp.special": special,
    }
    printed = capsys.readouterr().out
    assert "35 rows" in printed
    assert f"'{SPECIAL}' occurred 10 times" in printed


def test_special_text_can_be_an_error_that_leaves_nothing(
    source: Path, compiled_gpt2: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.parquet"
    output.write_bytes(b"what was there before")
    assert encode_column.main(arguments(source, compiled_gpt2, output, "--special", "raise")) == 1
    message = capsys.readouterr().err
    assert SPECIAL in message
    assert "rows counted from row 0" in message
    assert output.read_bytes() == b"what was there before"
    assert only_file(tmp_path, {"in.parquet", "out.parquet"})


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("words", "no single column 'words'; its columns are n, text"),
        ("n", "column 'n' holds int64, expected text"),
    ],
)
def test_a_wrong_column_is_named(
    column: str,
    message: str,
    source: Path,
    compiled_gpt2: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "out.parquet"
    assert encode_column.main(arguments(source, compiled_gpt2, output, "--column", column)) == 1
    assert message in capsys.readouterr().err
    assert only_file(tmp_path, {"in.parquet"})


def test_a_missing_file_is_named(compiled_gpt2: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.parquet"
    assert encode_column.main(arguments(tmp_path / "absent.parquet", compiled_gpt2, output)) == 1
    assert "absent.parquet" in capsys.readouterr().err
    assert only_file(tmp_path, set())


def test_the_source_is_not_replaced(source: Path, compiled_gpt2: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = source.read_bytes()
    assert encode_column.main(arguments(source, compiled_gpt2, source)) == 1
    assert "name another output" in capsys.readouterr().err
    assert source.read_bytes() == before


def test_batch_rows_must_be_positive(source: Path, compiled_gpt2: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        encode_column.main(arguments(source, compiled_gpt2, tmp_path / "out.parquet", "--batch-rows", "0"))


def test_an_empty_file_gives_an_empty_column(compiled_gpt2: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), source)
    assert encode_column.main(arguments(source, compiled_gpt2, output)) == 0
    assert pq.read_table(output).num_rows == 0


def test_started_as_a_script(source: Path, compiled_gpt2: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    command = [sys.executable, encode_column.__file__, *arguments(source, compiled_gpt2, output)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert f"{output}: 35 rows" in done.stdout
    assert pq.read_table(output).num_rows == len(TEXTS)
