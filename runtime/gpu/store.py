"""Variables whose values live on a GPU, and come to the host when someone looks at them.

Should a run fail between one update and the next, copies restore them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import numpy as np

from staticgraph.compiler.codegen.native.dispatch_layout import State
from staticgraph.compiler.graph.errors import OpError, ResourceExhaustedError
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.lower.buffer_assignment import bytes_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.cuda.driver import Direction, Driver
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.graphs.order import Span
from staticgraph.runtime.state.memory import empty
from staticgraph.runtime.state.variables import VariableStore


@dataclass(slots=True)
class _Home:
    """The place of a variable on the GPU. `newer`: True if the value there is newer than the host's."""

    address: int
    type: TensorType
    newer: bool = False


class DeviceStore(VariableStore):
    """Values by variable, on a GPU. What was set on the host goes there before the next run."""

    def __init__(self, device: Device) -> None:
        super().__init__()
        self.device = device
        self._homes: dict[Operation, _Home] = {}
        self.stale: set[Operation] = set()  # whose value on the GPU is older than the host's
        self.turns = 0  # how often the host has taken over a value that was on the GPU alone

    def __contains__(self, variable: Operation) -> bool:
        return self.type_of(variable) is not None

    def type_of(self, variable: Operation) -> TensorType | None:
        home = self._homes.get(variable)
        return home.type if home is not None and home.newer else super().type_of(variable)

    def stored(self, variable: Operation) -> np.ndarray:
        home = self._homes.get(variable)
        if home is not None and home.newer:
            value = empty(home.type)
            if value.nbytes:
                self.device.driver.copy(value.ctypes.data, home.address, value.nbytes, Direction.FROM_DEVICE)
            home.newer = False
            self.turns += 1
            super().commit(variable, value)
        return super().stored(variable)

    def commit(self, variable: Operation, buffer: np.ndarray) -> None:
        super().commit(variable, buffer)
        if (home := self._homes.get(variable)) is not None:
            home.newer = False
            self.turns += 1
            self.stale.add(variable)

    def room(self, variable: Operation, type: TensorType) -> int:
        """The address of memory for a value of this type. Where the type is new, it holds none yet."""
        home = self._homes.get(variable)
        if home is None or home.type != type:
            if home is not None:
                if home.newer:
                    self.stored(variable)
                del self._homes[variable]
                self.device.release([home.address])
            address = self.device.allocate(max(padded(bytes_of(type)), 1))
            self._homes[variable] = _Home(address, type)
            self.stale.discard(variable)
            if super().__contains__(variable):
                self.stale.add(variable)
            self.device.moved += 1
        return self._homes[variable].address

    def place(self, variable: Operation) -> int:
        """The address where the present value will be once `refresh` is called. KeyError without a value."""
        type = self.type_of(variable)
        if type is None:
            raise KeyError(variable)
        return self.room(variable, type)

    def refresh(self) -> None:
        """Bring to the GPU what the host has set since."""
        while self.stale:
            variable = self.stale.pop()
            value = np.asarray(super().stored(variable), order="C")
            type = TensorType(variable.outputs[0].dtype, value.shape)
            address = self.room(variable, type)
            self.stale.discard(variable)
            if value.nbytes:
                self.device.driver.copy(address, value.ctypes.data, value.nbytes, Direction.TO_DEVICE)

    def changed(self, variable: Operation) -> None:
        """A run writes a new value of the variable to its place."""
        home = self._homes[variable]
        if not home.newer:
            before = super().type_of(variable)
            home.newer = True
            self.stale.discard(variable)
            if before != home.type:
                self.state[State.VERSION] += 1

    def close(self, cancel: Callable[[], None] | None = None) -> None:
        super().close(cancel)
        self.device.close()
        self._homes.clear()
        self.stale.clear()


@contextmanager
def untouched_if_it_fails(driver: Driver, spans: Sequence[Span]) -> Iterator[None]:
    """Context after which memory is as it was before, if an error ends it and the GPU still works.

    The memory is copied aside; without room for that, nothing is.
    """
    size = sum(end - start for start, end in spans)
    aside = 0
    if size:
        with suppress(ResourceExhaustedError):
            aside = driver.allocate(size)
    if not aside:
        yield
        return
    pairs, at = list[tuple[int, int, int]](), aside
    for start, end in spans:
        pairs.append((start, at, end - start))
        at += end - start
    complete = False
    try:
        for place, copy, length in pairs:
            driver.copy(copy, place, length, Direction.ON_DEVICE)
        driver.synchronize()
        complete = True
        yield
        driver.synchronize()
    except BaseException:
        if complete:
            with suppress(OpError):  # of a GPU that does nothing any more
                for place, copy, length in pairs:
                    driver.copy(place, copy, length, Direction.ON_DEVICE)
                driver.synchronize()
        raise
    finally:
        with suppress(OpError):
            driver.free(aside)
