"""Hooks that feed every run, or run something once at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import OutOfRangeError
from staticgraph.formats.tf.log import log
from staticgraph.tf1.training.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


class FeedFnHook(SessionRunHook):
    """Adds `feed_fn()`, a feed_dict, to every run."""

    def __init__(self, feed_fn: Callable[[], dict[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(None, self.feed_fn())


class FinalOpsHook(SessionRunHook):
    """Runs `final_ops`, in any structure, with `final_ops_feed_dict` once at the end.

    `final_ops_values` has their values then.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: dict[Any, Any] | None = None) -> None:
        self._final_ops = final_ops
        self._feed_dict = final_ops_feed_dict
        self._values: Any = None

    final_ops_values: Any = read_only("values")

    def end(self, session: Any) -> None:
        if self._final_ops is None:
            return
        try:
            self._values = session.run(self._final_ops, self._feed_dict)
        except (OutOfRangeError, StopIteration):
            log.warning(
                "The operations of a FinalOpsHook take from an input that has ended. They should depend on"
                " variables only: fetch a metric's value here, not its update operation."
            )
            raise
