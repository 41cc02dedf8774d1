"""The only state that outlives a run: values of variables, and states of random ops."""

from __future__ import annotations

import os

import numpy as np

from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.runtime.memory import empty, from_storage, to_storage


class VariableStore:
    """Values by variable, as compiled code holds them."""

    def __init__(self) -> None:
        self._values: dict[Operation, np.ndarray] = {}
        self._spare: dict[Operation, np.ndarray] = {}  # the buffer of the value before, for the next one
        self._random: dict[Operation, np.ndarray] = {}

    def __contains__(self, variable: Operation) -> bool:
        return variable in self._values

    def type_of(self, variable: Operation) -> TensorType | None:
        """The type of the present value, or None."""
        stored = self._values.get(variable)
        return None if stored is None else TensorType(variable.outputs[0].dtype, stored.shape)

    def stored(self, variable: Operation) -> np.ndarray:
        """The present value as compiled code holds it. KeyError where there is none."""
        return self._values[variable]

    def read(self, variable: Operation) -> np.ndarray:
        """A copy of the present value."""
        return from_storage(self._values[variable].copy(), variable.outputs[0].dtype)

    def write(self, variable: Operation, value: object) -> None:
        """Set the value, converted to the variable's dtype."""
        dtype = as_dtype(variable.outputs[0].dtype)
        array = dtype.round(value)
        buffer = empty(TensorType(dtype, array.shape))
        buffer[...] = to_storage(array, dtype)
        self._values[variable] = buffer

    def next_buffer(self, variable: Operation, type: TensorType) -> np.ndarray:
        """Memory for a new value while the present one is still being read."""
        spare = self._spare.pop(variable, None)
        return spare if spare is not None and spare.shape == type.shape else empty(type)

    def commit(self, variable: Operation, buffer: np.ndarray) -> None:
        """Make `buffer` the value."""
        old = self._values.get(variable)
        if old is not buffer:
            self._values[variable] = buffer
            if old is not None:
                self._spare[variable] = old

    def random_state(self, op: Operation) -> np.ndarray:
        """The state of a random op: how much of its stream is used up, and its seeds, as uint64.

        Without any seed the stream starts anywhere.
        """
        if op not in self._random:
            seeds = [op.attrs.get(name, 0) % 2**64 for name in ("seed", "seed2")]
            used = 0 if any(seeds) else int.from_bytes(os.urandom(8)) >> 2
            self._random[op] = np.array([used, *seeds], np.uint64)
        return self._random[op]

    def clear(self) -> None:
        self._values.clear()
        self._spare.clear()
        self._random.clear()
