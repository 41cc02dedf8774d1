"""Replicas of a model: they have the same variables, and change them together.

A strategy sets what is here while it calls a function for a replica: `mirrored.py` in `tf1/distribute/` for
several in one graph, `workers.py` for one in each process. Replicas in one graph share variables: those that
the function makes are made for the first one, and found by the others. What replicas assign to a variable is
combined as its `aggregation` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, Protocol

from staticgraph.compiler.graph.graph import Graph

Pairs = list[tuple[Any, Any]]


class VariableSynchronization(Enum):
    """Time to make copies of a variable on several devices equal. There is one copy here, which all
    replicas have: only ON_READ means something, a variable that is not trained.
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum):
    """Ways to combine what the replicas of a `MirroredStrategy` assign to a variable.

    NONE, the default, refuses it. Where there is one replica, all mean the same.
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = ONLY_FIRST_REPLICA


class Replica(Protocol):
    """One of several replicas, for which a function is called."""

    def once(self, function: Callable[[Any], Any], value: Any, how: str) -> Any:
        """Return what `function` makes of the value of all replicas together.

        `how`: "sum", "mean" or "first" of what they give.
        """

    def add(self, function: Callable[[Any], Any], value: Any) -> Any:
        """Return what `function` makes of a value that is added to what this replica has by itself."""

    def read(self, value: Any) -> Any:
        """Return the sum of what replicas have by themselves, of which `value` is the part of this one."""

    def scaled(self, loss: Any) -> Any:
        """Return the loss of which an optimizer takes gradients: those of all replicas are added."""

    def apply(self, apply: Callable[[Pairs], Any], pairs: Pairs) -> Any:
        """Return the result of `apply` for the gradients of all replicas, in pairs with variables."""

    def twin(self) -> Any:
        """Return the variable that the first replica has made in place of the next one; None in the first."""

    def made(self, variable: Any) -> None:
        """Note a variable that this replica, the first one, has made."""


_SUMS = "weighted_sum", "sum"  # as `losses` and Keras call it


class _LastLoss:
    """Key of the name of the reduction of the last loss, in `Graph.attached`."""


def note_reduction(graph: Graph, reduction: str) -> None:
    """Note how a loss of single elements is reduced to one number."""
    graph.attached[_LastLoss] = reduction


def is_last_loss_a_sum(graph: Graph) -> bool:
    """Return True if the last loss that was made in a graph is the sum of those of its elements."""
    return graph.attached.get(_LastLoss) in _SUMS


_replica: ContextVar[Replica | None] = ContextVar("replica", default=None)


# The replica for which a function is called, or None if there is only one.
present = _replica.get


@contextmanager
def within(replica: Replica | None) -> Iterator[None]:
    """Context of a replica. None: outside of all."""
    token = _replica.set(replica)
    try:
        yield
    finally:
        _replica.reset(token)
