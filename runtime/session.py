"""Runs graphs, and holds the values of their variables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.graph.errors import EmptyGraphError, misuse, shown
from staticgraph.compiler.graph.graph import Graph, graph_or_default, session_stack
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import cached_property
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.runtime.feeds import RAGGED, feed_tensors, in_order
from staticgraph.runtime.fetches import Fetches, fetch_key, flat, not_found
from staticgraph.runtime.gpu.placement import open_backend
from staticgraph.runtime.partial_runs import PartialRuns
from staticgraph.runtime.state.memory import with_room
from staticgraph.runtime.state.resources import time_limit
from staticgraph.runtime.switches import settings

if TYPE_CHECKING:
    from staticgraph.compiler.capture.step import Step
    from staticgraph.runtime.cached_run import CachedRun
    from staticgraph.runtime.cpu.fast_path.known_runs import KnownRuns
    from staticgraph.runtime.executable import Executable
    from staticgraph.runtime.gpu.device import Device
    from staticgraph.runtime.profiling.profile import Profile
    from staticgraph.runtime.profiling.step_plan import StepPlan
    from staticgraph.runtime.reports.compile_log import CompileLog
    from staticgraph.runtime.reports.growth import Growth
    from staticgraph.runtime.state.variables import VariableStore
    from staticgraph.runtime.step_compiler import StepCompiler

_NOTHING: dict[Any, Any] = {}


class Session(PartialRuns):
    """Runs the operations of a graph and holds the values of its variables.

    `memory_limit`: bytes that a run may need, its feeds, variables and results included. Values are computed
    again rather than kept where a run would need more; ResourceExhaustedError if that is not enough.
    `session.plan(fetches, feed_dict).memory` tells what a run needs.
    `check_bounds`: by default, a run that is given an index, a label or the like that is out of range, or an
    integer divisor of 0, changes nothing, and is an InvalidArgumentError that names the op, its line and the
    number. With False nothing is looked at: such an index reads zeros and writes nothing.
    `check_nan`: a run that makes NaN or an infinite number changes nothing, and is an InvalidArgumentError
    that names the first op that did, its line and what it was given.
    `device`: "cpu", "gpu" or "gpu:1"; by default a GPU if there is one. A FailedPreconditionError
    says what is missing to use it.
    The other keywords are switches too: see `staticgraph.options` and docs/switches.md.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None])
    >>> with sg.Session() as sess:
    ...     sess.run(x * 2, feed_dict={x: [1, 2, 3]})
    array([2., 4., 6.], dtype=float32)
    """

    def __init__(
        self,
        target: str = "",
        graph: Graph | None = None,
        config: Any = None,
        *,
        memory_limit: int | None = None,
        math: str | None = None,
        improve: bool | None = None,
        matmul_precision: str | None = None,
        cudnn: bool | None = None,
        overlap: bool | None = None,
        passes: str | None = None,
        no_compile: bool | None = None,
        open_sizes: bool | None = None,
        check_bounds: bool | None = None,
        check_nan: bool | None = None,
        device: str | None = None,
        dump: str | None = None,
        failures: str | None = None,
        trace: str | None = None,
        tune: bool | None = None,
    ) -> None:
        if not isinstance(target, str):
            hint = "name the arguments: Session(graph=..., config=...)"
            raise misuse(TypeError, f"target is {shown(target)}, and must be a string", hint)
        self.graph = graph_or_default(graph)
        self.settings = settings(
            memory_limit=memory_limit,
            math=math,
            improve=improve,
            matmul_precision=matmul_precision,
            cudnn=cudnn,
            overlap=overlap,
            passes=passes,
            no_compile=no_compile,
            check_bounds=check_bounds,
            check_nan=check_nan,
            device=device,
            dump=dump,
            failures=failures,
            trace=trace,
            tune=tune,
            open_sizes=open_sizes,
        )
        self._recorded, self._size = self.graph.recorded, -1  # the operations, and how many at the last run
        self.backend = open_backend(self.settings, config)
        self.variables: VariableStore = self.backend.store()
        self._tells_places = bool(getattr(config, "log_device_placement", False))
        self._runs: dict[Any, CachedRun] = {}
        self._calls: dict[Any, Callable[..., Any]] = {}  # by fetches and keys of feeds, as given to `run`
        self._known: KnownRuns | None = None  # the same for machine code
        self._find: Callable[[Any, Any], Any] = not_found
        self._contexts: list[tuple[Any, Any]] = []

    def __repr__(self) -> str:
        return f"<sg.{type(self).__name__} of {self.graph} on {self.device or 'the CPU'}>"

    @property
    def graph_def(self) -> Any:
        """The session's graph as TF1's message, a `GraphDef`."""
        return self.graph.as_graph_def()

    # Running

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: Any = None,
        run_metadata: Any = None,
        *,
        timeout: float | None = None,
    ) -> Any:
        """The values of `fetches`, in the structure in which they are given; None for operations.

        `fetches`: a tensor, operation, variable or name, or lists, tuples and dicts of
        them. `feed_dict`: values for placeholders, or for any other tensor in place of
        what would be computed. A run sees all variables as they are before it, changes
        all of them or none, and executes operations in the order of their construction.
        `timeout`: the seconds after which the run is stopped, and waiting for a queue or for runs of other
        threads ends; so does `timeout_in_ms` of `options`. With a `trace_level` in `options`, `run_metadata`
        is given the time of each kernel, as `step_stats`.

        Errors name the line at fault: FeedError, FetchError, UninitializedError and DeadlineExceededError.
        """
        try:
            if timeout is not None or options is not None:
                return self._run_with(fetches, feed_dict, options, run_metadata, timeout)
            if (made := self._find(fetches, feed_dict)) is not NotImplemented:
                return made
            return self._run(fetches, _NOTHING if feed_dict is None else feed_dict)
        except BaseException as error:
            if (mpi := sys.modules.get("staticgraph.runtime.processes.mpi")) is not None:
                mpi.tell(error, self.graph, fetches)  # other processes may wait for this run
            raise

    def _run_with(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any, timeout: Any) -> Any:
        """A run that may have only so much time, or tells how long each of its kernels took."""
        if not hasattr(options, "timeout_in_ms") and options is not None:
            raise misuse(TypeError, f"options is {shown(options)}, and must be RunOptions")
        timeout = max(options.timeout_in_ms, 0) / 1000 or None if timeout is None else timeout
        if options is not None and options.trace_level and run_metadata is not None:
            from staticgraph.runtime.profiling.trace import fill_step_stats

            with self.profile() as profile:
                values = self.run(fetches, feed_dict, timeout=timeout)
            fill_step_stats(run_metadata, profile.steps)
            return values
        if timeout is None:
            return self.run(fetches, feed_dict)
        with time_limit(1000 * timeout), self.variables.in_time():
            run, fed = self._run_of(fetches, feed_dict)
            return run(fed)

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Any:
        """A function that takes the values of `feed_list` as arguments and returns those of `fetches`."""
        with self.variables:
            run, feeds = self._run_of(fetches, dict.fromkeys(feed_list or ()))
            return run.function([*feeds])

    def pinned(self, value: Any) -> np.ndarray:
        """An array with these values that a GPU reads where it lies: for feeds of many runs, or large ones.

        Of other arrays, each run copies the elements first. On a processor it is the array itself. The run
        that an array is fed to has read it when it returns, also where it fetches nothing. ValueError for
        rows that differ in length.

        >>> import numpy as np
        >>> import staticgraph as sg
        >>> x = sg.placeholder(sg.float32, [2])
        >>> with sg.Session() as sess:
        ...     batch = sess.pinned(np.array([1, 2], np.float32))
        ...     sess.run(x + 1, {x: batch})
        array([2., 3.], dtype=float32)
        """
        try:
            array = np.asarray(value)
        except ValueError:
            text = f"{shown(value)} is no array: its rows differ in length"
            raise misuse(ValueError, text, RAGGED) from None
        return self.backend.pinned(array)

    def executable(self, fetches: Any, feed_dict: Any = None) -> Executable:
        """The compiled program that `run` would use, with its plan and code to look at."""
        with self.variables:
            run, fed = self._run_of(fetches, feed_dict)
            return run.executable(fed)

    def plan(self, fetches: Any, feed_dict: Any = None, shapes: Any = None) -> StepPlan:
        """Plan a run of `fetches`: compile it without running it, and return a description to print.

        The plan shows the kernels, their work and memory, which kernels were not fused and why, and which
        changes would need another program. Operations that Python computes before the program are called, for
        example a `py_func`.

        Args:
            fetches: As for `run`.
            feed_dict: As for `run`.
            shapes: The shapes of feeds, instead of values. A placeholder whose shape the graph tells
                needs neither, if no shape depends on its value.

        Raises:
            FeedError: A shape is given but a value is needed. All other errors are those of `run`.

        >>> import staticgraph as sg
        >>> x = sg.placeholder(sg.float32, [None, 3])
        >>> with sg.Session() as sess:
        ...     plan = sess.plan(sg.reduce_sum(x * x), shapes={x: [100, 3]})
        >>> len(plan.kernels), plan.flops, plan.memory.feeds
        (1, 600, 1200)
        """
        # What is shown of plans is not needed to run.
        from staticgraph.compiler.stages import observing
        from staticgraph.runtime.profiling.shapes import planned_feeds
        from staticgraph.runtime.profiling.step_plan import step_plan
        from staticgraph.runtime.reports.stage_log import StageLog

        log = StageLog()
        with self.variables:
            fed = planned_feeds(self.graph, fetches, feed_dict, shapes)
            before = len(self.compiles)
            run = self._cached_run(fetches, fed)
            with observing(log):
                programs, program = run.planned([fed[t] for t in run.feeds], not shapes)
            compiles = self.compiles[before:]
            what, opened = run.fetches.text, programs.opened(program)
            return step_plan(what, program, opened, programs.static, programs.variables, compiles, log)

    def profile(self) -> Profile:
        """Context that takes the time of each kernel in the runs inside it. Its value, printed afterwards, is
        a table; it also writes Chrome traces and draws.

        >>> import staticgraph as sg
        >>> x = sg.placeholder(sg.float32, [None])
        >>> with sg.Session() as sess:
        ...     with sess.profile() as profile:
        ...         sums = [sess.run(sg.reduce_sum(x), {x: [1, 2, 3]}) for _ in range(3)]
        >>> [(step.what, step.runs) for step in profile.steps]
        [('Sum', 1), ('Sum_1', 1), ('Sum_2', 1)]
        """
        from staticgraph.runtime.profiling.profile import Profile

        compiler = self._compiler
        return Profile(compiler.programs, compiler.program_observers, self.variables, self.backend.meter())

    @property
    def compiles(self) -> CompileLog:
        """The compiles so far, each with its cause and time. Print it."""
        return self._compiler_and_log[1]

    @property
    def _compiler(self) -> StepCompiler:
        return self._compiler_and_log[0]

    @cached_property
    def _compiler_and_log(self) -> tuple[StepCompiler, CompileLog]:
        """The compiler of this session and the log that observes it: building a graph needs neither."""
        from staticgraph.runtime.reports.compile_log import CompileLog
        from staticgraph.runtime.step_compiler import StepCompiler

        compiler = StepCompiler(self.backend, self.settings)
        log = CompileLog(tells="compiles" in self.settings.trace)
        if self._tells_places:
            from staticgraph.runtime.profiling.placement_log import PlacementLog

            compiler.observers.append(PlacementLog(self.graph, self.backend.name, self.backend.on_host))
        compiler.observers.append(log)
        return compiler, log

    @property
    def device(self) -> Device | None:
        """The GPU of this session, None if it runs on the CPU."""
        return getattr(self.backend, "device", None)

    @property
    def no_compile(self) -> bool:
        """True if runs that would have to compile raise a NoCompileError. It may be set after a warm-up."""
        return self._compiler.no_compile

    @no_compile.setter
    def no_compile(self, forbidden: bool) -> None:
        self._compiler.no_compile = forbidden

    def _run(self, fetches: Any, feed_dict: Any) -> Any:
        """The run of what has not run often, and of what machine code does not find."""
        if len(self._recorded) != self._size:
            self._size = self._growth.look() if self._size >= 0 else self.graph.version
        if self._known is not None:
            self._known.size = self._size
        try:
            key = (fetch_key(fetches), *feed_dict) if isinstance(feed_dict, dict) else None
            call = self._calls.get(key)
        except (TypeError, RecursionError):
            key, call = None, None
        if call is not None:
            return call(*feed_dict.values())
        with self.variables:
            run, fed = self._run_of(fetches, feed_dict)
            made = run(fed)
            each_is_one_tensor = [*map(id, fed.values())] == [*map(id, feed_dict.values())]
            if run.runs > 1 and key is not None and each_is_one_tensor:
                call = self._calls[key] = run.function([*fed])
                if flat(fetches):
                    self._add(fetches, tuple(feed_dict), call)
            return made

    @cached_property
    def _growth(self) -> Growth:
        from staticgraph.runtime.reports.growth import Growth  # few graphs grow once they have run

        return Growth(self.graph, self._size)

    def _run_of(self, fetches: Any, feed_dict: Any) -> tuple[CachedRun, dict[Tensor, Any]]:
        """Return the cached run of fetches, and what it is fed."""
        fed = feed_tensors(self.graph, feed_dict)
        return self._cached_run(fetches, fed), fed

    def _add(self, fetches: Any, keys: tuple[Any, ...], call: Callable[..., Any]) -> None:
        """Have machine code find `call`."""
        if self._known is None:
            from staticgraph.runtime.cpu.fast_path.known_runs import KnownRuns  # it needs the compiler

            self._known = KnownRuns(self._recorded)
            self._known.size, self._find = self._size, self._known.call
        self._known.add(fetches, keys, call)

    def _cached_run(self, fetches: Any, feeds: Iterable[Tensor]) -> CachedRun:
        """Return the cached run of `fetches`. The order of the feeds does not matter."""
        ordered = in_order(feeds)
        try:
            key = (fetch_key(fetches), ordered)
            found = self._runs.get(key)
        except (TypeError, RecursionError):  # a fetch cannot be hashed
            return self._new_run(fetches, ordered)
        if found is None:
            found = self._runs[key] = self._new_run(fetches, ordered)
        return found

    def _new_run(self, fetches: Any, feeds: tuple[Tensor, ...]) -> CachedRun:
        self._check_not_empty()
        with collector_paused(may_collect=False):  # the compiler takes as long to import as all the rest
            from staticgraph.runtime.cached_run import CachedRun
            from staticgraph.runtime.program_cache import ProgramCache

        found = Fetches(self.graph, fetches)
        self.graph.check_run((*found.tensors, *found.targets), feeds)
        programs = ProgramCache(self.graph, found, feeds, self._compiler, self.variables)
        return with_room(lambda: CachedRun(programs))

    def run_for(self, fetches: Any, feeds: Iterable[Tensor], steps: Iterable[Step]) -> CachedRun | None:
        """Return the run of `fetches` that may use programs which were made elsewhere.

        Args:
            fetches: What it returns.
            feeds: What it is fed.
            steps: The steps of the programs. They check for NaN, bounds and the like, or do not.

        Returns:
            The run; None if runs of this session are to be checked in another way.
        """
        settings = self.settings
        unlike = settings.check_nan or any(step.checked > settings.check_bounds for step in steps)
        return None if unlike else self._cached_run(fetches, feeds)

    # State

    def held(self) -> VariableStore:
        """Context in which no run takes place: for reading or setting several variables as of one moment."""
        return self.variables

    # Checks

    def _check_not_empty(self) -> None:
        if not self.graph.get_operations():
            text = "the session's graph has no operations"
            hint = "a session takes the default graph: build it before, and after reset_default_graph()"
            raise misuse(EmptyGraphError, text, hint)

    def list_devices(self) -> list[Any]:
        """Return the devices of this machine that sessions can use, each with `name` and `device_type`.

        >>> sg.Session().list_devices()[0].name
        '/job:localhost/replica:0/task:0/device:CPU:0'
        """
        from staticgraph.runtime.gpu.placement import listed_devices  # few programs ask

        return [*listed_devices()]

    def close(self) -> None:
        """Free the programs and the values of variables. The session cannot run any more.

        A run of another thread that goes on is stopped, with a CancelledError there.
        """
        self.variables.close(self._cancel)
        for cache in (self._runs, self._calls, self._known):
            if cache is not None:
                cache.clear()

    def _cancel(self) -> None:
        """Stop the programs that run."""
        programs = [program for run in [*self._runs.values()] for program in run.programs.known]
        if "_compiler_and_log" in vars(self):  # else nothing was compiled
            programs += [p for ref in self._compiler.programs.keyrefs() if (p := ref()) is not None]
        for program in programs:
            if (watch := getattr(program, "watch", None)) is not None:  # of a processor
                watch.cancel()

    def as_default(self) -> _Default:
        """Context in which `tensor.eval()` and `op.run()` use this session. It does not close the session."""
        return _Default(self)

    def __enter__(self) -> Session:
        graph = self.graph.as_default()
        default = self.as_default()
        graph.__enter__()
        default.__enter__()
        self._contexts.append((graph, default))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        graph, default = self._contexts[-1]
        try:  # an interrupt ends none of them too early: each is left all the same
            default.__exit__(kind, error, trace)
        finally:
            try:
                graph.__exit__(kind, error, trace)
            finally:
                self._contexts.pop()
                self.close()


class _Default:
    def __init__(self, session: Session) -> None:
        self.session = session

    def __enter__(self) -> Session:
        session_stack().append(self.session)
        return self.session

    def __exit__(self, *_: object) -> None:
        session_stack().remove(self.session)


def default_session() -> Session | None:
    """The innermost default session of this thread, or None.

    >>> sg.get_default_session() is None
    True
    >>> with sg.Session() as sess:
    ...     sg.get_default_session() is sess
    True
    """
    stack = session_stack()
    return stack[-1] if stack else None
