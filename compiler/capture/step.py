"""Request and result of a capture: the step of a run, or what must be known before.

A request has the fetches and targets of a run, all that is known about its inputs, and the host operations
around the step. A step is a Function, and what its arguments and results are to the session. If something is
lacking, the caller finds the answer and captures again:

    match capture(request):
        case Step() as step: ...           # the whole run is captured
        case NeedsFeeds(feeds): ...        # add their values to `request.static`
        case NeedsTypes(variables): ...    # add the types of their values to `request.types`
        case NeedsStage(tensors): ...      # compute them in an earlier stage, and feed them
        case NeedsHost(operation): ...     # call it first, and feed its results

Within a capture, whatever cannot go on returns such a value, and each function on the way hands it up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Self

import numpy as np

from staticgraph.compiler.graph.errors import UninitializedError, layout
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.graph.sizes import AnySize, evaluate, is_open
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.stages import Report
from staticgraph.compiler.support.dataclass import cached_property, dataclass, replace


@dataclass(frozen=True, slots=True)
class Calls:
    """The host ops around one compiled stage of a run.

    `after`: those that the stage computes the inputs of. `elsewhere`: those that the stage must leave out,
    and operations that an earlier stage has done.
    """

    after: tuple[Operation, ...] = ()
    elsewhere: frozenset[Operation] = frozenset()
    final: bool = True  # whether the variables get the new values that the stage computes
    region: Region | None = None  # whose operations it is about: of the graph itself, or of a loop or branch
    may_fail: bool = False  # whether the run can fail after the stage: variables may not be overwritten in it
    pads: bool = False  # whether the stage computes the padded results of ops in `after` that have such
    settled: frozenset[Tensor] = frozenset()  # fed tensors of before a cut: no derivative flows through them


NO_CALLS = Calls()
SHORT = 16  # elements of feeds: shapes depend on the values of no more than these


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """Question that a capture answers with a step or with a need.

    Attributes:
        graph: The user's graph.
        fetches: The tensors to return.
        targets: The operations to run.
        feeds: The fed tensors with their static types.
        types: Types of the values that variables have before the run, None if a variable has no value.
        static: Values of feeds, for which the step is compiled; open sizes are elements of such a value.
        calls: The host ops around the step.
        losses: True if the step also returns the tensors that are differentiated.
        on_host: Test if NumPy shall compute an operation, as far as that can be.
        checks: True if the step tests what its operations require of their inputs, such as indices in range.
    """

    graph: Graph
    fetches: Sequence[Tensor]
    targets: Sequence[Operation]
    feeds: Mapping[Tensor, TensorType]
    types: Mapping[Operation, TensorType | None] = field(default_factory=dict)
    static: Mapping[Tensor, np.ndarray] = field(default_factory=dict)
    calls: Calls = NO_CALLS
    losses: bool = False
    on_host: Callable[[Operation], bool] = lambda op: False
    checks: bool = False


@dataclass(frozen=True, slots=True)
class NeedsFeeds:
    """Values of feeds, on which a shape, an axis or the branch that is taken depends."""

    feeds: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class NeedsTypes:
    """Types of variables: the step depends on whether they have values, or on the shapes of these."""

    variables: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class NeedsStage:
    """Values of tensors, on which a shape or an axis depends: an earlier stage must compute them.

    `of_sizes`: True if they follow from open sizes alone. They would be known in a step for given sizes.
    """

    tensors: tuple[Tensor, ...]
    of_sizes: bool = False


@dataclass(frozen=True, slots=True)
class NeedsHost:
    """Results of a host op, which constants alone do not tell: Python must call it before the step."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class NeedsRows:
    """Shapes of the rows of arrays that were made before one was written, by the number of each array.

    `capture` answers this need itself: it begins anew and makes the arrays in these shapes.
    """

    shapes: Mapping[int, Shape]


Needs = NeedsFeeds | NeedsTypes | NeedsStage | NeedsHost  # the caller's to answer
NeedsSegments = NeedsStage | NeedsHost  # a run in several segments answers these
Stop = Needs | NeedsRows  # all that ends a walk before its last operation
Collected = NeedsFeeds | NeedsStage | NeedsRows  # of which a walk collects several


def joined(before: Collected | None, stop: Collected) -> Collected:
    """Return one need in place of two, if one answer does for both; else the one to answer first."""
    match before, stop:
        case None, _:
            return stop
        case NeedsFeeds(first), NeedsFeeds(more):
            return NeedsFeeds(tuple(dict.fromkeys((*first, *more))))
        case NeedsStage(first, of_sizes), NeedsStage(more) if of_sizes == stop.of_sizes:
            return NeedsStage(tuple(dict.fromkeys((*first, *more))), of_sizes)
        case NeedsRows(shapes), NeedsRows(found):
            return NeedsRows({**found, **shapes})
        case NeedsStage(), NeedsFeeds():  # no stage need run for it
            return stop
        case _:
            return before


def lacking_operations(stop: Stop) -> tuple[Operation, ...]:
    """Return the operations whose results an earlier stage or Python must compute."""
    match stop:
        case NeedsHost(operation):
            return (operation,)
        case NeedsStage(tensors):
            return tuple(t.op for t in tensors)
    return ()


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
        """Return the step for values of the open sizes, as far as a run looks at it."""
        if not is_open(self.advances):
            return self
        return replace(self, advances=tuple(evaluate(n, values) for n in self.advances))

    @property
    def only_sets(self) -> bool:
        """True if the step does nothing but give values to variables, and depends on no feed and variable."""
        return bool(self.writes) and not (self.feeds or self.reads or self.fetches)

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
