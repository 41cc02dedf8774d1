"""Kernels are generated once: found again on disk by what they say, for this processor and this generator."""

import os
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import kernel_codes
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.digest import digest
from staticgraph.compiler.kernel.expr import Const, Index, Load, Reduce
from staticgraph.compiler.kernel.stmt import Buffer, Share
from staticgraph.compiler.lower.program import Loops
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.disk import disk_cache as generated
from staticgraph.runtime.disk import sources, write_behind

VERSION = sources.compiler_version.__wrapped__  # without its memory
VALUE = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test alone, and a generator that nobody changes meanwhile."""
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(generated, "compiler_version", lambda: "of today")
    return tmp_path / "cache"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The kernels that were really generated."""
    works: list[object] = []
    generate = kernel_codes._generated

    def record(work: Loops, target: CpuTarget, *others: object) -> object:
        works.append(work)
        return generate(work, target, *others)

    monkeypatch.setattr(kernel_codes, "_generated", record)
    return works


def run(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The results of a step with loops, a product and a kernel of its own, as in a new process."""
    monkeypatch.setattr(kernel_codes, "_emitted", OrderedDict())
    monkeypatch.setattr(cpu_jit, "_OBJECTS", {})
    sg.reset_default_graph()
    x = sg.placeholder(sg.float32, [3, 4])
    fetches = [sg.nn.softmax(x), sg.nn.relu(sg.matmul(x, x, transpose_b=True)), sg.sort(x)]
    with sg.Session() as session:
        results = session.run(fetches, {x: VALUE})
    write_behind.flush()
    return results


def test_a_second_process_generates_nothing(made, monkeypatch):
    first = run(monkeypatch)
    assert made
    made.clear()
    again = run(monkeypatch)
    assert not made
    for a, b in zip(again, first, strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_generator_generates_anew(made, monkeypatch):
    run(monkeypatch)
    count = len(made)
    monkeypatch.setattr(generated, "compiler_version", lambda: "of tomorrow")
    run(monkeypatch)
    assert len(made) == 2 * count


def test_without_sources_nothing_is_kept(made, monkeypatch):
    monkeypatch.setattr(generated, "compiler_version", lambda: None)
    run(monkeypatch)
    count = len(made)
    run(monkeypatch)
    assert len(made) == 2 * count


@pytest.mark.parametrize("damage", [b"", b"rubbish", b"\0" * 4096])
def test_damaged_entries_are_generated_anew(damage, cache, made, monkeypatch):
    first = run(monkeypatch)
    count = len(made)
    for entry in cache.iterdir():
        entry.write_bytes(damage)
    again = run(monkeypatch)
    assert len(made) == 2 * count
    for a, b in zip(again, first, strict=True):
        np.testing.assert_array_equal(a, b)


def test_objects_that_are_gone_are_compiled_from_the_kept_text(cache, made, monkeypatch):
    first = run(monkeypatch)
    made.clear()
    monkeypatch.setattr(cpu_jit, "_key", lambda code: f"elsewhere-{code.name}")
    again = run(monkeypatch)
    assert not made
    for a, b in zip(again, first, strict=True):
        np.testing.assert_array_equal(a, b)


def write(path: Path, text: str, time: float = sources.LOADED - 60) -> None:
    """A source, written at a time that the system's clock of changes tells from the last one."""
    old = path.stat().st_ctime_ns if path.exists() and sys.platform != "win32" else None
    while True:
        path.write_text(text)
        os.utime(path, (time, time))
        if path.stat().st_ctime_ns != old:
            return


def test_the_version_depends_on_every_source(tmp_path, monkeypatch):
    files = [tmp_path / "rules.py", tmp_path / "package" / "__init__.py", tmp_path / "package" / "member.py"]
    files[1].parent.mkdir()

    for path in files:
        write(path, "one = 1\n")
    monkeypatch.setattr(sources, "_FOLDER", tmp_path)
    seen = {VERSION()}
    for path in files:
        write(path, "number = 2\n")
        seen.add(VERSION())
    assert len(seen) == 4 and None not in seen
    write(files[2], "number = 2\n", sources.LOADED + 60)
    assert VERSION() is None  # this process may have loaded something else
    write(files[2], "number = 2\n")
    assert VERSION() in seen
    for path in files:
        path.unlink()
    assert VERSION() is None


@pytest.mark.skipif(sys.platform == "win32", reason="no time of change, only that of the last write")
def test_sources_are_read_once_and_again_when_one_was_written(tmp_path, monkeypatch):
    source = tmp_path / "rules.py"
    reads = []
    read = sources._text
    monkeypatch.setattr(sources, "_FOLDER", tmp_path)
    monkeypatch.setattr(sources, "_text", lambda path: reads.append(path) or read(path))
    write(source, "one = 1\n")
    first = VERSION()
    assert VERSION() == first and len(reads) == 1
    write(source, "one = 2\n")  # of the same size, and with the same time
    assert VERSION() not in (None, first) and len(reads) == 2


def test_digests_tell_kernels_apart():
    i, j = Index("i", 4), Index("j", 4)
    x = Load("x", (i,), float32)
    different = [
        x,
        Load("y", (i,), float32),
        Load("x", (j,), float32),
        Load("x", (Index("i", 5),), float32),
        x + x,
        x + 1,
        x + 1.5,
        Const(0.0, float32),
        Const(-0.0, float32),
        Const(float("nan"), float32),
        Reduce((i,), "add", x),
        Reduce((i,), "maximum", x),
        Reduce((j,), "add", x),
        (x, x),
        (x, (x,)),
        ((x,), x),
        (x + 1, x + 2),
        (x + 2, x + 1),
        ("a", "b"),
        ("a'", "b"),
        ("1",),
        (1,),
        (True,),
        (None,),
        Buffer(float32, (4,)),
        Buffer(float32, (4,), written=True),
        Buffer(float32, (4,), local=True),
        Buffer(float32, (4,), shared=True),
        Share(i, 2),
        Share(i, 2, 16),
        Share(j, 2),
    ]
    assert len({digest(part) for part in different}) == len(different)


def test_what_cannot_be_told_apart_has_no_digest():
    with pytest.raises(TypeError, match="object has no digest"):
        digest((1, object()))
