"""Snapshots: the whole state of a training as saved graphs, `net-1500.sg` after 1500 steps.

Each is a saved graph like the trained one: weights, what the optimizer remembers, the number of steps, how
much of their streams random operations have used. Which examples come next follows from the number of steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from staticgraph.applications.solver.errors import DescriptionError, told
from staticgraph.applications.solver.network import Network
from staticgraph.compiler.graph.errors import SaveError
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.session import Session
from staticgraph.saved.saving import LoadedGraph, load, save


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The snapshots of a training in a folder; at most `keep` are left there."""

    folder: Path
    name: str
    keep: int

    def __iter__(self) -> Iterator[tuple[int, Path]]:
        """The numbers of steps and the files, oldest first."""
        form = re.compile(rf"{re.escape(self.name)}-(\d+)\.sg")
        files = list(self.folder.iterdir()) if self.folder.is_dir() else []
        found = [(int(m[1]), file) for file in files if (m := form.fullmatch(file.name))]
        return iter(sorted(found))

    @property
    def newest(self) -> Path | None:
        """The file with the most steps."""
        return max(self, default=(0, None))[1]

    def clear(self) -> None:
        """Remove all."""
        for _, file in self:
            file.unlink()

    def make_folder(self) -> None:
        """Make the folder where it does not exist."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = f"cannot make the folder of snapshots {self.folder}: {error.strerror}"
            raise SaveError(told(text, hint="choose another: --set snapshot.folder=PATH")) from None

    def write(self, network: Network, session: Session, step: int) -> Path:
        """Save the state after `step` steps, then remove what is too old."""
        path = self.folder / f"{self.name}-{step}.sg"
        self.make_folder()
        write(path, network, session)
        older = [file for _, file in self if file != path]
        for file in older[: max(len(older) + 1 - self.keep, 0)]:
            with suppress(OSError):  # the new one is there: what becomes of an old one stops no training
                file.unlink()
        return path


def write(path: Path, network: Network, session: Session) -> None:
    """Save the graph with all that goes on from here: whole, or not at all."""
    save(path, session=session, signatures=network.signatures, resume=True)


def restore(path: Path, network: Network, session: Session) -> int:
    """Take the state out of a snapshot; the number of steps it has behind it.

    `DescriptionError` where it is of another network; `NotFoundError`, `InvalidFileError`.
    """
    loaded = load(path)
    _check(path, loaded, network)
    theirs, ours = loaded.graph, session.graph
    with loaded.session.held() as given, session.held() as store:
        for name, variable in theirs.variables.items():
            store.write(ours.variables[name].op, given.read(variable.op))
        mine = {op.name: op for op in ours.get_operations()}
        for op in theirs.get_operations():
            if op.definition.effect is Effect.RANDOM and op.name in mine:
                store.random_state(mine[op.name])[0] = given.random_state(op)[0]
        step = int(store.read(network.counter.op))
    loaded.session.close()
    return step


def _check(path: Path, loaded: LoadedGraph, network: Network) -> None:
    """Both must have the same variables of the same shapes."""
    theirs = {name: variable.op.outputs[0].type for name, variable in loaded.graph.variables.items()}
    ours = {name: variable.op.outputs[0].type for name, variable in network.graph.variables.items()}
    for name in [*ours, *theirs]:
        if theirs.get(name) != ours.get(name):
            here, there = ours.get(name, "missing"), theirs.get(name, "missing")
            text = f"{path} is of another network: {name} is {there} in it, and {here} in the description"
            raise DescriptionError(told(text, hint="train anew, or go back to the description that it is of"))
