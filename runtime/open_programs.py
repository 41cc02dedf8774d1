"""Programs that are good for all values of the sizes that a graph leaves open, and the search for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

import numpy as np

from staticgraph.compiler.capture.open_shapes import OpenShapes, Specializer, open_shapes
from staticgraph.compiler.capture.step import SHORT, Needs, NeedsFeeds, NeedsStage, NeedsTypes, Step
from staticgraph.compiler.graph.checks.result_types import addressable, has_addresses
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.reports.recompile_reason import (
    CallSignature,
    Reason,
    guard_reason,
    guards_text,
    in_words,
    symbols_text,
)
from staticgraph.runtime.step_compiler import Bind, Bound, StepCompiler

PROGRAM_LIMIT = 16

# Which feeds are sizes, the values of others on which shapes depend, and types of variables.
_Fixed = tuple[tuple[int, ...], tuple[tuple[int, bytes], ...], tuple[TensorType | None, ...]]
_Compiled = tuple[tuple[AnySize, ...], Bind] | NeedsFeeds | NeedsTypes | NeedsStage
Capture = Callable[[], Step | Needs]
Types = Mapping[Operation, TensorType | None]  # of variables that the graph does not tell


class CaptureStep(Protocol):
    """`ProgramCache.step`: captures the step for shapes of feeds, values of some, and types of variables."""

    def __call__(
        self, shapes: Sequence[tuple[AnySize, ...]], static: Mapping[Tensor, np.ndarray], types: Types, /
    ) -> Step | Needs: ...


@dataclass(frozen=True, slots=True)
class _OpenProgram:
    """A program for all values of the open sizes in `shapes`, and what else it is good for.

    `blocks`: the bytes of each value that its step computes, if they are open. `statics`: the values of feeds
    that are not among those of `shapes`, on which shapes depend. `last`: the program for the sizes that were
    last asked for, if there is one.
    """

    shapes: OpenShapes
    blocks: tuple[AnySize, ...]
    bind: Bind
    statics: tuple[tuple[int, bytes], ...] = ()
    types: tuple[TensorType | None, ...] = ()
    last: list[Executable] = field(default_factory=list)

    def alike(self, run: OpenRun) -> bool:
        """Return True if a run differs from those of this program by sizes alone."""
        fixed = self.shapes.sized, self.statics, self.types
        return fixed == run.fixed


class OpenPrograms:
    """Programs of one set of fetches and fed tensors, each for all values of some open sizes.

    Args:
        feeds: The fed tensors.
        fetches: What the programs compute.
        compiler: Compiles the programs.
        capture: Captures the step of a run.
    """

    def __init__(
        self, feeds: tuple[Tensor, ...], fetches: Fetches, compiler: StepCompiler, capture: CaptureStep
    ) -> None:
        self.feeds, self.fetches, self.compiler, self.capture = feeds, fetches, compiler, capture
        self.programs: list[_OpenProgram] = []
        self._specializers: dict[_Fixed, Specializer] = {}

    @property
    def questions(self) -> list[str]:
        """The questions about sizes that are known in programs."""
        return [text for each in self._specializers.values() for text in each.questions]

    def run(self, signature: CallSignature, static: Mapping[int, np.ndarray]) -> OpenRun:
        """Return a run with this signature and these values of feeds, by their numbers."""
        contents = {
            i: tuple(value.ravel().tolist())
            for i, value in static.items()
            if self.feeds[i].dtype.is_integer and 0 < value.size <= SHORT
        }
        return OpenRun(self, signature, contents)

    def adopt(self, shapes: OpenShapes, blocks: tuple[AnySize, ...], step: Step, bound: Bound) -> None:
        """Use a program that was made elsewhere: see `ProgramCache.adopt_open`."""
        bind = self.compiler.binding(bound, step, self.fetches, last=step.may_overwrite)
        self.programs.append(_OpenProgram(shapes, blocks, bind))

    def opened(self, program: Executable) -> OpenShapes | None:
        """Return the shapes of feeds that the code of a program takes, if sizes in them are open."""
        types = program.prepared.program.arguments[: len(self.feeds)]
        given = [type.static_shape for type in types]
        static = program.static
        for each in self.programs:
            if dict(each.statics).items() <= static.items() and {*each.shapes.sized} <= static.keys():
                contents = [self._elements(i, static[i]) for i in each.shapes.sized]
                if each.shapes.values((*given, *contents)) is not None:
                    return each.shapes
        return None

    def _elements(self, number: int, value: bytes) -> list[int]:
        found: list[int] = np.frombuffer(value, self.feeds[number].dtype.numpy).tolist()
        return found

    def specializer(self, fixed: _Fixed) -> Specializer:
        """The search for programs with these values and types: for others, other questions are asked."""
        found = self._specializers.setdefault(fixed, Specializer())
        if len(self._specializers) > PROGRAM_LIMIT:
            del self._specializers[next(iter(self._specializers))]
        return found

    def state_types(self, program: Executable) -> tuple[TensorType, ...]:
        """The types of the arguments of a program that are not feeds."""
        return program.prepared.program.arguments[len(self.feeds) :]


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that a program is looked for, `among` some.

    `contents`: the elements of feeds that may be sizes.
    """

    among: OpenPrograms
    signature: CallSignature
    contents: Mapping[int, tuple[int, ...]]

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the feeds, then the contents."""
        return (*self.signature.shapes, *self.contents.values())

    @property
    def statics(self) -> tuple[tuple[int, bytes], ...]:
        """The values of feeds that cannot be sizes, on which shapes depend all the same."""
        return tuple(each for each in self.signature.statics if each[0] not in self.contents)

    @property
    def fixed(self) -> _Fixed:
        """All that makes another program necessary but sizes."""
        return tuple(self.contents), self.statics, self.signature.types

    def program(self, capture: Capture) -> Executable | None:
        """Return a program for all sizes, bound to those of this run; None if there is none for them.

        `capture` captures the step for the sizes of the run, if these are refused.
        """
        state_types = self.among.state_types
        for each in self.among.programs:
            values = each.shapes.values(self.rows) if each.alike(self) else None
            if values is not None and addressable(each.blocks, values):
                try:
                    program = each.bind(values, self.signature.statics, capture)
                except ResourceExhaustedError as error:
                    from staticgraph.runtime.reports.refused_sizes import with_sizes  # needed only then

                    raise with_sizes(error, each.shapes, self.rows, self.among.feeds) from None
                if not all(map(has_addresses, program.prepared.program.results)):
                    capture()  # raises what the type rule says of such a shape
                if each.last and state_types(each.last[0]) == state_types(program):
                    program.version = each.last[0].version  # it fits the same variables
                each.last[:] = [program]
                return program
        return None

    @property
    def failure(self) -> Exception | None:
        """The error that the search for a program met, if it found none: of the compiler, or of a user."""
        return self.among.specializer(self.fixed).failure

    def why(self, why: Reason) -> Reason:
        """Return why no program is good for this run, from the reason why none for its sizes alone is."""
        feeds = self.among.feeds
        alike = [each.shapes for each in self.among.programs if each.alike(self)]
        questions = self.among.specializer(self.fixed).questions
        start = self._start()
        asked = questions if start is None else [in_words(each, start, feeds) for each in questions]
        return guard_reason(why, self.rows, alike, asked, feeds)

    def compile(
        self,
        static: Mapping[Tensor, np.ndarray],
        types: Types,
        capture: Capture,
        why: Reason,
        started: float,
    ) -> Executable | NeedsFeeds | NeedsTypes | NeedsStage | None:
        """Compile a program with as many open sizes as can be, and tell observers.

        Args:
            static: The values of feeds for which the step is captured.
            types: The types of variables.
            capture: As of `program`.
            why: Why it is compiled.
            started: The time of `perf_counter` when that began.

        Returns:
            The program, bound to the sizes of this run, or what must be known before; None if there can be no
            such program.
        """
        start, of = self._start(), self.among
        if start is None:
            return None

        def make(shapes: OpenShapes) -> _Compiled | None:
            step = of.capture(shapes.shapes, {**static, **shapes.contents_of(of.feeds)}, types)
            if isinstance(step, NeedsFeeds | NeedsTypes | NeedsStage):
                return step
            values = shapes.values(self.rows)
            if not isinstance(step, Step) or values is None:
                return None
            if not addressable(step.open_blocks, values):
                return None
            return step.open_blocks, of.compiler.compile_open(step, of.fetches)

        search = of.specializer(self.fixed).search
        found: tuple[OpenShapes, _Compiled] | None = search(start, self.rows, make)
        if found is None:
            return None
        shapes, made = found
        if isinstance(made, NeedsFeeds | NeedsTypes | NeedsStage):
            return made
        of.programs.append(_OpenProgram(shapes, *made, self.statics, self.signature.types))
        del of.programs[:-PROGRAM_LIMIT]
        program = self.program(capture)
        assert program is not None, self.signature
        told = symbols_text(shapes, of.feeds), guards_text(shapes)
        of.compiler.tell(program, of.fetches, why, started, *told)
        return program

    def _start(self) -> OpenShapes | None:
        """Return the shapes of this run with all sizes open that may be; None if none may."""
        closed = [number for number, _ in self.signature.statics]
        return open_shapes(self.among.feeds, self.signature.shapes, closed, self.contents)
