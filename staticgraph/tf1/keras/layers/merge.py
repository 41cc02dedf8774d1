"""Layers that make one tensor of several, and the same as functions."""

from __future__ import annotations

from functools import reduce
from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.arrays.casts import cast
from staticgraph.building.framework import checked
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.shapes import normalize_axis
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.structure import leaves


class _Merge(Layer):
    """A function of several tensors of shapes that broadcast; those of fewer axes get more."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, list | tuple) or len(input_shape) < 2:
            raise misuse(ValueError, f"layer {self.name} merges a list of at least two tensors")
        self.built = True

    def merged(self, tensors: list[Any]) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        tensors = list(inputs)
        ranks = [t.shape.ndims for t in tensors]
        if None not in ranks:
            most = max(ranks)
            for i, tensor in enumerate(tensors):
                for _ in range(most - (tensor.shape.ndims or 0)):
                    tensors[i] = array_ops.expand_dims(tensors[i], 1)
        return self.merged(tensors)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the logical AND of all masks, or None if there are none."""
        found = list(leaves(mask))
        return reduce(ops.logical_and, found) if found else None


class Add(_Merge):
    """The sum of several tensors."""

    def merged(self, tensors: list[Any]) -> Any:
        return reduce(ops.add, tensors)


class Subtract(_Merge):
    """The first of two tensors less the second."""

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if len(input_shape) != 2:
            raise misuse(
                ValueError,
                f"layer {self.name} subtracts one tensor from another, {len(input_shape)} are given",
            )

    def merged(self, tensors: list[Any]) -> Any:
        return tensors[0] - tensors[1]


class Multiply(_Merge):
    """The product of several tensors, element by element."""

    def merged(self, tensors: list[Any]) -> Any:
        return reduce(ops.multiply, tensors)


class Average(_Merge):
    """The mean of several tensors."""

    def merged(self, tensors: list[Any]) -> Any:
        return reduce(ops.add, tensors) / float(len(tensors))


class Maximum(_Merge):
    """The largest of several tensors, element by element."""

    def merged(self, tensors: list[Any]) -> Any:
        return reduce(ops.maximum, tensors)


class Minimum(_Merge):
    """The smallest of several tensors, element by element."""

    def merged(self, tensors: list[Any]) -> Any:
        return reduce(ops.minimum, tensors)


class Concatenate(_Merge):
    """Tensors joined along `axis`.

    >>> import staticgraph as sg
    >>> x, y = sg.keras.Input([3]), sg.keras.Input([4])
    >>> sg.keras.layers.concatenate([x, y]).shape.as_list()
    [None, 7]
    """

    config_names = ("axis",)

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        shapes = [s.as_list() for s in input_shape if s.ndims is not None]
        with checked(self.name):
            axis = normalize_axis(self.axis, len(shapes[0])) if shapes else 0
        others = [[n for d, n in enumerate(s) if d != axis] for s in shapes]
        fits = all(
            len(o) == len(others[0])
            and all(a in (b, None) or b is None for a, b in zip(o, others[0], strict=True))
            for o in others
        )
        if not fits:
            text = (
                f"layer {self.name} joins along axis {self.axis}: all other sizes must be equal, not {shapes}"
            )
            raise misuse(ShapeError, text)

    def call(self, inputs: Any) -> Any:
        return array_ops.concat(list(inputs), self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        tensors, masks = list(inputs), list(mask) if isinstance(mask, list | tuple) else []
        if all(m is None for m in masks):
            return None
        whole = [
            ops.ones_like(cast(t, bool_))
            if m is None
            else (array_ops.expand_dims(m, -1) if (m.shape.ndims or 0) < (t.shape.ndims or 0) else m)
            for t, m in zip(tensors, masks, strict=True)
        ]
        spread = [
            ops.logical_and(m, ops.ones_like(cast(t, bool_))) for t, m in zip(tensors, whole, strict=True)
        ]
        return K.all(array_ops.concat(spread, self.axis), -1)


class Dot(_Merge):
    """Products of two tensors summed along `axes`, sample by sample. `normalize` gives the cosine."""

    config_names = ("axes", "normalize")

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def call(self, inputs: Any) -> Any:
        x, y = inputs
        given = [self.axes, self.axes] if isinstance(self.axes, int) else list(self.axes)
        with checked(self.name):
            axes = [normalize_axis(axis, t.shape.ndims or 0) for axis, t in zip(given, (x, y), strict=True)]
        if self.normalize:
            x, y = (K.l2_normalize(t, axis) for t, axis in zip((x, y), axes, strict=True))
        return K.batch_dot(x, y, axes)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None


def add(inputs: Any, **kwargs: Any) -> Tensor:
    """The sum of several tensors."""
    return Add(**kwargs)(inputs)


def subtract(inputs: Any, **kwargs: Any) -> Tensor:
    """The first of two tensors less the second."""
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Tensor:
    """The product of several tensors."""
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Tensor:
    """The mean of several tensors."""
    return Average(**kwargs)(inputs)


def maximum(inputs: Any, **kwargs: Any) -> Tensor:
    """The largest of several tensors."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Any, **kwargs: Any) -> Tensor:
    """The smallest of several tensors."""
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Tensor:
    """Tensors joined along `axis`."""
    return Concatenate(axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Tensor:
    """Products of two tensors summed along `axes`."""
    return Dot(axes, normalize, **kwargs)(inputs)
