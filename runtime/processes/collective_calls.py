"""The part in Python of an executable with collectives: it compares steps and looks after the others."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import FailedPreconditionError, layout
from staticgraph.compiler.graph.function import Node
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.graph.world import MEMBERSHIP
from staticgraph.compiler.lower.program import HostCall
from staticgraph.runtime.disk.sources import compiler_version
from staticgraph.runtime.processes.mpi import MpiWorld
from staticgraph.runtime.state.memory import empty
from staticgraph.runtime.state.variables import VariableStore

_SHARED: WeakKeyDictionary[VariableStore, set[Operation]] = WeakKeyDictionary()


class CollectiveCalls:
    """The collectives of an executable, in order.

    Args:
        calls: The collectives.
        step: What the executable computes.
        device: What runs it: all processes have the same.

    Raises:
        FailedPreconditionError: They are for another number of processes than there are.
    """

    def __init__(self, calls: Sequence[HostCall], step: Step, device: str) -> None:
        world, first = MEMBERSHIP.world, calls[0].node
        workers = first.attrs["workers"]
        if not isinstance(world, MpiWorld) or world.size != workers:
            text = f"{first.op.name} was made for {workers} processes, and this one is of {world.size}"
            hint = "build the graph after staticgraph.distribute.init(), in each process"
            raise FailedPreconditionError(layout(text, first.where, (), hint))
        self._world, self._record = world, world.record(len(calls))
        self._variables = _shared(step) if _trains(calls, step) else []
        listed = [f"{_described(call)} on a {device}" for call in calls]
        told = dict.fromkeys((*_of_all(step.writes), *self._variables))
        listed += [f"variable {op.name} {op.outputs[0].type}" for op in told]
        self._what = "\n".join(listed)
        self._version = compiler_version() or ""
        parts = (self._version, self._what)
        self._digest = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
        self._waits = (-1, 0.0)  # the collectives that were complete when a wait began, and its time

    @property
    def address(self) -> int:
        """The address of what a step needs to call MPI."""
        return self._record.address

    @property
    def connected(self) -> Any:
        """One word: 0 if Python must take part in the next run, since the step is new or a run has failed."""
        return self._record.connected

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._world.rank

    @property
    def mended(self) -> int:
        """The number of failures after which processes were connected again."""
        return self._world.mended

    @property
    def runs(self) -> Any:
        """One word that counts runs."""
        return self._world.peers.runs

    def begin(self, store: VariableStore | None = None) -> None:
        """Get ready for a run. Before the first one, compare the step with those of the others.

        If it trains, the variables in `store` that it reads or changes then get the values that they have in
        process 0, but for local ones, and for those that had them before.
        """
        self._world.mend()
        if self._record.connected[0]:
            return
        self._world.agree(self._record, self._what, self._digest, self._version)
        if store is not None:
            self._share(store)

    def _share(self, store: VariableStore) -> None:
        """Give variables the values of process 0."""
        shared = _SHARED.setdefault(store, set())
        for op in self._variables:
            if op not in shared:
                value = store.stored(op)
                buffer = empty(TensorType(op.outputs[0].dtype, value.shape))
                buffer[...] = self._world.exchange("broadcast", value)
                store.commit(op, buffer)
                shared.add(op)

    def look(self, node: Node) -> None:
        """Raise an error if a collective cannot be complete: MPI or another process has failed."""
        if error := self._world.error_of(self._record):
            raise FailedPreconditionError(f"MPI: {error}")
        completed = self._world.peers.completed[0]
        if self._waits[0] != completed:
            self._waits = (completed, time.monotonic())
        self._world.peers.look(node.op.name, time.monotonic() - self._waits[1], self._digest)

    def complete(self) -> None:
        """Count a collective that was not MPI's."""
        self._world.peers.completed[0] += 1

    def succeed(self) -> None:
        """Count a run."""
        self._world.peers.runs[0] += 1

    def fail(self, *memory: Any) -> None:
        """Keep `memory` that MPI may still write to."""
        self._world.leave(self, *memory)


def _trains(calls: Sequence[HostCall], step: Step) -> bool:
    """Return True if a step changes variables, and does not only give some process's values to the others."""
    return bool(step.writes) and any(call.node.op.name != "broadcast" for call in calls)


def _of_all(written: Sequence[Operation]) -> list[Operation]:
    """Return the variables that are written, without those of a process alone, such as those of metrics."""
    own = {v.op for v in written[0].graph.get_collection("local_variables")} if written else ()
    return [op for op in written if op not in own]


def _shared(step: Step) -> list[Operation]:
    """Return the variables on which depends what a step writes, and that do not belong to a process.

    Counts of its rows do, and parts of a state, and what is only read and is in no collection: such as its
    part of the data. What a process fetches besides does not count: others may not fetch it.
    """
    graph, written = step.writes[0].graph, set(step.writes)
    own = {v.op for name in ("local_variables", "sharded_variables") for v in graph.get_collection(name)}
    of_all = {v.op for v in graph.get_collection("variables")}
    return [op for op in step.sources() if op not in own and (op in written or op in of_all)]


def _described(call: HostCall) -> str:
    told = " ".join(f"{name}={value}" for name, value in call.attrs.items())
    return f"{call.node.op.name}({call.inputs[0][1]}) {told}"
