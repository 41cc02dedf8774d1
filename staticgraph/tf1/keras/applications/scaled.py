"""Images as several nets take them: between -1 and 1, or by their deviations."""

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


def preprocess_by_deviations(x: Any, data_format: str | None = None) -> Any:
    """Return images, whose elements are from 0 to 255, less the means of channels, by their deviations.

    Args:
        x: An array or tensor of images, or of one image.
        data_format: "channels_last" or "channels_first"; None for that of the settings.
    """
    return imagenet_utils.preprocess_input(x, data_format, "torch")
