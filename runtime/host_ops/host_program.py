"""Host ops in order, each prepared to be called on values in a list."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.capture.segments import is_host
from staticgraph.compiler.graph.interpret import performer
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Tensor, needed, regions_of


class Slots:
    """Places in a list of the values of a run, by what they are values of: first the feeds.

    A key is a tensor, or a host op with an input or the number of a padded result.
    """

    def __init__(self, feeds: Iterable[Tensor]) -> None:
        self._numbers: dict[Hashable, int] = {t: number for number, t in enumerate(feeds)}
        self.later: list[Any] = []  # values after the feeds: constants, None until computed

    def new(self, key: Hashable, constant: np.ndarray | None = None) -> int:
        """Return the slot of a constant, or of what a part of the run computes."""
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            self.later.append(constant)
        return self._numbers[key]

    def of(self, key: Hashable) -> int:
        """Return the slot of a value that is known by now."""
        if key not in self._numbers and isinstance(key, Tensor) and key.op.definition.name == "constant":
            return self.new(key, key.op.attrs["value"].array)
        return self._numbers[key]

    def taken(self, op: Operation, tensor: Tensor) -> int:
        """Return the slot of an input of a host op, at its turn."""
        return self.of((op, tensor) if (op, tensor) in self._numbers else tensor)


class HostCall:
    """A host op that NumPy computes."""

    def __init__(self, op: Operation, slots: Slots) -> None:
        self._perform = performer(op)
        self._taken = [slots.taken(op, t) for t in op.all_inputs]
        self.made = [*map(slots.new, op.outputs)]  # slots

    def __call__(self, values: list[Any]) -> None:
        """Compute the op."""
        made = self._perform([values[slot] for slot in self._taken])
        for slot, array in zip(self.made, made, strict=True):
            values[slot] = array


class HostProgram:
    """Pure host ops without compiled steps between them: needs no session, and serves threads at once."""

    def __init__(
        self, operations: Iterable[Operation], results: Iterable[Tensor], feeds: Iterable[Tensor]
    ) -> None:
        slots = Slots(feeds)
        self._calls = [HostCall(op, slots) for op in operations]
        self._results = [slots.of(t) for t in results]
        self._later = slots.later

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the results for these values of the feeds. Some may share memory with these."""
        values = [*arrays, *self._later]
        for call in self._calls:
            call(values)
        return [values[slot] for slot in self._results]


def host_program(results: Sequence[Tensor], feeds: Sequence[Tensor]) -> HostProgram | None:
    """Return the program of `results` if pure host ops compute them of `feeds` and constants, else None."""
    sources = {t.op for t in feeds}
    operations = [op for op in needed([t.op for t in results], feeds) if op not in sources]
    called = [op for op in operations if op.definition.name != "constant"]
    if not called or not all(map(_is_pure, called)):
        return None
    return HostProgram(called, results, feeds)


def _is_pure(op: Operation) -> bool:
    definition = op.definition
    pure = definition.effect is Effect.PURE and definition.reference is not None
    return pure and is_host(op) and not regions_of(op)
