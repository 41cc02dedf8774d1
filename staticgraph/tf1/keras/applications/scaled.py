"""Images between -1 and 1, as MobileNet and Inception take them."""

from __future__ import annotations

from typing import Any

from staticgraph.tf1.keras.applications import imagenet_utils


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Return images, whose elements are from 0 to 255, with elements from -1 to 1.

    Args:
        x: An array or tensor of images, or of one image.
        data_format: Not used: all channels are treated alike.
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")
