"""Arrays in files of data sets: NumPy's `.npz` without pickles, and the formats of MNIST and CIFAR."""

from __future__ import annotations

import gzip
import io
import math
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidFileError, misuse
from staticgraph.runtime.files.container import read_mapped

_GZIP = b"\x1f\x8b"  # begins each file that gzip has compressed
_GROWTH = 64  # times the size of a file: classes and masks are compressed far better than weights
_MOST = 1 << 31  # bytes of an array

Split = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def read_npz(path: str | os.PathLike[str], names: tuple[str, ...]) -> list[np.ndarray]:
    """Return arrays of numbers by name.

    Raises:
        InvalidFileError: The file is damaged, or an array is of Python objects: those could run code. Write
            such a file once as arrays of numbers, padded with `pad_sequences`, in a trusted place.
        NotFoundError: There is no such file.
    """
    from staticgraph.runtime.files.arrays import npz  # most programs have data of their own

    def take(data: memoryview) -> list[np.ndarray]:
        found = npz.read(data, names, _GROWTH)
        return [np.array(found[name][1]) for name in names]

    return read_mapped(path, "data set", take)


def read_idx(path: str | os.PathLike[str], rank: int | None = None) -> np.ndarray:
    """Return the array of bytes in a file of MNIST's format, compressed by gzip or not.

    Args:
        path: The file.
        rank: The number of axes that the array must have. Default: 1 to 4.

    Raises:
        InvalidFileError: The file is damaged or of another kind, or holds more than 2 GB.
        NotFoundError: There is no such file.
    """

    def take(data: memoryview) -> np.ndarray:
        file: Any = io.BytesIO(data)
        if data[:2] == _GZIP:
            file = gzip.GzipFile(fileobj=file)
        try:
            return _idx(file, rank)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidFileError(str(error)) from None

    return read_mapped(path, "data set", take)


def _idx(file: Any, rank: int | None) -> np.ndarray:
    """The array: a number for its rank, the sizes of its axes, and its bytes."""
    head = file.read(4)
    told = head[3] if len(head) == 4 and head[:3] == b"\0\0\x08" else 0
    if not 1 <= told <= 4 or rank not in (None, told):
        raise InvalidFileError("it is not of MNIST's format")
    packed = file.read(4 * told)
    if len(packed) < 4 * told:
        raise InvalidFileError("it ends before the sizes of its array")
    sizes = struct.unpack(f">{told}I", packed)
    count = math.prod(sizes)
    if count > _MOST:
        raise InvalidFileError(f"it claims to hold {count} bytes")
    data = file.read(count + 1)
    if len(data) != count:
        raise InvalidFileError("it does not hold as many bytes as it says")
    return np.frombuffer(data, np.uint8).reshape(sizes)


def read_records(paths: list[Path], labels: int, chosen: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images [n, 32, 32, 3] and one of the `labels` numbers before each, from CIFAR's binary files."""
    size = labels + 3 * 32 * 32
    parts = []
    for path in paths:
        data = np.frombuffer(path.read_bytes(), np.uint8)
        if data.size % size:
            raise misuse(InvalidFileError, f"{path} is not a binary file of CIFAR")
        parts.append(data.reshape(-1, size))
    rows = np.concatenate(parts)
    images = rows[:, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), rows[:, chosen : chosen + 1]


def shuffled_split(x: Any, y: Any, test_split: float, seed: int) -> Split:
    """Samples in an order that `seed` decides, divided into those for training and for testing."""
    order = np.random.RandomState(seed).permutation(len(x))
    at = int(len(x) * (1 - test_split))
    return (x[order[:at]], y[order[:at]]), (x[order[at:]], y[order[at:]])
