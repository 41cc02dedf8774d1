"""Pieces of clothing: 60,000 images of 28 by 28 pixels for training, 10,000 for testing, of 10 kinds."""

from __future__ import annotations

import os

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.datasets.arrays import Split, read_idx
from staticgraph.tf1.keras.utils.download import get_file

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def load_data() -> Split:
    """(images, kinds) for training and for testing, as bytes; downloaded to ~/.keras/datasets once."""
    folder = os.path.join("datasets", "fashion-mnist")
    x, y, x_test, y_test = (read_idx(get_file(name, _ORIGIN + name, cache_subdir=folder)) for name in _FILES)
    return (x, y), (x_test, y_test)


show_public_names(__name__)
