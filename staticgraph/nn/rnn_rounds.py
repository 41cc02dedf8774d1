"""Loops that say themselves when they end, and keep a row of each round: how many rounds there will be.

What a step is compiled for has shapes that are known. So such a loop is built twice: once without the rows,
to count its rounds, of which the compiler keeps only what its end depends on; and then with as many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from staticgraph.building import nest
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import constant
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.recording.op_count import seeds_kept
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.control_flow.loops import while_loop
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.state.scopes import VariableScope, variable_scope


def count_rounds(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, hint: str
) -> tuple[Tensor, list[int]]:
    """Return the number of rounds of `while_loop(cond, body, loop_vars)`, and the default seeds of its body.

    UnimplementedError if it depends on random numbers: another loop would draw others. `hint` is the cure.
    """
    loop_vars = nest.map_structure(_counted, with_rows(loop_vars, 1))

    def counting(count: Tensor, values: Any) -> tuple[Tensor, Any]:
        return count + 1, body(*values)

    start = constant(0, name="rounds")
    with seeds_kept(start.graph) as seeds:
        count, _ = while_loop(lambda _, values: cond(*values), counting, (start, loop_vars), name="count")
    loop = count.op.tensors[0].op
    if _draws(loop.attrs["cond"], loop.attrs["body"]):
        raise misuse(UnimplementedError, "when this loop ends depends on random numbers", hint)
    return count, seeds


@contextmanager
def again(opened: VariableScope) -> Iterator[None]:
    """The scope in which the counted loop was built, for the same loop once more: it finds its variables."""
    with (
        variable_scope(opened, reuse=True, auxiliary_name_scope=False),
        name_scope(opened.original_name_scope),
    ):
        yield


def with_rows(structure: Any, size: Any) -> Any:
    """Return `structure` with arrays of at least `size` rows in place of those that grow. Rows are kept."""

    def resized(leaf: Any) -> Any:
        if not isinstance(leaf, TensorArray) or not leaf.dynamic_size:
            return leaf
        made = leaf.flow.op
        if made.definition.name != "tensor_array":  # it has rows
            longer = ops.tensor_array_grow(leaf.flow, size=ops.maximum(leaf.size(), size))
            return leaf.with_flow(longer, dynamic_size=False)
        first = made.operands["size"]
        rows = size if static_value(first) == 0 else ops.maximum(first, size)
        return TensorArray(leaf.dtype, size=rows, element_shape=leaf.element_shape)

    return nest.map_structure(resized, structure)


def _counted(leaf: Any) -> Any:
    return leaf.for_counting() if isinstance(leaf, TensorArray) else leaf


def _draws(cond: Region, body: Region) -> bool:
    """Return True if the condition of a loop depends on random numbers drawn in the loop."""
    params = [*cond.params, *body.params]
    results = dict(zip(params, (*body.results, *body.results), strict=True))
    waiting: list[Tensor] = list(cond.results)
    seen: set[Operation] = set()
    reached: set[Tensor] = set()
    while waiting:
        tensor = waiting.pop()
        if tensor in reached:
            continue
        reached.add(tensor)
        if tensor in results:
            waiting.append(results[tensor])
        elif tensor.op.region is not None and tensor.op not in seen:
            seen.add(tensor.op)
            if tensor.op.definition.effect is Effect.RANDOM:
                return True
            waiting += tensor.op.all_inputs
            waiting += [r for inner in _regions(tensor.op) for r in inner.results]
    return False


def _regions(op: Operation) -> list[Region]:
    """The regions that an operation has."""
    values = [value if isinstance(value, tuple) else (value,) for value in op.attrs.values()]
    return [part for parts in values for part in parts if isinstance(part, Region)]
