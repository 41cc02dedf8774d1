"""`tf.contrib.distribute`: strategies by the parameters that they had there."""

from __future__ import annotations

from typing import Any, NamedTuple

from staticgraph.formats.tf.log import log
from staticgraph.tf1.compat.devices.accelerators import TPUClusterResolver
from staticgraph.tf1.distribute import mirrored, strategy, workers


class DistributeConfig(NamedTuple):
    """Strategies of training and evaluation, and a cluster for them."""

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


class AllReduceCrossDeviceOps(NamedTuple):
    """Settings of the sum of gradients over devices. With one device there is nothing to add."""

    all_reduce_alg: str = "nccl"
    num_packs: int = 1
    agg_small_grads_max_bytes: int = 0
    agg_small_grads_max_group: int = 10


class MirroredStrategy(mirrored.MirroredStrategy):
    """`sg.distribute.MirroredStrategy`, also by a number of GPUs."""

    def __new__(
        cls,
        devices: Any = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ) -> Any:
        """Return `sg.distribute.MirroredStrategy` of the devices, or of so many GPUs."""
        count = num_gpus or num_gpus_per_worker or 0
        return mirrored.MirroredStrategy(devices or [f"/gpu:{n}" for n in range(count)])


class CollectiveAllReduceStrategy(workers.MultiWorkerMirroredStrategy):
    """`sg.distribute.experimental.MultiWorkerMirroredStrategy`, one replica for each process."""

    def __init__(self, num_gpus_per_worker: int = 0, communication: Any = None) -> None:
        super().__init__()
        _warn(num_gpus_per_worker)


class ParameterServerStrategy(workers.ParameterServerStrategy):
    """`sg.distribute.experimental.ParameterServerStrategy`, which several processes are refused."""

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__()
        _warn(num_gpus_per_worker)


class TPUStrategy(strategy.OneDeviceStrategy):
    """Replicas on TPUs: an UnimplementedError, as `TPUClusterResolver`."""

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        steps_per_run: int | None = None,
        device_assignment: Any = None,
    ) -> None:
        TPUClusterResolver()


def _warn(count: int) -> None:
    if count > 1:
        log.warning("A process is one replica instead of %d: start a process for each GPU.", count)
