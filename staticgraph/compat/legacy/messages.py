"""`tf.ConfigProto` and its relatives: options that TF1 took as protocol buffers.

They are records with defaults, whose fields are known: a misspelt one is a ValueError. One native function
runs a whole step here, so that most of the options have nothing to change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from staticgraph.compiler.graph.errors import layout
from staticgraph.compiler.graph.provenance import user_frame

__all__ = [
    "ConfigProto",
    "GPUOptions",
    "GraphOptions",
    "OptimizerOptions",
    "RunMetadata",
    "RunOptions",
]


class Message:
    """A record: `fields` gives each field's default, or the type that makes it."""

    fields: ClassVar[Mapping[str, Any]]

    def __init__(self, **values: Any) -> None:
        for name, default in self.fields.items():
            vars(self)[name] = default() if isinstance(default, type) else default
        for name, value in values.items():
            self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        if name not in self.fields:
            known = ", ".join(self.fields)
            message = f"{type(self).__name__} has no field {name!r}"
            raise ValueError(layout(message, user_frame(), hint=f"fields: {known}"))
        vars(self)[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        self._set(name, value)

    def CopyFrom(self, other: Message) -> None:
        """Take over all fields of another message."""
        vars(self).update(vars(other))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class OptimizerOptions(Message):
    """How TF1's graph optimizer and its XLA were switched."""

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    fields: ClassVar[Mapping[str, Any]] = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
        "max_folded_constant_in_bytes": 0,
    }


class GraphOptions(Message):
    """Options of a graph's execution."""

    fields: ClassVar[Mapping[str, Any]] = {
        "optimizer_options": OptimizerOptions,
        "rewrite_options": None,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "enable_bfloat16_sendrecv": False,
        "enable_recv_scheduling": False,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "timeline_step": 0,
    }


class GPUOptions(Message):
    """How TF1 took memory of a GPU."""

    fields: ClassVar[Mapping[str, Any]] = {
        "allow_growth": False,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "force_gpu_compatible": False,
        "per_process_gpu_memory_fraction": 0.0,
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "visible_device_list": "",
    }


class ConfigProto(Message):
    """The options of a session.

    >>> from staticgraph.compat.legacy.messages import ConfigProto
    >>> config = ConfigProto(allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True
    >>> config.gpu_options.allow_growth, config.log_device_placement
    (True, False)
    """

    fields: ClassVar[Mapping[str, Any]] = {
        "allow_soft_placement": False,
        "log_device_placement": False,
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "device_count": dict,
        "device_filters": list,
        "gpu_options": GPUOptions,
        "graph_options": GraphOptions,
        "cluster_def": None,
        "experimental": None,
        "isolate_session_state": False,
        "operation_timeout_in_ms": 0,
        "placement_period": 0,
        "rpc_options": None,
        "session_inter_op_thread_pool": list,
        "share_cluster_devices_in_session": False,
    }


class RunOptions(Message):
    """The options of one run."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    fields: ClassVar[Mapping[str, Any]] = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "debug_options": None,
        "report_tensor_allocations_upon_oom": False,
        "experimental": None,
    }


class RunMetadata(Message):
    """What a run reports of itself."""

    fields: ClassVar[Mapping[str, Any]] = {
        "step_stats": None, "cost_graph": None, "partition_graphs": list, "function_graphs": list
    }  # fmt: skip
