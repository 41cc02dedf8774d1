"""Training of a model function by a strategy with several replicas in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.building.inputs import group
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1 import data
from staticgraph.tf1.distribute.per_replica import PerReplica
from staticgraph.tf1.estimator.spec import EstimatorSpec
from staticgraph.tf1.estimator.user_functions import DatasetInitializer, split


def model_of_replicas(
    strategy: Any, made: Any, call: Callable[[Any, Any], EstimatorSpec]
) -> tuple[EstimatorSpec, list[Any]]:
    """Return the model of all replicas, each of which has a batch of its own, and hooks.

    Gradients are averaged, and the loss is the mean of those of all replicas; but sums of losses are added.

    Args:
        strategy: A strategy with several replicas.
        made: What an input function has made.
        call: The model function, of features and labels.

    Raises:
        ValueError: The input is not a dataset.
    """
    if not isinstance(made, data.Dataset):
        text = f"several replicas need a batch each: input_fn must return a Dataset, and not {made!r}"
        raise misuse(ValueError, text, "tf.data.Dataset.from_tensor_slices(...).batch(...)")
    iterator = made.make_initializable_iterator()
    batches = [split(iterator.get_next()) for _ in range(strategy.num_replicas_in_sync)]
    specs: list[EstimatorSpec] = []
    given = [PerReplica(parts) for parts in zip(*batches, strict=True)]
    strategy.experimental_run_v2(lambda *of_one: specs.append(call(*of_one)), given)
    merged = specs[0]._replace(
        loss=strategy.reported(PerReplica([spec.loss for spec in specs])),
        train_op=group(*[spec.train_op for spec in specs]),
    )
    return merged, [DatasetInitializer(iterator)]
