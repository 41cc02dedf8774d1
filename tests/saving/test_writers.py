"""Files that grow while a program runs: if the disk is full, the error names the file."""

import errno
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.errors import SaveError
from staticgraph.runtime.disk import atomic

FULL = Path("/dev/full")  # a file of a disk without space
on_linux = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


def records(compression, flush):
    with sg.io.TFRecordWriter(FULL, compression) as writer:
        for _ in range(3):
            writer.write(os.urandom(100_000))
            if flush:
                writer.flush()


def text(mode, content):
    with tf.gfile.GFile(FULL, mode) as file:
        file.write(content)


def rows():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse")
    one = np.zeros((2, 1), np.float32)
    logger = tf.keras.callbacks.CSVLogger(FULL)
    try:
        model.fit(one, one, verbose=0, callbacks=[logger])
    finally:
        with suppress(OSError):
            logger.on_train_end()


WRITERS = {
    "records": lambda: records("", False),
    "records, flushed": lambda: records("", True),
    "zipped records": lambda: records("GZIP", False),
    "a text": lambda: text("w", "a" * 1_000_000),
    "a short text": lambda: text("w", "a"),
    "bytes": lambda: text("wb", b"a" * 1_000_000),
    "rows of a table": rows,
}


@on_linux
@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk(writer):
    with pytest.raises(SaveError) as caught:
        WRITERS[writer]()
    told = str(caught.value)
    assert told.startswith(f"cannot save to {FULL}: the disk is full") and "test_writers.py" in told


def refuse(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_events(tmp_path, monkeypatch):
    writer = sg.summary.FileWriter(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(os, "write", refuse)
        with pytest.raises(SaveError, match=r"cannot save to .*events\.out\.tfevents.*: the disk is full"):
            writer.add_session_log(tf.SessionLog(status=1), 1)
    writer.close()
    (events,) = tmp_path.iterdir()
    steps = [event.step for event in tf.train.summary_iterator(events)]
    assert steps == [0, 1]  # they waited until there was space


@pytest.mark.parametrize("save", ["save", "save_weights"])
def test_an_hdf5_file_is_replaced_as_a_whole(save, tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,))])
    model.compile("sgd", "mse")
    path = tmp_path / "net.h5"
    getattr(model, save)(path)
    before = path.read_bytes()
    with monkeypatch.context() as full:
        full.setattr(atomic, "write_all", refuse)
        with pytest.raises(SaveError, match=f"cannot save to {path}: the disk is full"):
            getattr(model, save)(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
