"""`SessionRunHook`: what can be done before and after every run of a monitored session."""

from __future__ import annotations

from typing import Any, NamedTuple

from staticgraph.building.framework import get_default_graph
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.training.coordinator import Coordinator
from staticgraph.train.step_count import get_global_step


class SessionRunArgs(NamedTuple):
    """Additions of a hook to a run.

    Args:
        fetches: More to fetch, in any structure.
        feed_dict: More to feed; nothing by default.
        options: RunOptions to merge into those of the run; none by default.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """Results of a run for a hook.

    Attributes:
        results: The values of the hook's own fetches.
        options: The RunOptions of the run.
        run_metadata: The RunMetadata of the run.
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One run of a monitored session, as its hooks see it."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The arguments that the caller of `run` gave: `fetches` and `feed_dict`."""
        return self._original_args

    session: Any = read_only("session", "The session itself, whose `run` calls no hooks.")
    stop_requested: bool = read_only("stop_requested")

    def request_stop(self) -> None:
        """Make `should_stop` of the monitored session true after this run."""
        self._stop_requested = True


class SessionRunHook:
    """A base class of hooks; each method does nothing.

    >>> import staticgraph as sg
    >>> class Show(sg.train.SessionRunHook):
    ...     def before_run(self, run_context):
    ...         return sg.train.SessionRunArgs(w)
    ...     def after_run(self, run_context, run_values):
    ...         print("w is", run_values.results)
    >>> w = sg.Variable(1.0)
    >>> step = w.assign_add(1.0)
    >>> with sg.train.MonitoredSession(hooks=[Show()]) as sess:
    ...     _ = sess.run(step)
    w is 2.0
    """

    def begin(self) -> None:
        """Called once, before there is a session. The last chance to add to the graph."""

    def after_create_session(self, session: Any, coord: Coordinator) -> None:
        """Called when there is a new session: at first, and after each recovery. The graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns what to add to it, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run, unless it failed."""

    def end(self, session: Any) -> None:
        """Called when the monitored session is closed, unless an error ended it."""


def require_global_step(hook: SessionRunHook) -> Any:
    """The default graph's global step. RuntimeError if it has none.

    Fetched with a training step it has its value after that step, as every variable.
    """
    step = get_global_step(get_default_graph())
    if step is None:
        raise misuse(RuntimeError, f"Global step should be created to use {type(hook).__name__}.")
    return step
