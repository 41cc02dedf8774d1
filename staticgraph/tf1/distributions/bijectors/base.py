"""Functions with an inverse, and how much they stretch: their base, and those made of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse


class Bijector:
    """A function with an inverse. A subclass defines `_forward`, `_inverse`, and one of the two derivatives.

    `_forward_log_det_jacobian(x)` and `_inverse_log_det_jacobian(y)` give the logarithm of how much volumes
    grow. `forward_min_event_ndims` is 0 where each element is transformed by itself, and 1 where vectors are.
    """

    def __init__(
        self,
        graph_parents: Sequence[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = list(graph_parents or ())
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        given = forward_min_event_ndims if forward_min_event_ndims is not None else inverse_min_event_ndims
        self._min_event_ndims = given or 0
        self._name = name or type(self).__name__.lower()

    name: str = read_only("name")
    dtype: Any = read_only("dtype")
    graph_parents: list[Any] = read_only("graph_parents")

    @property
    def is_constant_jacobian(self) -> bool:
        """True if volumes grow by the same factor everywhere."""
        return self._is_constant_jacobian

    validate_args: bool = read_only("validate_args")

    forward_min_event_ndims: int = read_only("min_event_ndims")
    inverse_min_event_ndims: int = read_only("min_event_ndims")

    def forward(self, x: Any, name: str = "forward") -> Any:
        """The function of x."""
        with sg.name_scope(self._name), sg.name_scope(name):
            return self._forward(sg.convert_to_tensor(x, name="x"))

    def inverse(self, y: Any, name: str = "inverse") -> Any:
        """The x of which y is the function."""
        with sg.name_scope(self._name), sg.name_scope(name):
            return self._inverse(sg.convert_to_tensor(y, name="y"))

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: int, name: str = "forward_log_det_jacobian"
    ) -> Any:
        """The logarithm of how much volumes grow at x, summed over its last `event_ndims` dimensions."""
        with sg.name_scope(self._name), sg.name_scope(name):
            x = sg.convert_to_tensor(x, name="x")
            return self._summed(self._log_growth(x, self._forward(x)), x, event_ndims)

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: int, name: str = "inverse_log_det_jacobian"
    ) -> Any:
        """The logarithm of how much volumes grow at y on the way back."""
        with sg.name_scope(self._name), sg.name_scope(name):
            y = sg.convert_to_tensor(y, name="y")
            return self._summed(-self._log_growth(self._inverse(y), y), y, event_ndims)

    def forward_event_shape(self, input_shape: Any) -> sg.TensorShape:
        """Return the static shape of an event after `forward`.

        Args:
            input_shape: The static shape of an event before it.
        """
        return self._forward_event_shape(sg.TensorShape(input_shape))

    def forward_event_shape_tensor(self, input_shape: Any, name: str = "forward_event_shape_tensor") -> Any:
        """Return the shape of an event after `forward`, a vector of int32, of the one before it."""
        with sg.name_scope(self._name), sg.name_scope(name):
            return self._forward_event_shape_tensor(sg.convert_to_tensor(input_shape, dtype=sg.int32))

    def inverse_event_shape(self, output_shape: Any) -> sg.TensorShape:
        """Return the static shape of an event before `forward`.

        Args:
            output_shape: The static shape of an event after it.
        """
        return self._inverse_event_shape(sg.TensorShape(output_shape))

    def inverse_event_shape_tensor(self, output_shape: Any, name: str = "inverse_event_shape_tensor") -> Any:
        """Return the shape of an event before `forward`, a vector of int32, of the one after it."""
        with sg.name_scope(self._name), sg.name_scope(name):
            return self._inverse_event_shape_tensor(sg.convert_to_tensor(output_shape, dtype=sg.int32))

    # A subclass that changes the shape of events defines these four.

    def _forward_event_shape(self, shape: sg.TensorShape) -> sg.TensorShape:
        return shape

    def _forward_event_shape_tensor(self, shape: Any) -> Any:
        return shape

    def _inverse_event_shape(self, shape: sg.TensorShape) -> sg.TensorShape:
        return shape

    def _inverse_event_shape_tensor(self, shape: Any) -> Any:
        return shape

    def _summed(self, growth: Any, like: Any, event_ndims: int) -> Any:
        """The sum over the dimensions of an event, of which a growth that is the same everywhere has none
        yet.
        """
        extra = int(event_ndims) - self._min_event_ndims
        if extra < 0:
            raise misuse(
                ValueError, f"event_ndims={event_ndims} is below {self._min_event_ndims}, for {self._name}"
            )
        if not extra:
            return growth
        ends = None if not self._min_event_ndims else -self._min_event_ndims
        growth = sg.broadcast_to(growth, sg.broadcast_dynamic_shape(sg.shape(growth), sg.shape(like)[:ends]))
        return sg.reduce_sum(growth, axis=list(range(-extra, 0)))

    def _forward(self, x: Any) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} does not define forward")

    def _inverse(self, y: Any) -> Any:
        raise misuse(NotImplementedError, f"{type(self).__name__} does not define inverse")

    def _log_growth(self, x: Any, y: Any) -> Any:
        """The logarithm of how much volumes grow at x, whose function is y."""
        if forward := getattr(self, "_forward_log_det_jacobian", None):
            return forward(x)
        if inverse := getattr(self, "_inverse_log_det_jacobian", None):
            return -inverse(y)
        raise misuse(NotImplementedError, f"{type(self).__name__} does not define a derivative")


class Identity(Bijector):
    """x itself."""

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(is_constant_jacobian=True, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return x

    def _inverse(self, y: Any) -> Any:
        return y

    def _log_growth(self, x: Any, y: Any) -> Any:
        return sg.constant(0.0, x.dtype)


class Invert(Bijector):
    """The inverse of another."""

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        self._bijector = bijector
        super().__init__(
            bijector.graph_parents,
            bijector.is_constant_jacobian,
            validate_args,
            forward_min_event_ndims=bijector.forward_min_event_ndims,
            name=name or f"invert_{bijector.name}",
        )

    bijector: Bijector = read_only("bijector")

    def _forward(self, x: Any) -> Any:
        return self._bijector._inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self._bijector._forward(y)

    def _log_growth(self, x: Any, y: Any) -> Any:
        return -self._bijector._log_growth(y, x)

    def _forward_event_shape(self, shape: sg.TensorShape) -> sg.TensorShape:
        return self._bijector._inverse_event_shape(shape)

    def _forward_event_shape_tensor(self, shape: Any) -> Any:
        return self._bijector._inverse_event_shape_tensor(shape)

    def _inverse_event_shape(self, shape: sg.TensorShape) -> sg.TensorShape:
        return self._bijector._forward_event_shape(shape)

    def _inverse_event_shape_tensor(self, shape: Any) -> Any:
        return self._bijector._forward_event_shape_tensor(shape)


class Chain(Bijector):
    """Several, the last one first: `Chain([f, g]).forward(x)` is `f(g(x))`."""

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._bijectors = list(bijectors or ())
        joined = "_of_".join(["chain", *(each.name for each in self._bijectors)])
        super().__init__(
            is_constant_jacobian=all(each.is_constant_jacobian for each in self._bijectors),
            validate_args=validate_args,
            name=name or (joined if self._bijectors else "identity"),
            forward_min_event_ndims=max(
                (each.forward_min_event_ndims for each in self._bijectors), default=0
            ),
        )

    bijectors: list[Bijector] = read_only("bijectors")

    def _forward(self, x: Any) -> Any:
        for each in reversed(self._bijectors):
            x = each._forward(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for each in self._bijectors:
            y = each._inverse(y)
        return y

    def _forward_event_shape(self, shape: sg.TensorShape) -> sg.TensorShape:
        for each in reversed(self._bijectors):
            shape = each._forward_event_shape(shape)
        return shape

    def _forward_event_shape_tensor(self, shape: Any) -> Any:
        for each in reversed(self._bijectors):
            shape = each._forward_event_shape_tensor(shape)
        return shape

    def _inverse_event_shape(self, shape: sg.TensorShape) -> sg.TensorShape:
        for each in self._bijectors:
            shape = each._inverse_event_shape(shape)
        return shape

    def _inverse_event_shape_tensor(self, shape: Any) -> Any:
        for each in self._bijectors:
            shape = each._inverse_event_shape_tensor(shape)
        return shape

    def _log_growth(self, x: Any, y: Any) -> Any:
        total = sg.constant(0.0, x.dtype)
        for each in reversed(self._bijectors):
            after = each._forward(x)
            total = total + each._summed(each._log_growth(x, after), after, self._min_event_ndims)
            x = after
        return total


class Inline(Bijector):
    """One made of functions."""

    def __init__(
        self,
        forward_fn: Callable[[Any], Any] | None = None,
        inverse_fn: Callable[[Any], Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[[Any], Any] | None = None,
        forward_log_det_jacobian_fn: Callable[[Any], Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            None,
            is_constant_jacobian,
            validate_args,
            None,
            forward_min_event_ndims,
            inverse_min_event_ndims,
            name,
        )
        hooks = {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "_forward_log_det_jacobian": forward_log_det_jacobian_fn,
        }
        for name, function in hooks.items():
            if function is not None:
                setattr(self, name, function)
