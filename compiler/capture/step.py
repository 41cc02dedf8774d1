"""The step of a run: a Function, and what its arguments and results are to the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Self

from staticgraph.compiler.graph.errors import UninitializedError, layout
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.sizes import AnySize, evaluate, is_open
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.stages import Report
from staticgraph.compiler.support.cached_property import cached_property
from staticgraph.compiler.support.dataclass import dataclass, replace


@dataclass(frozen=True)
class Step:
    """Computation of one run, the sources of its arguments and the destinations of its results.

    The params of `function` are the feeds, then the variables' values before the run, then the counters of
    random ops. Its results are the fetches, then the new values of `writes`, then the new counters of
    `draws`. If there are effects such as prints, a number that depends on them all comes next. In a `checked`
    step, the last result is True if all indices and the like are good: see `graph/checks/requirements.py` and
    `nan_guard.py`.
    """

    function: Function
    feeds: tuple[Tensor, ...]
    reads: tuple[Operation, ...]
    counters: tuple[Operation, ...]
    advances: tuple[AnySize, ...]  # how far each counter moves per run
    fetches: int
    writes: tuple[Operation, ...]
    draws: tuple[Operation, ...] = ()  # random ops in loops, whose new states the step tells
    # The last of the fetches: inputs of host ops, or their padded results by number.
    captured: tuple[tuple[Operation, Tensor | int], ...] = ()
    may_overwrite: bool = True  # variables: not where the run can fail after the step
    losses: int = 0  # how many results come after all others: what derivatives are taken of, for `checked`
    checked: bool = False  # the last result of all is a truth value without which the run changes nothing
    reports: tuple[Report, ...] = field(default=(), repr=False, compare=False)  # of its capture's stages

    def at(self, values: Mapping[str, int]) -> Self:
        """The same step for values of the open sizes, as far as a run looks at it."""
        if not is_open(self.advances):
            return self
        return replace(self, advances=tuple(evaluate(n, values) for n in self.advances))

    @property
    def captured_names(self) -> list[str]:
        """The names of what is captured: of tensors, or such as `part 0 of Where`."""
        return [t.name if isinstance(t, Tensor) else f"part {t} of {op.name}" for op, t in self.captured]

    @cached_property
    def open_blocks(self) -> tuple[AnySize, ...]:
        """The bytes of each value that is computed, if they are open, each size once."""
        computed = (v for node in self.function.nodes for v in node.outputs if is_open(v.shape))
        return tuple(dict.fromkeys(v.size * v.dtype.size for v in computed))

    @cached_property
    def updates(self) -> dict[int, int]:
        """For each result that is a new value of a variable: the argument with the old one, if it is read."""
        if not self.may_overwrite:
            return {}
        old = {op: len(self.feeds) + i for i, op in enumerate(self.reads)}
        return {self.fetches + i: old[op] for i, op in enumerate(self.writes) if op in old}

    def sources(self) -> list[Operation]:
        """Return the variables on which what the step writes depends. Fetches do not count."""
        makers = {value: node for node in self.function.nodes for value in node.outputs}
        waiting = list(self.function.results[self.fetches : self.fetches + len(self.writes)])
        used = set(waiting)
        while waiting:
            if node := makers.get(waiting.pop()):
                new = set(node.inputs) - used
                used |= new
                waiting += new
        params = self.function.params[len(self.feeds) :]
        return [op for op, param in zip(self.reads, params, strict=False) if param in used]

    @cached_property
    def needed(self) -> list[Operation]:
        """The variables that must have a value before the run."""
        used = {v for node in self.function.nodes for v in node.inputs} | set(self.function.results)
        first = len(self.feeds)
        params = self.function.params[first : first + len(self.reads)]
        return [op for op, param in zip(self.reads, params, strict=True) if param in used]


def uninitialized(missing: Sequence[Operation]) -> UninitializedError:
    """Return the error of a run that needs variables without a value. It begins as TensorFlow's does."""
    names = ", ".join(op.name for op in missing[:8]) + (", ..." if len(missing) > 8 else "")
    what = f"variable {names} has no value" if len(missing) == 1 else f"variables {names} have no value"
    text = layout(
        f"Attempting to use uninitialized value {missing[0].name}: {what} yet",
        user_frame(),
        [(op.name, op.where) for op in missing[:3]],
        hint="run global_variables_initializer() first, or restore a checkpoint",
    )
    return UninitializedError(text, missing[0])
