"""Images as nets for ImageNet take them, and the classes that they name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.settings import checked_format, floatx
from staticgraph.tf1.keras.utils.download import get_file

__all__ = ["decode_predictions", "preprocess_input"]

_CLASSES = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
# By mode: what channels are divided by first, their means, their deviations.
_MODES: dict[str, tuple[float, list[float], list[float]]] = {
    "caffe": (1.0, [103.939, 116.779, 123.68], [1.0, 1.0, 1.0]),
    "tf": (127.5, [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
    "torch": (255.0, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
}


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Return images, whose elements are from 0 to 255, as a net takes them.

    Args:
        x: An array or tensor of images, or of one image.
        data_format: "channels_last" or "channels_first"; None for that of the settings.
        mode: "caffe" for blue, green and red less their means; "tf" for elements from -1 to 1; "torch" for
            elements from 0 to 1, less their means and divided by their deviations.

    Returns:
        An array or tensor like `x`, of the float type of the settings.

    Raises:
        ValueError: For a mode that does not exist.

    Each call has the means of its mode; TensorFlow 1.15 subtracts those of the first call from all tensors.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> sg.keras.applications.imagenet_utils.preprocess_input(np.full([1, 1, 3], 255), mode="tf").tolist()
    [[[1.0, 1.0, 1.0]]]
    """
    if mode not in _MODES:
        raise misuse(ValueError, f"mode is {shown(mode)}, and must be one of {', '.join(_MODES)}")
    first = checked_format(data_format) == "channels_first"
    if not isinstance(x, Tensor):
        x = np.asarray(x).astype(floatx())
    scale, means, deviations = _MODES[mode]
    if mode == "caffe":
        rank = x.shape.ndims if isinstance(x, Tensor) else x.ndim
        axis = (rank or 4) - 3 if first else (rank or 4) - 1
        x = x[tuple(slice(None, None, -1 if at == axis else None) for at in range(rank or 4))]
    dtype = floatx() if not isinstance(x, Tensor) else x.dtype.name
    shape = (3, 1, 1) if first else (3,)
    return (x / np.asarray(scale, dtype) - np.reshape(means, shape).astype(dtype)) / np.reshape(
        deviations, shape
    ).astype(dtype)


def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, float]]]:
    """Return the most probable classes of each image: number in WordNet, name and probability.

    The names are downloaded to ~/.keras/models when they are first needed.

    Args:
        preds: Predictions of a net, an array [images, 1000].
        top: How many classes are wanted.

    Raises:
        ValueError: For an array of another shape.
    """
    rows = np.asarray(preds)
    if rows.ndim != 2 or rows.shape[1] != 1000:
        text = f"predictions have the shape [images, 1000], and these {list(rows.shape)}"
        raise misuse(ValueError, text, "a net of other classes has names of its own")
    with open(
        get_file("imagenet_class_index.json", _CLASSES, cache_subdir="models"), encoding="utf-8"
    ) as file:
        names = json.load(file)
    best = np.argsort(rows, axis=1)[:, ::-1][:, :top]
    return [
        [(*names[str(number)], row[number]) for number in numbers]
        for row, numbers in zip(rows, best.tolist(), strict=True)
    ]


show_public_names(__name__)
