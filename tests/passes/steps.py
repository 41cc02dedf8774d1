"""Steps of a user's graph by their NumPy meaning: what a run computes, without any compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.step import CaptureRequest, Needs, Step
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor

Feeds = Mapping[Tensor, Any]


def step_of(fetches: Sequence[Any], feeds: Feeds | None = None, static: Feeds | None = None) -> Step:
    """The step for tensors, variables and operations."""
    made = captured(fetches, feeds, static)
    assert isinstance(made, Step), made
    return made


def captured(fetches: Sequence[Any], feeds: Feeds | None = None, static: Feeds | None = None) -> Step | Needs:
    """The step for tensors, variables and operations, or what its capture needs."""
    items = [f.to_tensor() if hasattr(f, "to_tensor") else f for f in fetches]
    arrays = {_tensor(k): _tensor(k).dtype.round(v) for k, v in (feeds or {}).items()}
    request = CaptureRequest(
        get_default_graph(),
        [f for f in items if isinstance(f, Tensor)],
        [f for f in items if isinstance(f, Operation)],
        {t: TensorType(t.dtype, a.shape) for t, a in arrays.items()},
        static={_tensor(k): np.asarray(v) for k, v in (static or {}).items()},
    )
    return capture(request)


def run(
    fetches: Sequence[Any],
    feeds: Feeds | None = None,
    state: dict[str, Any] | None = None,
    static: Feeds | None = None,
) -> list[np.ndarray]:
    """The fetched values. `state`: the values of variables by name, changed as the run changes them."""
    state = {} if state is None else state
    step = step_of(fetches, feeds, static)
    given = [*(feeds or {}).values(), *(state.get(op.name) for op in step.reads)]
    given += [[0, op.attrs["seed"], op.attrs["seed2"]] for op in step.counters]
    arguments = {p: a for p, a in zip(step.function.params, given, strict=True) if a is not None}
    results = interpret(step.function, arguments)
    state.update({op.name: r for op, r in zip(step.writes, results[step.fetches :], strict=True)})
    return results[: step.fetches]


def _tensor(key: Any) -> Tensor:
    return key.to_tensor() if hasattr(key, "to_tensor") else key
