"""Options of a run: those of its caller joined with those that hooks ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.formats.tf.messages import RunOptions

_FIELDS = (
    "trace_level",
    "timeout_in_ms",
    "inter_op_thread_pool",
    "output_partition_graphs",
    "report_tensor_allocations_upon_oom",
)


def merged_options(given: RunOptions | None, added: Sequence[Any]) -> Any:
    """Each option with the largest value that anybody asks for."""
    merged = RunOptions()
    if given is not None:
        merged.CopyFrom(given)
    for other in added:
        for field in _FIELDS:
            setattr(merged, field, max(getattr(merged, field), getattr(other, field)))
    return merged
