"""`tf.contrib.tpu` on a machine without TPUs: settings are kept, and what aggregates over shards has one
shard.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.tf1.compat.contrib.optimizers.wrappers import WrappedOptimizer


class InputPipelineConfig:
    """The ways in which input reaches the hosts of a TPU."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class TPUConfig(NamedTuple):
    """Settings of training on a TPU; they are kept and change nothing."""

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1


class TPUClusterResolver:
    """The address of a TPU; there is none, so making one is an UnimplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        hint = "run the program without its TPU flags, such as --use_tpu=False"
        raise misuse(UnimplementedError, "there are no TPUs here", hint)


class TPUContext(NamedTuple):
    """The shards over which a TPU divides a batch: none."""

    number_of_shards: int | None = None


def get_tpu_context() -> TPUContext:
    """Return what is known of shards, of which there are none."""
    return TPUContext()


@contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[sg.VariableScope]:
    """Variable scope whose variables are float32, and are read as bfloat16 by what asks for bfloat16."""

    def read(getter: Any, name: str, *args: Any, **options: Any) -> Any:
        if options.get("dtype") != sg.bfloat16:
            return getter(name, *args, **options)
        return sg.cast(getter(name, *args, **{**options, "dtype": sg.float32}), sg.bfloat16)

    with sg.variable_scope(sg.get_variable_scope() if name is None else name, custom_getter=read) as scope:
        yield scope


def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> sg.Tensor:
    """The sum of `x` over all replicas, of which there is one: `x`."""
    return sg.identity(x, name=name or "CrossReplicaSum")


class CrossShardOptimizer(WrappedOptimizer):
    """Another optimizer, whose gradients are summed over all shards, of which there is one.

    ValueError for a `reduction` that is not MEAN or SUM of `losses.Reduction`.
    """

    def __init__(
        self,
        opt: sg.train.Optimizer,
        reduction: str = sg.losses.Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        if reduction not in (sg.losses.Reduction.MEAN, sg.losses.Reduction.SUM):
            raise misuse(ValueError, f"reduction={reduction!r} is not MEAN or SUM")
        super().__init__(opt, name)
