"""The demo does the main job, and notices when the round trip is not exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import numba_nlp as nlp
from examples import demo


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    demo.main(folder)
    return folder


@pytest.fixture(scope="module")
def tok(out: Path) -> nlp.Tokenizer:
    return nlp.load_tokenizer(out / "gpt2.safetensors")


@pytest.fixture(scope="module")
def provenance(out: Path) -> dict[str, str]:
    digest = nlp.Vocabulary.load(out / "gpt2.safetensors").digest
    return {"numba_nlp.version": nlp.__version__, "numba_nlp.vocabulary_digest": digest}


def test_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.main(tmp_path)
    printed = capsys.readouterr().out
    for word in ("6,769", "bytes per token", " ms ", "MB/s", "⏎", "173,942 bytes, all equal"):
        assert word in printed


def test_parquet_holds_the_play_and_its_origin(out: Path, provenance: dict[str, str]) -> None:
    table = pq.read_table(out / "hamlet.parquet")
    assert table.column_names == ["text", "ids", "starts", "ends"]
    assert "".join(table["text"].to_pylist()).encode() == demo.PLAY.read_bytes()
    metadata = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert metadata == provenance


def test_npz_holds_the_same_ids(out: Path) -> None:
    batch = nlp.Ragged.from_arrow(pq.read_table(out / "hamlet.parquet")["ids"])
    with np.load(out / "hamlet.npz") as arrays:
        np.testing.assert_array_equal(arrays["ids"], batch.values)
        np.testing.assert_array_equal(arrays["offsets"], batch.offsets)


def test_one_wrong_id_fails(out: Path, tok: nlp.Tokenizer, provenance: dict[str, str], tmp_path: Path) -> None:
    with np.load(out / "hamlet.npz") as arrays:
        content = dict(arrays)
    content["ids"] = content["ids"].copy()
    content["ids"][100] += 1
    np.savez(tmp_path / "wrong.npz", **content)
    with pytest.raises(SystemExit, match=r"wrong\.npz: decoding does not give back hamlet_gut\.txt") as failure:
        demo.check_npz(tmp_path / "wrong.npz", tok, demo.PLAY.read_bytes(), provenance)
    assert isinstance(failure.value.code, str)  # printed, and exit code 1


def test_another_vocabulary_fails(out: Path, tok: nlp.Tokenizer, provenance: dict[str, str]) -> None:
    expected = provenance | {"numba_nlp.vocabulary_digest": "0" * 64}
    for check, name in ((demo.check_npz, "hamlet.npz"), (demo.check_parquet, "hamlet.parquet")):
        with pytest.raises(SystemExit, match="the metadata are"):
            check(out / name, tok, demo.PLAY.read_bytes(), expected)


def test_a_missing_end_is_a_difference() -> None:
    with pytest.raises(SystemExit, match="first difference at byte 3"):
        demo.check_bytes(Path("file"), b"abc", b"abcd")
