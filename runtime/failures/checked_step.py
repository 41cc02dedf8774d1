"""The guard of a checked step: finds out why a run was refused, and says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import NoReturn

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.world import MEMBERSHIP
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.state.memory import empty, from_storage


@dataclass(frozen=True)
class CheckedStep:
    """Finder of the reason why a run of one program is refused.

    Attributes:
        graph: The user's graph.
        make: Gives the step as the compiler was given it, all checks included.
        last: False if something that may fail comes after the step.
        finite: True if the step also tells if all that it makes is finite.
        sound: The step's last result: one truth value.
    """

    graph: Graph
    make: Callable[[], Step]
    last: bool = True
    finite: bool = False
    sound: np.ndarray = field(default_factory=lambda: empty(TensorType(bool_, ())))

    @cached_property
    def step(self) -> Step:
        """The step as the compiler was given it."""
        return self.make()

    def fail(self, arguments: Sequence[np.ndarray]) -> NoReturn:
        """Raise the error for a run with these arguments, as compiled code holds them."""
        # What only runs that fail need.
        from staticgraph.runtime.failures.not_finite import not_finite
        from staticgraph.runtime.failures.unmet import unmet
        from staticgraph.runtime.processes.mirror import without_others

        values = [from_storage(a, p.dtype) for a, p in zip(arguments, self.step.function.params, strict=True)]
        with without_others():
            error = unmet(self.graph, self.step, values)
            if error is None and self.finite:
                error = not_finite(self.graph, self.step, values)
        if error is None and MEMBERSHIP.world.size > 1:
            text = "the run had an index or the like out of range, of what another process gave"
            error = misuse(InvalidArgumentError, text, "the error of that process names the line")
        if error is None:
            text = "the run had an index or the like out of range, which it has not if NumPy performs the ops"
            hint = "it is computed of numbers that kernels round a little differently"
            error = misuse(InvalidArgumentError, text, hint)
        raise error from None
