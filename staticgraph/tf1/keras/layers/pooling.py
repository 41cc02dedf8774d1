"""Pooling: the largest element or the mean of windows, or of all places."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.arrays.casts import cast
from staticgraph.building.signatures import like, with_defaults
from staticgraph.compiler.graph.errors import misuse
from staticgraph.layers import pooling
from staticgraph.state.input_spec import InputSpec
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.settings import checked_format


class _Pooling(pooling.Pooling, Layer):
    """Windows over axes of space, `strides` apart; by default they do not overlap."""

    config_names = ("pool_size", "padding", "strides", "data_format")

    @like(pooling.Pooling, "name", pool_size=2, strides=None, data_format=None)
    def __init__(self, **given: Any) -> None:
        steps = given["pool_size"] if given["strides"] is None else given["strides"]
        order = checked_format(given["data_format"])
        super().__init__(**{**given, "strides": steps, "data_format": order})
        if self.padding not in ("valid", "same"):
            raise misuse(ValueError, f"padding={given['padding']!r} is not valid or same")
        self.input_spec = InputSpec(ndim=self.rank + 2)


class _Pooling1D(_Pooling):
    __init__ = with_defaults(_Pooling, data_format="channels_last")


class MaxPooling1D(_Pooling1D, pooling.MaxPooling1D):
    """The largest element of each window of a sequence."""


class AveragePooling1D(_Pooling1D, pooling.AveragePooling1D):
    """The mean of each window of a sequence."""


class MaxPooling2D(_Pooling, pooling.MaxPooling2D):
    """The largest element of each window of an image.

    >>> import staticgraph as sg
    >>> sg.keras.layers.MaxPooling2D()(sg.keras.Input([28, 28, 3])).shape.as_list()
    [None, 14, 14, 3]
    """


class AveragePooling2D(_Pooling, pooling.AveragePooling2D):
    """The mean of each window of an image."""


class MaxPooling3D(_Pooling, pooling.MaxPooling3D):
    """The largest element of each window of a volume."""


class AveragePooling3D(_Pooling, pooling.AveragePooling3D):
    """The mean of each window of a volume."""


class _GlobalPooling(Layer):
    """One number per channel, from all places."""

    config_names = ("data_format",)
    rank, mode = 0, "max"

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = checked_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _axes(self) -> list[int]:
        first = 1 if self.data_format == "channels_last" else 2
        return list(range(first, first + self.rank))

    def call(self, inputs: Any) -> Any:
        return (K.max if self.mode == "max" else K.mean)(inputs, self._axes())


class GlobalMaxPooling1D(_GlobalPooling):
    """The largest element of each channel of a sequence."""

    rank = 1

    __init__ = with_defaults(_GlobalPooling, data_format="channels_last")


class GlobalAveragePooling1D(_GlobalPooling):
    """The mean of each channel of a sequence; time steps that are masked do not count."""

    rank, mode = 1, "avg"

    @like(_GlobalPooling, data_format="channels_last")
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        axis = self._axes()[0]
        kept = array_ops.expand_dims(cast(mask, inputs.dtype), 3 - axis)
        return K.sum(inputs * kept, axis) / K.sum(kept, axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


class GlobalMaxPooling2D(_GlobalPooling):
    """The largest element of each channel of an image."""

    rank = 2


class GlobalAveragePooling2D(_GlobalPooling):
    """The mean of each channel of an image."""

    rank, mode = 2, "avg"


class GlobalMaxPooling3D(_GlobalPooling):
    """The largest element of each channel of a volume."""

    rank = 3


class GlobalAveragePooling3D(_GlobalPooling):
    """The mean of each channel of a volume."""

    rank, mode = 3, "avg"


MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
