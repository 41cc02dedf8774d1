"""Contract between sessions and devices. A new device is a folder with a class that has these methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from staticgraph.compiler.capture.step import Step
    from staticgraph.compiler.graph.tensor import Operation, Tensor
    from staticgraph.runtime.executable import Checks, Executable
    from staticgraph.runtime.fetches import Fetches
    from staticgraph.runtime.profiling.times import Meter
    from staticgraph.runtime.state.memory import BufferPool
    from staticgraph.runtime.state.variables import VariableStore


# Makes the executable of a step with open sizes, of the values of these, the values of feeds that the step
# is captured for, and the checks. Executables share the code.
BindSizes = Callable[["Mapping[str, int]", "Sequence[tuple[int, bytes]]", "Checks | None"], "Executable"]


class Programs(Protocol):
    """The programs of a run, as far as fast paths look at them. See `ProgramCache`."""

    @property
    def fetches(self) -> Fetches:
        """The tensors and operations that are asked for."""

    @property
    def feeds(self) -> tuple[Tensor, ...]:
        """The fed tensors."""

    @property
    def static(self) -> tuple[int, ...]:
        """The feeds by number whose values the programs are compiled for."""

    @property
    def recyclers(self) -> Sequence[BufferPool]:
        """Memory for each fetched tensor."""

    @property
    def known(self) -> Sequence[Executable]:
        """The programs so far."""


class FastPath(Protocol):
    """Runs programs of one cached run with as little Python as possible."""

    def function(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes the fast path if it can, and else calls `otherwise`."""

    def __call__(self, *values: Any) -> Any:
        """Return the fetched structure for these values, NotImplemented if there is no fast path."""

    def add(self, program: Executable) -> None:
        """Prepare a fast path for a program that has run, if that is possible and worth it."""


class Backend(Protocol):
    """A device that compiles steps and runs them. `name`: as TensorFlow names devices, such as "GPU:0"."""

    @property
    def name(self) -> str: ...

    @property
    def pads(self) -> bool:
        """True if stages compute results whose sizes data decide, with room for the most elements."""

    def store(self) -> VariableStore:
        """Return a store for the values of a session's variables."""

    def pinned(self, array: np.ndarray) -> np.ndarray:
        """Return an array with these elements that the device reads where it lies."""

    def on_host(self, op: Operation) -> bool:
        """Return True if NumPy computes an operation, because the user has pinned it to another device."""

    def compile(
        self, step: Step, static: Sequence[tuple[int, bytes]], checks: Checks | None, fetches: Fetches
    ) -> Executable:
        """Compile a step, or load what it was compiled to before.

        Args:
            step: The step.
            static: The feeds by number whose values it is captured for, with these values.
            checks: The checks of a checked step, which tell what is wrong with a run.
            fetches: What the step computes.
        """

    @property
    def compile_open(self) -> Callable[[Step, Fetches], BindSizes] | None:
        """Compile a step with open sizes; None if the device has no programs of this kind.

        It takes the step and what it computes, and returns what gives the executable for values of the open
        sizes. It raises Undecided if the step cannot be compiled without knowing a size.
        """

    def fast_path(self, programs: Programs, order: Sequence[int], store: VariableStore) -> FastPath:
        """Return a fast path to programs whose feeds come as arguments in `order`."""

    def meter(self) -> Meter:
        """Return a meter, which takes the times of runs."""
