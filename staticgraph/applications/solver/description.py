"""Schema of a description: a dataclass for each table of the file, a field for each key.

The annotation of a field tells the kind of its value and its meaning. The reader, its messages and the
manual's table of keys follow from that. Layers, the loss, the optimizer and its schedule have a `type`, which
decides their other keys: see `kinds` and `objective`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from staticgraph.applications.solver.errors import DescriptionError, told
from staticgraph.applications.solver.places import Path as Keys
from staticgraph.applications.solver.places import Place, nearest_place
from staticgraph.applications.solver.values import (
    CHANNELS,
    COUNT,
    FILE,
    FLAG,
    FROM_ZERO,
    NAMES,
    NOT_NEGATIVE,
    PAIR,
    POSITIVE,
    SHAPE,
    SHARE_OR_FILE,
    TEXT,
    TEXTS,
    Kind,
    one_of,
)
from staticgraph.compiler.support.dataclass import dataclass

SOURCES = ("npz", "csv", "images", "dataset")
NORMALIZATIONS = one_of(["none", "range", "standard"])
Names = str | list[str] | None


@dataclass(frozen=True, slots=True)
class DataTable:
    """Training data: one of `npz`, `csv`, `images` and `dataset`."""

    npz: Annotated[str | None, FILE, "a file of arrays, as `numpy.savez` writes it"] = None
    csv: Annotated[str | None, FILE, "a table as text, whose first line names the columns"] = None
    images: Annotated[str | None, FILE, "a folder that has a folder of PNG or JPEG files for each class"] = (
        None
    )
    dataset: Annotated[str | None, TEXT, "a known data set, such as digits or mnist"] = None
    inputs: Annotated[Names, NAMES, "npz: the array (`inputs`); csv: the columns (all but the labels)"] = None
    labels: Annotated[Names, NAMES, "npz: the array (`labels`); csv: the columns (the last one)"] = None
    separator: Annotated[str, TEXT, "csv: what stands between two cells"] = ","
    size: Annotated[list[int] | None, PAIR, "images: height and width, to which they are scaled"] = None
    channels: Annotated[int, CHANNELS, "images: 1 for gray, 3 for colours"] = 3
    shape: Annotated[list[int] | None, SHAPE, "of one example, such as [28, 28, 1]"] = None
    validation: Annotated[
        float | str | None, SHARE_OR_FILE, "the share that is kept to validate (0.2), or where others are"
    ] = None
    normalize: Annotated[
        str,
        NORMALIZATIONS,
        "`range`: to numbers from 0 to 1; `standard`: to mean 0 and deviation 1; by column, or by channel of"
        " images. The trained graph does it itself",
    ] = "none"
    batch_size: Annotated[int, COUNT, "examples in a step"] = 32
    shuffle: Annotated[bool, FLAG, "whether each epoch has an order of its own"] = True
    seed: Annotated[int, FROM_ZERO, "decides what is kept to validate, and the order"] = 0

    @property
    def source(self) -> str:
        """The one of the four kinds of data that the description names."""
        return next(name for name in SOURCES if getattr(self, name) is not None)


@dataclass(frozen=True, slots=True)
class TrainTable:
    """Length of the training, its seed, metrics and regularization, and its output."""

    epochs: Annotated[int | None, COUNT, "passes over the examples; 10 without `steps`"] = None
    steps: Annotated[int | None, COUNT, "batches, in place of epochs"] = None
    seed: Annotated[int, FROM_ZERO, "decides initial weights and what dropout drops"] = 0
    metrics: Annotated[list[str] | None, TEXTS, "shown besides the loss; what suits it by default"] = None
    l1: Annotated[float, NOT_NEGATIVE, "times the sum of all absolute weights is added to the loss"] = 0.0
    l2: Annotated[float, NOT_NEGATIVE, "times the sum of all squared weights is added to the loss"] = 0.0
    clip_norm: Annotated[float | None, POSITIVE, "the greatest norm of all gradients together"] = None
    output: Annotated[str | None, FILE, "the trained graph; the description's name with .sg"] = None


@dataclass(frozen=True, slots=True)
class SnapshotTable:
    """Files with the whole state of the training, from which it can go on."""

    folder: Annotated[str | None, FILE, "where they are; the description's name with .snapshots"] = None
    every: Annotated[int | None, COUNT, "steps between two; by default only where training is stopped"] = None
    keep: Annotated[int, COUNT, "how many; older ones are removed"] = 3


@dataclass(frozen=True, slots=True)
class LogTable:
    """Curves for TensorBoard."""

    folder: Annotated[str | None, FILE, "where it is written; by default nowhere"] = None
    every: Annotated[int, COUNT, "steps between two points of a curve"] = 10


TABLES = {"data": DataTable, "train": TrainTable, "snapshot": SnapshotTable, "log": LogTable}


def keys_of(table: type) -> dict[str, tuple[Kind, str]]:
    """Return the kind of value that each key of a table takes, and the meaning of the key.

    >>> keys_of(LogTable)["every"][1]
    'steps between two points of a curve'
    """
    return {name: hint.__metadata__ for name, hint in get_type_hints(table, include_extras=True).items()}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Something that is called by its type: a layer, the loss, the optimizer, a schedule."""

    type: str
    options: Mapping[str, Any]
    keys: Keys  # where in the file
    name: str = ""  # of a layer
    inputs: tuple[str, ...] = ()  # names of layers, where that is not the layer before


@dataclass(frozen=True, slots=True)
class Description:
    """A whole file, checked as far as that goes without the data."""

    path: Path
    data: DataTable
    layers: tuple[Chosen, ...]
    loss: Chosen
    optimizer: Chosen
    schedule: Chosen | None
    train: TrainTable
    snapshot: SnapshotTable
    log: LogTable
    places: Mapping[Keys, tuple[Place, Place]]

    def file(self, name: str) -> Path:
        """A path that the file names: it counts from the folder of the file."""
        return self.path.parent / name

    @property
    def output(self) -> Path:
        """The file of the trained graph."""
        return self.file(self.train.output) if self.train.output else self.path.with_suffix(".sg")

    @property
    def snapshots(self) -> Path:
        """The folder of snapshots."""
        chosen = self.snapshot.folder
        return self.file(chosen) if chosen else self.path.with_suffix(".snapshots")

    def place(self, *keys: str | int, key: bool = False) -> Place | None:
        """Return the place of a value or, with `key`, of its key.

        If the file has no such value, return the place of the table around it.
        """
        return nearest_place(self.places, keys, key)

    def error(self, text: str, *keys: str | int, hint: str | None = None) -> DescriptionError:
        """Return an error about a value, with the place of the value."""
        return DescriptionError(told(text, self.place(*keys), hint))
