"""Write-behind of the cache on disk: nothing waits for it, and nothing is lost that it was given."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from staticgraph.runtime.disk import object_cache, write_behind

KEYS = [f"{number:032x}" for number in range(5)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is not there yet. What other tests have left is written, and no thread waits to write."""
    write_behind.flush()
    end_of_thread()
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written before `flush` is called."""
    monkeypatch.setattr(write_behind, "_start", lambda: None)


def end_of_thread() -> None:
    while (thread := write_behind._thread) is not None:
        thread.join()


def names(cache: Path) -> set[str]:
    return {path.name for path in cache.glob("*.entry")}


def test_an_entry_is_found_before_and_after_it_is_written(cache: Path, no_thread: None):
    object_cache.write_later(KEYS[0], lambda: b"code")
    assert not names(cache) and object_cache.read(KEYS[0]) == b"code"
    write_behind.flush()
    assert names(cache) == {object_cache.file_name(KEYS[0])} and object_cache.read(KEYS[0]) == b"code"
    assert not write_behind._waiting


def test_the_last_of_two_entries_counts(cache: Path, no_thread: None):
    for data in (b"first", b"second"):
        object_cache.write_later(KEYS[0], lambda data=data: data)
    write_behind.flush()
    assert object_cache.read(KEYS[0]) == b"second"


def test_an_entry_goes_into_the_folder_of_its_time(
    cache: Path, no_thread: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    object_cache.write_later(KEYS[0], lambda: b"code")
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path / "other"))
    assert object_cache.read(KEYS[0]) is None
    write_behind.flush()
    assert names(cache) and not (tmp_path / "other").exists()


def test_a_folder_that_is_removed_meanwhile_is_not_made_again(cache: Path, no_thread: None):
    object_cache.write_later(KEYS[0], lambda: b"code")
    cache.rmdir()
    write_behind.flush()
    assert not cache.exists()
    object_cache.write_later(KEYS[1], lambda: b"code")
    write_behind.flush()
    assert names(cache) == {object_cache.file_name(KEYS[1])}


def test_a_thread_writes_and_ends(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(write_behind, "PAUSE", 0.0)
    for again in range(2):
        for key in KEYS:
            object_cache.write_later(key, lambda: b"code")
        end_of_thread()
        assert names(cache) == set(map(object_cache.file_name, KEYS)), again


def test_so_many_may_wait(cache: Path, no_thread: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(write_behind, "MOST", 4)
    for key in KEYS:
        object_cache.write_later(key, lambda: b"code")
    assert len(names(cache)) == 5


def test_what_waits_is_written_when_the_process_ends(cache: Path):
    program = f"""
from staticgraph.runtime.disk import object_cache, write_behind
write_behind.PAUSE = 1000.0
for key in {KEYS}:
    object_cache.write_later(key, lambda: b"code")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert [object_cache.read(key) for key in KEYS] == [b"code"] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on Windows")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_leaves_it_to_its_parent(cache: Path, no_thread: None):
    object_cache.write_later(KEYS[0], lambda: b"code")
    child = os.fork()
    if not child:
        write_behind.flush()
        os._exit(len(names(cache)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    write_behind.flush()
    assert len(names(cache)) == 1
