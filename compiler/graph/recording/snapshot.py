"""The value of a variable at one place of the graph, for functions that may return their argument as it is.

Operations take a variable as an operand, `w/read`, which each of them reads at its own turn. A function that
returned this operand would not have read anything: so it returns a snapshot.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.recording.op_count import uncounted
from staticgraph.compiler.graph.tensor import Operation, Tensor


class _Snapshots(dict[Operation, None]):
    """The snapshots that were made in a graph, in order."""


def snapshot(value: Any) -> Any:
    """Return `value`, but for the operand of a variable a tensor with the value that the variable has here.

    Args:
        value: a tensor, or anything else, which is returned as it is.

    Returns:
        The tensor. It is an operation of its own, and the same as before if only reads were made since it.
        In a finalized graph it is the operand: no assignment can follow.
    """
    if not isinstance(value, Tensor) or value.op.definition.name not in ("variable", "read_variable"):
        return value
    graph = value.graph
    if graph.finalized:
        return value
    handle = value if value.op.definition.name == "variable" else value.op.tensors[0]
    here = graph.region, graph.control_inputs
    snapshots = graph.attached.setdefault(_Snapshots, _Snapshots())
    for op in reversed(graph.recorded):
        if op.definition.name != "read_value":
            break
        # A read of the user's is never shared: to feed it, or a derivative by it, is about that read alone.
        if op in snapshots and op.tensors[0] is handle and (op.region, op.controls) == here:
            return op.outputs[0]
    with uncounted(graph):
        made = graph.record(OPS["read_value"], {"input": handle}, f"{handle.op.name}/value/")
    snapshots[made.op] = None
    return made
