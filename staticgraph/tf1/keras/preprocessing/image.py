"""Images as arrays, and random changes of them (TF1's `tf.keras.preprocessing.image`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.preprocessing.batches import (
    DirectoryIterator,
    Iterator,
    NumpyArrayIterator,
    part_of,
)
from staticgraph.tf1.keras.preprocessing.pictures import array_to_img, img_to_array, load_img, save_img
from staticgraph.tf1.keras.settings import checked_format

__all__ = [
    "DirectoryIterator",
    "ImageDataGenerator",
    "Iterator",
    "NumpyArrayIterator",
    "apply_affine_transform",
    "apply_channel_shift",
    "array_to_img",
    "img_to_array",
    "load_img",
    "random_channel_shift",
    "random_rotation",
    "random_shear",
    "random_shift",
    "random_zoom",
    "save_img",
]


def apply_channel_shift(x: np.ndarray, intensity: float, channel_axis: int = 0) -> np.ndarray:
    """`intensity` added to all channels, within the range of the image."""
    return np.clip(x + intensity, x.min(), x.max())


def apply_affine_transform(
    x: np.ndarray,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> np.ndarray:
    """An image turned by `theta` degrees, moved by `tx` rows and `ty` columns,
    sheared by `shear` degrees and zoomed by `zx` and `zy`, around its middle.

    Places outside are filled by `fill_mode`: "nearest", "constant" (`cval`), "reflect" or "wrap". `order` 0
    takes the nearest pixel, 1 interpolates.
    """
    moved = np.moveaxis(x, (row_axis, col_axis, channel_axis), (0, 1, 2))
    angle, slant = math.radians(theta), math.radians(shear)
    turn = np.array(
        [[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]]
    )
    matrix = turn @ np.array([[1, 0, tx], [0, 1, ty], [0, 0, 1]], float)
    matrix = matrix @ np.array([[1, -math.sin(slant), 0], [0, math.cos(slant), 0], [0, 0, 1]])
    matrix = matrix @ np.diag([zx, zy, 1.0])
    rows, columns = moved.shape[:2]
    middle = np.array([rows / 2 + 0.5, columns / 2 + 0.5])
    places = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    sources = np.tensordot(matrix[:2, :2], places - middle[:, None, None], 1)
    sources += (matrix[:2, 2] + middle)[:, None, None]
    made = _interpolated(moved, sources, fill_mode, cval, order)
    return np.moveaxis(made, (0, 1, 2), (row_axis, col_axis, channel_axis))


_FILLS: dict[str, Callable[[Any, int], Any]] = {
    "nearest": lambda at, size: np.clip(at, 0, size - 1),
    "constant": lambda at, size: np.clip(at, 0, size - 1),
    "wrap": lambda at, size: at % size,
    "reflect": lambda at, size: np.where((at // size) % 2 == 0, at % size, size - 1 - at % size),
}


def _interpolated(x: np.ndarray, at: np.ndarray, fill_mode: str, cval: float, order: int) -> np.ndarray:
    """The values of an image at places between its pixels."""
    if fill_mode not in _FILLS:
        raise misuse(ValueError, f"fill_mode={fill_mode!r} is not one of {', '.join(_FILLS)}")
    if order not in (0, 1):
        raise misuse(ValueError, f"order={order!r} is not 0 or 1")
    fill = _FILLS[fill_mode]

    def pixel(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        values = x[fill(row, x.shape[0]), fill(column, x.shape[1])]
        outside = (row < 0) | (row >= x.shape[0]) | (column < 0) | (column >= x.shape[1])
        return np.where(outside[..., None], cval, values) if fill_mode == "constant" else values

    if order == 0:
        row, column = np.rint(at).astype(int)
        return pixel(row, column).astype(x.dtype)
    row, column = np.floor(at).astype(int)
    down, right = ((a - np.floor(a))[..., None] for a in at)
    upper = pixel(row, column) * (1 - right) + pixel(row, column + 1) * right
    lower = pixel(row + 1, column) * (1 - right) + pixel(row + 1, column + 1) * right
    return (upper * (1 - down) + lower * down).astype(x.dtype)


def random_rotation(
    x: np.ndarray,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """An image turned by an angle of at most `rg` degrees, which NumPy's own generator draws."""
    theta = np.random.uniform(-rg, rg)
    axes = row_axis, col_axis, channel_axis
    return apply_affine_transform(x, theta, 0, 0, 0, 1, 1, *axes, fill_mode, cval, interpolation_order)


def random_shift(
    x: np.ndarray,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """An image moved by at most the parts `wrg` of its width and `hrg` of its height."""
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    axes = row_axis, col_axis, channel_axis
    return apply_affine_transform(x, 0, tx, ty, 0, 1, 1, *axes, fill_mode, cval, interpolation_order)


def random_shear(
    x: np.ndarray,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """An image sheared by an angle of at most `intensity` degrees."""
    shear = np.random.uniform(-intensity, intensity)
    axes = row_axis, col_axis, channel_axis
    return apply_affine_transform(x, 0, 0, 0, shear, 1, 1, *axes, fill_mode, cval, interpolation_order)


def random_zoom(
    x: np.ndarray,
    zoom_range: Any,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> np.ndarray:
    """An image zoomed along each axis by a factor in `zoom_range`, a pair. ValueError if it is none."""
    if len(zoom_range) != 2:
        raise misuse(ValueError, f"zoom_range is {zoom_range}, and must be a pair of numbers")
    zx, zy = (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(zoom_range[0], zoom_range[1], 2)
    axes = row_axis, col_axis, channel_axis
    return apply_affine_transform(x, 0, 0, 0, 0, zx, zy, *axes, fill_mode, cval, interpolation_order)


def random_channel_shift(x: np.ndarray, intensity_range: float, channel_axis: int = 0) -> np.ndarray:
    """A number of at most `intensity_range` added to all channels, within the range of the image."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


class ImageDataGenerator:
    """Batches of images, changed at random: turned, moved, zoomed, mirrored, and normalised.

    Ranges of shifts are parts of the image if below one, else pixels; `zoom_range`: a number or (low, high).
    `fit` computes what `featurewise_center` and `featurewise_std_normalization` need.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> images = sg.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True)
    >>> batch, labels = next(images.flow(np.ones([4, 8, 8, 3]), np.arange(4), batch_size=2))
    >>> batch.shape, labels.shape
    ((2, 8, 8, 3), (2,))
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: float = 0.0,
        height_shift_range: float = 0.0,
        brightness_range: Any = None,
        shear_range: float = 0.0,
        zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Callable[[Any], Any] | None = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        dtype: Any = None,
    ) -> None:
        if zca_whitening or brightness_range is not None:
            raise misuse(
                NotImplementedError, "ImageDataGenerator: zca_whitening and brightness_range are not offered"
            )
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.rotation_range, self.shear_range = rotation_range, shear_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        one = isinstance(zoom_range, int | float)
        self.zoom_range = (1 - zoom_range, 1 + zoom_range) if one else tuple(zoom_range)
        self.channel_shift_range, self.fill_mode, self.cval = channel_shift_range, fill_mode, cval
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.data_format, self.dtype = checked_format(data_format), dtype or "float32"
        self.validation_split = validation_split
        self.mean: Any = None
        self.std: Any = None
        last = self.data_format == "channels_last"
        self.row_axis, self.col_axis, self.channel_axis = (0, 1, 2) if last else (1, 2, 0)

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Compute mean and deviation of each channel."""
        images = np.asarray(x, self.dtype)
        if augment:
            drawn = np.random.RandomState(seed)
            images = np.stack([self.random_transform(i, drawn) for _ in range(rounds) for i in images])
        axes = tuple(d for d in range(4) if d != self.channel_axis + 1)
        self.mean = images.mean(axes, keepdims=True)[0]
        self.std = images.std(axes, keepdims=True)[0]

    def get_random_transform(self, img_shape: Any, seed: Any = None) -> dict[str, Any]:
        """Draw a random transformation of one image, and return its parameters by name."""
        drawn = seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)

        def shift(limit: float, size: int) -> float:
            moved = drawn.uniform(-limit, limit) if limit else 0.0
            return moved * size if abs(limit) < 1 else moved

        low, high = self.zoom_range
        zx, zy = (1.0, 1.0) if low == high == 1 else drawn.uniform(low, high, 2)
        return {
            "theta": drawn.uniform(-self.rotation_range, self.rotation_range) if self.rotation_range else 0.0,
            "tx": shift(self.height_shift_range, img_shape[self.row_axis]),
            "ty": shift(self.width_shift_range, img_shape[self.col_axis]),
            "shear": drawn.uniform(-self.shear_range, self.shear_range) if self.shear_range else 0.0,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": self.horizontal_flip and drawn.random_sample() < 0.5,
            "flip_vertical": self.vertical_flip and drawn.random_sample() < 0.5,
            "channel_shift_intensity": drawn.uniform(-self.channel_shift_range, self.channel_shift_range)
            if self.channel_shift_range
            else None,
        }

    def apply_transform(self, x: np.ndarray, transform_parameters: dict[str, Any]) -> np.ndarray:
        """One image changed in a given way."""
        how = dict(transform_parameters)
        horizontal, vertical = how.pop("flip_horizontal", False), how.pop("flip_vertical", False)
        shift = how.pop("channel_shift_intensity", None)
        if any(value != (1 if name in ("zx", "zy") else 0) for name, value in how.items()):
            x = apply_affine_transform(
                x,
                **how,
                row_axis=self.row_axis,
                col_axis=self.col_axis,
                channel_axis=self.channel_axis,
                fill_mode=self.fill_mode,
                cval=self.cval,
            )
        x = apply_channel_shift(x, shift, self.channel_axis) if shift is not None else x
        x = np.flip(x, self.col_axis) if horizontal else x
        return np.flip(x, self.row_axis) if vertical else x

    def random_transform(self, x: np.ndarray, seed: Any = None) -> np.ndarray:
        """One image changed at random."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def standardize(self, x: np.ndarray) -> np.ndarray:
        """One image rescaled and normalised."""
        x = self.preprocessing_function(x) if self.preprocessing_function is not None else x
        x = x * self.rescale if self.rescale else x
        x = x - x.mean() if self.samplewise_center else x
        x = x / (x.std() + 1e-6) if self.samplewise_std_normalization else x
        if (self.featurewise_center or self.featurewise_std_normalization) and self.mean is None:
            raise misuse(
                ValueError, "the generator needs the statistics of the images: call fit(images) first"
            )
        x = x - self.mean if self.featurewise_center else x
        return x / (self.std + 1e-6) if self.featurewise_std_normalization else x

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
    ) -> NumpyArrayIterator:
        """Batches of arrays that are in memory, without end: for `fit`, or to be iterated."""
        if save_to_dir is not None:
            raise misuse(NotImplementedError, "flow(): save_to_dir is not offered")
        arrays = [None if a is None else np.asarray(a) for a in (x, y, sample_weight)]
        arrays = [None if a is None else part_of(a, self.validation_split, subset) for a in arrays]
        images, targets, weights = arrays
        return NumpyArrayIterator(images, targets, weights, self, batch_size, shuffle, seed)

    def flow_from_directory(
        self,
        directory: Any,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: Any = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
    ) -> DirectoryIterator:
        """Batches of the pictures in a folder, without end. It has a folder for each class.

        Args:
            directory: The folder.
            target_size: Height and width of the pictures in a batch, to which all are resized.
            color_mode: "grayscale", "rgb" or "rgba".
            classes: Names of the folders, in the order of the classes; all in alphabetical order by default.
            class_mode: What comes with the pictures: "categorical" for vectors with a one, "binary" and
                "sparse" for numbers of classes, "input" for the pictures themselves, None for nothing.
            batch_size: Pictures of a batch; the last of an epoch may have fewer.
            shuffle: If each epoch has an order of its own.
            seed: Seed of orders and changes.
            save_to_dir: Not offered; neither are `save_prefix` and `save_format`.
            save_prefix: See `save_to_dir`.
            save_format: See `save_to_dir`.
            follow_links: If links to folders are followed.
            subset: "training" or "validation" for a part, see `validation_split`.
            interpolation: How pictures are resized, see `load_img`.

        Raises:
            ValueError: For a mode that does not exist.
        """
        return DirectoryIterator(
            directory, self, target_size, color_mode, classes, class_mode, batch_size, shuffle, seed,
            self.data_format, save_to_dir, save_prefix, save_format, follow_links, subset, interpolation,
        )  # fmt: skip


show_public_names(__name__)
