"""Files beyond 2 and 4 GB. By default their zeros are holes, which take neither disk nor time."""

from __future__ import annotations

import mmap
import os
import shutil
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import uint8
from staticgraph.runtime.disk import atomic
from staticgraph.runtime.files import container
from staticgraph.runtime.files.arrays import safetensors

LARGE = 1 << 24  # pieces from this size on are zeros in these tests
GIGABYTE = 1 << 30


def mapped(path: Path) -> memoryview:
    with open(path, "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@pytest.fixture
def holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large pieces are not written but left out as holes, and checksums, which take long, are not made."""
    with open(tmp_path / "probe", "wb") as file:
        file.truncate(GIGABYTE)
    if os.stat(tmp_path / "probe").st_blocks:
        pytest.skip("this file system has no holes")
    write, crc32 = atomic.write_all, zlib.crc32

    def write_or_skip(descriptor: int, view: memoryview) -> None:
        if len(view) < LARGE:
            write(descriptor, view)
        else:
            os.lseek(descriptor, len(view), os.SEEK_CUR)

    def crc32_or_skip(data: Any, start: int = 0) -> int:
        return 1 if start == 1 or len(data) >= LARGE else crc32(data, start)

    monkeypatch.setattr(atomic, "write_all", write_or_skip)
    monkeypatch.setattr(container.zlib, "crc32", crc32_or_skip)
    monkeypatch.setattr(container, "_sha256", lambda pieces: "not looked at")


def test_members_beyond_4_gigabytes_are_where_the_directory_says(tmp_path: Path, holes: None):
    zeros = np.zeros(4 * GIGABYTE + 128, np.uint8)
    path = tmp_path / "large.zip"
    atomic.write_file(path, container.pack({"first": [zeros], "second": [b"after it"]}))
    assert path.stat().st_blocks * 512 < LARGE
    with zipfile.ZipFile(path) as other:
        assert [(info.filename, info.file_size) for info in other.infolist()] == [
            ("first", len(zeros)),
            ("second", 8),
        ]
        assert other.read("second") == b"after it"
    members = container.unpack(mapped(path))
    assert (len(members["first"]), bytes(members["second"])) == (len(zeros), b"after it")


def test_arrays_beyond_4_gigabytes_are_where_the_header_says(tmp_path: Path, holes: None):
    tensors = {
        "a": (uint8, np.zeros(4 * GIGABYTE + 64, np.uint8)),
        "b": (uint8, np.arange(9, dtype=np.uint8)),
    }
    atomic.write_file(tmp_path / "large.safetensors", safetensors.write(tensors))
    found = safetensors.read(mapped(tmp_path / "large.safetensors"), "it")
    assert found["a"][1].shape == (4 * GIGABYTE + 64,)
    assert found["b"][1].tolist() == list(range(9))


def table(path: Path, rows: int) -> Path:
    """A graph that looks rows up in a table of zeros, with a one at its end."""
    sg.reset_default_graph()
    at = sg.placeholder(sg.int32, [None], name="at")
    variable = sg.get_variable("table", [rows, 256], initializer=sg.zeros_initializer())
    bias = sg.Variable(np.float32([1, 2]), name="bias")
    with sg.Session() as session:
        session.run(bias.initializer)
        session.variables.commit(variable.op, np.zeros((rows, 256), np.float32))
        sg.save(path, {"rows": sg.gather(variable, at)[:, :2] + bias})
    return path


def check(path: Path, rows: int, **options: Any) -> None:
    loaded = sg.load(path, **options)
    assert loaded(at=[0, rows - 1])["rows"].tolist() == [[1, 2], [1, 2]]
    assert loaded.variables.size("table") == rows * 256


def test_a_graph_beyond_2_gigabytes_is_saved_and_used(tmp_path: Path, holes: None):
    rows = (2 * GIGABYTE) // 1024 + 77
    path = table(tmp_path / "net.sg", rows)
    assert path.stat().st_size > 2 * GIGABYTE
    assert path.stat().st_blocks * 512 < LARGE
    check(path, rows, mapped=True)
    assert sg.inspect(path).variables["table"].bytes == rows * 1024


@pytest.mark.slow
def test_a_graph_beyond_2_gigabytes_for_real(tmp_path: Path):
    if shutil.disk_usage(tmp_path).free < 6 * GIGABYTE:
        pytest.skip("the disk has no room for it")
    rows = (2 * GIGABYTE) // 1024 + 77
    path = table(tmp_path / "net.sg", rows)
    check(path, rows, mapped=True)
    check(path, rows)
    loaded = sg.load(path, mapped=True)
    loaded.save(tmp_path / "again.sg")
    with open(path, "rb") as first, open(tmp_path / "again.sg", "rb") as second:
        while chunk := first.read(LARGE):
            assert second.read(LARGE) == chunk
    path.unlink()
    (tmp_path / "again.sg").unlink()
