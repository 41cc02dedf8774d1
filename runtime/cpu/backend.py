"""The CPU as a backend: LLVM compiles its steps, and native code calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.runtime.state.variables import VariableStore
from staticgraph.runtime.switches import Settings, cache_folder

if TYPE_CHECKING:
    from staticgraph.compiler.capture.step import Step
    from staticgraph.compiler.compile import Compiled
    from staticgraph.compiler.graph.tensor import Operation
    from staticgraph.runtime.backend import Programs
    from staticgraph.runtime.cpu.disk.loaded_program import LoadedProgram
    from staticgraph.runtime.cpu.executable import CpuExecutable
    from staticgraph.runtime.cpu.fast_path.inline_cache import InlineCache
    from staticgraph.runtime.cpu.measurements.meter import CpuMeter
    from staticgraph.runtime.executable import Checks
    from staticgraph.runtime.fetches import Fetches


def bound(
    made: Compiled | LoadedProgram,
    again: Callable[[], Compiled] | None = None,
    begun: int | None = None,
    limit: int | None = None,
) -> Callable[[Mapping[str, int], Sequence[tuple[int, bytes]], Checks | None], CpuExecutable]:
    """Return a function that gives the executable of a program for values of its open sizes.

    Args:
        made: The program.
        again: Compiles it, if it was only loaded.
        begun: When its compile began, as `jit.mark` gives it; None if it was not compiled here.
        limit: The bytes that a run may need. ResourceExhaustedError for values with which it needs more.
    """
    from staticgraph.runtime.cpu import jit
    from staticgraph.runtime.cpu.executable import CpuExecutable

    first: CpuExecutable | None = None

    def bind(
        values: Mapping[str, int], static: Sequence[tuple[int, bytes]], checks: Checks | None
    ) -> CpuExecutable:
        nonlocal first
        if limit is not None and (made.at(values) if values else made).memory.peak > limit:
            from staticgraph.compiler.lower.buffer_assignment import does_not_fit  # needed only then

            raise does_not_fit(made.closed(values).memory, limit)
        program = CpuExecutable(made, static, checks, again, values, first)
        if first is not None:
            program.origins = first.origins
        elif begun is not None:
            program.origins = jit.origins(made.codes, begun)
        first = first or program
        return program

    return bind


class CpuBackend:
    """Implements `Backend`. Building a graph needs no compiler, so methods import what they need."""

    name = "CPU:0"
    pads = True

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = Settings() if settings is None else settings

    def store(self) -> VariableStore:
        return VariableStore()

    def pinned(self, array: np.ndarray) -> np.ndarray:
        return array

    def on_host(self, op: Operation) -> bool:
        return False

    def compile(
        self, step: Step, static: Sequence[tuple[int, bytes]], checks: Checks | None, fetches: Fetches
    ) -> CpuExecutable:
        return self.compile_open(step, fetches)({}, static, checks)

    def compile_open(
        self, step: Step, fetches: Fetches
    ) -> Callable[[Mapping[str, int], Sequence[tuple[int, bytes]], Checks | None], CpuExecutable]:
        from staticgraph.runtime.cpu import jit

        begun = jit.mark()
        made, again = self._prepared(step, fetches)
        return bound(made, again, begun, self._settings.memory_limit)

    def _prepared(
        self, step: Step, fetches: Fetches
    ) -> tuple[Compiled | LoadedProgram, Callable[[], Compiled] | None]:
        """Return the program of a step, and what compiles it if it was only loaded."""

        def whole() -> Compiled:
            from staticgraph.runtime.cpu.compile import compiled  # as long an import as all the rest

            return compiled(step, self._settings, fetches.text)

        if cache_folder() is None:
            return whole(), None
        from staticgraph.compiler.capture.guards import asking, with_answers_of_now
        from staticgraph.runtime.cpu.disk import disk_cache
        from staticgraph.runtime.cpu.jit import MissingCode, load

        key = disk_cache.key_of(step, self._settings)
        if key is None:
            return whole(), None
        found = disk_cache.recall(key, step)
        if found is not None:
            with suppress(MissingCode):
                load(found.codes)
                return found, with_answers_of_now(whole)
        with asking() as guards:
            try:
                made = whole()
            except Undecided as undecided:
                disk_cache.remember_undecided(key, undecided, guards())
                raise
        disk_cache.remember(key, step, made, guards())
        return made, None

    def fast_path(self, programs: Programs, order: Sequence[int], store: VariableStore) -> InlineCache:
        from staticgraph.runtime.cpu.fast_path.inline_cache import InlineCache

        return InlineCache(programs, order, store)

    def meter(self) -> CpuMeter:
        from staticgraph.runtime.cpu.measurements.meter import CpuMeter

        return CpuMeter()
