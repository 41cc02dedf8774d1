"""The meaning of a Function: NumPy, one node at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.function import Function, Value, as_outputs


def interpret(function: Function, arguments: Mapping[Value, Any]) -> list[np.ndarray]:
    """The results of `function` where its params have the values `arguments`.

    >>> from staticgraph.compiler.graph.builder import Builder
    >>> from staticgraph.compiler.graph.function import Function
    >>> from staticgraph.compiler import ops
    >>> x = Builder().parameter("x", "float32", (2,))
    >>> interpret(Function((x,), (x * 2 + 1,)), {x: [1, 2]})
    [array([3., 5.], dtype=float32)]
    """
    values: dict[Value, np.ndarray] = {p: p.dtype.round(a) for p, a in arguments.items()}
    with np.errstate(all="ignore"):
        for node in function.nodes:
            if node.outputs and node.outputs[0] in values:
                continue
            if node.op.reference is None:
                raise TypeError(f"{node} has no value: pass one for each param")
            made = node.op.reference(*(values[v] for v in node.inputs), **node.attrs)
            for output, array in zip(node.outputs, as_outputs(made), strict=True):
                values[output] = output.dtype.round(array)
    return [values[r] for r in function.results]
