"""Training of a model by several replicas: each computes the outputs for its part of a batch.

Losses and metrics are those of all outputs together, so only what looks at a whole batch is another one: the
statistics of batch normalization, and penalties of activities. What layers assign is combined by replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from staticgraph.arrays.array_ops import concat, shape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.mathematics.math_ops import maximum, minimum
from staticgraph.tf1.distribute.per_replica import PerReplica
from staticgraph.tf1.keras import state
from staticgraph.tf1.keras.engine.structure import leaves, single

# What layers note of each call.
_NOTED = "_updates", "_losses", "_metrics", "inbound_nodes", "outbound_nodes"


class Outputs(NamedTuple):
    """Outputs of all replicas together.

    Attributes:
        tensors: The outputs for the whole batch.
        updates: The operations that each training step must run.
        losses: The penalties, those of activities as the mean of all replicas.
    """

    tensors: list[Tensor]
    updates: list[Operation]
    losses: list[Any]


def outputs_of_replicas(model: Any, strategy: Any) -> Outputs:
    """Return the outputs of a model that is called once for each replica.

    Args:
        model: A model with inputs and outputs.
        strategy: A strategy with several replicas.
    """
    count = strategy.num_replicas_in_sync if strategy.has_copies else 1
    extra = {"training": state.learning_phase()} if "training" in model._parameters else {}
    masks = state.masks(model.outputs[0].graph)
    made: list[list[Tensor]] = []

    def call(given: list[Tensor], rows: Any) -> None:
        outputs = list(leaves(model(single(given), **extra)))
        made.append([output if rows is None else output[:rows] for output in outputs])
        for output, kept in zip(outputs, made[-1], strict=True):
            if output in masks and rows is not None:
                masks[kept] = masks[output][:rows]

    inputs, sizes = _parts(model.inputs, count) if count > 1 else (model.inputs, None)
    of_all = model.get_losses_for(None)
    with _noted(model) as noted:
        strategy.experimental_run_v2(call, (inputs, sizes))
    tensors = []
    for each in zip(*made, strict=True):
        tensors.append(each[0] if count == 1 else concat(list(each), axis=0))
        if count > 1 and all(part in masks for part in each):
            masks[tensors[-1]] = concat([masks[part] for part in each], axis=0)
    losses = [*of_all, *(each.sum() * (1.0 / count) for each in noted["_losses"])]
    return Outputs(tensors, list(dict.fromkeys(noted["_updates"])), losses)


def _parts(inputs: Sequence[Tensor], count: int) -> tuple[list[PerReplica], PerReplica]:
    """Return the parts of a batch, and their numbers of rows.

    All parts have the same size, but for those of the last batch of an epoch. A replica without a row takes
    one of another replica, and its output is left out.
    """
    rows = shape(inputs[0])[0]
    each = (rows + count - 1) // count
    starts = [minimum(number * each, rows) for number in range(count)]
    sizes = [minimum(start + each, rows) - start for start in starts]
    firsts = [minimum(start, rows - 1) for start in starts]
    pairs = list(zip(firsts, sizes, strict=True))
    made = [PerReplica([t[first : first + maximum(size, 1)] for first, size in pairs]) for t in inputs]
    return made, PerReplica(sizes)


@contextmanager
def _noted(model: Any) -> Iterator[dict[str, list[Any]]]:
    """Context in which layers note nothing for later; gives what they would have noted."""
    layers, waiting = {}, [model]
    while waiting:
        layer = waiting.pop()
        if id(layer) not in layers:
            layers[id(layer)] = layer
            waiting += layer._sublayers()
    before = {(key, name): list(getattr(layer, name, ())) for key, layer in layers.items() for name in _NOTED}
    found: dict[str, list[Any]] = {name: [] for name in _NOTED}
    try:
        yield found
    finally:
        for (key, name), items in before.items():
            now = getattr(layers[key], name, None)
            if now is not None:
                found[name] += now[len(items) :]
                now[:] = items
