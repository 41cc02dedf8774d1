"""`v[1:3].assign(value)`: assignment to a part of a variable."""

from __future__ import annotations

from typing import Any

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.opdef import METHODS
from staticgraph.compiler.graph.recording.op_count import op_count, set_op_count
from staticgraph.compiler.graph.tensor import Tensor

_SLICED = ("strided_slice", "pick")


class VariableSlice(Tensor):
    """A part `v[key]` of a variable: a tensor, which can be assigned to besides."""

    __slots__ = ()

    def assign(self, value: Any, name: str | None = None) -> Tensor:
        """Replace this part of the variable.

        Args:
            value: A tensor or array of the shape of the part. Nothing is broadcast.
            name: The name of the operation.

        Returns:
            The whole new value of the variable.

        Raises:
            ShapeError: The value has another shape.

        >>> import staticgraph as sg
        >>> v = sg.Variable([1.0, 2.0, 3.0])
        >>> step = v[1:].assign([8.0, 9.0])
        >>> with sg.Session() as sess:
        ...     sess.run(v.initializer)
        ...     sess.run(step)
        array([1., 8., 9.], dtype=float32)
        """
        variable, key = self.graph.attached[VariableSlice][self]
        with self.graph.name_scope(f"{name}/" if name else f"{self.op.name}/_assign/") as scope:
            given = convert_to_tensor(value, variable.dtype, name="value")
            start = op_count(self.graph)
            if not given.shape.is_compatible_with(self.shape) or given.shape.ndims != self.shape.ndims:
                text = f"{variable.name}[...] has shape {self.shape}, and the value {given.shape}"
                hint = "nothing is broadcast: broadcast_to does"
                raise misuse(ShapeError, text, hint, made=[("the variable", variable.where)])
            parts = _parts(key, variable.shape.ndims)
            sizes = variable.shape.as_list()
            if not parts:
                whole: Tensor = variable.changed(ops.assign, ops.reshape(given, shape=sizes), name=scope)
                set_op_count(self.graph, start + 1)
                return whole
            indices = _combined([_places(part, sizes[axis]) for axis, part in enumerate(parts)])

            def write(handle: Tensor, rows: Tensor, **options: Any) -> Tensor:
                return ops.scatter_nd_update(handle, indices, rows, **options)

            row = sizes[len(parts) :]  # of the axes that are taken whole; there are as many as positions
            count = ops.reshape(ops.shape_of(indices)[:1], shape=[1])
            rows = ops.reshape(given, shape=ops.concat([count, row], axis=0) if row else [-1])
            made: Tensor = variable.changed(write, rows, name=scope)
            set_op_count(self.graph, start + 1)  # TensorFlow's assignment takes slices
            return made


def part_of(variable: Any, key: Any, tensor: Tensor) -> Tensor:
    """Return `tensor`, which is `variable[key]`, as one that can be assigned to if the key is of slices."""
    if tensor.op.definition.name in _SLICED and variable.shape.is_fully_defined():
        tensor.__class__ = VariableSlice
        tensor.graph.attached.setdefault(VariableSlice, {})[tensor] = variable, key
    return tensor


def _parts(key: Any, rank: int) -> list[Any]:
    """Return the index or slice of each axis, without those at the end that take all."""
    parts = [part for part in (key if isinstance(key, tuple) else (key,)) if part is not None]
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    after = parts[at + 1 :]
    whole = [slice(None)] * (rank - at - len(after))
    parts = [*parts[:at], *whole, *after]
    while parts and isinstance(parts[-1], slice) and parts[-1] == slice(None):
        parts.pop()
    return parts


def _places(part: Any, size: int) -> Tensor:
    """Return the positions along an axis of this size that a part of a key takes, as a vector."""
    every = ops.range(start=0, limit=size, delta=1, dtype=int32)
    return ops.reshape(METHODS["getitem"](every, part), shape=[-1])


def _combined(places: list[Tensor]) -> Tensor:
    """Return all combinations of positions, one in each row of a matrix, the last one fastest."""
    sizes = ops.stack([ops.size_of(each) for each in places])
    columns = []
    for axis, each in enumerate(places):
        along = [-1 if axis == other else 1 for other in range(len(places))]
        spread = ops.broadcast_to(ops.reshape(each, shape=along), shape=sizes)
        columns.append(ops.reshape(spread, shape=[-1]))
    return ops.stack(columns, axis=1)
