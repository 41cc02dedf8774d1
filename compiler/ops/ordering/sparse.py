"""The order of the places of a sparse tensor, found or required."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.samples import Draw, Sample


def _type(numbers: TensorType) -> TensorType:
    require(numbers.rank in (None, 1), f"numbers has rank {numbers.rank}, and must be a vector")
    return TensorType(int32, numbers.shape)


# It has a rule for gradients, if one that gives none, so that it stays one node and what is fed can be put in
# order while compiling: how many rows a result has may depend on it.
@composite(
    tf="RowMajorOrder", type=_type, numpy=lambda numbers: np.argsort(numbers, kind="stable").astype(np.int32),
    dtypes=frozenset({int64}),
    grad=lambda g, y, numbers: (None,), differentiable=False,
    samples=[Sample(Draw((n,), -9, 9)) for n in (0, 1, 7, 40)],
)
def row_major_order(numbers: Any) -> Any:
    """Return the indices that sort a vector in ascending order. Equal elements keep their order."""
    if numbers.shape[0] == 0:
        return ops.cast(numbers, dtype=int32)
    return ops.top_k(ops.invert(numbers), k=numbers.shape[0])[1]


def _places_type(places: TensorType) -> TensorType:
    require(places.rank in (None, 2), f"places has rank {places.rank}, and must be a matrix")
    return places


@composite(
    tf="Identity", type=_places_type, numpy=lambda places: places,
    requires=lambda places: [ops.rows_ascend(places, of="ascending_places", operand="sparse_indices")],
    dtypes=INDEX, differentiable=False, samples=[Sample(Draw((n, 2), 0, 9)) for n in (0, 1, 3)],
)
def ascending_places(places: Any) -> Any:
    """The same places, of which a run requires that each comes after the one before, in row-major order."""
    return places
