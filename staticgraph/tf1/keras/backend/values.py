"""Entries and exits of values: variables, placeholders, random numbers, updates."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from staticgraph.arrays import creation
from staticgraph.building import inputs
from staticgraph.building.framework import control_dependencies
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.differentiation.gradients import gradients as _gradients
from staticgraph.random_numbers import random_ops
from staticgraph.state.moving_averages import assign_moving_average
from staticgraph.state.state_ops import assign, assign_add, assign_sub
from staticgraph.state.variables import Variable
from staticgraph.tf1.keras import initializers
from staticgraph.tf1.keras.settings import dtype_name, floatx
from staticgraph.tf1.keras.state import get_value, track

_VARIABLE = 10**9  # seeds of variables are below it, those of tensors below a hundredth of it


def cast_to_floatx(x: Any) -> Any:
    """An array in the dtype of weights."""
    return np.asarray(x, dtype=floatx())


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Variable:
    """A variable that Keras gives its initial value.

    >>> import staticgraph as sg
    >>> sg.keras.backend.get_value(sg.keras.backend.variable([1.0, 2.0]))
    array([1., 2.], dtype=float32)
    """
    initial = value if isinstance(value, Tensor) else np.asarray(value, dtype_name(dtype))
    made = Variable(initial, dtype=dtype_name(dtype), name=name, constraint=constraint)
    track(made)
    return made


def _drawn(initializer: Any, shape: Any, dtype: Any, name: str | None) -> Variable:
    made = Variable(lambda: initializer(shape, dtype_name(dtype)), name=name)
    track(made)
    return made


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros."""
    return _drawn(initializers.Zeros(), shape, dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones."""
    return _drawn(initializers.Ones(), shape, dtype, name)


def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """A variable that begins as the identity matrix."""
    return _drawn(initializers.Identity(), [size, size], dtype, name)


def random_uniform_variable(
    shape: Any, low: float, high: float, dtype: Any = None, name: str | None = None, seed: int | None = None
) -> Variable:
    """A variable that begins with uniform random numbers."""
    return _drawn(initializers.RandomUniform(low, high, seed_of(seed, _VARIABLE)), shape, dtype, name)


def random_normal_variable(
    shape: Any, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: int | None = None
) -> Variable:
    """A variable that begins with normal random numbers."""
    return _drawn(initializers.RandomNormal(mean, scale, seed_of(seed, _VARIABLE)), shape, dtype, name)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor with a known value."""
    return inputs.constant(value, dtype_name(dtype), shape, name or "Const")


def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Tensor:
    """A tensor whose value is fed; `ndim` alone leaves all its sizes open."""
    if sparse or ragged:
        raise misuse(NotImplementedError, "placeholder(): sparse and ragged tensors are not offered")
    sizes = [None] * ndim if shape is None and ndim else shape
    return inputs.placeholder(dtype_name(dtype), sizes, name)


def is_placeholder(x: Any) -> bool:
    """Return True if `x` is a placeholder."""
    return isinstance(x, Tensor) and x.op.definition.name in ("placeholder", "placeholder_with_default")


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Normal random numbers, new ones in each run."""
    return random_ops.random_normal(_sizes(shape), mean, stddev, dtype_name(dtype), seed_of(seed))


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Uniform random numbers, new ones in each run."""
    return random_ops.random_uniform(_sizes(shape), minval, maxval, dtype_name(dtype), seed_of(seed))


def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Ones with probability `p`, zeros otherwise."""
    drawn = random_ops.random_uniform(_sizes(shape), dtype=dtype_name(dtype), seed=seed_of(seed))
    return creation.ones_like(drawn) * (drawn <= p).astype(drawn.dtype)


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Normal random numbers no further than two standard deviations from the mean."""
    return random_ops.truncated_normal(_sizes(shape), mean, stddev, dtype_name(dtype), seed_of(seed))


def seed_of(seed: int | None, limit: int = 10**7) -> int:
    """Return `seed`, or one below `limit` that NumPy's global generator draws.

    TensorFlow's backend of Keras does so, and `np.random.seed` decides its random numbers.
    """
    return int(np.random.randint(limit)) if seed is None else seed


def _sizes(shape: Any) -> Any:
    """A shape as one tensor where some of its sizes are tensors."""
    if isinstance(shape, list | tuple) and any(isinstance(n, Tensor) for n in shape):
        return inputs.convert_to_tensor(list(shape))
    return shape


def print_tensor(x: Any, message: str = "") -> Any:
    """Return the same tensor; a run that needs it also writes `message` and the value to standard output.

    What is not a tensor is written at once.
    """
    if not isinstance(x, Tensor):
        print(message, x)
        return x
    from staticgraph.debugging.printing import print as print_line  # rarely used

    with control_dependencies([print_line(message, x, output_stream=sys.stdout)]):
        return inputs.identity(x)


def stop_gradient(variables: Any) -> Any:
    """The same tensor or tensors, taken for constants by `gradients`."""
    if isinstance(variables, list | tuple):
        return [inputs.stop_gradient(v) for v in variables]
    return inputs.stop_gradient(variables)


def gradients(loss: Any, variables: Any) -> list[Any]:
    """The derivatives of `loss` by each of `variables`."""
    return _gradients(loss, variables)


def update(x: Variable, new_x: Any) -> Tensor:
    """An operation's output: `x` set to `new_x`."""
    return assign(x, new_x)


def update_add(x: Variable, increment: Any) -> Tensor:
    """An operation's output: `x` increased."""
    return assign_add(x, increment)


def update_sub(x: Variable, decrement: Any) -> Tensor:
    """An operation's output: `x` decreased."""
    return assign_sub(x, decrement)


def moving_average_update(x: Variable, value: Any, momentum: Any) -> Any:
    """An operation's output: `x` moved to `x * momentum + value * (1 - momentum)`."""
    return assign_moving_average(x, value, momentum, zero_debias=False)


def count_params(x: Any) -> int:
    """The number of elements, which must be known."""
    return int(np.prod(x.shape.as_list(), dtype=np.int64))


def eval(x: Any) -> Any:
    """The value of a tensor or variable in the session."""
    return get_value(x)


def backend() -> str:
    """The name that Keras's programs ask for."""
    return "tensorflow"
