"""`tf.contrib.training`: strategies for `replica_device_setter` that choose the task of a variable."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.errors import misuse


class RandomStrategy:
    """Choose a task by a hash of the operation's name: the same in each run.

    Args:
        num_ps_tasks: How many tasks there are.
        seed: An integer that is part of what is hashed.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Any) -> int:
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False)
        return int(digest.hexdigest(), 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """Choose the task with the least load so far, of several the first.

    Args:
        num_tasks: How many tasks there are.
        load_fn: A function of an operation that gives its load, such as `byte_size_load_fn`.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._load_fn = load_fn
        self._loads = [0.0] * num_tasks

    def __call__(self, op: Any) -> int:
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Any) -> int:
    """Return the size in bytes of the output of an operation, such as a variable.

    Raises:
        ValueError: It has not one output, or the shape of it is not known.
    """
    if len(op.outputs) != 1:
        raise misuse(ValueError, f"byte_size_load_fn: {op.name} has {len(op.outputs)} outputs, not one")
    (output,) = op.outputs
    if not output.shape.is_fully_defined():
        raise misuse(ValueError, f"byte_size_load_fn: the shape of {op.name} is not known: {output.shape}")
    return int(output.shape.num_elements() * output.dtype.size)
