"""Files that appear whole or not at all, and what no file may take the place of."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from numba_nlp._atomic import atomic_writer, remove_unfinished


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


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_of_a_file_stay_and_new_ones_follow_the_umask(tmp_path):
    def mode_of(path):
        with atomic_writer(path) as stream:
            stream.write(b"content")
            (temporary,) = tmp_path.glob(".*.tmp")
            seen = temporary.stat().st_mode & 0o777
        assert path.stat().st_mode & 0o777 == seen
        return seen

    private = tmp_path / "private"
    private.write_bytes(b"before")
    for mode in (0o600, 0o640, 0o444):
        private.chmod(mode)
        assert mode_of(private) == mode
    before = os.umask(0o027)
    try:
        assert mode_of(tmp_path / "new") == 0o640
    finally:
        os.umask(before)


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


#: Begins a file and waits, until it is killed.
WRITER = """
import sys
from numba_nlp._atomic import atomic_writer
with atomic_writer(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.name != "posix", reason="needs locks of POSIX")
def test_what_killed_processes_left_is_removed_and_what_is_written_stays(tmp_path):
    def leftover():
        return sorted(path.name for path in tmp_path.iterdir())

    def old(path):
        os.utime(path, (1, 1))

    def remove(*names):
        remove_unfinished(tmp_path, names.__contains__)

    path = tmp_path / "file"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"begun\n"
        (temporary,) = tmp_path.glob(".*.tmp")
        old(temporary)
        remove("file")
        assert leftover() == [temporary.name]
        process.kill()
    remove("another")
    assert leftover() == [temporary.name]
    # one that was just made may not be locked yet
    os.utime(temporary)
    remove("file")
    assert leftover() == [temporary.name]
    old(temporary)
    foreign = tmp_path / ".file.notes.tmp"
    foreign.write_bytes(b"of somebody else")
    old(foreign)
    remove("file", "file.notes")
    assert leftover() == [foreign.name]
    remove_unfinished(tmp_path / "missing", bool)


@pytest.mark.skipif(os.name != "posix", reason="counts open files as POSIX systems show them")
def test_no_file_stays_open(tmp_path):
    def fails():
        with atomic_writer(tmp_path / "file"):
            raise RuntimeError

    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        with atomic_writer(tmp_path / "file") as stream:
            stream.write(b"content")
        with pytest.raises(RuntimeError):
            fails()
    assert len(os.listdir("/dev/fd")) == before
