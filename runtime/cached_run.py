"""A run of one set of fetches and fed tensors, which a session keeps to do it again.

It goes the first way that is open: native code that has bound a program to its arguments (`fast_path`), one
compiled program (`ProgramCache`), or several with calls of Python between them (`SegmentedRun`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.capture.segments import needs_segments
from staticgraph.compiler.capture.step import Calls, NeedsSegments
from staticgraph.compiler.graph.errors import (
    FeedError,
    OpError,
    ResourceExhaustedError,
    headline,
    hint,
    misuse,
    shown,
)
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.feeds import Converter
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.program_cache import ProgramCache

if TYPE_CHECKING:
    from staticgraph.runtime.backend import FastPath
    from staticgraph.runtime.host_ops.segmented_run import SegmentedRun


class CachedRun:
    """One set of fetches and fed tensors, and the programs that it may need."""

    def __init__(self, programs: ProgramCache) -> None:
        self.programs = programs
        self.graph, self.fetches, self.feeds = programs.graph, programs.fetches, programs.feeds
        self.settings = programs.compiler.settings
        self.runs = 0  # through Python
        self._store = programs.store
        self._fast_paths: dict[tuple[int, ...], FastPath] = {}  # by the order in which feeds come
        self._converters = [Converter(t) for t in self.feeds]
        self._numbers = {t: number for number, t in enumerate(self.feeds)}
        self.segmented: SegmentedRun | None = None
        fetches = self.fetches
        if needs_segments(fetches.tensors, fetches.targets, self.feeds, programs.calls.region):
            self._segment()

    def function(self, feeds: Sequence[Tensor]) -> Callable[..., Any]:
        """Return a function of the values of `feeds`, which are those of this run in any order."""
        order = self._order(feeds)
        return self._fast_path(order).function(partial(self._run_in, order))

    def __call__(self, fed: Mapping[Tensor, Any]) -> Any:
        """Return the fetched structure for these values of the feeds."""
        return self._run_in(self._order([*fed]), *fed.values())

    def run(self, arrays: Sequence[np.ndarray], fast_path: FastPath | None = None) -> Any:
        """Return the fetched structure for these arrays. Prepare the fast path for the next run."""
        if self.segmented is None:
            program = self.programs.ready(arrays)
            if not isinstance(program, NeedsSegments):
                made = self.programs.run(program, arrays)
                if fast_path is not None:
                    fast_path.add(program)
                return made
            self._segment()
        assert self.segmented is not None
        return self.segmented.run(arrays)

    def round(self, arrays: Sequence[np.ndarray]) -> Any:
        """Return the fetched structure for these arrays, in one round of many: soon by the fast path."""
        if self.segmented is not None:
            return self.segmented.run(arrays)
        fast_path = self._fast_path(tuple(range(len(arrays))))
        made = fast_path(*arrays)
        return self.run(arrays, fast_path) if made is NotImplemented else made

    def executable(self, fed: Mapping[Tensor, Any]) -> Executable:
        """Return the program that a call with these values would use; of several segments, the main one."""
        return self.planned(self._arrays(self._order([*fed]), [*fed.values()]))[1]

    def planned(self, arrays: Sequence[np.ndarray], may_run: bool = True) -> tuple[ProgramCache, Executable]:
        """Return the program that a run with these arrays would use, and its cache; of several segments, the
        main one.

        Raises FeedError if something must be run to know it, and that is not allowed.
        """
        if self.segmented is None:
            program = self.programs.program(arrays)
            if not isinstance(program, NeedsSegments):
                return self.programs, program
            self._segment()
        if not may_run:
            text = "operations in Python come before the program: the shapes of feeds are not enough"
            raise misuse(FeedError, text, "give values, in feed_dict")
        assert self.segmented is not None
        return self.segmented.planned(arrays)

    def _order(self, feeds: Sequence[Tensor]) -> tuple[int, ...]:
        """Return the number of each of these feeds."""
        return tuple(self._numbers[t] for t in feeds)

    def _run_in(self, order: tuple[int, ...], *values: Any, **_: Any) -> Any:
        """Run for the values of the feeds in this order."""
        if len(values) != len(order):
            raise misuse(TypeError, f"the callable takes {len(order)} values, {len(values)} were given")
        with self._store:
            self.runs += 1
            try:
                return self._result(order, values)
            except MemoryError as error:
                if isinstance(error, OpError) and (error.op or hint(error)):
                    raise  # it tells what was too large
                raise self._exhausted(error, order, values) from None
            except OpError as error:
                if error.op is None and error.place is not None:
                    error.op = self._operation(*error.place)
                raise

    def _result(self, order: tuple[int, ...], values: Sequence[Any]) -> Any:
        arrays = self._arrays(order, values)
        fast_path = None
        if self.segmented is None:
            fast_path = self._fast_path(order)
            made = fast_path(*[arrays[i] for i in order])
            if made is not NotImplemented:
                return made
        if self.settings.failures is None:
            return self.run(arrays, fast_path)
        from staticgraph.runtime.failures.crash_dump import kept

        with kept(self.settings.failures, self, arrays, self._store):
            return self.run(arrays, fast_path)

    def _arrays(self, order: tuple[int, ...], values: Sequence[Any]) -> list[np.ndarray]:
        """Return the values of the feeds, converted and in the order of the feeds."""
        converters, arrays = self._converters, [*values]
        for i, value in zip(order, values, strict=True):
            arrays[i] = converters[i](value)
        return arrays

    def _fast_path(self, order: tuple[int, ...]) -> FastPath:
        found = self._fast_paths.get(order)
        if found is None:
            found = self._fast_paths[order] = self.programs.fast_path(order)
        return found

    def in_segments(self) -> SegmentedRun:
        """Return the run as one in segments, which it is from now on."""
        if self.segmented is None:
            self._segment()
        assert self.segmented is not None
        return self.segmented

    def _segment(self) -> None:
        """Run in segments from now on."""
        from staticgraph.runtime.host_ops.segmented_run import SegmentedRun  # what few runs need

        self.segmented = SegmentedRun(self.programs, partial(_inner, self.programs))

    def _operation(self, where: Provenance, name: str) -> Operation | None:
        """Return the operation of an error that tells only its line and kind."""
        from staticgraph.runtime.failures.owner import operation_at  # what few runs need

        return operation_at(self.graph, where, name)

    def _exhausted(
        self, error: MemoryError, order: tuple[int, ...], values: Sequence[Any]
    ) -> ResourceExhaustedError:
        """Return the error for feeds, a compile or a run that need more memory than there is."""
        text = f"running {self.fetches.text} takes more memory than the system gives"
        more = f": {headline(error)}" if str(error) else ""
        given = zip((self.feeds[i] for i in order), values, strict=True)
        fed = [f"{t.name} is fed {shown(value, 40)}, as {t.dtype}" for t, value in given]
        cure = "\n".join(["run it on a smaller batch", *fed])
        return misuse(ResourceExhaustedError, f"{text}{more}", cure)


def _inner(
    outer: ProgramCache, fetches: Fetches, feeds: tuple[Tensor, ...], calls: Calls
) -> Callable[[Sequence[np.ndarray]], Any]:
    """Return what runs a region of a loop or branch of `outer`, which is a run of its own."""
    return CachedRun(ProgramCache(outer.graph, fetches, feeds, outer.compiler, outer.store, calls)).round
