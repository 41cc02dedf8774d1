"""Pictures in folders and what Keras makes of them, which `tools/record/pictures.py` records."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

FLOWS: list[dict[str, Any]] = [
    {},
    {"class_mode": "sparse", "target_size": (6, 7)},
    {"class_mode": "binary", "classes": ["dogs", "cats"], "color_mode": "grayscale"},
    {"class_mode": "input", "interpolation": "bilinear", "target_size": (5, 5)},
    {"class_mode": None, "subset": "validation", "color_mode": "rgba"},
    {"subset": "training", "target_size": (4, 4)},
]


def folder(path: str) -> str:
    """Fill a folder with classes of pictures, and with a file that is none."""
    from PIL import Image

    drawn = np.random.RandomState(0)
    for name, count in (("cats", 5), ("dogs", 4), ("emus", 3)):
        os.makedirs(os.path.join(path, name, "sub"))
        for i in range(count):
            pixels = drawn.randint(0, 256, (8 + i, 11, 3)).astype("uint8")
            file = os.path.join("sub" if i == 2 else "", f"im{i}.{'PNG' if i % 2 else 'png'}")
            Image.fromarray(pixels).save(os.path.join(path, name, file))
    os.makedirs(os.path.join(path, "none"))
    with open(os.path.join(path, "cats", "about.txt"), "w"):
        return path


def told(array: Any) -> list[Any]:
    """Shape, dtype, and two numbers that tell arrays apart."""
    x = np.asarray(array)
    weighted = float((x.ravel().astype("float64") * (np.arange(x.size) % 7)).sum())
    return [list(x.shape), x.dtype.name, round(float(x.sum(dtype="float64")), 2), round(weighted, 1)]


def flows(image: Any, path: str) -> list[Any]:
    """Describe what `flow_from_directory` finds, and the first two batches of it."""
    found: list[Any] = []
    generator = image.ImageDataGenerator(
        rescale=1 / 255, validation_split=0.4, data_format="channels_last", dtype="float32"
    )
    for options in FLOWS:
        batches = generator.flow_from_directory(path, shuffle=False, batch_size=4, **options)
        found.append([batches.filenames, batches.class_indices, batches.classes.tolist(), batches.samples])
        found.append([batches.num_classes, list(batches.image_shape), len(batches)])
        for _ in range(2):
            batch = next(batches)
            found += [told(part) for part in (batch if isinstance(batch, tuple) else (batch,))]
    return found


def pictures(image: Any, path: str) -> list[Any]:
    """Describe pictures that are loaded, made of arrays, changed and written."""
    file, written = os.path.join(path, "cats", "im1.PNG"), os.path.join(path, "made.png")
    kinds = "nearest", "bilinear", "bicubic", "hamming", "box", "lanczos"
    found = [told(image.load_img(file, target_size=(4, 3), interpolation=kind)) for kind in kinds]
    found += [told(image.load_img(file, color_mode=mode)) for mode in ("grayscale", "rgb", "rgba")]
    found.append(told(image.img_to_array(image.load_img(file), "channels_first")))
    x = np.random.RandomState(1).rand(5, 6, 3).astype("float32")
    for array, scale in (
        (x, True),
        (x * 255, False),
        (x[..., :1] * 1000, False),
        (x[..., :1], True),
        (x * 0, True),
    ):
        found.append(told(image.array_to_img(array, "channels_last", scale)))
    image.save_img(written, x, "channels_last")
    found.append(told(image.load_img(written)))
    axes = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    for change, arguments in (
        (image.random_rotation, (40,)),
        (image.random_shift, (0.3, 0.2)),
        (image.random_shear, (20,)),
        (image.random_zoom, ((0.5, 1.5),)),
    ):
        np.random.seed(3)
        found.append(told(change(x, *arguments, **axes)))
    np.random.seed(3)
    return [*found, told(image.random_channel_shift(x, 0.3, 2))]
