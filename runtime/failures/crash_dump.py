"""Keeps runs that fail: with the switch `failures`, each is written to a file of its own.

The error stays what it is, whatever becomes of the file: it only gets one more line, which says where that is
and how to look at it. What is no failure of the graph (the end of a dataset, a queue that was closed, a
variable without a value, a feed that does not fit) is not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.graph.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    FeedError,
    FetchError,
    OpError,
    OutOfRangeError,
    SaveError,
    UnavailableError,
)
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Tensor, needed
from staticgraph.compiler.support.lazy_names import EXTENSIONS
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.state.variables import VariableStore
from staticgraph.runtime.switches import Settings

MOST = 100  # files in one folder: a program that goes on after each failure must not fill the disk
_ORDINARY = (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    FeedError,
    FetchError,
    OutOfRangeError,
    UnavailableError,
)


class KeptRun(Protocol):
    """A run that may fail, as far as its crash dump needs it. See `CachedRun`."""

    @property
    def graph(self) -> Graph:
        """The user's graph."""

    @property
    def fetches(self) -> Fetches:
        """The tensors and operations that the user asked for."""

    @property
    def feeds(self) -> tuple[Tensor, ...]:
        """The fed tensors."""

    @property
    def segmented(self) -> Any:
        """The segmented run that does its work, or None."""

    @property
    def settings(self) -> Settings:
        """The switches of its session."""


class CrashWriter(Protocol):
    """Writes the file of a run: the run, the values of its feeds, what had been made in Python when it
    failed, its variables, the error, and the switches that are not as by default.
    """

    def __call__(
        self,
        path: Path,
        run: KeptRun,
        arrays: Sequence[np.ndarray],
        computed: Mapping[Tensor, np.ndarray],
        store: VariableStore,
        error: Exception,
        switches: Mapping[str, str],
    ) -> None: ...


@contextmanager
def kept(folder: str, run: KeptRun, arrays: Sequence[np.ndarray], store: VariableStore) -> Iterator[None]:
    """Context for a run with these values of its feeds; a file in `folder` tells how it fails."""
    early = run.segmented is not None and run.segmented.changes_early
    before = _copy(run, store) if early else store
    try:
        yield
    except _ORDINARY:
        raise
    except Exception as error:
        _tell(error, _written(Path(folder), run, arrays, before, error))
        raise


def _written(
    folder: Path, run: KeptRun, arrays: Sequence[np.ndarray], store: VariableStore, error: Exception
) -> str:
    """Write the file; a line that says where it is, or why it is not."""
    computed: Mapping[Tensor, np.ndarray] = {}
    if run.segmented is not None and (failed := run.segmented.take_failed()) is not None:
        computed = failed.values
    try:
        path = _free(folder)
        write: CrashWriter = EXTENSIONS["write_crash_dump"]
        write(path, run, arrays, computed, store, error, _told(run.settings))
    except Exception as refused:  # the error that is told of is the run's
        why = str(refused).partition("\n")[0] or type(refused).__name__
        return f"the run was not kept: {why}"
    import shlex  # what few programs need

    return f"look at this run: python -m staticgraph replay {shlex.quote(str(path))}"


def _free(folder: Path) -> Path:
    """The first name that is not taken."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, MOST + 1):
        path = folder / ("failure.sg" if number == 1 else f"failure-{number}.sg")
        if not os.path.lexists(path):
            return path
    raise SaveError(f"{folder} has {MOST} failed runs already; remove some")


def _tell(error: Exception, line: str) -> None:
    """Add a line to the message of an error."""
    if isinstance(error, OpError):
        error.message = f"{error.message}\n  {line}"
        error.args = (error.message, *error.args[1:])
    else:
        error.add_note(f"  {line}")


def _told(settings: Settings) -> dict[str, str]:
    """The switches that are not as they are by default."""
    default = Settings()
    chosen = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name != "failures"}
    return {
        name: ",".join(sorted(value)) if isinstance(value, frozenset) else str(value)
        for name, value in chosen.items()
        if value != getattr(default, name)
    }


def _copy(run: KeptRun, store: VariableStore) -> VariableStore:
    """The variables and the random states that a run may change before it fails."""
    from staticgraph.compiler.graph.tensor import outermost, with_inner  # building a graph needs no passes

    copy = VariableStore()
    roots = [*map(outermost, run.fetches.tensors), *run.fetches.targets]
    for op in with_inner(needed(roots)):
        if op.definition.name == "variable" and op in store:
            copy.commit(op, store.stored(op).copy())
        elif op.definition.effect is Effect.RANDOM:
            copy.random_state(op)[...] = store.random_state(op)
    return copy
