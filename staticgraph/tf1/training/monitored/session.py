"""`MonitoredSession`: a session that initialises itself, calls hooks, runs threads and survives a loss."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from staticgraph.building.framework import GraphKeys, get_collection, get_default_graph
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import OutOfRangeError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.tf1.training.coordinator import Coordinator
from staticgraph.tf1.training.hooks.run_hook import SessionRunHook
from staticgraph.tf1.training.monitored.creators import ChiefSessionCreator, SessionCreator
from staticgraph.tf1.training.monitored.layers import (
    CoordinatedSession,
    HookedSession,
    Layer,
    RecoverableSession,
)
from staticgraph.tf1.training.monitored.scaffold import Scaffold
from staticgraph.tf1.training.queue_runner import start_queue_runners


class StepContext:
    """Argument of the step function of `run_step_fn`: the session, and ways to run hooks and to stop."""

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    session: Any = read_only("session", "The session itself, whose `run` calls no hooks.")

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """`run` of the monitored session, with its hooks."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """Leave the step function and end the `with` block of the monitored session, by a StopIteration."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class _Monitored:
    """Common base of both kinds of monitored session."""

    StepContext = StepContext
    has_started_queue_runners = True

    def __init__(
        self,
        session_creator: SessionCreator,
        hooks: Sequence[SessionRunHook] | None,
        stop_grace_period_secs: float,
        should_recover: bool,
    ) -> None:
        self._graph = get_default_graph()
        self._graph_was_finalized = self._graph.finalized
        self._hooks = list(hooks or ())
        self._creator = session_creator
        self._stop_grace_period_secs = stop_grace_period_secs
        self._raw: Any = None
        for hook in self._hooks:
            hook.begin()
        self._sess: Layer | None = (
            RecoverableSession(self._create_session) if should_recover else self._create_session()
        )

    def _create_session(self) -> Layer:
        self._raw = self._creator.create_session()
        coord = Coordinator(clean_stop_exception_types=())
        if get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(self._raw, coord)
        for hook in self._hooks:
            hook.after_create_session(self._raw, coord)
        return CoordinatedSession(HookedSession(self._raw, self._hooks), coord, self._stop_grace_period_secs)

    @property
    def graph(self) -> Graph | None:
        """The graph, None once the session is closed."""
        return None if self._raw is None else self._raw.graph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """`Session.run`, with what the hooks add to it. RuntimeError after `should_stop` became true."""
        return self._open().run(fetches, feed_dict, options, run_metadata)

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """The result of `step_fn(step_context)`, for steps of several runs.

        `step_context.session.run` calls no hooks, `step_context.run_with_hooks` does, and
        `step_context.request_stop()` ends the loop. ValueError for other parameters.
        """
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            message = f"the one parameter of `step_fn` must be called step_context, those here are {names}"
            raise misuse(ValueError, message)
        session = self._open()

        def step(layer: Layer) -> Any:
            return step_fn(StepContext(self._raw, layer.run))

        return session.retry(step) if isinstance(session, RecoverableSession) else step(session)

    def should_stop(self) -> bool:
        """Return True if a hook or a thread requested a stop, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Call `end` of the hooks, stop the threads and close the session."""
        self._close(calls_end=True)

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Close. The end of an input is an ordinary end of the block; after an error no hook's `end` is
        called.
        """
        is_ordinary = isinstance(error, OutOfRangeError | StopIteration | None)
        self._close(calls_end=is_ordinary)
        return is_ordinary

    def _close(self, calls_end: bool) -> None:
        session = self._open()
        try:
            if calls_end:
                for hook in self._hooks:
                    hook.end(self._raw)
        finally:
            self._sess = None
            try:
                session.close()
            finally:
                self._raw = None
                self._graph.finalized = self._graph_was_finalized

    def _open(self) -> Layer:
        if self._sess is None:
            raise misuse(RuntimeError, "Session is already closed.")
        return self._sess

    def _tf_sess(self) -> Any:
        return self._raw


class MonitoredSession(_Monitored):
    """A session for training loops: it gives variables their values, starts queue runners and calls hooks.

    `session_creator`: how to get a session, `ChiefSessionCreator()` by default. `hooks`: called around every
    run, in this order. `stop_grace_period_secs`: how long `close` waits for threads.

    The graph is finalized while it is open. The end of an input (OutOfRangeError) ends the `with` block as
    any end does. After AbortedError or UnavailableError it makes a new session and does the run again there.

    >>> import staticgraph as sg
    >>> step = sg.train.get_or_create_global_step().assign_add(1)
    >>> with sg.train.MonitoredSession(hooks=[sg.train.StopAtStepHook(last_step=3)]) as sess:
    ...     while not sess.should_stop():
    ...         print(sess.run(step))
    1
    2
    3
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        creator = session_creator or ChiefSessionCreator()
        super().__init__(creator, hooks, stop_grace_period_secs, should_recover=True)


class SingularMonitoredSession(_Monitored):
    """A `MonitoredSession` that does not recover from a lost session: every error reaches the caller."""

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs, should_recover=False)

    def raw_session(self) -> Any:
        """The session itself, for instance for `Saver.save`."""
        return self._raw
