"""Optimizers of Keras that apply the gradients of all processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.distribute.buckets import of_all
from staticgraph.tf1.keras.optimizers.native import NativeOptimizer


class _OfAll:
    """Part of the class of an optimizer that applies the gradients of all processes."""

    how = "mean"

    def get_gradients(self, loss: Any, params: Sequence[Any]) -> list[Any]:
        found = super().get_gradients(loss, params)  # type: ignore[misc]
        return [gradient for gradient, _ in of_all(list(zip(found, params, strict=True)), self.how)]

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None
    ) -> Operation:
        made: Operation = super().apply_gradients(of_all(list(grads_and_vars), self.how), name)  # type: ignore[misc]
        return made


def of_all_processes(optimizer: Any, how: str) -> Any:
    """Return an optimizer with the settings of another, that applies the gradients of all processes.

    Args:
        optimizer: An optimizer of Keras.
        how: "mean" or "sum".

    Raises:
        TypeError: It is one of `tf.train` in the form of Keras.
    """
    if isinstance(optimizer, NativeOptimizer):
        hint = "DistributedOptimizer takes the optimizer of tf.train itself"
        raise misuse(TypeError, f"{shown(optimizer)} has no settings to copy", hint)
    return class_of_all(type(optimizer), how).from_config(optimizer.get_config())


def class_of_all(kind: type, how: str) -> Any:
    """Return a class of optimizers with the name of another, that apply the gradients of all processes."""
    body = {"how": how, "__doc__": kind.__doc__, "__module__": kind.__module__}
    return type(kind.__name__, (_OfAll, kind), body)
