"""TF1's experimental strategies (its `tf.distribute.experimental`)."""

from staticgraph.tf1.distribute.workers import (
    CollectiveCommunication,
    MultiWorkerMirroredStrategy,
    ParameterServerStrategy,
)

__all__ = ["CollectiveCommunication", "MultiWorkerMirroredStrategy", "ParameterServerStrategy"]
