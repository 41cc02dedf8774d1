"""Settings of all models: the dtype of weights, the small number of divisions, the order of axes."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.errors import misuse, shown

_FLOATS = ("float16", "float32", "float64")
_FORMATS = ("channels_last", "channels_first")


class _Settings:
    floatx = "float32"
    epsilon = 1e-7
    image_data_format = "channels_last"


def floatx() -> str:
    """The name of the dtype in which layers make their weights: "float32" unless it was set."""
    return _Settings.floatx


def set_floatx(value: str) -> None:
    """Set the dtype of weights made from now on. ValueError unless it is a name of a floating dtype."""
    if value not in _FLOATS:
        raise ValueError(f"floatx is {value!r}, it must be one of {', '.join(_FLOATS)}")
    _Settings.floatx = value


def epsilon() -> float:
    """The number that keeps losses and norms from dividing by zero: 1e-7 unless it was set."""
    return _Settings.epsilon


def set_epsilon(value: float) -> None:
    """Set what `epsilon()` gives."""
    _Settings.epsilon = value


def image_data_format() -> str:
    """Return the position of the channels of images: "channels_last" unless it was set."""
    return _Settings.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Set the order of axes of layers that are given none. ValueError for a name that is none."""
    _Settings.image_data_format = checked_format(data_format)


def checked_format(data_format: str | None) -> str:
    """`data_format` in lower case, or the one that is set where it is None."""
    chosen = image_data_format() if data_format is None else data_format
    chosen = chosen.lower() if isinstance(chosen, str) else ""
    if chosen not in _FORMATS:
        raise misuse(ValueError, f"data_format={shown(data_format)} is not one of {', '.join(_FORMATS)}")
    return chosen


def dtype_name(dtype: Any) -> str:
    """The name of a dtype given in any way; that of weights where it is None."""
    return floatx() if dtype is None else as_dtype(dtype).name
