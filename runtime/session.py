"""Runs graphs, and holds the values of their variables."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.graph.errors import ClosedSessionError, EmptyGraphError, layout
from staticgraph.compiler.graph.graph import Graph, get_default_graph, session_stack
from staticgraph.compiler.graph.opdef import recorders
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.runtime.feeds import convert, feed_tensors, in_order
from staticgraph.runtime.fetches import Fetches, fetch_key
from staticgraph.runtime.variables import VariableStore

if TYPE_CHECKING:
    from staticgraph.runtime.executable import Executable
    from staticgraph.runtime.plan import Plan


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

        `fetches`: a tensor, operation, variable or name, or lists, tuples and dicts of
        them. `feed_dict`: values for placeholders, or for any other tensor in place of
        what would be computed. A run sees all variables as they are before it, changes
        all of them or none, and executes operations in the order of their construction.

        Errors: FeedError, FetchError, UninitializedError, each naming the line at fault.
        """
        with self._lock:
            self._check_open()
            fed = in_order(feed_tensors(self.graph, feed_dict))
            plan = self._plan(fetches, tuple(fed))
            return self._execute(plan, list(fed.values()))

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Any:
        """A function that takes the values of `feed_list`
        as arguments and returns the values of `fetches`.
        """
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
            fed = in_order(feed_tensors(self.graph, feed_dict))
            plan = self._plan(fetches, tuple(fed))
            arrays = [convert(t, v) for t, v in zip(plan.feeds, fed.values(), strict=True)]
            return plan.program(arrays, self.variables)

    def _plan(self, fetches: Any, feeds: tuple[Tensor, ...]) -> Plan:
        try:
            key: Any = (fetch_key(fetches), feeds)
            plan = self._plans.get(key)
        except TypeError:
            key, plan = None, None
        if plan is None:
            self._check_not_empty()
            # Building a graph does not need the compiler, which takes as long to import as all the rest.
            from staticgraph.runtime.plan import Plan

            plan = Plan(self.graph, Fetches(self.graph, fetches), feeds)
            if key is not None:
                self._plans[key] = plan
        return plan

    def _execute(self, plan: Plan, values: list[Any]) -> Any:
        arrays = [convert(t, v) for t, v in zip(plan.feeds, values, strict=True)]
        return plan.run(arrays, self.variables)

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
    """A session that is the default one from its construction
    until it is closed: for notebooks and shells.
    """

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
