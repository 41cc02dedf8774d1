"""Creators of the session inside a monitored session, at the start and after each recovery."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.support.dataclass import cached_property
from staticgraph.tf1.training.monitored.scaffold import Scaffold
from staticgraph.tf1.training.monitored.session_manager import SessionManager


class SessionCreator(ABC):
    """Makes sessions for `MonitoredSession`."""

    @abstractmethod
    def create_session(self) -> Any:
        """A new session."""


class _ScaffoldedCreator(SessionCreator):
    """Makes sessions in which the operations of a scaffold have run."""

    def __init__(self, scaffold: Scaffold | None, master: str, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config

    @cached_property
    def _manager(self) -> SessionManager:
        scaffold = self._scaffold
        return SessionManager(
            scaffold.local_init_op, scaffold.ready_op, scaffold.ready_for_local_init_op, get_default_graph()
        )


class ChiefSessionCreator(_ScaffoldedCreator):
    """Makes sessions that restore the latest checkpoint or initialise all variables.

    `scaffold`: which operations do that. `checkpoint_dir`: where to look for a checkpoint;
    `checkpoint_filename_with_path`: or the prefix of one. `config`: of the session.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        scaffold = self._scaffold.finalize()
        return self._manager.prepare_session(
            self._master,
            init_op=scaffold.init_op,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(_ScaffoldedCreator):
    """Makes sessions whose variables others initialise; waits for that, `max_wait_secs` seconds at most."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        self._scaffold.finalize()
        return self._manager.wait_for_session(self._master, self._config, self._max_wait_secs)
