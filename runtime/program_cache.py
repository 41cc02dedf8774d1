"""Programs of one set of fetches and fed tensors by signature: each is compiled once, called many times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.capture.open_shapes import OpenShapes, open_shapes
from staticgraph.compiler.capture.request import (
    NO_CALLS,
    SHORT,
    Calls,
    Needs,
    NeedsFeeds,
    NeedsSegments,
    NeedsTypes,
)
from staticgraph.compiler.capture.specialization import Specializer
from staticgraph.compiler.capture.step import Step, uninitialized
from staticgraph.compiler.graph.checks.result_types import addressable
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.runtime.backend import FastPath
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.memory.aligned import from_storage, to_storage
from staticgraph.runtime.memory.buffer_pool import BufferPool
from staticgraph.runtime.memory.recursion import with_room
from staticgraph.runtime.reports.recompile_reason import (
    CallSignature,
    Reason,
    RecompileWarner,
    guard_reason,
    in_words,
    reason,
    symbols_text,
)
from staticgraph.runtime.state.variables import PendingWrites, VariableStore
from staticgraph.runtime.step_compiler import Bind, Bound, StepCompiler

PROGRAM_LIMIT = 128  # batches of ever new sizes must not fill the memory
OPEN_LIMIT = 16  # programs with open sizes


# Which feeds are sizes, the values of others on which shapes depend, and types of variables.
_Fixed = tuple[tuple[int, ...], tuple[tuple[int, bytes], ...], tuple[TensorType | None, ...]]
Capture = Callable[[], Step | Needs]
_Compiled = tuple[tuple[AnySize, ...], Bind] | NeedsFeeds | NeedsTypes


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

    def alike(self, run: _Run) -> bool:
        """Return True if a run differs from those of this program by sizes alone."""
        fixed = self.shapes.sized, self.statics, self.types
        return fixed == run.fixed


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that a program is looked for. `contents`: the elements of feeds that may be sizes."""

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


class ProgramCache:
    """Programs of one set of fetches and fed tensors by signature.

    A signature is the shapes of the feeds, the values of those feeds that shapes depend on, and the types of
    the values of those variables that the graph does not tell.

    Args:
        graph: The user's graph.
        fetches: What the programs compute.
        feeds: The fed tensors, in the order of the arrays that the methods take.
        compiler: Compiles the programs.
        store: The variables.
        calls: The host ops around the programs, which are then one segment of a run.
    """

    def __init__(
        self,
        graph: Graph,
        fetches: Fetches,
        feeds: tuple[Tensor, ...],
        compiler: StepCompiler,
        store: VariableStore,
        calls: Calls = NO_CALLS,
    ) -> None:
        self.graph, self.fetches, self.feeds, self.calls = graph, fetches, feeds, calls
        self.compiler, self.store = compiler, store
        self.static: tuple[int, ...] = ()
        self.variables: tuple[Operation, ...] = ()  # whose types a signature tells
        self.recyclers = [BufferPool() for _ in fetches.tensors]
        self._captured: list[BufferPool] = []  # memory of what host ops take
        self._programs: dict[CallSignature, Executable] = {}
        self._open: list[_OpenProgram] = []
        self._specializers: dict[_Fixed, Specializer] = {}
        # What other stages of a run feed, the user can do nothing about.
        self._warner = RecompileWarner(fetches.text) if calls is NO_CALLS else None

    @property
    def questions(self) -> list[str]:
        """The questions about sizes that are known in programs."""
        return [text for each in self._specializers.values() for text in each.questions]

    @property
    def known(self) -> list[Executable]:
        """The programs so far."""
        return [*self._programs.values()]

    def opened(self, program: Executable) -> OpenShapes | None:
        """Return the shapes of feeds that the code of a program takes, if sizes in them are open."""
        types = program.prepared.program.arguments[: len(self.feeds)]
        given = [type.static_shape for type in types]
        static = program.static
        for each in self._open:
            if dict(each.statics).items() <= static.items() and {*each.shapes.sized} <= static.keys():
                contents = [self._elements(i, static[i]) for i in each.shapes.sized]
                if each.shapes.values((*given, *contents)) is not None:
                    return each.shapes
        return None

    def ready(self, arrays: Sequence[np.ndarray]) -> Executable | NeedsSegments:
        """Return the program for arrays of these shapes, whose variables have the values that it needs."""
        program, store = self.program(arrays), self.store
        if isinstance(program, NeedsSegments):
            return program
        if program.version == store.version:
            return program
        missing = [op for op in program.needed if op not in store]
        if missing:
            raise uninitialized(missing)
        if reshaped := self._reshaped(program):
            self.variables = (*self.variables, *reshaped)
            program = self.program(arrays)
            if isinstance(program, NeedsSegments):
                return program
        program.version = store.version
        return program

    def program(self, arrays: Sequence[np.ndarray]) -> Executable | NeedsSegments:
        """Return the program for arrays of these shapes, compiled if need be; or what must come before it."""
        return with_room(lambda: self._program(arrays))

    def _program(self, arrays: Sequence[np.ndarray]) -> Executable | NeedsSegments:
        try:
            return self._found(arrays, self.compiler.may_be_open)
        except ResourceExhaustedError:
            if self.compiler.settings.memory_limit is None or not self._open:
                raise
        return self._found(arrays, False)  # a program for these sizes alone may store less

    def _found(self, arrays: Sequence[np.ndarray], may_be_open: bool) -> Executable | NeedsSegments:
        started = None
        while True:
            statics = tuple((i, arrays[i].tobytes()) for i in self.static)
            types = {op: self.store.type_of(op) for op in self.variables}
            signature = CallSignature(tuple(a.shape for a in arrays), statics, tuple(types.values()))
            program = self._programs.get(signature)
            if program is not None:
                return program
            static = {self.feeds[i]: arrays[i] for i in self.static}
            run = self._run(signature, static)
            capture = partial(self.step, signature.shapes, static, types)
            if may_be_open and (program := self._bound(run, capture)) is not None:
                return program
            why = self._why(run)
            if started is None:
                self.compiler.allow(self.fetches, why)
                started = time.perf_counter()
            made = self._compile_open(run, static, types) if may_be_open else None
            match capture() if made is None else made:
                case OpenShapes() as shapes:
                    program = self._bound(run, capture)
                    assert program is not None, signature
                    told = symbols_text(shapes, self.feeds), tuple(map(str, shapes.guards))
                    self.compiler.tell(program, self.fetches, why, started, *told)
                    self._warn(why)
                case Step() as step:
                    program = self.compiler.compile(step, statics, self.fetches, why, started)
                    self._keep(signature, program)
                    self._warn(why)
                case NeedsFeeds(feeds):
                    self.know(feeds)
                case NeedsTypes(variables):
                    self.variables = (*self.variables, *variables)
                case needs:
                    return needs

    def adopt(self, program: Executable) -> None:
        """Use a program that was made elsewhere, for feeds of the shapes that it takes."""
        types = program.prepared.program.arguments[: len(self.feeds)]
        self._programs[CallSignature(tuple(t.static_shape for t in types))] = program

    def adopt_open(self, shapes: OpenShapes, blocks: tuple[AnySize, ...], step: Step, bound: Bound) -> None:
        """Use a program with open sizes that was made elsewhere.

        Args:
            shapes: The shapes of the feeds.
            blocks: The bytes of each block of memory of open size.
            step: Its step, of which the Function need not be known.
            bound: Gives the executable for values of the sizes.
        """
        self.know([self.feeds[number] for number in shapes.sized])
        bind = self.compiler.binding(bound, step, self.fetches, last=step.may_overwrite)
        self._open.append(_OpenProgram(shapes, blocks, bind))

    def know(self, tensors: Sequence[Tensor]) -> None:
        """Compile for the values of these feeds from now on."""
        self.static = tuple(sorted({*self.static, *(self.feeds.index(t) for t in tensors)}))

    def _run(self, signature: CallSignature, static: Mapping[Tensor, np.ndarray]) -> _Run:
        contents = {
            i: tuple(value.ravel().tolist())
            for i, (t, value) in zip(self.static, static.items(), strict=True)
            if t.dtype.is_integer and 0 < value.size <= SHORT
        }
        return _Run(signature, contents)

    def _elements(self, number: int, value: bytes) -> list[int]:
        found: list[int] = np.frombuffer(value, self.feeds[number].dtype.numpy).tolist()
        return found

    def _why(self, run: _Run) -> Reason:
        """Return why no program so far takes a run."""
        why = reason(run.signature, [*self._programs], self.feeds, self.variables)
        if not self.compiler.may_be_open:
            return why
        alike = [each.shapes for each in self._open if each.alike(run)]
        questions = self._specializer(run).questions
        start = open_shapes(self.feeds, run.signature.shapes, self.static, run.contents)
        asked = questions if start is None else [in_words(each, start, self.feeds) for each in questions]
        return guard_reason(why, run.rows, alike, asked, self.feeds)

    def _specializer(self, run: _Run) -> Specializer:
        """The search for programs with these values and types: for others, other questions are asked."""
        found = self._specializers.setdefault(run.fixed, Specializer())
        if len(self._specializers) > OPEN_LIMIT:
            del self._specializers[next(iter(self._specializers))]
        return found

    def _warn(self, why: Reason) -> None:
        if self._warner is not None:
            self._warner(why)

    def _keep(self, signature: CallSignature, program: Executable) -> None:
        self._programs[signature] = program
        if len(self._programs) > PROGRAM_LIMIT:
            del self._programs[next(iter(self._programs))]

    def _bound(self, run: _Run, capture: Capture) -> Executable | None:
        """Return a program for all sizes, bound to those of a run; None if there is none for them."""
        for each in self._open:
            values = each.shapes.values(run.rows) if each.alike(run) else None
            if values is not None and addressable(each.blocks, values):
                program = each.bind(values, run.signature.statics, capture)
                if each.last and self._state_types(each.last[0]) == self._state_types(program):
                    program.version = each.last[0].version  # it fits the same variables
                each.last[:] = [program]
                self._keep(run.signature, program)
                return program
        return None

    def _compile_open(
        self,
        run: _Run,
        static: Mapping[Tensor, np.ndarray],
        types: Mapping[Operation, TensorType | None],
    ) -> OpenShapes | NeedsFeeds | NeedsTypes | None:
        """Compile a program with open sizes, as many as can be.

        Returns:
            The open sizes, or what must be known before; None if there can be no such program.
        """
        start = open_shapes(self.feeds, run.signature.shapes, self.static, run.contents)
        if start is None:
            return None

        def make(shapes: OpenShapes) -> _Compiled | None:
            told = {**static, **shapes.contents_of(self.feeds)}
            step = self.step(shapes.shapes, told, types)
            if isinstance(step, NeedsFeeds | NeedsTypes):
                return step
            values = shapes.values(run.rows)
            if not isinstance(step, Step) or values is None:
                return None
            if not addressable(step.open_blocks, values):
                return None
            return step.open_blocks, self.compiler.compile_open(step, self.fetches)

        found: tuple[OpenShapes, _Compiled] | None = self._specializer(run).search(start, run.rows, make)
        if found is None:
            return None
        shapes, made = found
        if isinstance(made, NeedsFeeds | NeedsTypes):
            return made
        blocks, bind = made
        self._open.append(_OpenProgram(shapes, blocks, bind, run.statics, run.signature.types))
        del self._open[:-OPEN_LIMIT]
        return shapes

    def step(
        self,
        shapes: Sequence[tuple[AnySize, ...]],
        static: Mapping[Tensor, np.ndarray],
        types: Mapping[Operation, TensorType | None],
    ) -> Step | Needs:
        """Capture the step of a run.

        Args:
            shapes: The shapes of the feeds.
            static: The values of those feeds for whose values the step is captured.
            types: The types of variables that the graph does not tell.
        """
        with collector_paused(may_collect=False):
            from staticgraph.compiler.capture.capture import capture
            from staticgraph.compiler.capture.request import CaptureRequest

        feeds = {t: TensorType(t.dtype, shape) for t, shape in zip(self.feeds, shapes, strict=True)}
        tensors, targets = self.fetches.tensors, self.fetches.targets
        settings, on_host = self.compiler.settings, self.compiler.backend.on_host
        losses, checks = settings.check_nan, settings.check_bounds
        request = CaptureRequest(
            self.graph, tensors, targets, feeds, types, static, self.calls, losses, on_host, checks
        )
        return capture(request)

    def run(self, program: Executable, arrays: Sequence[np.ndarray]) -> Any:
        """Return the fetched structure for these values of the feeds; commit new values to the store."""
        fetched, changes = self.call(program, arrays)
        changes.commit(self.store)
        return self.fetches.assemble([value[()] for value in fetched])

    def call(
        self, program: Executable, arrays: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], PendingWrites]:
        """Run the program: the fetches, and what is to change in the store."""
        stored = [to_storage(a, t.dtype) for a, t in zip(arrays, self.feeds, strict=True)]
        step = program.prepared.step
        if (more := step.fetches - len(self.recyclers) - len(self._captured)) > 0:
            self._captured += [BufferPool() for _ in range(more)]
        pools = (*self.recyclers, *self._captured)[: step.fetches]
        results, changes = program.step(stored, self.store, pools)
        types = program.prepared.program.results
        return [from_storage(r, t.dtype) for r, t in zip(results, types, strict=False)], changes

    def fast_path(self, order: tuple[int, ...]) -> FastPath:
        """Return a new fast path for feeds that come as arguments in `order`. It refers to this cache."""
        return self.compiler.backend.fast_path(self, order, self.store)

    def _state_types(self, program: Executable) -> tuple[TensorType, ...]:
        return program.prepared.program.arguments[len(self.feeds) :]

    def _reshaped(self, program: Executable) -> list[Operation]:
        """Return the variables whose value has another shape than the program reads."""
        reads = program.prepared.step.reads
        types = self._state_types(program)[: len(reads)]
        pairs = ((op, self.store.type_of(op), type) for op, type in zip(reads, types, strict=True))
        return [op for op, found, type in pairs if found is not None and found.shape != type.shape]
