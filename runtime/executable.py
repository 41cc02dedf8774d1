"""A compiled step that can be called, for any device, and what a run looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

if TYPE_CHECKING:
    from staticgraph.compiler.capture.step import Step
    from staticgraph.compiler.graph.tensor import Operation
    from staticgraph.compiler.lower.buffer_assignment import MemoryUse
    from staticgraph.compiler.lower.program import Program
    from staticgraph.runtime.state.memory import BufferPool
    from staticgraph.runtime.state.variables import PendingWrites, VariableStore

Origins = tuple[int, int, int]  # how many functions were compiled, found in memory, found on disk


class Checks(Protocol):
    """The checks of a step: `sound` is its last result, `fail` tells what is wrong. See `CheckedStep`."""

    @property
    def sound(self) -> np.ndarray:
        """One truth value: False if the run must change nothing."""

    @property
    def finite(self) -> bool:
        """True if the step also tells if all that it makes is finite."""

    @property
    def last(self) -> bool:
        """False if something that may fail comes after the step."""

    def fail(self, arguments: Sequence[np.ndarray]) -> NoReturn:
        """Raise the error for a run with these arguments, as compiled code holds them."""


class Prepared(Protocol):
    """A compiled step, as far as a run looks at it."""

    @property
    def step(self) -> Step:
        """The step: which variables it reads and writes, and what its params and results are."""

    @property
    def program(self) -> Program:
        """Its program: the types of arguments and results, and which results overwrite an argument."""

    @property
    def memory(self) -> MemoryUse:
        """Memory use of the step, by kind."""


class Executable(Protocol):
    """A compiled step, ready to run. Not for two threads at once.

    Attributes:
        version: The version of the variables for which it was last found to fit; -1 before that.
        origins: The origin of its functions when it was made.
    """

    version: int
    origins: Origins

    @property
    def static(self) -> Mapping[int, bytes]:
        """The feeds by number whose values it is compiled for, with these values."""

    @property
    def needed(self) -> Sequence[Operation]:
        """The variables that must have a value."""

    @property
    def checks(self) -> Checks | None:
        """The checks of a checked step."""

    @property
    def prepared(self) -> Prepared:
        """The compiled step, as far as a run looks at it."""

    @property
    def compiled(self) -> Any:
        """The compiled step with all its stages. May compile it, if it was only loaded."""

    def step(
        self, feeds: Sequence[np.ndarray], store: VariableStore, recyclers: Sequence[BufferPool] = ()
    ) -> tuple[list[np.ndarray], PendingWrites]:
        """Run the step.

        Args:
            feeds: The fed values, as compiled code holds them.
            store: The variables, which do not change yet.
            recyclers: Memory for results, as far as there are any.

        Returns:
            The fetched values as compiled code holds them, and the pending writes.
        """

    def settle(self, store: VariableStore, interrupted: bool) -> None:
        """End a run whose writes were made, or that was interrupted before. Writes that began are made."""
