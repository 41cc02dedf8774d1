"""Every op, as a function: `ops.tanh(x)`. Importing this package fills the registry."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.ops import (
    activation,
    arithmetic,
    assembly,
    bitwise,
    casting,
    comparison,
    complex_numbers,
    convolution,
    convolution_layers,
    creation,
    diagonal,
    division,
    exponential,
    gathering,
    incomplete,
    indexing,
    lapack,
    linalg,
    logic,
    loss,
    movement,
    normalization,
    pooling,
    random,
    reduce,
    rounding,
    scan,
    scatter,
    segment,
    selection,
    slicing,
    sorting,
    space,
    special,
    state,
    structural,
    summation,
    trigonometric,
)

__all__ = [
    "activation",
    "arithmetic",
    "assembly",
    "bitwise",
    "casting",
    "comparison",
    "complex_numbers",
    "convolution",
    "convolution_layers",
    "creation",
    "diagonal",
    "division",
    "exponential",
    "gathering",
    "incomplete",
    "indexing",
    "lapack",
    "linalg",
    "logic",
    "loss",
    "movement",
    "normalization",
    "pooling",
    "random",
    "reduce",
    "rounding",
    "scan",
    "scatter",
    "segment",
    "selection",
    "slicing",
    "sorting",
    "space",
    "special",
    "state",
    "structural",
    "summation",
    "trigonometric",
]


def __getattr__(name: str) -> Any:
    if name in OPS:
        return OPS[name]
    raise AttributeError(f"there is no op {name}")
