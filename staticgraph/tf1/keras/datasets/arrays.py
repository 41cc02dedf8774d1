"""Arrays in files of data sets: NumPy's `.npz` without pickles, and the formats of MNIST and CIFAR."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidFileError, misuse

Split = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def read_npz(path: str, names: tuple[str, ...]) -> list[np.ndarray]:
    """Arrays of numbers by name. InvalidFileError if one is of Python objects: those could run code."""
    with np.load(path, allow_pickle=False) as file:
        try:
            return [file[name] for name in names]
        except ValueError:
            text = f"{path} holds pickled objects, which can run code when they are read: it is refused"
            hint = "write it once as arrays of numbers, padded with pad_sequences, in a trusted place"
            raise misuse(InvalidFileError, text, hint) from None
        except KeyError as error:
            raise misuse(InvalidFileError, f"{path} is not this data set: {error}") from None


def read_idx(path: str) -> np.ndarray:
    """The array of bytes in a compressed file of MNIST's format."""
    with gzip.open(path, "rb") as file:
        head = file.read(4)
        rank = head[3] if len(head) == 4 and head[:3] == b"\0\0\x08" else 0
        if not 1 <= rank <= 4:
            raise misuse(InvalidFileError, f"{path} is not a file of MNIST's format")
        sizes = struct.unpack(f">{rank}I", file.read(4 * rank))
        count = math.prod(sizes)
        if count > 1 << 31:
            raise misuse(InvalidFileError, f"{path} claims to hold {count} bytes")
        data = file.read(count + 1)
    if len(data) != count:
        raise misuse(InvalidFileError, f"{path} does not hold as many bytes as it says")
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
