"""`SessionManager`: opens a session whose variables have values, restored or initialised."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from staticgraph.building.framework import GraphKeys, get_default_graph
from staticgraph.compiler.graph.errors import DeadlineExceededError, UninitializedError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.distribute.world import launched
from staticgraph.formats.tf.checkpoints.checkpoint_state import CheckpointState, get_checkpoint_state
from staticgraph.formats.tf.log import log
from staticgraph.runtime.session import Session


class SessionManager:
    """Opens sessions and makes them ready to train.

    `ready_op`: gives the names of the variables that have no value yet, as `report_uninitialized_variables`.
    `local_init_op`: run in each new session, as soon as `ready_for_local_init_op` gives no names. `graph`:
    the default one by default. `recovery_wait_secs`: seconds between two looks at what is waited for.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            message = "If you pass a ready_for_local_init_op you must also pass a local_init_op"
            raise misuse(ValueError, message)
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: dict[Any, Any] | None = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """A session with restored variables, or with those that `init_op` and then `init_fn` initialise.

        The latest checkpoint in `checkpoint_dir`, or the one given by its prefix, is restored by `saver`.
        `wait_for_checkpoint`: wait for one, `max_wait_secs` seconds at most. RuntimeError where variables
        have no value after all that.
        """
        session, is_restored = self._restored(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        if not is_restored:
            if init_op is None and init_fn is None and self._local_init_op is None:
                message = "Model is not initialized and no init_op or init_fn or local_init_op was given"
                raise misuse(RuntimeError, message)
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn is not None:
                init_fn(session)
        missing = self._initialise_local(session)
        stage = "ready for local_init"
        if missing is None:
            missing, stage = _missing(session, self._ready_op), "ready"
        if missing is not None:
            tried = f"Init op: {getattr(init_op, 'name', None)}, init fn: {init_fn}"
            tried += f", local_init_op: {getattr(self._local_init_op, 'name', None)}"
            message = f"Init operations did not make model {stage}.  {tried}, error: {missing}"
            raise misuse(RuntimeError, message, "let init_op initialise all variables")
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """A session, and whether a checkpoint gave all its variables values. Parameters as of
        `prepare_session`.
        """
        session, is_restored = self._restored(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        missing = self._initialise_local(session)
        if not is_restored:
            return session, False
        file = checkpoint_dir or checkpoint_filename_with_path
        stage = "ready for local init"
        if missing is None:
            missing, stage = _missing(session, self._ready_op), "ready"
        if missing is None:
            log.info("Restored model from %s", file)
        else:
            log.info("Restoring model from %s did not make model %s: %s", file, stage, missing)
        return session, missing is None

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = math.inf
    ) -> Session:
        """A session, as soon as its variables have values that others gave them.

        DeadlineExceededError if that takes more than `max_wait_secs` seconds. Variables live in one session
        here: nobody else can initialise those that the local init op does not. If several processes were
        started together, each has its own variables and initialises them; a step that trains gives them the
        values of the first process.
        """
        limit = math.inf if max_wait_secs is None else max_wait_secs
        deadline = time.monotonic() + limit
        while True:
            session = Session(master, self._graph, config)
            if launched() > 1:
                session.run([v.initializer for v in self._graph.get_collection(GraphKeys.GLOBAL_VARIABLES)])
            missing = self._initialise_local(session) or _missing(session, self._ready_op)
            if missing is None:
                return session
            session.close()
            if time.monotonic() + self._wait_secs > deadline:
                message = f"Session was not ready after waiting {limit:g} secs."
                raise misuse(DeadlineExceededError, message, missing)
            log.info("Waiting for model to be ready: %s", missing)
            time.sleep(self._wait_secs)

    def _restored(
        self,
        master: str,
        saver: Any,
        folder: str | None,
        prefix: str | None,
        waits: bool,
        max_wait_secs: float,
        config: Any,
    ) -> tuple[Session, bool]:
        """A new session, and whether a checkpoint was restored in it."""
        if folder and prefix:
            raise misuse(ValueError, "Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        session = Session(master, self._graph, config)
        if saver is None or not (folder or prefix):
            return session, False
        if prefix:
            saver.restore(session, prefix)
            return session, True
        state = self._checkpoint_state(str(folder), max_wait_secs if waits else 0.0)
        if state is None:
            return session, False
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return session, True

    def _checkpoint_state(self, folder: str, max_wait_secs: float) -> CheckpointState | None:
        waited = 0.0
        while (state := get_checkpoint_state(folder)) is None and waited < max_wait_secs:
            log.info("Waiting for checkpoint to be available.")
            time.sleep(self._wait_secs)
            waited += self._wait_secs
        return state

    def _initialise_local(self, session: Session) -> str | None:
        """Run the local init op if everything is ready for it; else what is missing."""
        if self._local_init_op is None:
            return None
        missing = _missing(session, self._ready_for_local_init_op)
        if missing is None:
            log.info("Running local_init_op.")
            session.run(self._local_init_op, options=self._local_init_run_options)
            log.info("Done running local_init_op.")
        return missing


def _missing(session: Session, report: Any) -> str | None:
    """Return the variables without a value, which `report`, an operation, names; None if all have one.

    An operation that fails where a variable has no value will do as well.
    """
    if report is None:
        return None
    try:
        found = session.run(report)
    except UninitializedError as error:
        return str(error)
    if found is None or found.dtype.kind not in "OS" or found.size == 0:
        return None
    return f"Variables not initialized: {', '.join(name.decode() for name in found)}"
