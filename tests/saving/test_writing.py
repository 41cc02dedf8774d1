"""A file is replaced as a whole or not at all, and an unwritable path gives one error with a cure."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from staticgraph.compiler.graph.errors import SaveError
from staticgraph.runtime.disk import atomic
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.loaded import load
from tests.saving.nets import line

ROOT = Path(__file__).resolve().parents[2]


def refused(path: Path, *matches: str) -> None:
    """The error, from the line that saves, with nothing left behind."""
    folder = path.parent
    before = {p: p.read_bytes() for p in folder.iterdir() if p.is_file()} if folder.is_dir() else None
    with pytest.raises(SaveError) as caught:
        line(path)
    text = str(caught.value)
    assert text.startswith(f"cannot save to {path}: ")
    assert "hint: " in text
    assert "nets.py" in text
    assert all(match in text for match in matches), text
    if before is not None:
        assert {p: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before


def test_paths_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder.sg").mkdir()
    refused(
        tmp_path / "missing" / "net.sg", f"the folder {tmp_path / 'missing'} does not exist", "os.makedirs("
    )
    refused(tmp_path / "folder.sg", "that is a folder", "folder.sg/net.sg")
    refused(tmp_path / "file" / "net.sg", "a part of the path is a file")
    refused(tmp_path / ("n" * 300), "the name is too long")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(0o500)
    try:
        refused(tmp_path / "net.sg", "this user may not write")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    "code, text",
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "may not write"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_every_system_call_may_fail(tmp_path, monkeypatch, call, code, text):
    path = line(tmp_path / "net.sg", step=None)
    real, count, failing, here = getattr(os, call), 0, 0, threading.get_ident()

    def sometimes(*arguments, **options):
        nonlocal count
        if threading.get_ident() != here:  # one that stores what was compiled
            return real(*arguments, **options)
        count += 1
        if count == failing:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    monkeypatch.setattr(atomic.os, call, sometimes)
    line(path)
    calls = count
    assert calls
    for failing in range(1, calls + 1):
        count = 0
        if call in ("open", "fsync") and failing == calls:  # that of the folder, which not every system has
            line(path)
        else:
            refused(path, text)
        load(path)


def test_a_write_may_take_less_than_it_was_given(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(atomic.os, "write", lambda file, data: real(file, data[:7]))
    load(line(tmp_path / "net.sg"))


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "net.sg"
    path.write_bytes(b"old")

    def interrupt(file):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, [b"new"])
    assert [p.name for p in tmp_path.iterdir()] == ["net.sg"]
    assert path.read_bytes() == b"old"


def test_a_link_is_followed_and_the_umask_is_honoured(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.sg"
    link.symlink_to(tmp_path / "real" / "net.sg")
    before = os.umask(0o027)
    try:
        write_file(link, [b"new", b"", b" bytes"])
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert (tmp_path / "real" / "net.sg").read_bytes() == b"new bytes"
    assert (tmp_path / "real" / "net.sg").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("call, when", [("fsync", "before"), ("replace", "before"), ("replace", "after")])
def test_a_killed_process_leaves_the_old_file_or_the_new(tmp_path, call, when):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    program = f"""
import os, signal
from staticgraph.runtime.disk import atomic
real = os.{call}
def dies(*arguments):
    if {when == "after"}:
        real(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
os.{call} = dies
atomic.write_file("file", [b"new"])
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment)
    assert run.returncode == -signal.SIGKILL
    assert path.read_bytes() == (b"new" if (call, when) == ("replace", "after") else b"old")
    write_file(path, [b"newer"])
    assert path.read_bytes() == b"newer"


def test_what_a_killed_process_left_is_removed(tmp_path):
    """Not what another one is writing just now, and no file of somebody else's."""
    fcntl = pytest.importorskip("fcntl")
    path, others = tmp_path / "net.sg", [".net.sg.part", ".net.sg.1-2.part.txt", ".other.sg.1-2.part"]
    for name in [".net.sg.1-2.part", ".net.sg.1-3.part", *others]:
        (tmp_path / name).touch()
    with open(tmp_path / ".net.sg.1-3.part") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)
        write_file(path, [b"new"])
    assert {p.name for p in tmp_path.iterdir()} == {"net.sg", ".net.sg.1-3.part", *others}
    write_file(path, [b"newer"])
    assert {p.name for p in tmp_path.iterdir()} == {"net.sg", *others}


def test_what_was_left_of_other_files_is_removed_too(tmp_path):
    """Such as those of checkpoints with another step number."""
    pytest.importorskip("fcntl")
    for name in (".model-10.index.1-2.sg.part", ".a\nb.7-0.sg.part"):
        (tmp_path / name).touch()
    (tmp_path / ".linked.1-1.sg.part").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / ".pipe.1-1.sg.part")
    write_file(tmp_path / "model-1000.index", [b"new"])
    assert sorted(os.listdir(tmp_path)) == [".linked.1-1.sg.part", ".pipe.1-1.sg.part", "model-1000.index"]


def test_a_temporary_name_may_be_taken(tmp_path):
    """Processes of two containers have the same numbers."""
    taken, descriptor = atomic.begin_temporary(str(tmp_path / "net.sg"))
    number = int(taken.rsplit("-")[-1].partition(".")[0])
    (tmp_path / taken.replace(f"-{number}.", f"-{number + 1}.")).touch()
    write_file(tmp_path / "net.sg", [b"new"])
    os.close(descriptor)
    assert (tmp_path / "net.sg").read_bytes() == b"new" and os.path.exists(taken)


def test_a_file_that_is_taken_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    real, taken = os.open, []

    def open_and_lose(path, *flags, **options):
        descriptor = real(path, *flags, **options)
        if str(path).endswith(".part") and not taken:
            taken.append(path)
            os.unlink(path)
        return descriptor

    monkeypatch.setattr(atomic.os, "open", open_and_lose)
    write_file(tmp_path / "net.sg", [b"new"])
    assert taken and (tmp_path / "net.sg").read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["net.sg"]
