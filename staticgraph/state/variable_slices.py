"""Slices of variables, `v[1:3]`: tensors that have `assign`, which changes those elements of the variable.

An assignment is a scatter to the places of the slice, that is the slices of an index along each axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import ShapeError, misuse
from staticgraph.compiler.graph.opdef import METHODS
from staticgraph.compiler.graph.tensor import Tensor


class _Origins(dict[Tensor, tuple[Any, Any]]):
    """The variable and the key of each slice of a graph."""


class VariableSlice(Tensor):
    """A slice of a variable. `Variable.__getitem__` makes it."""

    __slots__ = ()

    def assign(self, value: Any, name: str | None = None) -> Tensor:
        """Replace these elements of the variable; the output is the new value of the whole variable.

        Args:
            value: A tensor of the slice's shape, of the variable's dtype.
            name: The name of the scope of the operations.

        Raises:
            ShapeError: If `value` has another shape, or that of the variable is not known.

        >>> import staticgraph as sg
        >>> v = sg.Variable([[1.0, 2.0], [3.0, 4.0]])
        >>> change = v[1].assign([5.0, 6.0])
        >>> with sg.Session() as sess:
        ...     sess.run(v.initializer)
        ...     sess.run(change).tolist()
        [[1.0, 2.0], [5.0, 6.0]]
        """
        variable, key = self.graph.attached[_Origins][self]
        with name_scope(name, f"{self.op.name}/assign", [self]):
            value = convert_to_tensor(value, dtype=variable.dtype)
            if not self.shape.is_compatible_with(value.shape):
                shapes = f"the value has shape {value.shape}, the slice {self.shape}"
                text = f"{variable.name}[...].assign(): {shapes}"
                raise misuse(ShapeError, text, "tile or broadcast_to makes a value as large as the slice")
            if not variable.shape.is_fully_defined():
                text = (
                    f"{variable.name}[...].assign(): the variable has shape {variable.shape}, not fully known"
                )
                raise misuse(ShapeError, text)
            places = _places(variable.shape.as_list(), key)
            made: Tensor = ops.scatter_nd_update(variable.handle, places, value)
            return made


def sliced(variable: Any, key: Any) -> Tensor:
    """Return `variable[key]`: a tensor with `assign`."""
    found: Tensor = METHODS["getitem"](variable, key)
    found.__class__ = VariableSlice
    found.graph.attached.setdefault(_Origins, _Origins())[found] = variable, key
    return found


def _places(shape: list[int], key: Any) -> Tensor:
    """Return the index vectors of the elements of a slice, one for each element."""
    moving = any(isinstance(t, Tensor) for t in _entries(key))
    along = []
    for axis, size in enumerate(shape):
        steps = np.arange(size, dtype=np.int32).reshape([-1] + [1] * (len(shape) - axis - 1))
        if moving:
            along.append(METHODS["getitem"](ops.broadcast_to(convert_to_tensor(steps), shape=shape), key))
        else:
            along.append(convert_to_tensor(np.array(np.broadcast_to(steps, shape)[_numbers(key)])))
    return ops.stack(along, axis=-1)


def _entries(key: Any) -> list[Any]:
    parts = key if isinstance(key, tuple) else (key,)
    return [e for p in parts for e in ((p.start, p.stop, p.step) if isinstance(p, slice) else (p,))]


def _numbers(key: Any) -> Any:
    """Return a key for NumPy: sizes of a shape are numbers."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(p.__index__() if hasattr(p, "__index__") else p for p in parts)
