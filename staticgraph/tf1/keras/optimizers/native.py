"""An optimizer of `staticgraph.train` in a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import GraphKeys, get_collection_ref
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.tf1.keras import state
from staticgraph.train.optimizers.optimizer import Optimizer


class NativeOptimizer:
    """Adapter that gives an optimizer of `staticgraph.train` the interface that a model needs."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.iterations = None

    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        return [("optimizer", self.optimizer)]

    @property
    def weights(self) -> list[Any]:
        return self.optimizer.variables()

    def get_weights(self) -> list[Any]:
        """The values of `weights` as arrays."""
        return state.batch_get_value(self.weights)

    def get_updates(self, loss: Any, params: Sequence[Any]) -> list[Operation]:
        """The operations of one training step.

        The updates of layers are left to the model, which knows those of layers that are not trained.
        """
        if not params:
            return []
        pending = get_collection_ref(GraphKeys.UPDATE_OPS)
        kept = list(pending)
        pending.clear()
        try:
            step = self.optimizer.minimize(loss, var_list=list(params))
        finally:
            pending[:] = kept
        state.track(*self.optimizer.variables())
        return [step]

    def get_config(self) -> dict[str, Any]:
        raise misuse(NotImplementedError, "an optimizer of staticgraph.train cannot be written as a config")
