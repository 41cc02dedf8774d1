"""Weights of samples: applied to values of fewer or more axes, and reduced to one number."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import expand_dims, size, squeeze
from staticgraph.arrays.casts import cast
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import div_no_nan
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.state import replicas

AUTO, NONE, SUM = "auto", "none", "sum"
SUM_OVER_BATCH_SIZE = "sum_over_batch_size"


def fitting(weights: Any, values: Tensor) -> Tensor:
    """`weights` with an axis of size one dropped or added at the end, where their number differs by one."""
    made = cast(convert_to_tensor(weights), values.dtype)
    ranks = made.shape.ndims, values.shape.ndims
    if None in ranks or made.shape.ndims == 0:
        return made
    difference = (ranks[0] or 0) - (ranks[1] or 0)
    if difference == 1 and made.shape.as_list()[-1] in (1, None):
        return squeeze(made, [-1])
    return expand_dims(made, -1) if difference == -1 else made


def weighted(values: Any, weights: Any) -> Tensor:
    """`values` times their weights; as they are if there are none."""
    values = convert_to_tensor(values)
    return values if weights is None else values * fitting(weights, values)


def require_reduction(reduction: Any) -> None:
    """Raise ValueError unless `reduction` is one that losses have."""
    if not isinstance(reduction, str) or reduction not in (AUTO, NONE, SUM, SUM_OVER_BATCH_SIZE):
        key = reduction if isinstance(reduction, str) else shown(reduction)
        text = f"Invalid Reduction Key {key}. It is not none, sum, sum_over_batch_size or auto"
        raise misuse(ValueError, text)


def reduced(values: Tensor, reduction: str) -> Tensor:
    """The sum, the sum divided by the number of elements, or `values` themselves."""
    require_reduction(reduction)
    replicas.note_reduction(values.graph, reduction)
    if reduction == NONE:
        return values
    if reduction == SUM:
        return reduce_sum(values)
    return div_no_nan(reduce_sum(values), cast(size(values), values.dtype))
