"""One way of calling a plan: its feeds in the order of a caller's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import (
    FeedError,
    OpError,
    ResourceExhaustedError,
    headline,
    hint,
    layout,
    misuse,
    shown,
)
from staticgraph.compiler.graph.provenance import Provenance, user_frame
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.runtime.cached_run import CachedRun
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.failures.crash_dump import kept
from staticgraph.runtime.fast_path.inline_cache import fast_path
from staticgraph.runtime.feeds import Converter
from staticgraph.runtime.host_ops.segmented_run import needs_stages, staged
from staticgraph.runtime.variables import VariableStore


class Caller:
    """Calls `plan` with the values of `feeds`, the same tensors as the plan's in any order."""

    def __init__(self, plan: CachedRun, feeds: Sequence[Tensor], store: VariableStore) -> None:
        self.runs = 0  # through Python
        self._plan = plan
        self._store = store
        self._converters = [Converter(t) for t in feeds]
        self._order = [plan.feeds.index(t) for t in feeds]  # the plan's feed that each argument is
        self._chain = fast_path(plan, self._order, store)
        self._staged = plan.staged is not None or needs_stages(plan)

    def function(self) -> Callable[..., Any]:
        """A function that does the same as this object, without Python where it can."""
        return self._chain.function(self)

    def __call__(self, *values: Any, **_: Any) -> Any:
        """The fetched structure for these values of the feeds."""
        if len(values) != len(self._order):
            raise misuse(TypeError, f"the callable takes {len(self._order)} values, {len(values)} were given")
        with self._store:
            self.runs += 1
            try:
                made = self._chain(*values)
                return self._convert(values) if made is NotImplemented else made
            except MemoryError as error:
                if isinstance(error, OpError) and (error.op or hint(error)):
                    raise  # it tells what was too large
                raise self._exhausted(error, values) from None
            except OpError as error:
                if error.op is None and error.place is not None:
                    error.op = self._operation(*error.place)
                raise

    def executable(self, *values: Any) -> Executable:
        """The compiled program that a call with these values would use; of several stages, the main one."""
        given = zip(self._converters, values, strict=True)
        return self.planned([convert(value) for convert, value in given])[1]

    def planned(self, arrays: Sequence[np.ndarray], may_run: bool = True) -> tuple[CachedRun, Executable]:
        """The program that a call with these arrays would use, and its plan; of several stages, the main one.

        FeedError where something must be run to know it, and that is not allowed.
        """
        ordered = self._ordered(arrays)
        if not self._staged:
            program = self._plan.program(ordered, self._store)
            if isinstance(program, Executable):
                return self._plan, program
            self._staged = True
        if not may_run:
            text = "operations in Python come before the program: the shapes of feeds are not enough"
            raise FeedError(layout(text, user_frame(), hint="give values, in feed_dict"))
        return staged(self._plan).planned(ordered, self._store)

    def _operation(self, where: Provenance, name: str) -> Operation | None:
        """The operation of an error that tells only its line and kind."""
        from staticgraph.runtime.failures.owner import operation_at  # what few runs need

        return operation_at(self._plan.graph, where, name)

    def _exhausted(self, error: MemoryError, values: Sequence[Any]) -> ResourceExhaustedError:
        """The error for feeds, a compile or a run that need more memory than there is."""
        text = f"running {self._plan.fetches.text} takes more memory than the system gives"
        more = f": {headline(error)}" if str(error) else ""
        given = zip((self._plan.feeds[i] for i in self._order), values, strict=True)
        fed = [f"{t.name} is fed {shown(value, 40)}, as {t.dtype}" for t, value in given]
        cure = "\n".join(["run it on a smaller batch", *fed])
        return misuse(ResourceExhaustedError, f"{text}{more}", cure)

    def _convert(self, values: Sequence[Any]) -> Any:
        arrays = [convert(value) for convert, value in zip(self._converters, values, strict=True)]
        if arrays:
            made = self._chain(*arrays)
            if made is not NotImplemented:
                return made
        return self._interpret(arrays)

    def _interpret(self, arrays: list[np.ndarray]) -> Any:
        """Run through Python, and prepare to do without it."""
        ordered = self._ordered(arrays)
        folder = self._plan.compile_log.settings.failures
        if folder is None:
            return self._run(ordered)
        if self._staged:
            staged(self._plan)  # what keeps failures asks it what such a run may change
        with kept(folder, self._plan, ordered, self._store):
            return self._run(ordered)

    def _run(self, ordered: list[np.ndarray]) -> Any:
        if not self._staged:
            program = self._plan.ready(ordered, self._store)
            if isinstance(program, Executable):
                made = self._plan.run(program, ordered, self._store)
                self._chain.add(program)
                return made
            self._staged = True
        return staged(self._plan).run(ordered, self._store)

    def _ordered(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The caller's arguments in the order of the plan's feeds."""
        given = dict(zip(self._order, arrays, strict=True))
        return [given[i] for i in range(len(arrays))]
