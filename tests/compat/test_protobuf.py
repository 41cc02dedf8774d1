"""`google.protobuf.text_format` in a script of TF1 takes our messages, installed or not."""

import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from staticgraph.tf1.drop_in.finder import standing_in

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import tensorflow as tf
from google.protobuf import text_format

graph = tf.GraphDef()
text_format.Merge('node { name: "a" op: "NoOp" }', graph)
again = text_format.Parse(text_format.MessageToString(graph), tf.GraphDef())
try:
    text_format.Parse("nodes { name", tf.GraphDef())
except text_format.ParseError as error:
    refused = str(error)
"""


def google_modules():
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "google"}


@pytest.fixture
def no_google(monkeypatch):
    """A Python without any package of that name."""
    for name in google_modules():
        monkeypatch.delitem(sys.modules, name)
    find = PathFinder.find_spec

    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == "google" else find(name, path, target)

    monkeypatch.setattr(PathFinder, "find_spec", classmethod(find_spec))


def check():
    names = {}
    with standing_in():
        exec(compile(SCRIPT, "script.py", "exec"), names)  # noqa: S102
    assert names["again"].node[0].name == names["graph"].node[0].name == "a"
    assert "line 1" in names["refused"]


def test_without_protocol_buffers(no_google):
    check()
    assert google_modules() == {}


@pytest.mark.takes_long
def test_with_protocol_buffers():
    """In a process of its own: the C library of protocol buffers must not be begun twice in one."""
    pytest.importorskip("google.protobuf")
    program = f"from {__name__} import with_protocol_buffers; with_protocol_buffers()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def with_protocol_buffers():
    assert google_modules() == {}
    check()
    from google.protobuf import text_format, wrappers_pb2

    before = text_format.Parse
    check()  # imported by now
    assert text_format.Parse is before
    assert text_format.Parse("value: 3", wrappers_pb2.Int32Value()).value == 3
