"""Options of batch normalization: renormalization, virtual batches, and a function that adjusts.

The functions take the layer, a `BatchNormalization`, whose module imports this one if it has such an option.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from staticgraph import nn
from staticgraph.building.framework import control_dependencies, name_scope
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.state.moving_averages import assign_moving_average

_BOUNDS = ("rmin", "rmax", "dmax")


def check_options(layer: Any) -> None:
    """ValueError for options that are no bounds or no size, or that exclude each other."""
    unknown = sorted(set(layer.renorm_clipping) - set(_BOUNDS), key=str)
    if unknown:
        text = f"renorm_clipping has the key {shown(unknown[0])}, and may have {', '.join(_BOUNDS)}"
        raise misuse(ValueError, text)
    size = layer.virtual_batch_size
    if size is None:
        return
    if not isinstance(size, int) or size <= 0:
        raise misuse(ValueError, f"virtual_batch_size is {shown(size)}, and must be a positive integer")
    if layer.adjustment is not None:
        raise misuse(ValueError, "adjustment cannot be given together with virtual_batch_size")


def root_of(initializer: Any) -> Callable[..., Tensor]:
    """Return an initializer of deviations, whose squares are what `initializer` gives."""

    def deviation(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        made = initializer() if isinstance(initializer, type) else initializer
        return ops.sqrt(made(shape, dtype=dtype))

    return deviation


def normalized(layer: Any, inputs: Tensor, training: Any) -> Tensor:
    """The normalized inputs, each virtual batch by itself if there are such, and the layer's updates."""
    if layer.virtual_batch_size is None:
        return _composed(layer, inputs, training)
    further = inputs.shape.as_list()[1:]
    rest: Any = further if None not in further else ops.shape_of(inputs)[1:]
    parts = ops.reshape(inputs, shape=_joined([layer.virtual_batch_size, -1], rest))
    parts.set_shape([layer.virtual_batch_size, None, *further])
    return ops.reshape(_composed(layer, parts, training), shape=_joined([-1], rest))


def _joined(first: list[int], rest: Any) -> Any:
    return ops.concat([first, rest], axis=0) if isinstance(rest, Tensor) else [*first, *rest]


def _composed(layer: Any, inputs: Tensor, training: Any) -> Tensor:
    spread = partial(_spread, layer, rank=len(inputs.shape))
    scale, shift = spread(layer.gamma), spread(layer.beta)
    if training is False:
        statistics = spread(layer.moving_mean), spread(layer.moving_variance)
        return layer._transformed(inputs, *statistics, shift, scale)
    if layer.adjustment is not None:
        by, to = layer.adjustment(ops.shape_of(inputs))
        by, to = _if(training, by, ops.ones_like(by)), _if(training, to, ops.zeros_like(to))
        scale, shift = _chained(by, to, scale, shift)
    mean, variance = new_mean, new_variance = _moments(layer, inputs)
    if layer.virtual_batch_size is not None:
        new_mean = ops.reduce_mean(mean, axis=1, keepdims=True)
        new_variance = ops.reduce_mean(variance, axis=1, keepdims=True)
    if layer.renorm:
        r, d, updates = _corrections(layer, new_mean, new_variance, training)
        scale, shift = _chained(spread(ops.stop_gradient(r)), spread(ops.stop_gradient(d)), scale, shift)
        with control_dependencies(updates):
            _follow_deviation(layer, ops.identity(new_mean), ops.identity(new_variance), training)
    else:
        layer._follow(new_mean, new_variance, layer.momentum, training)
    mean, variance = layer._statistics(mean, variance, training)
    return layer._transformed(inputs, spread(mean), spread(variance), shift, scale)


def _spread(layer: Any, value: Any, rank: int) -> Any:
    """`value` in a shape that broadcasts to what is normalized."""
    return value if layer.virtual_batch_size is not None else layer._spread(value, rank)


def _moments(layer: Any, inputs: Tensor) -> tuple[Tensor, Tensor]:
    if layer.virtual_batch_size is None:
        return layer._moments(inputs)
    kept = [1, *(axis + 1 for axis in layer._axes)]  # axis 1 is that of the virtual batches
    others = [d for d in range(len(inputs.shape)) if d not in kept]
    return nn.moments(ops.cast(inputs, dtype=layer.moving_mean.dtype), others, keep_dims=True)


def _if(training: Any, value: Tensor, otherwise: Any) -> Tensor:
    return value if training is True else ops.select(training, value, otherwise)


def _chained(scale: Any, shift: Any, then_scale: Any, then_shift: Any) -> tuple[Any, Any]:
    """Scale and shift of `x * scale + shift` that is scaled and shifted once more; None for what is not."""
    if then_scale is not None:
        scale, shift = scale * then_scale, shift * then_scale
    return scale, shift if then_shift is None else shift + then_shift


def _corrections(
    layer: Any, mean: Tensor, variance: Tensor, training: Any
) -> tuple[Tensor, Tensor, list[Any]]:
    """Return r and d of renormalization, from the statistics before the step, and the updates of these."""
    deviation = ops.sqrt(variance + layer.epsilon)
    moving = ops.maximum(layer.renorm_stddev, layer.epsilon**0.5)  # early in training it may be 0
    r, d = deviation / moving, (mean - layer.renorm_mean) / moving
    with control_dependencies([r, d]):  # the updates come after what reads the statistics
        batch = ops.identity(mean), ops.identity(deviation)
    low, high, far = (layer.renorm_clipping.get(name) for name in _BOUNDS)
    r = r if low is None else ops.maximum(r, low)
    r = r if high is None else ops.minimum(r, high)
    d = d if far is None else ops.minimum(ops.maximum(d, -far), far)
    follow = partial(assign_moving_average, decay=layer.renorm_momentum, zero_debias=False)
    followed = zip((layer.renorm_mean, layer.renorm_stddev), batch, strict=True)
    updates = [follow(variable, _if(training, value, variable)) for variable, value in followed]
    return _if(training, r, ops.ones_like(r)), _if(training, d, ops.zeros_like(d)), updates


def _follow_deviation(layer: Any, mean: Tensor, variance: Tensor, training: Any) -> None:
    """Make the updates of the moving mean, the moving deviation, and the variance, which is its square."""
    follow = partial(assign_moving_average, decay=layer.momentum, zero_debias=False)
    layer.add_update(follow(layer.moving_mean, _if(training, mean, layer.moving_mean)))
    deviation = ops.sqrt(variance + layer.epsilon)
    moved = follow(layer.moving_stddev, _if(training, deviation, layer.moving_stddev))
    with name_scope("AssignNewValue") as scope:
        square = ops.relu(moved * moved - layer.epsilon)  # rounding could make it negative
        value = _if(training, square, layer.moving_variance)
        layer.add_update(ops.assign(layer.moving_variance.handle, value, name=scope))
