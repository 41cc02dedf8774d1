"""Bijectors of vectors: the elements in another order, and vectors as probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.building.sizes import get_static_value
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.distributions.bijectors.base import Bijector


class Permute(Bijector):
    """The elements of vectors in another order.

    Args:
        permutation: A vector of integers, each of 0 to n - 1 once, in any order: which element of x comes
            first, second, and so on. A variable keeps the order that it began with.
        validate_args: Accepted; a permutation whose value is known is always checked.
        name: The name of its operations.

    Raises:
        TypeError: If the permutation is not of integers.
        ValueError: If a number is missing or stands twice.

    >>> reverse = sg.distributions.bijectors.Permute([2, 1, 0])
    >>> with sg.Session() as sess:
    ...     print(sess.run(reverse.forward([-1.0, 0.0, 2.0])))
    [ 2.  0. -1.]
    """

    def __init__(self, permutation: Any, validate_args: bool = False, name: str | None = None) -> None:
        with sg.name_scope(name, "permute", [permutation]):
            self._permutation = sg.convert_to_tensor(permutation, name="permutation")
        if not self._permutation.dtype.is_integer:
            raise misuse(TypeError, f"permutation is {self._permutation.dtype.name}, and must be of integers")
        known = get_static_value(self._permutation)
        if known is not None and sorted(known.tolist()) != np.arange(known.size).tolist():
            text = f"Permute({known.tolist()}): each of 0 to {known.size - 1} must be there once"
            raise misuse(ValueError, text)
        super().__init__(
            is_constant_jacobian=True,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            name=name or "permute",
        )

    permutation: sg.Tensor = read_only("permutation")

    def _forward(self, x: Any) -> Any:
        return sg.gather(x, self._permutation, axis=-1)

    def _inverse(self, y: Any) -> Any:
        return sg.gather(y, sg.invert_permutation(self._permutation), axis=-1)

    def _log_growth(self, x: Any, y: Any) -> Any:
        return sg.constant(0.0, x.dtype)


class SoftmaxCentered(Bijector):
    """`softmax` of x with a zero at its end: a vector of n numbers becomes n + 1 probabilities.

    Args:
        validate_args: Accepted; there is nothing to check.
        name: The name of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(validate_args=validate_args, forward_min_event_ndims=1, name=name)

    def _forward_event_shape(self, shape: sg.TensorShape) -> sg.TensorShape:
        return _longer(shape, 1)

    def _forward_event_shape_tensor(self, shape: Any) -> Any:
        return shape + sg.one_hot(sg.size(shape) - 1, sg.size(shape), dtype=shape.dtype)

    def _inverse_event_shape(self, shape: sg.TensorShape) -> sg.TensorShape:
        sizes = shape.as_list() if shape.ndims else [None]
        if sizes[-1] is not None and sizes[-1] < 2:
            raise misuse(ValueError, f"SoftmaxCentered: {sizes[-1]} probabilities are of no vector")
        return _longer(shape, -1)

    def _inverse_event_shape_tensor(self, shape: Any) -> Any:
        return shape - sg.one_hot(sg.size(shape) - 1, sg.size(shape), dtype=shape.dtype)

    def _forward(self, x: Any) -> Any:
        return sg.nn.softmax(sg.concat([x, sg.zeros_like(x[..., :1])], -1))

    def _inverse(self, y: Any) -> Any:
        logs = sg.log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _log_growth(self, x: Any, y: Any) -> Any:
        normalization = sg.nn.softplus(sg.reduce_logsumexp(x, axis=-1, keepdims=True))
        return sg.squeeze(-normalization + sg.reduce_sum(x - normalization, axis=-1, keepdims=True), axis=-1)


def _longer(shape: sg.TensorShape, by: int) -> sg.TensorShape:
    """Return a static shape whose last size is larger by a number."""
    if not shape.ndims:
        return shape
    *before, last = shape.as_list()
    return sg.TensorShape([*before, None if last is None else last + by])
