"""Layers that enlarge, pad or crop the axes of space."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.layers.spatial import sizes_of
from staticgraph.state.input_spec import InputSpec
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.settings import checked_format


class _Spatial(Layer):
    """A layer that treats `rank` axes of space; `attribute` is the name of its argument."""

    rank, attribute = 0, ""

    def __init__(self, value: Any, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = checked_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)
        setattr(self, self.attribute, value)

    @property
    def _first(self) -> int:
        """The first axis of space."""
        return 1 if self.data_format == "channels_last" else 2

    def get_config(self) -> dict[str, Any]:
        own = {self.attribute: getattr(self, self.attribute)}
        return super().get_config() | own | ({"data_format": self.data_format} if self.rank > 1 else {})


def _pairs(value: Any, rank: int, name: str) -> tuple[tuple[int, int], ...]:
    """Two numbers per axis, from one for all, one per axis, or two per axis."""
    if isinstance(value, int):
        return ((value, value),) * rank
    given = list(value) if isinstance(value, list | tuple) else []
    if rank == 1 and len(given) == 2 and all(isinstance(n, int) for n in given):
        return ((given[0], given[1]),)
    if len(given) != rank:
        raise misuse(
            ValueError, f"{name}={value!r} must be one number, or have an entry for each of {rank} axes"
        )
    return tuple((n, n) if isinstance(n, int) else (int(n[0]), int(n[1])) for n in given)


class _UpSampling(_Spatial):
    """Each element repeated along the axes of space."""

    attribute = "size"

    def call(self, inputs: Any) -> Any:
        factors = sizes_of(self.size, self.rank, "size")  # type: ignore[attr-defined]
        for d, factor in enumerate(factors):
            inputs = K.repeat_elements(inputs, factor, self._first + d)
        return inputs


class UpSampling1D(_UpSampling):
    """Each time step repeated `size` times."""

    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(size, "channels_last", **kwargs)


class UpSampling2D(_UpSampling):
    """Images enlarged by whole factors. `interpolation`: "nearest" or "bilinear"."""

    rank = 2

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(sizes_of(size, 2, "size"), data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise misuse(ValueError, f"interpolation={interpolation!r} is not nearest or bilinear")
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Any:
        down, right = self.size  # type: ignore[attr-defined]
        return K.resize_images(inputs, down, right, self.data_format, self.interpolation)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"interpolation": self.interpolation}


class UpSampling3D(_UpSampling):
    """Volumes enlarged by whole factors."""

    rank = 3

    def __init__(self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(sizes_of(size, 3, "size"), data_format, **kwargs)


class _ZeroPadding(_Spatial):
    """Zeros before and after the axes of space."""

    attribute = "padding"

    def call(self, inputs: Any) -> Any:
        space = [list(pair) for pair in _pairs(self.padding, self.rank, "padding")]  # type: ignore[attr-defined]
        around = [[0, 0]] * self._first, [[0, 0]] * (3 - self._first - 1)
        return array_ops.pad(inputs, [*around[0], *space, *around[1]])


class ZeroPadding1D(_ZeroPadding):
    """Zeros before and after a sequence."""

    rank = 1

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(_pairs(padding, 1, "padding")[0], "channels_last", **kwargs)


class ZeroPadding2D(_ZeroPadding):
    """Zeros around images: one number, two, or ((top, bottom), (left, right)).

    >>> import staticgraph as sg
    >>> sg.keras.layers.ZeroPadding2D(((1, 0), (2, 2)))(sg.keras.Input([5, 5, 3])).shape.as_list()
    [None, 6, 9, 3]
    """

    rank = 2

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(_pairs(padding, 2, "padding"), data_format, **kwargs)


class ZeroPadding3D(_ZeroPadding):
    """Zeros around volumes."""

    rank = 3

    def __init__(self, padding: Any = (1, 1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(_pairs(padding, 3, "padding"), data_format, **kwargs)


class _Cropping(_Spatial):
    """Elements cut off before and after the axes of space."""

    attribute = "cropping"

    def call(self, inputs: Any) -> Any:
        pairs = _pairs(self.cropping, self.rank, "cropping")  # type: ignore[attr-defined]
        sizes = inputs.shape.as_list()[self._first : self._first + self.rank]
        for size, (before, after) in zip(sizes, pairs, strict=True):
            if size is not None and before + after >= size:
                text = f"{self.name}: nothing is left of {size} elements without {before} and {after}"
                raise misuse(ShapeError, text, made=[(inputs.name, inputs.op.where)])
        kept = [slice(before, -after or None) for before, after in pairs]
        return inputs[(*[slice(None)] * self._first, *kept)]


class Cropping1D(_Cropping):
    """Time steps cut off at the beginning and the end."""

    rank = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(_pairs(cropping, 1, "cropping")[0], "channels_last", **kwargs)


class Cropping2D(_Cropping):
    """Rows and columns cut off images."""

    rank = 2

    def __init__(
        self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(_pairs(cropping, 2, "cropping"), data_format, **kwargs)


class Cropping3D(_Cropping):
    """Elements cut off volumes."""

    rank = 3

    def __init__(
        self, cropping: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(_pairs(cropping, 3, "cropping"), data_format, **kwargs)
