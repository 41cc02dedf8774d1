"""Sharded state of an optimizer: each process has a part of it, and updates a part of the variables.

    gradients of all variables, one vector:  reduce-scatter;  update this process's part;  all-gather

A part of the vector of all variables is a variable by itself for the inner optimizer, whose averages then
belong to it. Its value is taken from the variables in each step, so that whatever initializes or restores
these is enough. `Saver` writes and reads whole averages, under the names that they have in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import control_dependencies, init_scope, name_scope
from staticgraph.building.inputs import constant, group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.distribute.collectives import SHARDED, all_gather, reduce_scatter
from staticgraph.distribute.world import rank, size
from staticgraph.state.variables import Variable
from staticgraph.train.optimizers.optimizer import Optimizer


class Part(NamedTuple):
    """The part of a process of some variables of one dtype.

    Attributes:
        variable: The part itself, for the inner optimizer.
        wholes: The variables.
        rows: The number of elements of each part.
    """

    variable: Variable
    wholes: list[Variable]
    rows: int

    @property
    def mine(self) -> slice:
        """The elements of this process in the vector of all variables."""
        return slice(rank() * self.rows, (rank() + 1) * self.rows)

    def flat(self, tensors: Sequence[Any]) -> Tensor:
        """Return tensors like the variables as one vector, with zeros up to the end of the last part."""
        listed = [ops.reshape(each, shape=(-1,)) for each in tensors]
        lacking = self.rows * size() - sum(v.type.size for v in self.wholes)
        if lacking:
            listed.append(constant(np.zeros(lacking), listed[0].dtype))
        return listed[0] if len(listed) == 1 else ops.concat(listed, axis=0)

    def cut(self, flat: Tensor) -> list[Tensor]:
        """Return the pieces of a vector in the shapes of the variables."""
        made: list[Tensor] = []
        start = 0
        for variable in self.wholes:
            count = variable.type.size
            made.append(ops.reshape(flat[start : start + count], shape=variable.type.static_shape))
            start += count
        return made


def apply(
    inner: Optimizer, pairs: Sequence[tuple[Any, Variable]], reduce: str | None, step: Any, name: str | None
) -> Operation:
    """Return an operation that updates variables, a part of them in each process.

    Args:
        inner: The optimizer.
        pairs: Gradients and variables.
        reduce: "mean" or "sum" of the gradients of all processes; None if they are those of all.
        step: A variable that counts steps, or None.
        name: A name of the operation.
    """
    by_dtype: dict[DType, list[tuple[Any, Variable]]] = {}
    for gradient, variable in pairs:
        if gradient is not None:
            dense = gradient.to_tensor() if isinstance(gradient, IndexedSlices) else gradient
            by_dtype.setdefault(variable.dtype, []).append((dense, variable))
    parts = [_part(dtype, [v for _, v in listed]) for dtype, listed in by_dtype.items()]
    with name_scope("sharded_state"):
        updates = []
        for part, listed in zip(parts, by_dtype.values(), strict=True):
            flat = part.flat([g for g, _ in listed])
            gradient = flat[part.mine] if reduce is None else reduce_scatter(flat, reduce)
            updates.append((ops.barrier(gradient), part.variable))
        # Behind barriers, an update has the code of that of a whole variable, and the same bits.
        begun = [ops.assign(p.variable.handle, ops.barrier(p.flat(p.wholes)[p.mine])).op for p in parts]
    with control_dependencies(begun):
        updated = inner.apply_gradients(updates)
    for part in parts:
        _state(part.variable.graph).add(part, inner)
    with name_scope("sharded_state"), control_dependencies([updated]):
        wholes = [part.cut(all_gather(ops.read_value(part.variable.handle))) for part in parts]
        written = [
            ops.assign(variable.handle, value).op
            for part, values in zip(parts, wholes, strict=True)
            for variable, value in zip(part.wholes, values, strict=True)
        ]
        if step is not None:
            with control_dependencies(written):
                written.append(ops.assign_add(step.handle, 1).op)
    return group(*written, name=name or "step")


def _part(dtype: DType, variables: list[Variable]) -> Part:
    for variable in variables:
        if variable.constraint is not None or not variable.type.is_static:
            text = f"{variable.name} has a constraint or no fixed shape, and cannot be updated in parts"
            raise misuse(UnimplementedError, text, "leave shard_state out")
    rows = -(-sum(v.type.size for v in variables) // size())
    with init_scope():
        variable = Variable(np.zeros(rows), trainable=False, name="sharded_state/part", dtype=dtype)
    return Part(variable, variables, rows)


class _State:
    """The parts of a graph, and for each the variables that belong to it and their names in one process."""

    def __init__(self) -> None:
        self.parts: list[tuple[Part, dict[str, Variable]]] = []

    def add(self, part: Part, inner: Optimizer) -> None:
        """Note a part and the slots of it."""
        slots = [inner.get_slot(part.variable, name) for name in inner.get_slot_names()]
        own = {slot.op.name.removeprefix(part.variable.op.name): slot for slot in slots if slot is not None}
        self.parts.append((part, own))
        for variable in (part.variable, *own.values()):
            variable.graph.add_to_collection(SHARDED, variable)


def _state(graph: Graph) -> _State:
    found: _State = graph.attached.setdefault(_State, _State())
    return found


def gathered(graph: Graph) -> dict[str, Tensor]:
    """Return the whole slots of all sharded variables, by their names in one process."""
    made: dict[str, Tensor] = {}
    for part, own in _state(graph).parts:
        for suffix, slot in own.items():
            pieces = part.cut(all_gather(ops.read_value(slot.handle)))
            made.update((w.op.name + suffix, p) for w, p in zip(part.wholes, pieces, strict=True))
    return made


def load(graph: Graph, session: Any, read: Callable[[str], np.ndarray]) -> None:
    """Give each sharded slot its part of what a checkpoint has. `read` gives the value of a name."""
    for part, own in _state(graph).parts:
        for suffix, slot in own.items():
            values = [np.ravel(read(w.op.name + suffix)) for w in part.wholes]
            flat = np.zeros(part.rows * size(), values[0].dtype)
            flat[: sum(map(len, values))] = np.concatenate(values)
            slot.load(flat[part.mine], session)
