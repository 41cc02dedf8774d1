"""Learning rates that change with the global step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from staticgraph.arrays.casts import of_dtype
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import constants
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import list_of
from staticgraph.compiler.graph.dtypes import DType, int32, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.random_numbers import random_ops


def _numbers(dtype: DType, *values: Any) -> list[Tensor]:
    return [of_dtype(convert_to_tensor(v), dtype) for v in values]


def _rate(learning_rate: Any, global_step: Any) -> Tensor:
    if global_step is None:
        hint = "sg.train.get_or_create_global_step()"
        raise misuse(ValueError, "a learning rate schedule needs a global_step", hint)
    return convert_to_tensor(learning_rate, name="initial_learning_rate")


def _elapsed(rate: Tensor, global_step: Any, decay_steps: Any, staircase: bool) -> Tensor:
    """Return `global_step / decay_steps`, rounded down if `staircase` is True."""
    step, steps = _numbers(rate.dtype, global_step, decay_steps)
    elapsed = step / steps
    return ops.floor(elapsed) if staircase else elapsed


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * decay_rate ** (global_step /
    decay_steps)`; with `staircase` the quotient is rounded down.

    >>> import staticgraph as sg
    >>> step = sg.train.get_or_create_global_step()
    >>> sg.train.exponential_decay(0.1, step, 1000, 0.96, staircase=True).name
    'ExponentialDecay:0'
    """
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate, global_step)
        base = of_dtype(convert_to_tensor(decay_rate), rate.dtype)
        return ops.multiply(
            rate, ops.pow(base, _elapsed(rate, global_step, decay_steps, staircase)), name=scope
        )


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * exp(-decay_rate * global_step /
    decay_steps)`; with `staircase` the quotient is rounded down.
    """
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate, global_step)
        base = ops.exp(-of_dtype(convert_to_tensor(decay_rate), rate.dtype))
        return ops.multiply(
            rate, ops.pow(base, _elapsed(rate, global_step, decay_steps, staircase)), name=scope
        )


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate / (1 + decay_rate * global_step /
    decay_steps)`; `staircase` rounds the quotient down.
    """
    with name_scope(name, "InverseTimeDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate, global_step)
        base = of_dtype(convert_to_tensor(decay_rate), rate.dtype)
        count_more(rate.graph, 1)  # the one, cast
        return ops.realdiv(rate, 1.0 + base * _elapsed(rate, global_step, decay_steps, staircase), name=scope)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """`values[i]` where `x` is above `boundaries[i - 1]` and not above `boundaries[i]`.

    ValueError unless there is one value more than boundaries, all values have one dtype, and the boundaries
    that of x.

    >>> import staticgraph as sg
    >>> step = sg.train.get_or_create_global_step()
    >>> rate = sg.train.piecewise_constant(step, [1000, 5000], [0.1, 0.01, 0.001])
    """
    boundaries, values = list_of(boundaries, "boundaries"), list_of(values, "values")
    if len(boundaries) != len(values) - 1:
        raise misuse(
            ValueError,
            f"{len(boundaries)} boundaries separate {len(boundaries) + 1} values, {len(values)} were given",
        )
    # TensorFlow's `case` of all ranges, which must not overlap, makes a branch within a branch for each.
    number, given = len(boundaries), constants(*boundaries, *values)
    counts = number * number + 11 * number + 25 + given
    with (
        name_scope(name, "PiecewiseConstant", [x, *boundaries, *values]),
        counted_as(get_default_graph(), counts),
    ):
        position = convert_to_tensor(x)
        limits = [_limit(b, position) for b in boundaries]
        levels = [convert_to_tensor(v) for v in values]
        if any(v.dtype is not levels[0].dtype for v in levels):
            raise misuse(
                ValueError, f"the values have dtypes {', '.join(str(v.dtype) for v in levels)}: one is needed"
            )
        chosen = levels[-1]
        for limit, level in reversed(list(zip(limits, levels, strict=False))):
            chosen = ops.select(position <= limit, level, chosen)
    count_more(chosen.graph, sum(limit.op.type == "Cast" for limit in limits))
    return chosen


def _limit(boundary: Any, x: Tensor) -> Tensor:
    limit = convert_to_tensor(boundary)
    if limit.dtype is int32 and x.dtype is int64:
        limit = ops.cast(limit, dtype=int64)
    if limit.dtype is not x.dtype:
        raise misuse(ValueError, f"a boundary is {limit.dtype} and x is {x.dtype}: they must be the same")
    return limit


piecewise_constant_decay = piecewise_constant


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """From `learning_rate` to `end_learning_rate` in
    `decay_steps`, along `(1 - step / decay_steps) ** power`.

    With `cycle`, `decay_steps` is multiplied by the least integer that makes it at least the global step.
    """
    with name_scope(name, "PolynomialDecay", [learning_rate, global_step, end_learning_rate, power]) as scope:
        rate = _rate(learning_rate, global_step)
        count_more(rate.graph, 6 if cycle else 1)
        end, exponent, step, steps = _numbers(rate.dtype, end_learning_rate, power, global_step, decay_steps)
        if cycle:
            rounds = ops.select(
                ops.equal(step, 0.0), convert_to_tensor(1.0, rate.dtype), ops.ceil(step / steps)
            )
            steps = steps * rounds
        else:
            step = ops.minimum(step, steps)
        return ops.add((rate - end) * ops.pow(1.0 - step / steps, exponent), end, name=scope)


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0, name: str | None = None
) -> Tensor:
    """Half a cosine from `learning_rate` to `alpha * learning_rate` in `decay_steps`."""
    with name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate = _rate(learning_rate, global_step)
        step, steps = _numbers(rate.dtype, global_step, decay_steps)
        wave = 0.5 * (1.0 + ops.cos(math.pi * (ops.minimum(step, steps) / steps)))
        return rate * ((1.0 - alpha) * wave + alpha)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """`cosine_decay` again and again, each time `t_mul` times longer and beginning `m_mul` times lower."""
    with name_scope(name, "SGDRDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate, global_step)
        step, first, longer, lower, floor = _numbers(
            rate.dtype, global_step, first_decay_steps, t_mul, m_mul, alpha
        )
        elapsed = step / first
        count_more(rate.graph, 5)  # branches in TensorFlow
        same = ops.equal(longer, 1.0)
        # Where all periods are equally long the series has no closed form; 2 keeps its branch finite.
        ratio = ops.select(same, convert_to_tensor(2.0, rate.dtype), longer)
        growing = ops.floor(ops.log(1.0 - elapsed * (1.0 - ratio)) / ops.log(ratio))
        length = ops.pow(ratio, growing)
        before = (1.0 - length) / (1.0 - ratio)
        restarts = ops.select(same, ops.floor(elapsed), growing)
        within = ops.select(same, elapsed - ops.floor(elapsed), (elapsed - before) / length)
        wave = 0.5 * ops.pow(lower, restarts) * (1.0 + ops.cos(math.pi * within))
        return ops.multiply(rate, (1.0 - floor) * wave + floor, name=scope)


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * ((alpha + linear) * cosine + beta)`:
    a linear decay times `num_periods` of a cosine.
    """
    with name_scope(name, "LinearCosineDecay", [learning_rate, global_step]) as scope:
        return _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, None, scope)


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """`linear_cosine_decay` with normal noise on the linear part, of variance falling with the step."""
    with name_scope(name, "NoisyLinearCosineDecay", [learning_rate, global_step]) as scope:
        noise = initial_variance, variance_decay
        return _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, noise, scope)


def _linear_cosine(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any,
    alpha: Any,
    beta: Any,
    noise: tuple[Any, Any] | None,
    scope: str,
) -> Tensor:
    rate = _rate(learning_rate, global_step)
    step, steps, periods, lift, floor = _numbers(
        rate.dtype, global_step, decay_steps, num_periods, alpha, beta
    )
    step = ops.minimum(step, steps)
    linear = (steps - step) / steps
    if noise is not None:
        variance, falling = _numbers(rate.dtype, *noise)
        deviation = ops.sqrt(variance / ops.pow(1.0 + step, falling))
        linear = linear + random_ops.random_normal(linear.shape, stddev=deviation, dtype=rate.dtype)
    wave = 0.5 * (1.0 + ops.cos(math.pi * (2.0 * periods * (step / steps))))
    return ops.multiply(rate, (lift + linear) * wave + floor, name=scope)
