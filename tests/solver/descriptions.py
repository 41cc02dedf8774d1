"""Small descriptions and data for the tests of the solver, and the command that trains them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from staticgraph.__main__ import main
from staticgraph.applications.solver.data import Data, prepare
from staticgraph.applications.solver.description import Description
from staticgraph.applications.solver.network import Network, build
from staticgraph.applications.solver.objective import LOSSES
from staticgraph.applications.solver.reading import read

SPIRAL = """\
[data]
npz = "spiral.npz"
batch_size = 8
normalize = "standard"

[[layer]]
type = "dense"
name = "hidden"
units = 16
activation = "relu"

[[layer]]
type = "batch_normalization"

[[layer]]
type = "dropout"
rate = 0.2

[[layer]]
type = "dense"
name = "scores"
units = 3

[loss]
type = "softmax_cross_entropy"

[optimizer]
type = "adam"
learning_rate = 0.01

[train]
epochs = 3

[snapshot]
every = 5
keep = 2
"""


def spiral(count: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Points of three arms of a spiral."""
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 3
    along = rng.uniform(0.2, 1, count)
    angle = 4 * along + labels * 2 * np.pi / 3 + rng.normal(0, 0.1, count)
    return np.stack([along * np.cos(angle), along * np.sin(angle)], 1).astype(np.float32), labels


def described(folder: Path, text: str = SPIRAL, *changes: str) -> Description:
    """A description in a folder, read with changes."""
    (folder / "net.toml").write_text(text)
    return read(folder / "net.toml", changes)


def with_spiral(folder: Path, text: str = SPIRAL, *changes: str) -> Description:
    """The description and its data."""
    inputs, labels = spiral()
    np.savez(folder / "spiral.npz", inputs=inputs, labels=labels)
    return described(folder, text, *changes)


def built(described: Description) -> tuple[Data, Network]:
    """The data and the graph of a description."""
    data = prepare(described, LOSSES[described.loss.type].answer)
    return data, build(described, data)


def train(folder: Path, *arguments: str) -> int:
    """The status of `staticgraph train net.toml`."""
    return main(["train", str(folder / "net.toml"), *arguments])
