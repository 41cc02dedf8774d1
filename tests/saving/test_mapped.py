"""Values that stay in their file: processes share them, and what one of them assigns is its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.kernel.stmt import ALIGNMENT

ROOT = Path(__file__).resolve().parents[2]
SIZE = (512, 512)  # a megabyte
linux_only = pytest.mark.skipif(
    not Path("/proc/self/smaps").exists(), reason="the system tells nothing of maps"
)


def net(path: Path) -> Path:
    """A large variable and two small ones, a sum of the large one, and a step that changes it in place."""
    sg.reset_default_graph()
    x = sg.placeholder(sg.float32, [None, SIZE[0]], name="x")
    w = sg.Variable(np.ones(SIZE, np.float32), name="w")
    b = sg.Variable(np.float32([1, 2, 3]), name="b")
    c = sg.Variable(np.float32([4]), name="c")
    y = sg.reduce_sum(sg.matmul(x, w), axis=1) + b[0] + 0.0 * c
    with sg.Session() as session:
        session.run([w.initializer, b.initializer, c.initializer])
        sg.save(path, {"y": y}, step=sg.group(w.assign_add(sg.ones(SIZE)), b.assign_add([1.0, 1, 1])))
    return path


def test_a_large_value_is_the_file_itself(tmp_path: Path):
    path = net(tmp_path / "net.sg")
    loaded = sg.load(path, mapped=True)
    store, variables = loaded.session.variables, loaded.graph.variables
    large, small = store.stored(variables["w"].op), store.stored(variables["c"].op)
    assert large.ctypes.data % ALIGNMENT == 0
    assert not large.flags.owndata
    assert any(lower <= large.ctypes.data < upper for lower, upper, name in maps() if name == str(path))
    assert not any(lower <= small.ctypes.data < upper for lower, upper, name in maps() if name == str(path))
    copied = sg.load(path)
    elsewhere = copied.session.variables.stored(copied.graph.variables["w"].op)
    assert not any(
        lower <= elsewhere.ctypes.data < upper for lower, upper, name in maps() if name == str(path)
    )
    np.testing.assert_array_equal(loaded(x=np.ones((2, SIZE[0])))["y"], [SIZE[0] * SIZE[1] + 1] * 2)


def maps() -> list[tuple[int, int, str]]:
    """The parts of this process's memory, and the files that they are of."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("the system tells nothing of maps")
    lines = (line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines())
    bounds = [(parts[0].split("-"), parts[5].strip() if len(parts) > 5 else "") for parts in lines]
    return [(int(lower, 16), int(upper, 16), name) for (lower, upper), name in bounds]


def test_assignments_do_not_reach_the_file(tmp_path: Path):
    path = net(tmp_path / "net.sg")
    before = path.read_bytes()
    first, second = sg.load(path, mapped=True), sg.load(path, mapped=True)
    x = np.ones((1, SIZE[0]), np.float32)
    for _ in range(5):
        first.step(x=x)
    first.variables["b"] = [0, 0, 0]
    assert first.variables["w"].max() == first.variables["w"].min() == 6
    assert second.variables["w"].max() == 1
    assert second(x=x)["y"] == [SIZE[0] * SIZE[1] + 1]
    assert path.read_bytes() == before
    second.save(tmp_path / "again.sg")
    assert (tmp_path / "again.sg").read_bytes() == before


def test_the_file_may_be_replaced_or_removed(tmp_path: Path):
    path = net(tmp_path / "net.sg")
    loaded = sg.load(path, mapped=True)
    x = np.ones((1, SIZE[0]), np.float32)
    loaded.step(x=x)
    loaded.save(path)
    assert sg.load(path).variables["w"].max() == 2
    path.unlink()
    assert loaded(x=x)["y"] == [2 * SIZE[0] * SIZE[1] + 2]


SHARING = """
import sys
import numpy as np
import staticgraph as sg
net = sg.load("net.sg", mapped=True)
net(x=np.ones((1, 512), np.float32))
print("ready", flush=True)
sys.stdin.readline()
found = open("/proc/self/smaps").read()
print(found.replace("\\n", "|"), flush=True)
sys.stdin.readline()
"""


PROCESSES = 4


@pytest.mark.takes_long
@linux_only
def test_processes_share_one_copy(tmp_path: Path):
    """Each of them has touched the whole value, and owns none of its pages: they are all of the file's."""
    path = net(tmp_path / "net.sg")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SHARING],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    assert [p.stdout.readline() for p in processes] == ["ready\n"] * PROCESSES
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.stdout.readline() for process in processes]
    for process in processes:
        process.communicate("\n")
    for text in told:
        parts = re.split(r"\|(?=[0-9a-f]+-[0-9a-f]+ )", text)
        [mine] = [part for part in parts if f" {path}|" in part]
        kilobytes = {name: int(size) for name, size in re.findall(r"(\w+): +(\d+) kB", mine)}
        assert kilobytes["Rss"] >= SIZE[0] * SIZE[1] * 4 // 1024
        assert kilobytes["Private_Dirty"] == 0
        assert kilobytes["Pss"] <= kilobytes["Rss"] // (PROCESSES - 1)


@pytest.mark.parametrize("runs", [0, 5])
def test_a_file_that_was_cut_short_is_an_error_before_each_run(tmp_path: Path, runs: int):
    """Not the end of the process, through whatever reads the weights, and however often it ran before."""
    path = net(tmp_path / "net.sg")
    loaded = sg.load(path, mapped=True)
    x = np.ones((1, SIZE[0]), np.float32)
    for _ in range(runs):
        assert loaded(x=x)["y"] == [SIZE[0] * SIZE[1] + 1]
    os.truncate(path, path.stat().st_size // 2)
    ways = [
        lambda: loaded(x=x),
        lambda: loaded.step(x=x),
        lambda: loaded.variables["w"],
        lambda: loaded.save(tmp_path / "other.sg"),
    ]
    for way in [*ways, *ways]:
        with pytest.raises(sg.errors.DataLossError, match="was cut short, from"):
            way()
    assert [each.name for each in tmp_path.iterdir()] == ["net.sg"]
    loaded.session.close()
    with pytest.raises(sg.errors.FailedPreconditionError, match="closed"):
        loaded(x=x)
