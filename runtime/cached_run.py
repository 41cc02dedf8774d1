"""Cached run of one set of fetches: its programs by signature, each compiled once and called many times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.capture.calls import NO_CALLS, Calls
from staticgraph.compiler.capture.needs import Needs, NeedsFeeds, NeedsHost, NeedsStage, NeedsTypes
from staticgraph.compiler.capture.step import Step, uninitialized
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.runtime.compile_log import CompileLog
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.memory.aligned import from_storage, to_storage
from staticgraph.runtime.memory.buffer_pool import BufferPool
from staticgraph.runtime.reports.recompile_reason import CallSignature, reason
from staticgraph.runtime.variables import PendingWrites, VariableStore

PROGRAM_LIMIT = 128  # per set of fetches: batches of ever new sizes must not fill the memory


class FastPath(Protocol):
    """The fast path of a cached run: it runs programs with as little Python as possible."""

    def function(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes the fast path if it can, and else calls `otherwise`."""

    def __call__(self, *values: Any) -> Any:
        """Return the fetched structure for these values, NotImplemented if there is no fast path."""

    def add(self, program: Executable) -> None:
        """Prepare a fast path for a program that has run, if that is possible and worth it."""


class Segmented(Protocol):
    """A run in several compiled segments, as far as others than `SegmentedRun` look at it."""

    @property
    def changes_early(self) -> bool:
        """True if variables may be changed before the whole run has succeeded."""

    def take_failed(self) -> Any:
        """Return the state of the run that failed last, once; None if there is none."""


@dataclass(slots=True)
class CachedRun:
    """One set of fetches and fed tensors, and its programs by signature.

    A signature is the shapes of the feeds, the values of those feeds that shapes depend on, and the types of
    the values of those variables that the graph does not tell.
    """

    graph: Graph
    fetches: Fetches
    feeds: tuple[Tensor, ...]
    compile_log: CompileLog = field(default_factory=CompileLog)
    calls: Calls = NO_CALLS
    static: tuple[int, ...] = ()
    variables: tuple[Operation, ...] = ()
    programs: dict[CallSignature, Executable] = field(default_factory=dict)
    staged: Segmented | None = None  # what runs this, where it takes more than one step
    chain: FastPath | None = None  # what runs this as the last of several stages
    recyclers: list[BufferPool] = field(init=False)  # one per fetched tensor

    def __post_init__(self) -> None:
        self.recyclers = [BufferPool() for _ in self.fetches.tensors]

    def ready(
        self, arrays: Sequence[np.ndarray], store: VariableStore
    ) -> Executable | NeedsStage | NeedsHost:
        """The program for arrays of these shapes, whose variables have the values that it needs."""
        program = self.program(arrays, store)
        if not isinstance(program, Executable):
            return program
        if program.version == store.version:
            return program
        missing = [op for op in program.needed if op not in store]
        if missing:
            raise uninitialized(missing)
        if reshaped := self._reshaped(program, store):
            self.variables = (*self.variables, *reshaped)
            program = self.program(arrays, store)
            if not isinstance(program, Executable):
                return program
        program.version = store.version
        return program

    def program(
        self, arrays: Sequence[np.ndarray], store: VariableStore
    ) -> Executable | NeedsStage | NeedsHost:
        """The program for arrays of these shapes, compiled if need be; or what must come before it."""
        begun = None
        while True:
            statics = tuple((i, arrays[i].tobytes()) for i in self.static)
            types = {op: store.type_of(op) for op in self.variables}
            signature = CallSignature(tuple(a.shape for a in arrays), statics, tuple(types.values()))
            program = self.programs.get(signature)
            if program is not None:
                return program
            why = reason(signature, [*self.programs], self.feeds, self.variables)
            if begun is None:
                begun = self.compile_log.begin(self.fetches, why), time.perf_counter()
            match self.step(arrays, types):
                case NeedsFeeds(feeds):
                    self.know(feeds)
                case NeedsTypes(variables):
                    self.variables = (*self.variables, *variables)
                case Step() as step:
                    program = self.compile_log.program(step, statics, self.fetches, why, begun)
                    self.programs[signature] = program
                    if len(self.programs) > PROGRAM_LIMIT:
                        del self.programs[next(iter(self.programs))]
                case needs:
                    return needs

    def adopt(self, program: Executable) -> None:
        """Use a program that was made elsewhere, for feeds of the shapes that it takes."""
        types = program.prepared.program.arguments[: len(self.feeds)]
        self.programs[CallSignature(tuple(t.static_shape for t in types))] = program

    def _reshaped(self, program: Executable, store: VariableStore) -> list[Operation]:
        """The variables whose value has another shape than the program reads."""
        reads = program.prepared.step.reads
        types = program.prepared.program.arguments[len(self.feeds) : len(self.feeds) + len(reads)]
        pairs = ((op, store.type_of(op), type) for op, type in zip(reads, types, strict=True))
        return [op for op, found, type in pairs if found is not None and found.shape != type.shape]

    def know(self, tensors: Sequence[Tensor]) -> None:
        """Compile for the values of these feeds from now on."""
        self.static = tuple(sorted({*self.static, *(self.feeds.index(t) for t in tensors)}))

    def step(self, arrays: Sequence[np.ndarray], types: dict[Operation, TensorType | None]) -> Step | Needs:
        """Capture the step of a run with arrays of these shapes and variables of these types."""
        with collector_paused():
            from staticgraph.compiler.capture.capture import capture
            from staticgraph.compiler.capture.request import CaptureRequest

        feeds = {t: TensorType(t.dtype, a.shape) for t, a in zip(self.feeds, arrays, strict=True)}
        static = {self.feeds[i]: arrays[i] for i in self.static}
        tensors, targets = self.fetches.tensors, self.fetches.targets
        settings, on_host = self.compile_log.settings, self.compile_log.on_host
        losses, checks = settings.check_nan, settings.check_bounds
        request = CaptureRequest(
            self.graph, tensors, targets, feeds, types, static, self.calls, losses, on_host, checks
        )
        with self.compile_log.capturing():
            return capture(request)

    def run(self, program: Executable, arrays: Sequence[np.ndarray], store: VariableStore) -> Any:
        """Return the fetched structure for these values of the feeds; commit new values to `store`."""
        fetched, changes = self.call(program, arrays, store)
        changes.commit(store)
        return self.fetches.assemble([value[()] for value in fetched])

    def call(
        self, program: Executable, arrays: Sequence[np.ndarray], store: VariableStore
    ) -> tuple[list[np.ndarray], PendingWrites]:
        """Run the program: the fetches, and what is to change in `store`."""
        stored = [to_storage(a, t.dtype) for a, t in zip(arrays, self.feeds, strict=True)]
        results, changes = program.step(stored, store, self.recyclers)
        fetched = (*self.fetches.tensors, *(t for _, t in program.prepared.step.captured))
        return [from_storage(r, t.dtype) for r, t in zip(results, fetched, strict=True)], changes
