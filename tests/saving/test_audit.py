"""Reading a file runs nothing, imports nothing and opens nothing else: Python's audit events tell.

An audit hook cannot be removed, so that a fresh process has it, and reads all files in all ways. Modules
that are imported when the first file is read are imported by reading another file before, and those of ops by
asking for all ops: a file only names ops of a table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from tests.saving.nets import line

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, sys, traceback
import staticgraph as sg
from staticgraph.compiler.graph.opdef import OPS
ways = {"load": sg.load, "mapped": lambda file: sg.load(file, mapped=True), "inspect": sg.inspect}
for read in ways.values():
    read("before.sg")
len(OPS)
seen = []
sys.addaudithook(lambda event, args: seen.append((event, args)))
told = {}
for way, read in ways.items():
    for FILE in sys.argv[1:]:
        seen.clear()
        raised = ""
        try:
            read(FILE)
        except sg.errors.OpError as error:
            raised = type(error).__name__
        found = list(seen)
        try:
            check(FILE, found)
        except AssertionError:
            raised = traceback.format_exc()
        told[f"{way} {FILE}"] = raised
print(json.dumps(told))
"""
CHECK = """
def check(FILE, found):
    assert {str(args[0]) for event, args in found if event == "open"} == {FILE}, found
    refused = (
        "exec", "import", "compile", "subprocess", "os.", "socket", "pickle", "marshal", "ctypes.dl",
        "shutil", "urllib", "glob", "tempfile", "webbrowser", "function.__new__", "code.__new__",
    )
    # A record of ours gets its constructor as it is made for the first time, from a template.
    ours = {("code.__new__", "dataclass.py"), ("function.__new__", "dataclass.py")}
    foreign = [(e, args) for e, args in found if not any(e == k and file in repr(args) for k, file in ours)]
    assert not [(event, args) for event, args in foreign if event.startswith(refused)], found
    # Addresses of memory of ours, such as that of variables; no function is looked for, and none called.
    assert {event for event, _ in found if event.startswith("ctypes")} <= {"ctypes.cdata"}, found
    assert all(event == "open" and args[1] in ("r", "rb") or event != "open" for event, args in found), found
"""


def everything(path: Path) -> Path:
    """Several signatures, machine code, loops, strings, random numbers, constants and variables."""
    sg.reset_default_graph()
    x = sg.placeholder(sg.float32, [2], name="x")
    w = sg.Variable([1.0, 2.0], name="w")
    y = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * w), [0, x])[1]
    table = sg.constant(np.arange(500, dtype=np.float32))
    text = sg.strings.upper(sg.constant(["a", "b"]))
    noise = sg.random_uniform([2], seed=1)
    functions = {
        "predict": sg.Signature({"y": y + noise + table[3], "text": text}),
        "train": sg.Signature(step=w.assign_add(sg.gradients(y, w)[0])),
    }
    with sg.Session() as session:
        session.run(w.initializer)
        sg.save(path, signatures=functions, kernels=["native"])
    return path


FILES = ("whole", "cut", "edited")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """For each way to read and each file the class of the error, or what was seen that should not be."""
    folder = tmp_path_factory.mktemp("files")
    data = bytearray(everything(folder / "whole").read_bytes())
    line(folder / "before.sg", kernels=["native"], shapes={"x": [1, 2], "target": [1, 2]})
    (folder / "cut").write_bytes(data[:-100])
    data[len(data) // 2] ^= 1
    (folder / "edited").write_bytes(data)
    command = [sys.executable, "-W", "error", "-c", CHECK + PROGRAM, *FILES]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("read", ["load", "mapped", "inspect"])
@pytest.mark.parametrize("damage", FILES)
def test_nothing_runs_and_nothing_else_is_opened(told: dict[str, str], read: str, damage: str):
    assert told[f"{read} {damage}"] == ("" if damage == "whole" else "InvalidFileError")
