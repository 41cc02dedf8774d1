"""Pipes, devices, folders and links in place of files, and names that the system refuses.

No reader waits for a pipe or reads a device without an end. What the system refuses is an error of the class
that TensorFlow 1.15.5 raises, which `RAISED` tells. TensorFlow takes a zero byte for the end of a name: here
it is refused.
"""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.applications.solver import reading
from staticgraph.applications.solver.errors import DescriptionError
from staticgraph.compiler.graph.errors import OpError, told
from tests.fuzz_readers.watch import watched

on_linux = pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no such file")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # whose length is limited


KINDS: dict[str, Callable[[Path], Any]] = {
    "pipe": os.mkfifo,
    "socket": _socket,
    "link to itself": lambda path: path.symlink_to(path),
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "random device": lambda path: path.symlink_to("/dev/urandom"),
    "memory of a process": lambda path: path.symlink_to("/proc/self/mem"),
    "file with a hole": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
    "zero byte": lambda path: None,
}


def _in_a_graph(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def attempt(path: str) -> None:
        with sg.Graph().as_default():
            read(path)

    return attempt


def _saved_model(path: str) -> None:
    tf.saved_model.loader.load(tf.Session(), ["serve"], os.path.dirname(path))


# Each reads a file of that name as a whole.
WHOLE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "graph": ("net.sg", sg.load),
    "weights": ("net.npz", sg.read_weights),
    "checkpoint": ("net.index", lambda path: tf.train.NewCheckpointReader(path.removesuffix(".index"))),
    "meta graph": ("net.meta", _in_a_graph(tf.train.import_meta_graph)),
    "SavedModel": ("saved_model.pb", _in_a_graph(_saved_model)),
    "ONNX": ("net.onnx", _in_a_graph(sg.onnx.load)),
    "model of Keras": ("net.h5", _in_a_graph(sg.keras.models.load_model)),
    "description": ("net.toml", lambda path: reading.read(Path(path))),
}


@on_linux
@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_is_read_as_a_whole_is_a_plain_file(name: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the socket
    file, read = WHOLE[name]
    for kind, make in KINDS.items():
        folder = tmp_path / kind.replace(" ", "_")
        folder.mkdir()
        make(folder / file)
        path = str(folder / file) if kind != "zero byte" else str(folder / "a\0b" / file)
        with watched(0), pytest.raises((OSError, OpError, DescriptionError, ValueError)) as caught:
            read(path)
        assert told(caught.value) or isinstance(caught.value, DescriptionError), (kind, caught.value)


NAMES: dict[str, Callable[[Path], str]] = {
    "folder": str,
    "link to itself": lambda folder: str(folder / "link"),
    "socket": lambda folder: str(folder / "socket"),
    "long name": lambda folder: str(folder / ("x" * 300)),
    "file in a file": lambda folder: str(folder / "plain" / "x"),
    "memory of a process": lambda folder: "/proc/self/mem",
    "no name": lambda folder: "",
}
RAISED = {
    "folder": tf.errors.FailedPreconditionError,
    "link to itself": tf.errors.UnknownError,
    "socket": tf.errors.NotFoundError,
    "long name": tf.errors.InvalidArgumentError,
    "file in a file": tf.errors.FailedPreconditionError,
    "memory of a process": tf.errors.UnknownError,
    "no name": tf.errors.NotFoundError,
}


def _first(dataset: Callable[[str], Any]) -> Callable[[str], Any]:
    return _in_a_graph(lambda path: tf.Session().run(dataset(path).make_one_shot_iterator().get_next()))


READ: dict[str, Callable[[str], Any]] = {
    "read_file": _in_a_graph(lambda path: tf.Session().run(tf.read_file(path))),
    "lines": _first(tf.data.TextLineDataset),
    "records": _first(tf.data.TFRecordDataset),
    "tf_record_iterator": lambda path: list(tf.python_io.tf_record_iterator(path)),
    "summary_iterator": lambda path: list(tf.train.summary_iterator(path)),
    "GFile": lambda path: tf.gfile.GFile(path, "rb").read(9),
}


@on_linux
@pytest.mark.parametrize("name", READ)
def test_what_the_system_refuses_is_an_error_of_tensorflows_class(name: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "link")
    _socket(tmp_path / "socket")
    for kind, path in NAMES.items():
        with pytest.raises(RAISED[kind]) as caught:
            READ[name](path(tmp_path))
        assert str(caught.value).count("test_kinds_of_files.py") == 1, (kind, caught.value)
    with pytest.raises(tf.errors.InvalidArgumentError):
        READ[name]("a\0b")


def test_files_and_folders_by_tensorflows_errors(tmp_path: Path):
    (tmp_path / "plain").write_bytes(b"x")
    long, through = str(tmp_path / ("x" * 300)), str(tmp_path / "plain" / "x")
    for call in (tf.gfile.Stat, tf.gfile.Remove, lambda path: tf.gfile.Copy(path, "to", True)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            call(long)
        with pytest.raises(tf.errors.FailedPreconditionError):
            call(through)
    for path in (long, through, str(tmp_path / "plain"), "", "none"):
        with pytest.raises(tf.errors.NotFoundError):
            tf.gfile.ListDirectory(path)
    for number, kind in ((7, tf.errors.PermissionDeniedError), (6, tf.errors.AlreadyExistsError)):
        assert tf.errors.exception_type_from_error_code(number) is kind


@pytest.mark.parametrize("mode", ["r", "w"])
def test_a_file_of_others_is_an_error_of_permission(mode: str, monkeypatch: pytest.MonkeyPatch):
    """Of TensorFlow's class, which is Python's too. The user of a test may be the one who may read all."""

    def refuse(path: str, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    file = tf.gfile.GFile("theirs", mode)
    with monkeypatch.context() as refused:
        refused.setattr("builtins.open", refuse)
        with pytest.raises(tf.errors.PermissionDeniedError) as caught:
            file.read() if mode == "r" else file.write("text")
    assert isinstance(caught.value, PermissionError)
    assert str(caught.value).startswith("theirs; Permission denied")
    assert str(caught.value).count("test_kinds_of_files.py") == 1
