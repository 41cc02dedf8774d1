"""Prices of houses in Boston: 506 samples of 13 numbers."""

from __future__ import annotations

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.datasets.arrays import Split, read_npz, shuffled_split
from staticgraph.tf1.keras.utils.download import get_file

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/boston_housing.npz"
_HASH = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"


def load_data(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Split:
    """(features, prices) for training and for testing, in an order that `seed` decides."""
    x, y = read_npz(get_file(path, _ORIGIN, file_hash=_HASH), ("x", "y"))
    return shuffled_split(x, y, test_split, seed)


show_public_names(__name__)
