"""`QueueRunner`: threads that fill a queue while the main thread takes from it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from staticgraph.building.framework import GraphKeys, add_to_collection, get_default_session
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import OpError, OutOfRangeError, misuse
from staticgraph.compiler.support.forks import brief
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.formats.tf.log import log
from staticgraph.runtime.session import Session
from staticgraph.tf1.training.coordinator import Coordinator


class QueueRunner:
    """Runs operations that add to a queue, each again and again in a thread of its own.

    `queue`: what they add to. `enqueue_ops`: the operations. `close_op`: run when the last of them has found
    the end of its input, `queue.close()` by default. `cancel_op`: run when the coordinator stops, so that no
    thread keeps waiting for room; `queue.close(cancel_pending_enqueues=True)` by default.
    `queue_closed_exception_types`: a tuple of errors that mean the end of the input, OutOfRangeError by
    default; any other stops the coordinator.

    ValueError without a queue or operations, TypeError if those types are no errors of operations.
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            message = "QueueRunner(queue_runner_def) is not supported"
            raise misuse(ValueError, message, "pass queue and enqueue_ops")
        if queue is None or not enqueue_ops:
            raise misuse(ValueError, "Must provide queue and enqueue_ops.")
        ends = (OutOfRangeError,) if queue_closed_exception_types is None else queue_closed_exception_types
        if not isinstance(ends, tuple) or not ends or not all(map(_is_op_error, ends)):
            message = f"queue_closed_exception_types must be a tuple of classes of sg.errors, not {ends!r}"
            raise misuse(TypeError, message)
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._ends = ends
        self._lock = brief(threading.RLock())
        self._running: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # threads at work, by session
        self._raised: list[Exception] = []

    queue: Any = read_only("queue")
    enqueue_ops: list[Any] = read_only("enqueue_ops")
    close_op: Any = read_only("close_op")
    cancel_op: Any = read_only("cancel_op")

    queue_closed_exception_types: tuple[type[OpError], ...] = read_only("ends")

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The exceptions that ended threads which had no coordinator to tell."""
        return self._raised

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """One thread per operation, and one more that empties the queue's waiting line when `coord` stops.

        No threads where those of an earlier call still fill the queue in this session. `daemon`: the program
        may end before them. `start`: start them here.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._raised = []
        prefix = f"QueueRunnerThread-{self.name}"
        threads = [
            threading.Thread(target=self._run, args=(sess, op, coord), name=f"{prefix}-{op.name}")
            for op in self._enqueue_ops
        ]
        if coord is not None:
            args = sess, coord
            threads.append(threading.Thread(target=self._cancel, args=args, name=f"{prefix}-close_on_stop"))
        for thread in threads:
            thread.daemon = thread.daemon or daemon
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _run(self, sess: Any, enqueue_op: Any, coord: Coordinator | None) -> None:
        """Add to the queue until the input ends, an error occurs or a stop is requested."""
        ended = False
        try:
            enqueue = sess.make_callable(enqueue_op)
            while coord is None or not coord.should_stop():
                enqueue()
        except self._ends:
            ended = True
        except Exception as error:
            if coord is None:
                log.error("Exception in QueueRunner: %s", error)
                self._raised.append(error)
                raise
            coord.request_stop(error)
        finally:
            with self._lock:
                self._running[sess] -= 1
                is_last = self._running[sess] == 0
            if ended and is_last:
                _run_quietly(sess, self._close_op)

    def _cancel(self, sess: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        _run_quietly(sess, self._cancel_op)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a queue runner to those of the default graph that `start_queue_runners` starts."""
    add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all queue runners of the session's graph; returns them.

    `sess`: the default session by default; a monitored session has started them itself. `coord`: is asked
    to stop when a thread fails. ValueError without a session, TypeError if `sess` is none.
    """
    sess = get_default_session() if sess is None else sess
    if sess is None:
        message = "Cannot start queue runners: No default session is registered."
        hint = "use `with sess.as_default()`, or pass sess=sess"
        raise misuse(ValueError, message, hint)
    if getattr(sess, "has_started_queue_runners", False):
        return []
    if not isinstance(sess, Session):
        raise misuse(TypeError, f"sess must be a Session, not {sess!r}")
    runners = sess.graph.get_collection(collection)
    if not runners:
        log.warning("start_queue_runners() has nothing to start: the graph has no queue runners")
    with sess.graph.as_default():
        return [t for runner in runners for t in runner.create_threads(sess, coord, daemon, start)]


def _is_op_error(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OpError)


def _run_quietly(sess: Any, op: Any) -> None:
    """Run what ends a queue. It may have ended already, or its session: there is nothing left to do then."""
    try:
        sess.run(op)
    except Exception as error:
        log.debug("Ignored exception: %s", error)


show_public_names(__name__)
