"""The processes that train together, and the number of this one. They are connected on first use."""

from __future__ import annotations

import atexit
import os
import sys
from numbers import Real
from types import TracebackType
from typing import Any

from staticgraph.compiler.graph.errors import FailedPreconditionError, misuse, shown
from staticgraph.compiler.graph.world import MEMBERSHIP

_TIMEOUT = 300.0
# How each launcher tells how many processes it has started.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")


class _Connection:
    """State of the connection of the processes, and if this one still takes part."""

    def __init__(self) -> None:
        self.is_open = False
        self._hook: Any = None

    def open(self, timeout: float, group: tuple[int, int] = (0, 0)) -> None:
        """Connect, once. Processes with the same first number of `group` belong together."""
        if self.is_open:
            return
        # MPI and ctypes take a while to load; a graph for one process needs neither.
        from staticgraph.runtime.cpu.threads import share_processors
        from staticgraph.runtime.processes.mpi import connect

        world = connect(timeout, launched(), group)
        self.is_open = True
        if world is not None:
            share_processors(world.processors)
            self._hook, sys.excepthook = sys.excepthook, self._failed
            atexit.register(self.close)

    def close(self) -> None:
        """Tell the others that this process has ended."""
        from staticgraph.runtime.processes.mpi import leave_world

        atexit.unregister(self.close)
        leave_world()
        self.is_open = False

    def _failed(
        self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        """Show an error that ends this process, and tell the others."""
        from staticgraph.runtime.processes.mpi import fail_world

        self._hook(kind, error, traceback)
        sys.stderr.flush()
        fail_world(error)


_connection = _Connection()


def init(timeout: float = 300.0) -> None:
    """Connect the processes that were started together. Every function here does so if need be.

    A process that was started by itself is the only one: then nothing is connected, and MPI is not needed.

    Args:
        timeout: The seconds after which waiting for other processes is an error.

    Raises:
        FailedPreconditionError: Several processes were started, and MPI is not installed, or another one than
            that of the launcher.

    >>> import staticgraph as sg
    >>> sg.distribute.init()
    >>> sg.distribute.size(), sg.distribute.rank()
    (1, 0)
    """
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or not timeout > 0:
        raise misuse(ValueError, f"timeout is {shown(timeout)}, and must be a number of seconds")
    _connection.open(timeout)


def launched() -> int:
    """Return the number of processes that a launcher has started with this one; 1 if there is none."""
    return max([1, *(int(os.environ[name]) for name in _SIZES if os.environ.get(name, "").isdigit())])


def tell_others(error: BaseException) -> None:
    """Tell the other processes of an error that ends this one, if the interpreter does not get to see it."""
    if _connection.is_open:
        from staticgraph.runtime.processes.mpi import fail_world

        fail_world(error)


def join_group(group: int, place: int) -> None:
    """Connect with those processes that give the same `group`, in the order of their places.

    All processes that were started together call this, before anything else connects them.

    Raises:
        FailedPreconditionError: They are connected already.
    """
    if _connection.is_open:
        text = "the processes are connected already, and not all of them are workers"
        raise misuse(FailedPreconditionError, text, "make the tf.train.Server first")
    _connection.open(_TIMEOUT, (group, place))


def is_initialized() -> bool:
    """Return True if the processes are connected, or if this one is known to be the only one.

    >>> import staticgraph as sg
    >>> sg.distribute.init()
    >>> sg.distribute.is_initialized()
    True
    """
    return _connection.is_open


def shutdown() -> None:
    """Tell the others that this process takes no part any more. The end of a program does so, too."""
    if _connection.is_open:
        _connection.close()


def size() -> int:
    """Return the number of processes.

    >>> import staticgraph as sg
    >>> sg.distribute.size()
    1
    """
    _connection.open(_TIMEOUT)
    return MEMBERSHIP.world.size


def rank() -> int:
    """Return the number of this process, from 0 to `size() - 1`.

    >>> import staticgraph as sg
    >>> sg.distribute.rank()
    0
    """
    _connection.open(_TIMEOUT)
    return MEMBERSHIP.world.rank


def local_rank() -> int:
    """Return the number of this process among those of this machine, for example to choose a GPU.

    >>> import staticgraph as sg
    >>> sg.distribute.local_rank()
    0
    """
    _connection.open(_TIMEOUT)
    return MEMBERSHIP.world.local_rank


def local_size() -> int:
    """Return the number of processes on this machine.

    >>> import staticgraph as sg
    >>> sg.distribute.local_size()
    1
    """
    _connection.open(_TIMEOUT)
    return MEMBERSHIP.world.local_size
