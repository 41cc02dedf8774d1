"""`tensorflow.examples.tutorials.mnist.input_data`: the images of handwritten digits, from files at hand.

Nothing is downloaded. The folder must hold the four files of the original collection, compressed or not, or
one `mnist.npz` with the arrays `x_train`, `y_train`, `x_test` and `y_test`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.dtypes import as_dtype, float32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.legacy.errors import NotFoundError
from staticgraph.tf1.keras.datasets.arrays import read_idx, read_npz

_IMAGES, _LABELS = 3, 1  # axes of the array in each kind of file
_FILES = {
    "train images": ("train-images-idx3-ubyte", _IMAGES),
    "train labels": ("train-labels-idx1-ubyte", _LABELS),
    "test images": ("t10k-images-idx3-ubyte", _IMAGES),
    "test labels": ("t10k-labels-idx1-ubyte", _LABELS),
}


class DataSet:
    """Images and their labels, given out in batches, in a new random order for each epoch.

    `images`: bytes of shape [n, height, width, 1]. They become rows with `reshape`, and numbers from 0 to 1
    with a `dtype` of float32; that of uint8 leaves them. `labels`: n of anything.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        if len(images) != len(labels):
            raise misuse(ValueError, f"DataSet: {len(images)} images and {len(labels)} labels")
        if reshape:
            images = images.reshape(len(images), math.prod(images.shape[1:]))
        if as_dtype(dtype) == float32:
            images = images.astype(np.float32) / np.float32(255)
        self._images, self._labels = images, labels
        self._random = np.random.RandomState(seed)
        self._epochs_completed = self._at = 0

    images: Any = read_only("images")
    labels: Any = read_only("labels")

    @property
    def num_examples(self) -> int:
        return len(self._images)

    epochs_completed: int = read_only("epochs_completed")

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next images and labels. A batch may hold the end of an epoch and the start of the next."""
        if self._at == 0 and self._epochs_completed == 0 and shuffle:
            self._shuffle()
        images, labels = self._images[self._at :], self._labels[self._at :]
        if len(images) >= batch_size:
            self._at += batch_size
            return images[:batch_size], labels[:batch_size]
        self._epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._at = batch_size - len(images)
        first = self._images[: self._at], self._labels[: self._at]
        return np.concatenate([images, first[0]]), np.concatenate([labels, first[1]])

    def _shuffle(self) -> None:
        order = self._random.permutation(len(self._images))
        self._images, self._labels = self._images[order], self._labels[order]


class Datasets(NamedTuple):
    """The three parts of a collection."""

    train: DataSet
    validation: DataSet
    test: DataSet


def dense_to_one_hot(labels_dense: Any, num_classes: int = 10) -> Any:
    """A row per label with a 1 at its place.

    >>> from staticgraph.tf1.compat.legacy.mnist import dense_to_one_hot
    >>> dense_to_one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    return np.eye(num_classes)[np.asarray(labels_dense)]


def read_data_sets(
    train_dir: Any,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str | None = None,
) -> Datasets:
    """The digits in a folder: `train` without its first `validation_size` images, which are `validation`.

    `one_hot`: labels as rows of 10. `reshape`: images as rows of 784. `source_url` is not read.

    Errors: NotFoundError that lists the files that are needed; InvalidFileError for a damaged one.
    """
    arrays = _read(Path(train_dir))
    images, test_images = (arrays[f"{part} images"][..., np.newaxis] for part in ("train", "test"))
    labels, test_labels = (arrays[f"{part} labels"] for part in ("train", "test"))
    if one_hot:
        labels, test_labels = dense_to_one_hot(labels), dense_to_one_hot(test_labels)
    if not 0 <= validation_size <= len(images):
        raise misuse(ValueError, f"validation_size is {validation_size}, it must be from 0 to {len(images)}")
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    return Datasets(
        train=DataSet(images[validation_size:], labels[validation_size:], **options),
        validation=DataSet(images[:validation_size], labels[:validation_size], **options),
        test=DataSet(test_images, test_labels, **options),
    )


def _read(folder: Path) -> dict[str, Any]:
    if (folder / "mnist.npz").exists():
        found = read_npz(folder / "mnist.npz", ("x_train", "y_train", "x_test", "y_test"))
        return dict(zip(_FILES, found, strict=True))
    return {name: read_idx(_at(folder, file), rank) for name, (file, rank) in _FILES.items()}


def _at(folder: Path, name: str) -> Path:
    """The file, compressed or not."""
    for path in (folder / f"{name}.gz", folder / name):
        if path.exists():
            return path
    needed = ", ".join(file for file, _ in _FILES.values())
    hint = f"nothing is downloaded: put {needed}, each with or without .gz, or else mnist.npz there"
    raise misuse(NotFoundError, f"{folder} has no file {name}.gz", hint)
