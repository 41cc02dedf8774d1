"""`Options`: how pipelines may be carried out. The meaning of a dataset does not depend on them."""

from __future__ import annotations

from typing import Any


class _Settings:
    """Named settings, each None until it is set."""

    NAMES: tuple[str, ...] = ()

    def __init__(self) -> None:
        for name in self.NAMES:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.NAMES:
            raise AttributeError(
                f"{type(self).__name__} has no setting {name!r}; it has {', '.join(self.NAMES)}"
            )
        object.__setattr__(self, name, value)


class OptimizationOptions(_Settings):
    """Rewrites of a pipeline that TensorFlow may apply."""

    NAMES = (
        "apply_default_optimizations",
        "autotune",
        "autotune_algorithm",
        "autotune_buffers",
        "autotune_cpu_budget",
        "filter_fusion",
        "filter_with_random_uniform_fusion",
        "hoist_random_uniform",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "map_vectorization",
        "noop_elimination",
        "parallel_batch",
        "shuffle_and_repeat_fusion",
    )


class ThreadingOptions(_Settings):
    """Numbers of threads that work for a pipeline."""

    NAMES = ("max_intra_op_parallelism", "private_threadpool_size")


class DistributeOptions(_Settings):
    """Distribution of elements over several machines."""

    NAMES = ("auto_shard", "num_devices")


class Options(_Settings):
    """Settings of a pipeline, for `Dataset.with_options`. They are kept and have no effect on the elements.

    >>> import staticgraph as sg
    >>> options = sg.data.Options()
    >>> options.experimental_deterministic = True
    >>> sg.data.Dataset.range(3).with_options(options).options().experimental_deterministic
    True
    """

    NAMES = (
        "experimental_deterministic",
        "experimental_distribute",
        "experimental_external_state_policy",
        "experimental_optimization",
        "experimental_slack",
        "experimental_stateful_whitelist",
        "experimental_stats",
        "experimental_threading",
    )

    def __init__(self) -> None:
        super().__init__()
        self.experimental_optimization = OptimizationOptions()
        self.experimental_threading = ThreadingOptions()
        self.experimental_distribute = DistributeOptions()

    def merge(self, options: Options) -> Options:
        """Both; where both set something, `options` decides."""
        made = Options()
        for given in (self, options):
            for name in self.NAMES:
                value = getattr(given, name)
                if value is not None:
                    setattr(made, name, value)
        return made
