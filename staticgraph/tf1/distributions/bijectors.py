"""Functions with an inverse, and how much they stretch: what distributions are transformed by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.distributions import operations as sg

__all__ = [
    "Affine",
    "AffineScalar",
    "Bijector",
    "Chain",
    "Exp",
    "Identity",
    "Inline",
    "Invert",
    "PowerTransform",
    "Sigmoid",
    "Softplus",
]


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


class PowerTransform(Bijector):
    """`(1 + x * power) ** (1 / power)`, and `exp(x)` where the power is 0."""

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        if power < 0:
            raise misuse(ValueError, f"power={power} is negative")
        self._power = power
        super().__init__(validate_args=validate_args, name=name)

    power: float = read_only("power")

    def _forward(self, x: Any) -> Any:
        return sg.exp(x) if self._power == 0.0 else (1.0 + x * self._power) ** (1.0 / self._power)

    def _inverse(self, y: Any) -> Any:
        return sg.log(y) if self._power == 0.0 else (y**self._power - 1.0) / self._power

    def _log_growth(self, x: Any, y: Any) -> Any:
        return x if self._power == 0.0 else (1.0 / self._power - 1.0) * sg.log1p(x * self._power)


class Exp(PowerTransform):
    """`exp(x)`. `TransformedDistribution(Normal(loc, scale), Exp())` is the log-normal distribution."""

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(0.0, validate_args, name)


class Sigmoid(Bijector):
    """`1 / (1 + exp(-x))`."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return sg.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return sg.log(y) - sg.log1p(-y)

    def _log_growth(self, x: Any, y: Any) -> Any:
        return -sg.nn.softplus(-x) - sg.nn.softplus(x)


class Softplus(Bijector):
    """`log(1 + exp(x))`; with a `hinge_softness` c, `c * log(1 + exp(x / c))`."""

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        self._softness = 1.0 if hinge_softness is None else hinge_softness
        super().__init__(validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return self._softness * sg.nn.softplus(x / self._softness)

    def _inverse(self, y: Any) -> Any:
        y = y / self._softness
        return self._softness * (y + sg.log(-sg.expm1(-y)))

    def _log_growth(self, x: Any, y: Any) -> Any:
        return -sg.nn.softplus(-x / self._softness)


class AffineScalar(Bijector):
    """`scale * x + shift`, each 1 and 0 by default."""

    def __init__(
        self, shift: Any = None, scale: Any = None, validate_args: bool = False, name: str = "affine_scalar"
    ) -> None:
        self._shift = None if shift is None else sg.convert_to_tensor(shift, name="shift")
        self._scale = None if scale is None else sg.convert_to_tensor(scale, name="scale")
        super().__init__(is_constant_jacobian=True, validate_args=validate_args, name=name)

    shift: Any = read_only("shift")
    scale: Any = read_only("scale")

    def _forward(self, x: Any) -> Any:
        x = x if self._scale is None else self._scale * x
        return x if self._shift is None else x + self._shift

    def _inverse(self, y: Any) -> Any:
        y = y if self._shift is None else y - self._shift
        return y if self._scale is None else y / self._scale

    def _log_growth(self, x: Any, y: Any) -> Any:
        return sg.constant(0.0, x.dtype) if self._scale is None else sg.log(sg.abs(self._scale))


class Affine(Bijector):
    """`scale @ x + shift` of vectors x.

    The scale is the sum of `scale_identity_multiplier` times the identity, of a matrix of the diagonal
    `scale_diag`, and of the lower triangle of `scale_tril`, as far as they are given; the identity by
    default.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        self._shift = None if shift is None else sg.convert_to_tensor(shift, name="shift")
        self._diagonal = None if scale_diag is None else sg.convert_to_tensor(scale_diag, name="scale_diag")
        if scale_identity_multiplier is not None:
            more = sg.convert_to_tensor(scale_identity_multiplier)[..., None]
            self._diagonal = more if self._diagonal is None else self._diagonal + more
        self._matrix = None
        if scale_tril is not None:
            self._matrix = sg.matrix_band_part(sg.convert_to_tensor(scale_tril), -1, 0)
            if self._diagonal is not None:
                diagonal = sg.matrix_diag_part(self._matrix) + self._diagonal
                self._matrix = sg.matrix_set_diag(self._matrix, diagonal)
        super().__init__(
            is_constant_jacobian=True, validate_args=validate_args, forward_min_event_ndims=1, name=name
        )

    shift: Any = read_only("shift")

    def _forward(self, x: Any) -> Any:
        if self._matrix is not None:
            x = sg.reduce_sum(self._matrix * x[..., None, :], axis=-1)
        elif self._diagonal is not None:
            x = self._diagonal * x
        return x if self._shift is None else x + self._shift

    def _inverse(self, y: Any) -> Any:
        y = y if self._shift is None else y - self._shift
        if self._matrix is not None:
            shape = sg.concat([sg.shape(y), sg.shape(y)[-1:]], 0)
            solved = sg.matrix_triangular_solve(sg.broadcast_to(self._matrix, shape), y[..., None])
            return sg.squeeze(solved, -1)
        return y if self._diagonal is None else y / self._diagonal

    def _log_growth(self, x: Any, y: Any) -> Any:
        if self._matrix is not None:
            diagonal = sg.matrix_diag_part(self._matrix)
        elif self._diagonal is not None:
            shape = sg.concat([sg.shape(self._diagonal)[:-1], sg.shape(x)[-1:]], 0)
            diagonal = sg.broadcast_to(self._diagonal, shape)
        else:
            return sg.constant(0.0, x.dtype)
        return sg.reduce_sum(sg.log(sg.abs(diagonal)), axis=-1)


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


show_public_names(__name__)
