"""Functions as text, one node per line:

    (v0: float32[2, 3]) -> (v2):
      v1 = constant(value=2.0: float32[])
      v2 = multiply(v0, v1): float32[2, 3]

Long arrays are shown by their first and last elements. The names of values mean nothing beyond the text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.function import Function, Literal, Value


def function_text(function: Function) -> str:
    """`function` as text; values are numbered in the order of the nodes.

    >>> from staticgraph.compiler.graph.builder import Builder
    >>> x = Builder().parameter("x", "float32", (2,))
    >>> print(function_text(Function((x,), (x * 2,))), end="")
    (v0: float32[2]) -> (v2):
      v1 = constant(value=2.0: float32[])
      v2 = multiply(v0, v1): float32[2]
    """
    names: dict[Value, str] = {}

    def name(value: Value) -> str:
        return names.setdefault(value, f"v{len(names)}")

    params = ", ".join(f"{name(p)}: {p.type}" for p in function.params)
    lines = []
    for node in function.nodes:
        if node.op.name == "parameter":
            continue
        shown = [*map(name, node.inputs), *(f"{k}={attribute_text(v)}" for k, v in node.attrs.items())]
        outputs = ", ".join(map(name, node.outputs))
        types = ", ".join(str(v.type) for v in node.outputs)
        suffix = "" if node.op.name == "constant" else f": {types}"
        lines.append(f"  {outputs} = {node.op.name}({', '.join(shown)}){suffix}\n")
    results = ", ".join(map(name, function.results))
    return f"({params}) -> ({results}):\n{''.join(lines)}"


def attribute_text(value: Any) -> str:
    """An attribute as text; long arrays by their first elements."""
    if isinstance(value, Literal):
        array = value.array
        shown = np.array2string(array, separator=", ", threshold=6, edgeitems=2).replace("\n", "")
        return f"{shown if array.ndim else array.item()}: {value.dtype}{list(value.shape)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(attribute_text, value))}{',' if len(value) == 1 else ''})"
    return str(value) if not isinstance(value, str) else repr(value)
