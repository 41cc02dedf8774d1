"""`Supervisor`: a session, and threads that save checkpoints and write summaries beside the training loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from staticgraph.building.framework import GraphKeys, add_to_collection, get_collection, get_default_graph
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import AbortedError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.formats.tf.log import log
from staticgraph.state.variable_lists import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)
from staticgraph.tf1.summary import FileWriter, merge_all
from staticgraph.tf1.training.coordinator import Coordinator, LooperThread
from staticgraph.tf1.training.event_files import session_log, write_graph_files
from staticgraph.tf1.training.monitored.scaffold import Scaffold
from staticgraph.tf1.training.monitored.session_manager import SessionManager
from staticgraph.tf1.training.supervisor_threads import CheckpointThread, StepCounterThread, SummaryThread
from staticgraph.train.step_count import get_global_step
from staticgraph.train.step_count import global_step as read_global_step

_USE_DEFAULT: Final[Any] = 0


class Supervisor:
    """Prepares a session, saves checkpoints and writes summaries in threads, and stops all of it together.

    `ready_op`, `ready_for_local_init_op`, `init_op`, `init_feed_dict`, `local_init_op`, `init_fn(session)`:
    as of `Scaffold`. What is left out is the first of its collection, or made; None switches it off.
    `logdir`: where checkpoints, called `checkpoint_basename`, and event files are. `save_model_secs`,
    `save_summaries_secs`: seconds between two of them, 0 for none. `stop_grace_secs`: how long `stop` waits
    for threads. `is_chief=False`: another one initialises the variables and saves.

    The graph is finalized. `MonitoredTrainingSession` does the same with hooks in place of threads.

    >>> import staticgraph as sg, tempfile
    >>> step = sg.train.get_or_create_global_step().assign_add(1)
    >>> sv = sg.train.Supervisor(logdir=tempfile.mkdtemp())
    >>> with sv.managed_session() as sess:
    ...     while not sv.should_stop():
    ...         if sess.run(step) >= 3:
    ...             sv.request_stop()
    >>> sv.should_stop()
    True
    """

    USE_DEFAULT = _USE_DEFAULT

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = _USE_DEFAULT,
        ready_for_local_init_op: Any = _USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = _USE_DEFAULT,
        init_feed_dict: dict[Any, Any] | None = None,
        local_init_op: Any = _USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = _USE_DEFAULT,
        saver: Any = _USE_DEFAULT,
        global_step: Any = _USE_DEFAULT,
        save_summaries_secs: float | None = 120,
        save_model_secs: float | None = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = _USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        self._graph = graph = get_default_graph() if graph is None else graph
        with graph.as_default():
            self._ready_op = _default(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = _default(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self._init_op = _default(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._local_init_op = _default(
                local_init_op, GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
            self._saver = _default(saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
            self._summary_op = _default(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = _default(global_step, GraphKeys.GLOBAL_STEP, get_global_step)
        self._is_chief = is_chief
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        if summary_writer is _USE_DEFAULT:
            summary_writer = FileWriter(self._logdir) if self._logdir else None
        self._summary_writer = summary_writer if is_chief else None
        self._is_graph_written = False
        self._session_manager = session_manager or SessionManager(
            self._local_init_op,
            self._ready_op,
            self._ready_for_local_init_op,
            graph,
            recovery_wait_secs,
            local_init_run_options,
        )
        graph.finalize()

    is_chief: bool = read_only("is_chief")
    session_manager: SessionManager = read_only("session_manager")
    coord: Coordinator = read_only("coord")
    init_op: Any = read_only("init_op")
    init_feed_dict: dict[Any, Any] | None = read_only("init_feed_dict")
    ready_op: Any = read_only("ready_op")
    ready_for_local_init_op: Any = read_only("ready_for_local_init_op")
    summary_writer: Any = read_only("summary_writer")
    summary_op: Any = read_only("summary_op")
    save_summaries_secs: float | None = read_only("save_summaries_secs")
    global_step: Any = read_only("global_step")
    saver: Any = read_only("saver")
    save_model_secs: float | None = read_only("save_model_secs")

    save_path: str | None = read_only("save_path", "The prefix of checkpoints, without the step.")

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Start the threads that save checkpoints and write summaries; None if there is no `logdir`.

        RuntimeError if this is not the chief.
        """
        if not self._is_chief:
            raise misuse(RuntimeError, "Only chief supervisor can start standard services.")
        if not self._logdir:
            log.warning("Standard services need a 'logdir' passed to the Supervisor")
            return None
        writer, step = self._summary_writer, self._global_step
        if writer is not None and step is not None:
            writer.add_session_log(session_log("START"), read_global_step(sess, step))
        threads: list[LooperThread] = []
        if self._save_summaries_secs and writer is not None:
            if self._summary_op is not None:
                threads.append(
                    SummaryThread(self.coord, self._save_summaries_secs, sess, self._summary_op, writer, step)
                )
            if step is not None:
                threads.append(StepCounterThread(self.coord, self._save_summaries_secs, sess, writer, step))
        if self._saver is not None and self._save_model_secs:
            threads.append(
                CheckpointThread(
                    self.coord, self._save_model_secs, sess, self._saver, self.save_path, writer, step
                )
            )
        for thread in threads:
            thread.start()
        return threads

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session that is ready to train, restored from the latest checkpoint in `logdir` if there is one.

        `start_standard_services`: start the threads, and those of queue runners.
        """
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master,
                self._init_op,
                self._saver,
                self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                log.info("Starting standard services.")
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config, max_wait_secs)
        if start_standard_services:
            log.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    def start_queue_runners(
        self, sess: Any, queue_runners: Iterable[Any] | None = None
    ) -> list[threading.Thread]:
        """Start the threads of queue runners, of all in the graph by default."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Call `target(*args, **kwargs)` in a thread every so many seconds, until all stop."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Iterable[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop the threads, wait for them, and raise the exception that stopped them, if there was one."""
        self._coord.request_stop()
        try:
            self._coord.join(threads, self._stop_grace_secs, ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer is not None:
                self._summary_writer.add_session_log(session_log("STOP"))
                self._summary_writer.close()
                self._is_graph_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads, and the training loop, to stop; `stop` will raise `ex`."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Return True if a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """Context that turns an exception into a request to stop."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until somebody asks for a stop."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: int | None = None) -> None:
        """Write a summary, at the session's global step by default. RuntimeError without a writer."""
        if self._summary_writer is None:
            raise misuse(RuntimeError, "Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = read_global_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """Context with a prepared session. Its end stops the threads, raises what stopped them, closes it.

        The end of an input (OutOfRangeError) ends the block as any end does.
        """
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield sess
        except Exception as error:  # `stop` raises it, once the threads have ended
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    sess.close()

    def _write_graph(self) -> None:
        if self._logdir and self._summary_writer is not None and not self._is_graph_written:
            write_graph_files(self._graph, self._logdir, self._summary_writer)
            self._is_graph_written = True

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Call `train_step_fn(session, *args, **kwargs)` until the supervisor stops.

    After an AbortedError it begins again, with another session.
    """
    while True:
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
            return
        except AbortedError as error:
            log.info("Training begins again with another session: %s", error)


def _default(given: Any, collection: str, make: Callable[[], Any]) -> Any:
    """Return what is given, or by default the first element of a collection, or else the result of `make`.

    The result of `make` is added to the collection.
    """
    if given is not _USE_DEFAULT:
        return given
    found = get_collection(collection)
    if len(found) > 1:
        log.info("Found %d %s operations. Returning the first one.", len(found), collection)
    if found:
        return found[0]
    made = make()
    if made is not None:
        add_to_collection(collection, made)
    return made
