"""Sizes that the data of an operation decide, such as the number of segments: see `counted` of `OpDef`.

A tensor beside the graph stands for such a size. If the values of the inputs are not known when a step is
captured, an earlier stage computes this tensor, and the step takes it as the value of a feed: an open size.

    segment_sum(x, ids)       ->       count = segment_count(ids)
                                       unsorted_segment_sum(x, ids, num_segments=count)
"""

from __future__ import annotations

from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.structural import variable_of

_KEY = "the size that the data of an operation decide"


def count_of(op: Operation) -> Tensor:
    """Return the tensor of the size that the last input of an operation decides.

    The operation that makes it is no part of the graph's list, so that users see the graph that they built.
    Operations with the same last input share it, unless that is a variable, which may change between them.
    """
    name = op.definition.counted
    assert name is not None, op
    given, kept = op.tensors[-1], op.graph.attached
    shared = variable_of(given) is None
    key = _KEY, name, given if shared else op
    if (found := kept.get(key)) is None:
        counting = OPS[name]
        made, controls = (counting.type(given.type),), () if shared else op.controls
        region = given.op.region if shared else op.region
        place = controls, op.device, op.where, op.id, region
        counter = Operation(op.graph, counting, f"{op.name}/{name}", (given,), {}, {}, made, *place)
        found = kept.setdefault(key, counter.outputs[0])
    tensor: Tensor = found
    return tensor
