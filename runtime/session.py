"""Runs graphs: compiles what is fetched, once per signature, and calls it again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from staticgraph.compiler.compile import compile
from staticgraph.compiler.graph.errors import ClosedSessionError, EmptyGraphError, layout
from staticgraph.compiler.graph.graph import Graph, get_default_graph, session_stack
from staticgraph.compiler.graph.opdef import recorders
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.passes.specialise import (
    StaticFeedNeeded,
    Step,
    VariableTypeNeeded,
    specialise,
    uninitialized,
)
from staticgraph.runtime.devices import cpu_jit
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.feeds import convert, feed_tensors
from staticgraph.runtime.fetches import Fetches, fetch_key
from staticgraph.runtime.memory import empty, from_storage, to_storage
from staticgraph.runtime.variables import VariableStore


@dataclass(slots=True)
class Plan:
    """One set of fetches and fed tensors, and its programs by signature.

    A signature is the shapes of the feeds, the values of those feeds that shapes depend on, and the types of the
    values of those variables that the graph does not tell.
    """

    fetches: Fetches
    feeds: tuple[Tensor, ...]
    static: tuple[int, ...] = ()
    variables: tuple[Operation, ...] = ()
    programs: dict[Any, Executable] = field(default_factory=dict)


class Session:
    """Runs the operations of a graph and holds the values of its variables.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None])
    >>> with sg.Session() as sess:
    ...     sess.run(x * 2, feed_dict={x: [1, 2, 3]})
    array([2., 4., 6.], dtype=float32)
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        self.graph = graph if graph is not None else get_default_graph()
        self.variables = VariableStore()
        self._plans: dict[Any, Plan] = {}
        self._closed = False
        self._lock = threading.RLock()
        self._contexts: list[tuple[Any, Any]] = []

    # Running

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """The values of `fetches`, in the structure in which they are given; None for operations.

        `fetches`: a tensor, operation, variable or name, or lists, tuples and dicts of them. `feed_dict`: values
        for placeholders, or for any other tensor in place of what would be computed. A run sees all variables as
        they are before it, changes all of them or none, and executes operations in the order of their construction.

        Errors: FeedError, FetchError, UninitializedError, each naming the line at fault.
        """
        with self._lock:
            self._check_open()
            fed = feed_tensors(self.graph, feed_dict)
            plan = self._plan(fetches, tuple(fed))
            return self._execute(plan, list(fed.values()))

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False) -> Any:
        """A function that takes the values of `feed_list` as arguments and returns the values of `fetches`."""
        feeds = tuple(feed_tensors(self.graph, dict.fromkeys(feed_list or ())))
        plan = self._plan(fetches, feeds)

        def call(*values: Any, **_: Any) -> Any:
            if len(values) != len(feeds):
                raise TypeError(f"the callable takes {len(feeds)} values, {len(values)} were given")
            with self._lock:
                self._check_open()
                return self._execute(plan, list(values))

        return call

    def executable(self, fetches: Any, feed_dict: Any = None) -> Executable:
        """The compiled program that `run` would use, with its plan and code to look at."""
        with self._lock:
            self._check_open()
            fed = feed_tensors(self.graph, feed_dict)
            plan = self._plan(fetches, tuple(fed))
            arrays = [convert(t, v) for t, v in zip(plan.feeds, fed.values(), strict=True)]
            return self._program(plan, arrays)

    def _plan(self, fetches: Any, feeds: tuple[Tensor, ...]) -> Plan:
        try:
            key: Any = (fetch_key(fetches), feeds)
            plan = self._plans.get(key)
        except TypeError:
            key, plan = None, None
        if plan is None:
            self._check_not_empty()
            plan = Plan(Fetches(self.graph, fetches), feeds)
            if key is not None:
                self._plans[key] = plan
        return plan

    def _execute(self, plan: Plan, values: list[Any]) -> Any:
        arrays = [convert(t, v) for t, v in zip(plan.feeds, values, strict=True)]
        program = self._program(plan, arrays)
        step = program.compiled.step
        missing = [op for op in program.needed if op not in self.variables]
        if missing:
            raise uninitialized(missing)
        made = self._call(program, step, plan, arrays)
        return plan.fetches.assemble(made)

    def _call(self, program: Executable, step: Step, plan: Plan, arrays: list[np.ndarray]) -> list[Any]:
        store = self.variables
        compiled = program.compiled.program
        arguments = [to_storage(a, t.dtype) for a, t in zip(arrays, plan.feeds, strict=True)]
        types = compiled.arguments[len(arrays) :]
        arguments += [
            store.stored(op) if op in store else empty(type)  # the latter is never read: see _check_initialized
            for op, type in zip(step.reads, types, strict=False)
        ]
        arguments += [store.counter(op) for op in step.counters]
        results = [empty(t) for t in compiled.results[: step.fetches]]
        old = {op: len(arrays) + i for i, op in enumerate(step.reads)}
        for op, type in zip(step.writes, compiled.results[step.fetches :], strict=True):
            in_place = old.get(op, -1) in compiled.in_place
            results.append(arguments[old[op]] if in_place else store.next_buffer(op, type))
        program(arguments, results)
        for op, buffer in zip(step.writes, results[step.fetches :], strict=True):
            store.commit(op, buffer)
        for op, advance in zip(step.counters, step.advances, strict=True):
            store.counter(op)[...] += np.uint64(advance)
        fetched = iter(results[: step.fetches])
        return [
            step.names[t] if t in step.names else from_storage(next(fetched), t.dtype)[()]
            for t in plan.fetches.tensors
        ]

    def _program(self, plan: Plan, arrays: list[np.ndarray]) -> Executable:
        """The program for arrays of these shapes, compiled if need be."""
        while True:
            statics = tuple((i, arrays[i].tobytes()) for i in plan.static)
            types = tuple(self.variables.type_of(op) for op in plan.variables)
            signature = (tuple(a.shape for a in arrays), statics, types)
            program = plan.programs.get(signature)
            if program is not None:
                return program
            try:
                program = plan.programs[signature] = Executable(compile(self._step(plan, arrays), cpu_jit.host()))
            except StaticFeedNeeded as needed:
                more = {plan.feeds.index(t) for t in needed.feeds}
                plan.static = tuple(sorted({*plan.static, *more}))
            except VariableTypeNeeded as needed:
                plan.variables = (*plan.variables, *needed.variables)

    def _step(self, plan: Plan, arrays: list[np.ndarray]) -> Step:
        feeds = {t: TensorType(t.dtype, a.shape) for t, a in zip(plan.feeds, arrays, strict=True)}
        static = {plan.feeds[i]: arrays[i] for i in plan.static}
        types = {op: self.variables.type_of(op) for op in plan.variables}
        return specialise(self.graph, plan.fetches.tensors, plan.fetches.targets, feeds, types, static)

    # State

    @contextmanager
    def held(self) -> Iterator[VariableStore]:
        """Context in which no run takes place: for reading or setting several variables as of one moment."""
        with self._lock:
            self._check_open()
            yield self.variables

    # Checks

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedSessionError(layout("the session is closed", user_frame(), hint="open a new Session"))

    def _check_not_empty(self) -> None:
        if not self.graph.get_operations():
            text = "the session's graph has no operations"
            hint = "a session takes the graph that is the default one when it is made: see Graph.as_default"
            raise EmptyGraphError(layout(text, user_frame(), hint=hint))

    # Life time

    def close(self) -> None:
        """Free the programs and the values of variables. The session cannot run any more."""
        with self._lock:
            self._closed = True
            self._plans.clear()
            self.variables.clear()

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
        graph, default = self._contexts.pop()
        default.__exit__(kind, error, trace)
        graph.__exit__(kind, error, trace)
        self.close()


class _Default:
    def __init__(self, session: Session) -> None:
        self.session = session

    def __enter__(self) -> Session:
        session_stack().append(self.session)
        return self.session

    def __exit__(self, *_: object) -> None:
        session_stack().remove(self.session)


class InteractiveSession(Session):
    """A session that is the default one from its construction until it is closed: for notebooks and shells."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        session_stack().append(self)
        if graph is not None:
            recorders().append(graph)

    def close(self) -> None:
        if self in session_stack():
            session_stack().remove(self)
        if self.graph in recorders():
            recorders().remove(self.graph)
        super().close()


def default_session() -> Session | None:
    """The innermost default session of this thread, or None."""
    stack = session_stack()
    return stack[-1] if stack else None
