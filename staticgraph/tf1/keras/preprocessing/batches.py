"""Batches of images, from memory and from folders, that an `ImageDataGenerator` changes."""

from __future__ import annotations

import os
from collections.abc import Iterator as PythonIterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.tf1.keras.preprocessing.pictures import SUFFIXES, channels_of, img_to_array, load_img
from staticgraph.tf1.keras.utils.sequence import Sequence


class Iterator(Sequence):
    """Batches by number, and one after the other without end."""

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self._drawn = np.random.RandomState(seed)
        self.batch_index = 0
        self.reset()

    def reset(self) -> None:
        """Begin an epoch, in a new order."""
        self.batch_index = 0
        self.index_array = self._drawn.permutation(self.n) if self.shuffle else np.arange(self.n)

    on_epoch_end = reset

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def __getitem__(self, index: int) -> Any:
        return self._batch(self.index_array[index * self.batch_size : (index + 1) * self.batch_size])

    def _batch(self, rows: np.ndarray) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self.batch_index == len(self):
            self.reset()
        self.batch_index += 1
        return self[self.batch_index - 1]

    next = __next__


class NumpyArrayIterator(Iterator):
    """Batches of images that are in memory, changed by an `ImageDataGenerator`."""

    def __init__(
        self,
        x: Any,
        y: Any,
        weights: Any,
        generator: Any,
        batch_size: int,
        shuffle: bool,
        seed: int | None,
    ) -> None:
        if x.ndim != 4:
            raise misuse(
                ValueError, f"images come in arrays of four axes, this has the shape {list(x.shape)}"
            )
        self.x, self.y, self.weights, self.generator = x, y, weights, generator
        super().__init__(len(x), batch_size, shuffle, seed)

    def _batch(self, rows: np.ndarray) -> Any:
        change, dtype = self.generator, self.generator.dtype
        images = [change.random_transform(self.x[row].astype(dtype), self._drawn) for row in rows]
        batch = np.stack([change.standardize(image) for image in images]).astype(dtype)
        further = [a[rows] for a in (self.y, self.weights) if a is not None]
        return (batch, *further) if further else batch


_CLASS_MODES = ("categorical", "binary", "sparse", "input", None)


class DirectoryIterator(Iterator):
    """Batches of the pictures in a folder, which has a folder for each class; see `flow_from_directory`.

    Attributes:
        filenames: The files, by class and name, from the folder on.
        filepaths: The same as paths.
        classes: The number of the class of each file. `labels` is the same.
        class_indices: The numbers of the classes by name.
        samples: The number of files, and `num_classes` that of classes.
        image_shape: The shape of a picture.
    """

    def __init__(
        self,
        directory: Any,
        image_data_generator: Any,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        dtype: Any = None,
    ) -> None:
        if save_to_dir is not None:
            raise misuse(NotImplementedError, "flow_from_directory(): save_to_dir is not offered")
        if class_mode not in _CLASS_MODES:
            allowed = ", ".join(map(str, _CLASS_MODES))
            raise misuse(ValueError, f"class_mode is {shown(class_mode)}, and must be one of {allowed}")
        self.directory, self.class_mode = os.fspath(directory), class_mode
        self.target_size, self.color_mode, self.interpolation = tuple(target_size), color_mode, interpolation
        self.generator, channels = image_data_generator, channels_of(color_mode)
        self.data_format = data_format or image_data_generator.data_format
        self.dtype = dtype or image_data_generator.dtype
        last = self.data_format == "channels_last"
        self.image_shape = (*self.target_size, channels) if last else (channels, *self.target_size)
        names = classes or sorted(entry.name for entry in os.scandir(self.directory) if entry.is_dir())
        self.class_indices = {name: number for number, name in enumerate(names)}
        files = [list(pictures_in(os.path.join(self.directory, name), follow_links)) for name in names]
        kept = [part_of(each, image_data_generator.validation_split, subset) for each in files]
        self.filenames = [file for each in kept for file in each]
        self.classes = np.repeat(np.arange(len(kept), dtype="int32"), [len(each) for each in kept])
        self.filepaths = [os.path.join(self.directory, file) for file in self.filenames]
        self.samples, self.num_classes = len(self.filenames), len(names)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")  # as Keras says
        super().__init__(self.samples, batch_size, shuffle, seed)

    @property
    def labels(self) -> np.ndarray:
        """The number of the class of each file."""
        return self.classes

    def _batch(self, rows: np.ndarray) -> Any:
        change = self.generator
        batch = np.empty((len(rows), *self.image_shape), self.dtype)
        for at, row in enumerate(rows):
            picture = load_img(
                self.filepaths[row],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
            )
            image = img_to_array(picture, self.data_format, self.dtype)
            batch[at] = change.standardize(change.random_transform(image, self._drawn))
        if self.class_mode is None:
            return batch
        return batch, self._targets(rows, batch)

    def _targets(self, rows: np.ndarray, batch: np.ndarray) -> np.ndarray:
        if self.class_mode == "input":
            return batch.copy()
        classes = self.classes[rows]
        if self.class_mode == "categorical":
            return np.eye(self.num_classes, dtype=batch.dtype)[classes]
        return classes.astype(batch.dtype)


def pictures_in(folder: str, follow_links: bool) -> PythonIterator[str]:
    """Yield the pictures in a folder and in those below it, by name, from the folder's own name on."""
    for root, _, files in sorted(os.walk(folder, followlinks=follow_links)):
        for file in sorted(files):
            if file.lower().endswith(tuple(f".{suffix}" for suffix in SUFFIXES)):
                inner = os.path.relpath(os.path.join(root, file), folder)
                yield os.path.join(os.path.basename(folder), inner)


def part_of(items: Any, validation_split: float, subset: str | None) -> Any:
    """Return the first part of the items for "validation", the rest for "training", all for None.

    Raises:
        ValueError: For another subset.
    """
    if subset not in (None, "training", "validation"):
        raise misuse(ValueError, f"subset={shown(subset)} is not training or validation")
    at = int(len(items) * validation_split)
    return items if subset is None else items[:at] if subset == "validation" else items[at:]
