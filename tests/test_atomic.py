"""Files that appear whole or not at all, and what no file may take the place of."""

from __future__ import annotations

import os
import threading

import pytest

from numba_nlp._atomic import atomic_writer


def test_a_file_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def fails():
        with atomic_writer(path) as stream:
            stream.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert path.read_bytes() == b"before"
    with atomic_writer(path) as stream:
        stream.write(b"after")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("file", b"after")]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "file")
    for content in (b"new", b"newer"):
        with atomic_writer(link) as stream:
            stream.write(content)
        assert link.is_symlink()
        assert (tmp_path / "folder" / "file").read_bytes() == content


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with atomic_writer(pipe) as stream:
        stream.write(b"content")
    reader.join(10)
    assert read == [b"content"]
    assert pipe.is_fifo()
