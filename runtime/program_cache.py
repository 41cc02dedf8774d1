"""Programs of one set of fetches and fed tensors by signature: each is compiled once, called many times."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.capture.step import (
    NO_CALLS,
    Calls,
    Needs,
    NeedsFeeds,
    NeedsHost,
    NeedsSegments,
    NeedsStage,
    NeedsTypes,
    Step,
    uninitialized,
)
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.reports.recompile_reason import CallSignature, Reason, RecompileWarner, reason
from staticgraph.runtime.state.memory import BufferPool, from_storage, to_storage, with_room
from staticgraph.runtime.state.variables import PendingWrites, VariableStore
from staticgraph.runtime.step_compiler import Bound, StepCompiler

if TYPE_CHECKING:
    from staticgraph.compiler.capture.open_shapes import OpenShapes
    from staticgraph.runtime.backend import FastPath
    from staticgraph.runtime.open_programs import OpenPrograms, OpenRun

PROGRAM_LIMIT = 128  # batches of ever new sizes must not fill the memory


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
        self._open: OpenPrograms | None = None
        # What other stages of a run feed, the user can do nothing about.
        self._warner = RecompileWarner(fetches.text) if calls is NO_CALLS else None

    @property
    def questions(self) -> list[str]:
        """The questions about sizes that are known in programs."""
        return [] if self._open is None else self._open.questions

    @property
    def known(self) -> list[Executable]:
        """The programs so far."""
        return [*self._programs.values()]

    def opened(self, program: Executable) -> OpenShapes | None:
        """Return the shapes of feeds that the code of a program takes, if sizes in them are open."""
        return None if self._open is None else self._open.opened(program)

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
            if self.compiler.settings.memory_limit is None or self._open is None or not self._open.programs:
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
            capture = partial(self.step, signature.shapes, static, types)
            run = self._open_run(signature, static) if may_be_open else None
            if run is not None and (program := run.program(capture)) is not None:
                return self._keep(signature, program)
            why = reason(signature, [*self._programs], self.feeds, self.variables)
            if run is not None:
                why = run.why(why)
            if started is None:
                self.compiler.allow(self.fetches, why)
                started = time.perf_counter()
            made = None if run is None else run.compile(static, types, capture, why, started)
            match capture() if made is None else made:
                case Step() as step:
                    program = self.compiler.compile(step, statics, self.fetches, why, started)
                    self._keep(signature, program)
                    self._warn(why, None if run is None else run.failure)
                case NeedsFeeds(feeds):
                    self.know(feeds)
                case NeedsTypes(variables):
                    self.variables = (*self.variables, *variables)
                case NeedsStage() | NeedsHost() as needs:
                    return needs
                case program:
                    self._warn(why)
                    return self._keep(signature, program)

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
        self._open_programs().adopt(shapes, blocks, step, bound)

    def know(self, tensors: Sequence[Tensor]) -> None:
        """Compile for the values of these feeds from now on."""
        self.static = tuple(sorted({*self.static, *(self.feeds.index(t) for t in tensors)}))

    def _open_programs(self) -> OpenPrograms:
        if self._open is None:
            from staticgraph.runtime.open_programs import OpenPrograms  # many graphs leave no size open

            self._open = OpenPrograms(self.feeds, self.fetches, self.compiler, self.step)
        return self._open

    def _open_run(self, signature: CallSignature, static: Mapping[Tensor, np.ndarray]) -> OpenRun | None:
        """Return a run as one whose program may be good for other sizes, too; None if no size is open."""
        if static or any(t.type.shape is None or None in t.type.shape for t in self.feeds):
            return self._open_programs().run(signature, dict(zip(self.static, static.values(), strict=True)))
        return None

    def _warn(self, why: Reason, failure: Exception | None = None) -> None:
        if self._warner is not None:
            self._warner(why)
            if failure is not None:
                self._warner.failed(failure)

    def _keep(self, signature: CallSignature, program: Executable) -> Executable:
        self._programs[signature] = program
        if len(self._programs) > PROGRAM_LIMIT:
            del self._programs[next(iter(self._programs))]
        return program

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
            from staticgraph.compiler.capture.step import CaptureRequest

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
        interrupted = True
        try:
            fetched, changes = self.call(program, arrays)
            changes.commit(self.store)
            interrupted = False
        finally:
            program.settle(self.store, interrupted)
        return self.fetches.assemble([value[()] for value in fetched])

    def call(
        self, program: Executable, arrays: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], PendingWrites]:
        """Run the program: the fetches, and what is to change in the store."""
        stored = [to_storage(a, t.dtype) for a, t in zip(arrays, self.feeds, strict=True)]
        results, changes = program.step(stored, self.store, self.pools(program.prepared.step.fetches))
        types = program.prepared.program.results
        return [from_storage(r, t.dtype) for r, t in zip(results, types, strict=False)], changes

    def pools(self, count: int) -> tuple[BufferPool, ...]:
        """Return memory for so many results: for what is fetched, then for what host ops take."""
        if (more := count - len(self.recyclers) - len(self._captured)) > 0:
            self._captured += [BufferPool() for _ in range(more)]
        return (*self.recyclers, *self._captured)[:count]

    def fast_path(self, order: tuple[int, ...]) -> FastPath:
        """Return a new fast path for feeds that come as arguments in `order`. It refers to this cache."""
        return self.compiler.backend.fast_path(self, order, self.store)

    def _reshaped(self, program: Executable) -> list[Operation]:
        """Return the variables whose value has another shape than the program reads."""
        reads = program.prepared.step.reads
        types = program.prepared.program.arguments[len(self.feeds) :][: len(reads)]
        pairs = ((op, self.store.type_of(op), type) for op, type in zip(reads, types, strict=True))
        return [op for op, found, type in pairs if found is not None and found.shape != type.shape]
