"""Values of variables on their way into a file and out of it.

A variable may be saved as a part of one larger tensor, which a checkpoint holds under one name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, starmap
from typing import NamedTuple, TypeAlias

import numpy as np

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import UninitializedError, layout, misuse
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.state.memory import empty
from staticgraph.runtime.state.variables import VariableStore

_SIZE = r"\d{1,18}"
_SPEC = re.compile(rf"(?P<sizes>({_SIZE} )*)(?P<extents>{_SIZE},{_SIZE}(:{_SIZE},{_SIZE})*)")


class Part(NamedTuple):
    """A box of a tensor, and the sizes of the tensor."""

    full: tuple[int, ...]
    box: tuple[slice, ...]

    @classmethod
    def of(cls, full: Sequence[int], offset: Sequence[int], sizes: Sequence[int]) -> Part:
        """Return the part that begins at `offset` and has these sizes."""
        return cls(tuple(full), tuple(slice(o, o + n) for o, n in zip(offset, sizes, strict=True)))

    @classmethod
    def read(cls, spec: str) -> Part | None:
        """Return the part that a text of TensorFlow's tells, `10 3 4,6:0,3`; None if it is another text."""
        found = _SPEC.fullmatch(spec)
        if found is None:
            return None
        extents = [tuple(map(int, each.split(","))) for each in found["extents"].split(":")]
        full = [int(size) for size in found["sizes"].split()]
        if len(full) != len(extents):
            return None
        return cls.of(full, [begin for begin, _ in extents], [length for _, length in extents])

    @property
    def spec(self) -> str:
        """The part as text: the sizes of the tensor, and a begin and a length for each axis."""
        extents = ":".join(f"{each.start},{each.stop - each.start}" for each in self.box)
        return "".join(f"{size} " for size in self.full) + extents


class Parts(NamedTuple):
    """Variables and the boxes that they are of a tensor that none of them is by itself."""

    operations: tuple[Operation, ...]
    boxes: tuple[Part, ...]

    @property
    def type(self) -> TensorType:
        """The type of the whole tensor."""
        return TensorType(self.operations[0].outputs[0].dtype, self.boxes[0].full)

    @property
    def is_whole(self) -> bool:
        """True if each part is a variable of its box, and all of them make up the tensor."""
        full = self.boxes[0].full
        shapes = [tuple(each.stop - each.start for each in box) for _, box in self.boxes]
        inside = all(
            part.full == full
            and all(each.start >= 0 and each.stop <= n for each, n in zip(part.box, full, strict=True))
            for part in self.boxes
        )
        like = all(
            op.outputs[0].type.shape == shape for op, shape in zip(self.operations, shapes, strict=True)
        )
        apart = not any(starmap(_overlap, combinations(self.boxes, 2)))
        return inside and like and apart and sum(map(math.prod, shapes)) == math.prod(full)

    def joined(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Return the whole tensor."""
        whole = np.zeros(self.boxes[0].full, arrays[0].dtype)
        for (_, box), array in zip(self.boxes, arrays, strict=True):
            whole[box] = array
        return whole


def _overlap(one: Part, other: Part) -> bool:
    pairs = zip(one.box, other.box, strict=True)
    return all(max(a.start, b.start) < min(a.stop, b.stop) for a, b in pairs)


Saved: TypeAlias = Operation | Parts  # what a checkpoint has under one name


def operations_of(saved: Mapping[str, Saved]) -> Iterable[tuple[Operation, Part | None]]:
    """Yield each variable, with the box that it is if it is a part."""
    for each in saved.values():
        if isinstance(each, Parts):
            yield from zip(each.operations, each.boxes, strict=True)
        else:
            yield each, None


def first_of(saved: Saved) -> Operation:
    """Return the variable to name in a message."""
    return saved.operations[0] if isinstance(saved, Parts) else saved


def type_of(saved: Saved) -> TensorType:
    """Return the type of what is saved."""
    return saved.type if isinstance(saved, Parts) else saved.outputs[0].type


def collect(variables: Mapping[str, Saved], store: VariableStore) -> dict[str, Stored]:
    """The present values by key. UninitializedError if a variable has none."""
    for op, _ in operations_of(variables):
        if op not in store:
            raise UninitializedError(
                layout(
                    f"cannot save variable {op.name}: it has no value yet",
                    user_frame(),
                    [(op.name, op.where)],
                    "run global_variables_initializer() in this session first, or restore a checkpoint",
                ),
                op,
            )
    found = {}
    for key, saved in variables.items():
        if isinstance(saved, Parts):
            if not saved.is_whole:
                raise misuse(ValueError, f"cannot save {key}: its parts are not the whole of it")
            array = saved.joined([store.stored(op) for op in saved.operations])
        else:
            array = store.stored(saved)
        found[key] = type_of(saved).dtype, array
    return found


def owned(stored: Stored) -> np.ndarray:
    """A copy of a value from a file, in memory that compiled code can use."""
    dtype, array = stored
    if dtype is string:
        return array.copy()
    buffer = empty(TensorType(dtype, array.shape))
    buffer[...] = array
    return buffer


def shared(stored: Stored) -> np.ndarray:
    """A value from a mapped file where it is, if compiled code can use it there; else a copy."""
    dtype, array = stored
    if dtype is string or not array.size or array.ctypes.data % ALIGNMENT:
        return owned(stored)
    return array
