"""The cache of machine code: private, authenticated, bounded, and no danger to the files of others."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from staticgraph.runtime.disk import object_cache

KEY = f"{7:032x}"
posix = pytest.mark.skipif(sys.platform == "win32", reason="rights are access lists on Windows")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is not there yet, and a process that knows nothing of it."""
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path / "a" / "cache"))
    for name in ("_refused", "_swept"):
        monkeypatch.setattr(object_cache, name, set())
    monkeypatch.setattr(object_cache, "_keys", {})
    return tmp_path / "a" / "cache"


def forget() -> None:
    """Be as a new process is."""
    object_cache._keys.clear()
    object_cache._refused.clear()
    object_cache._swept.clear()


def entry(cache: Path, key: str = KEY) -> Path:
    return cache / object_cache.file_name(key)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
def test_nobody_else_may_read_or_write_any_of_it(cache: Path):
    before = os.umask(0)
    try:
        object_cache.write(KEY, b"code")
    finally:
        os.umask(before)
    assert mode(cache) == 0o700
    assert {path.name: mode(path) for path in cache.iterdir()} == {
        entry(cache).name: 0o600,
        object_cache.KEY_FILE: 0o600,
    }
    forget()
    assert object_cache.read(KEY) == b"code"


@posix
@pytest.mark.parametrize("rights", [0o777, 0o755, 0o750, 0o701, 0o1777, 0o2770])
def test_a_folder_with_looser_rights_is_not_used_and_that_is_said_once(cache: Path, rights: int):
    object_cache.write(KEY, b"code")
    cache.chmod(rights)
    forget()
    with pytest.warns(RuntimeWarning, match=f"is not used: others may .*{rights:04o}") as told:
        assert object_cache.read(KEY) is None
        assert object_cache.read(KEY) is None
        object_cache.write(f"{8:032x}", b"more")
    assert len(told) == 1 and "chmod 700" in str(told[0].message)
    assert sorted(path.name for path in cache.iterdir()) == sorted([entry(cache).name, object_cache.KEY_FILE])


@posix
def test_it_is_no_error_where_warnings_are(cache: Path, capsys: pytest.CaptureFixture[str]):
    object_cache.write(KEY, b"code")
    cache.chmod(0o755)
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert object_cache.read(KEY) is None
        assert object_cache.read(KEY) is None
    assert capsys.readouterr().err.count("is not used: others may read it") == 1


@posix
def test_a_folder_of_another_user_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch):
    object_cache.write(KEY, b"code")
    forget()
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.warns(RuntimeWarning, match="it belongs to user"):
        assert object_cache.read(KEY) is None


@posix
def test_a_link_to_a_folder_is_not_used(cache: Path, tmp_path: Path):
    object_cache.write(KEY, b"code")
    forget()
    cache.rename(tmp_path / "elsewhere")
    cache.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="it is a link"):
        assert object_cache.read(KEY) is None


@posix
def test_a_pipe_in_place_of_the_folder_does_not_hang(cache: Path):
    cache.parent.mkdir()
    os.mkfifo(cache)
    with pytest.warns(RuntimeWarning, match="it is not a folder"):
        assert object_cache.read(KEY) is None
    object_cache.write(KEY, b"code")


@posix
@pytest.mark.parametrize("kind", ["link", "pipe", "other owner", "folder"])
def test_entries_that_are_no_files_of_the_user_are_not_read(cache: Path, kind: str, tmp_path, monkeypatch):
    object_cache.write(KEY, b"code")
    place = entry(cache)
    if kind == "other owner":
        real, inode = os.fstat, place.stat().st_ino
        monkeypatch.setattr(os, "fstat", lambda fd: _owned_by_another(real(fd), inode))
    else:
        place.rename(tmp_path / "real")
        {
            "link": lambda: place.symlink_to(tmp_path / "real"),
            "pipe": lambda: os.mkfifo(place),
            "folder": place.mkdir,
        }[kind]()
    assert object_cache.read(KEY) is None
    if kind in ("link", "pipe"):
        object_cache.write(KEY, b"new")
        assert object_cache.read(KEY) == b"new" and (tmp_path / "real").exists()


def _owned_by_another(about: os.stat_result, inode: int) -> os.stat_result:
    owner = about.st_uid + (about.st_ino == inode)
    return os.stat_result((*about[:4], owner, *about[5:]))


def test_what_was_changed_moved_or_made_with_another_key_is_a_miss(cache: Path, monkeypatch):
    object_cache.write(KEY, b"code")
    whole, place = entry(cache).read_bytes(), entry(cache)
    for position in range(len(whole)):
        place.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert object_cache.read(KEY) is None or position < 16  # the mark is for pruning alone
        place.write_bytes(whole[:position])
        assert object_cache.read(KEY) is None
    entry(cache, f"{8:032x}").write_bytes(whole)
    assert object_cache.read(f"{8:032x}") is None
    place.write_bytes(whole)
    assert object_cache.read(KEY) == b"code"
    forget()
    (cache / object_cache.KEY_FILE).write_bytes(bytes(32))
    assert object_cache.read(KEY) is None
    object_cache.write(KEY, b"again")
    assert object_cache.read(KEY) == b"again"


@posix
@pytest.mark.parametrize("damage", ["mode", "size", "link", "pipe"])
def test_a_key_that_others_may_know_is_not_used(cache: Path, damage: str, tmp_path: Path):
    object_cache.write(KEY, b"code")
    secret = cache / object_cache.KEY_FILE
    if damage == "mode":
        secret.chmod(0o640)
    elif damage == "size":
        secret.write_bytes(b"short")
    else:
        secret.rename(tmp_path / "key")
        secret.symlink_to(tmp_path / "key") if damage == "link" else os.mkfifo(secret)
    forget()
    with pytest.warns(RuntimeWarning, match="key"):
        assert object_cache.read(KEY) is None
    object_cache.write(f"{8:032x}", b"more")
    assert not entry(cache, f"{8:032x}").exists()


def test_an_entry_from_before_there_was_a_key_is_not_used(cache: Path):
    object_cache.write(f"{8:032x}", b"code")
    earlier(cache, KEY, b"from outside")
    assert object_cache.read(KEY) is None


def earlier(cache: Path, key: str, data: bytes) -> None:
    """Write an entry as versions without a key did."""
    checksum = hashlib.blake2b(f"{key}\n".encode() + data, digest_size=16).digest()
    (cache / key).write_bytes(checksum + data)


def test_pruning_removes_only_what_the_cache_has_made(cache: Path):
    numbers = [f"{n:032x}" for n in range(6)]
    for number in numbers:
        object_cache.write(number, bytes(1000))
    earlier(cache, f"{10:032x}", bytes(1000))
    mine = {"thesis.tex": b"years", f"{11:032x}": bytes(2000), f"{12:032x}.entry": bytes(99), "a.entry": b""}
    for name, content in mine.items():
        (cache / name).write_bytes(content)
    for age, path in enumerate([*(cache / name for name in mine), cache / f"{10:032x}"]):
        os.utime(path, (age, age))
    for age, number in enumerate(numbers):
        os.utime(entry(cache, number), (100 + age, 100 + age))
    object_cache.prune(cache, 100_000)
    assert len(list(cache.iterdir())) == 12
    object_cache.prune(cache, 9_000)
    left = {path.name for path in cache.iterdir()}
    assert left >= {*mine, object_cache.KEY_FILE}
    assert left - {*mine, object_cache.KEY_FILE} == {object_cache.file_name(n) for n in numbers[2:]}
    assert {name: (cache / name).read_bytes() for name in mine} == mine


def test_writing_keeps_the_folder_bounded(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(object_cache, "LIMIT", 2000)
    monkeypatch.setattr(object_cache, "_LOOK_EVERY", 0)
    monkeypatch.setattr(object_cache, "_to_look", 0)
    for number in range(50):
        object_cache.write(f"{number:032x}", bytes([number]) * 100)
        assert sum(path.stat().st_size for path in cache.glob("*.entry")) <= 2000
    assert object_cache.read(f"{49:032x}") == bytes([49]) * 100


def test_using_an_entry_makes_it_new(cache: Path):
    object_cache.write(KEY, b"data")
    os.utime(entry(cache), (1, 1))
    assert object_cache.read(KEY) == b"data"
    assert entry(cache).stat().st_mtime > 1


def test_importing_does_not_touch_the_random_numbers_of_a_program():
    program = (
        "import random; random.seed(1); a = random.getstate()\n"
        "from staticgraph.runtime.disk import object_cache; assert random.getstate() == a"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@posix
def test_what_a_killed_process_left_is_removed_by_the_next_one(cache: Path):
    object_cache.write(KEY, b"code")
    (cache / ".x.1-2.sg.part").touch()
    forget()
    object_cache.write(f"{8:032x}", b"more")
    assert not [path for path in cache.iterdir() if path.name.endswith(".part")]


def _fill(numbers: range, start: object) -> None:
    """Write entries and read those of all processes, in a process of its own."""
    object_cache._keys.clear()
    start.wait()  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in numbers:
            object_cache.write(f"{number:032x}", str(number).encode() * 50)
            other = random.randrange(numbers.stop)
            assert object_cache.read(f"{other:032x}") in (None, str(other).encode() * 50)


@posix
def test_processes_share_it(cache: Path):
    """The key too, which the first of them makes."""
    here = multiprocessing.get_context("fork")
    start, count = here.Event(), 50
    made = [here.Process(target=_fill, args=(range(n * count, (n + 1) * count), start)) for n in range(4)]
    for process in made:
        process.start()
    start.set()
    for process in made:
        process.join()
    assert [process.exitcode for process in made] == [0] * 4
    object_cache._keys.clear()
    for number in range(4 * count):
        assert object_cache.read(f"{number:032x}") == str(number).encode() * 50
    assert len(list(cache.iterdir())) == 4 * count + 1
