"""The layers around the session of a `MonitoredSession`: hooks, then threads, then recovery.

Each layer holds the one below it as `_sess`; the innermost is the session itself.

Options of a run are those of its caller joined with those that hooks ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from staticgraph.compiler.graph.errors import AbortedError, UnavailableError, misuse
from staticgraph.formats.tf.log import log
from staticgraph.formats.tf.messages import RunMetadata, RunOptions
from staticgraph.tf1.training.coordinator import Coordinator
from staticgraph.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

T = TypeVar("T")

LOST = (AbortedError, UnavailableError)  # the session is gone, another one may do


class HookedSession:
    """Calls hooks before and after every run of `session`."""

    def __init__(self, session: Any, hooks: Sequence[SessionRunHook]) -> None:
        self._sess = session
        self._hooks = hooks
        self._should_stop = False

    def should_stop(self) -> bool:
        return self._should_stop

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        if self._should_stop:
            message = "Run called even after should_stop requested."
            hint = "loop with `while not sess.should_stop():`"
            raise misuse(RuntimeError, message, hint)
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        requests = [(hook, hook.before_run(context)) for hook in self._hooks]
        asked = [(hook, request) for hook, request in requests if request is not None]
        wanted: dict[Any, Any] = {"caller": fetches}
        wanted |= {hook: request.fetches for hook, request in asked if request.fetches is not None}
        feeds = _merged_feeds(feed_dict, [request.feed_dict for _, request in asked if request.feed_dict])
        options = merged_options(options, [request.options for _, request in asked if request.options])
        metadata = RunMetadata() if run_metadata is None else run_metadata
        found = self._sess.run(wanted, feeds, options, metadata)
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(found.get(hook), options, metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return found["caller"]

    def close(self) -> None:
        self._sess.close()


class CoordinatedSession:
    """Stops with a coordinator's threads, and lets them stop with it."""

    def __init__(self, session: HookedSession, coord: Coordinator, stop_grace_period_secs: float) -> None:
        self._sess = session
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def should_stop(self) -> bool:
        """Also raises the exception with which a thread asked for a stop."""
        self._coord.raise_requested_exception()
        return self._coord.should_stop() or self._sess.should_stop()

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        try:
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        except LOST:
            raise
        except Exception:
            try:
                self._coord.raise_requested_exception()
            except LOST:  # a thread lost the session, and what failed here is only a consequence
                raise
            except Exception as error:
                log.info("a thread had failed before: %s", error)
            raise

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            self._sess.close()


class Layer(Protocol):
    """Interface of a layer: the methods that its users call."""

    def should_stop(self) -> bool: ...
    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any: ...
    def close(self) -> None: ...


class RecoverableSession:
    """Gets another session from `create` whenever the present one is lost, and does again what failed."""

    def __init__(self, create: Callable[[], Layer]) -> None:
        self._create = create
        self._sess: Layer | None = self._created()

    def should_stop(self) -> bool:
        if self._sess is None:
            return True
        try:
            return self._sess.should_stop()
        except LOST as error:
            self._lose(error)
            self._sess = self._created()
            return False
        except Exception as error:  # `run` or `close` will raise it
            log.info("training stops because of %r", error)
            return True

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        return self.retry(lambda session: session.run(fetches, feed_dict, options, run_metadata))

    def retry(self, call: Callable[[Layer], T]) -> T:
        """The result of `call` with the first session that is not lost during it."""
        while True:
            try:
                if self._sess is None:
                    self._sess = self._created()
                return call(self._sess)
            except LOST as error:
                self._lose(error)

    def close(self) -> None:
        session, self._sess = self._sess, None
        if session is None:
            return
        try:
            session.close()
        except LOST as error:
            log.warning("the session was lost while it was closed: %s", error)

    def _lose(self, error: Exception) -> None:
        log.info("The session was lost, perhaps by a preemption; a new one is made. Error: %s", error)
        self.close()

    def _created(self) -> Layer:
        while True:
            try:
                return self._create()
            except LOST as error:
                log.info("A session was lost while it was made; another one is made. Error: %s", error)


def _merged_feeds(given: Any, added: Sequence[Mapping[Any, Any]]) -> Any:
    """The caller's feeds with those of the hooks. RuntimeError if a tensor is fed twice."""
    if not added:
        return given
    merged: dict[Any, Any] = {}
    for feeds in added:
        _check_disjoint(merged, feeds, "Same tensor is fed by two hooks.")
        merged |= feeds
    if given:
        _check_disjoint(given, merged, "Same tensor is fed by a SessionRunHook and user.")
        merged |= given
    return merged


def _check_disjoint(one: Mapping[Any, Any], other: Mapping[Any, Any], message: str) -> None:
    both = [key for key in one if key in other]
    if both:
        raise misuse(RuntimeError, f"{message} Conflict(s): {both}")


_FIELDS = (
    "trace_level",
    "timeout_in_ms",
    "inter_op_thread_pool",
    "output_partition_graphs",
    "report_tensor_allocations_upon_oom",
)


def merged_options(given: RunOptions | None, added: Sequence[Any]) -> Any:
    """Each option with the largest value that anybody asks for."""
    merged = RunOptions()
    if given is not None:
        merged.CopyFrom(given)
    for other in added:
        for field in _FIELDS:
            setattr(merged, field, max(getattr(merged, field), getattr(other, field)))
    return merged
