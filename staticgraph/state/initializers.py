"""Initial values of variables: functions of a shape and a dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays import creation
from staticgraph.building.inputs import constant as make_constant
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import as_shape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.random_numbers import random_ops
from staticgraph.state.variable_lists import (
    global_variables_initializer,
    local_variables_initializer,
    variables_initializer,
)

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "Identity",
    "Initializer",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "UniformUnitScaling",
    "VarianceScaling",
    "Zeros",
    "he_normal",
    "he_uniform",
    "lecun_normal",
    "lecun_uniform",
]

# The standard deviation of a standard normal distribution cut off at two: divided out by variance scaling.
_TRUNCATED_STDDEV = 0.87962566103423978


class Initializer:
    """A function of `(shape, dtype)` that makes an initial value.

    Each call takes a new random stream, unless a seed was given: then each call makes the same numbers.
    """

    dtype: Any = float32

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal initializer: `type(self).from_config(config)`."""
        config = dict(vars(self))
        config["dtype"] = as_dtype(config["dtype"]).name
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer of a `get_config`."""
        return cls(**config)

    def _dtype(self, dtype: Any) -> Any:
        return as_dtype(self.dtype if dtype is None else dtype)


def _floating(dtype: Any) -> Any:
    """Return a dtype. ValueError unless it is a floating one."""
    known = as_dtype(dtype)
    if not known.is_floating:
        raise misuse(ValueError, f"Expected floating point type, got {known}.")
    return known


class Zeros(Initializer):
    """Zeros.

    >>> sg.Session().run(sg.zeros_initializer()([2, 2]))
    array([[0., 0.],
           [0., 0.]], dtype=float32)
    """

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return creation.zeros(shape, self._dtype(dtype))


class Ones(Initializer):
    """Ones.

    >>> sg.Session().run(sg.ones_initializer()([2, 2]))
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return creation.ones(shape, self._dtype(dtype))


class Constant(Initializer):
    """A given value: a number for all elements, or an array,
    filled up with its last element where it is too short.

    >>> import staticgraph as sg
    >>> sg.constant_initializer([1, 2])([4], sg.int32)
    <sg.Tensor 'Const:0' shape=(4,) dtype=int32>
    """

    def __init__(self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            text = f"Invalid type for initial value: {type(value)}"
            hint = "a number, a list, a tuple or an array; a tensor is an initial value by itself"
            raise misuse(TypeError, text, hint)
        self.value = value
        self.dtype = as_dtype(dtype)
        self.verify_shape = verify_shape

    def __call__(
        self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None
    ) -> Tensor:
        verify = self.verify_shape if verify_shape is None else verify_shape
        return make_constant(self.value, self._dtype(dtype), shape, verify_shape=verify)


class RandomUniform(Initializer):
    """Uniform random numbers from `minval` (included) to
    `maxval` (excluded; 1 for floats where not given).

    >>> values = sg.Session().run(sg.random_uniform_initializer(-0.1, 0.1)([1000]))
    >>> bool((values >= -0.1).all() and (values < 0.1).all())
    True
    """

    def __init__(
        self, minval: Any = 0, maxval: Any = None, seed: int | None = None, dtype: Any = float32
    ) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_ops.random_uniform(shape, self.minval, self.maxval, self._dtype(dtype), seed=self.seed)


class RandomNormal(Initializer):
    """Normal random numbers."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = float32
    ) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_ops.random_normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)


class TruncatedNormal(Initializer):
    """Normal random numbers; those further than two standard deviations from the mean are drawn again.

    >>> values = sg.truncated_normal_initializer(stddev=0.1)([1000])
    >>> bool((abs(sg.Session().run(values)) <= 0.2).all())
    True
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = float32
    ) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_ops.truncated_normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)


class UniformUnitScaling(Initializer):
    """Uniform random numbers that keep the scale of a layer's
    input: within `factor * sqrt(3 / inputs)` of zero.
    """

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        self.factor, self.seed, self.dtype = factor, seed, _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        inputs = math.prod(_sizes(shape)[:-1])
        limit = math.sqrt(3 / max(1.0, float(inputs))) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, self._dtype(dtype), seed=self.seed)


class VarianceScaling(Initializer):
    """Random numbers of variance `scale / n`, n being a layer's inputs, outputs, or their mean.

    `mode`: "fan_in", "fan_out" or "fan_avg". `distribution`: "normal" or
    "truncated_normal" (cut off at two standard deviations), "untruncated_normal",
    "uniform". ValueError for other values, or a scale that is not positive.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = float32,
    ) -> None:
        if scale <= 0.0:
            raise misuse(ValueError, f"scale={scale!r} must be positive")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise misuse(ValueError, f"mode={mode!r} is not fan_in, fan_out or fan_avg")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise misuse(
                ValueError,
                f"distribution={distribution!r} is not normal, truncated_normal, untruncated_normal, uniform",
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.seed, self.dtype = seed, _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        fan_in, fan_out = _fans(_sizes(partition_info.full_shape if partition_info is not None else shape))
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        variance = self.scale / max(1.0, fan)
        wanted = self._dtype(dtype)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_ops.random_uniform(shape, -limit, limit, wanted, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(variance), wanted, seed=self.seed)
        stddev = math.sqrt(variance) / _TRUNCATED_STDDEV
        return random_ops.truncated_normal(shape, 0.0, stddev, wanted, seed=self.seed)


class GlorotUniform(VarianceScaling):
    """Uniform random numbers of variance `2 / (inputs + outputs)`; what `get_variable` takes by default."""

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Truncated normal random numbers of variance `2 / (inputs + outputs)`."""

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class Orthogonal(Initializer):
    """A random matrix whose rows or columns, whichever are fewer, are orthonormal, times `gain`.

    Leading axes are taken together as rows. ValueError for a shape of fewer than two axes.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        self.gain, self.seed, self.dtype = gain, seed, _floating(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        sizes = _sizes(shape)
        if len(sizes) < 2:
            hint = "initialize a matrix, and reshape it"
            text = f"an orthogonal initializer needs at least two axes, the shape is {list(sizes)}"
            raise misuse(ValueError, text, hint)
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        drawn = random_ops.random_normal(
            (max(rows, columns), min(rows, columns)), dtype=self._dtype(dtype), seed=self.seed
        )
        q, r = ops.qr(drawn, full_matrices=False)
        q = q * ops.sign(ops.matrix_diag_part(r))  # the sign that makes the decomposition unique
        if rows < columns:
            q = ops.transpose(q, perm=(1, 0))
        return self.gain * ops.reshape(q, shape=sizes)


class Identity(Initializer):
    """The identity matrix times `gain`, possibly with more
    rows than columns. ValueError if not two axes are asked.
    """

    def __init__(self, gain: float = 1.0, dtype: Any = float32) -> None:
        self.gain, self.dtype = gain, as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        sizes = _sizes(shape)
        if len(sizes) != 2:
            raise misuse(
                ValueError,
                f"an identity initializer makes matrices, the shape {list(sizes)} has {len(sizes)} axes",
            )
        return self.gain * creation.eye(*sizes, dtype=self._dtype(dtype))


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal random numbers of variance `1 / inputs`."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform random numbers of variance `1 / inputs`."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal random numbers of variance `2 / inputs`."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform random numbers of variance `2 / inputs`."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def _sizes(shape: Any) -> tuple[int, ...]:
    sizes = as_shape(shape)
    if sizes is None or None in sizes:
        raise misuse(ValueError, f"an initializer needs a fully known shape, not {shape}")
    return sizes  # type: ignore[return-value]


def _fans(sizes: Sequence[int]) -> tuple[float, float]:
    """Return the numbers of inputs and outputs of one unit of a layer with a kernel of this shape."""
    if not sizes:
        return 1.0, 1.0
    if len(sizes) == 1:
        return float(sizes[0]), float(sizes[0])
    field = math.prod(sizes[:-2])
    return float(sizes[-2] * field), float(sizes[-1] * field)


# The names of TF1's module `initializers`; the last three initialise variables rather than make values.
constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
identity = Identity
ones = Ones
orthogonal = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
uniform_unit_scaling = UniformUnitScaling
variance_scaling = VarianceScaling
zeros = Zeros
global_variables = global_variables_initializer
local_variables = local_variables_initializer
variables = variables_initializer

show_public_names(__name__)
