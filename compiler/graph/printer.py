"""Functions as text, one node per line:

    (v0: float32[2, 3]) -> (v2):
      v1 = constant(value=2.0: float32[])
      v2 = multiply(v0, v1): float32[2, 3]

Functions inside a node, such as the body of a loop, are below it:

      v3 = loop(v1, v0, carried=1, ...): float32[]
        body(v4: float32[]) -> (v6, v5):
          v5 = sin(v4): float32[]
          ...

Long arrays are shown by their first and last elements. The names of values mean nothing beyond the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from staticgraph.compiler.graph.function import Function, Literal, Node, Value
from staticgraph.compiler.graph.tensor import Operation


def function_text(function: Function) -> str:
    """`function` as text; values are numbered in the order of the nodes.

    >>> from staticgraph.compiler.graph.builder import Builder
    >>> x = Builder().parameter("x", "float32", (2,))
    >>> print(function_text(Function((x,), (x * 2,))), end="")
    (v0: float32[2]) -> (v2):
      v1 = constant(value=2.0: float32[])
      v2 = multiply(v0, v1): float32[2]
    """
    return "".join(f"{line}\n" for line in _lines(function, "", count()))


def _lines(function: Function, title: str, numbers: Iterator[int]) -> Iterator[str]:
    names: dict[Value, str] = {}  # a constant may be in several Functions: each has its own name for it

    def name(value: Value) -> str:
        if value not in names:
            names[value] = f"v{next(numbers)}"
        return names[value]

    params = ", ".join(f"{name(p)}: {p.type}" for p in function.params)
    lines = []
    for node in function.nodes:
        if node.op.name != "parameter":
            inner = inner_functions(node)
            attrs = {k: v for k, v in node.attrs.items() if not _holds_functions(v)}
            shown = [*map(name, node.inputs), *(f"{k}={attribute_text(v)}" for k, v in attrs.items())]
            outputs = ", ".join(map(name, node.outputs))
            types = ", ".join(str(v.type) for v in node.outputs)
            suffix = "" if node.op.name == "constant" else f": {types}"
            lines.append(f"{outputs} = {node.op.name}({', '.join(shown)}){suffix}")
            for label, part in inner.items():
                lines += [f"  {line}" for line in _lines(part, label, numbers)]
    yield f"{title}({params}) -> ({', '.join(map(name, function.results))}):"
    yield from (f"  {line}" for line in lines)


def inner_functions(node: Node) -> dict[str, Function]:
    """The Functions that a node runs, by what they are called."""
    found: dict[str, Function] = {}
    for key, value in node.attrs.items():
        if isinstance(value, Function):
            found[key] = value
        elif _holds_functions(value):
            found |= {f"{key}[{i}]": part for i, part in enumerate(value)}
    return found


def _holds_functions(value: Any) -> bool:
    return isinstance(value, Function) or (
        isinstance(value, tuple) and value != () and all(isinstance(v, Function) for v in value)
    )


def attribute_text(value: Any) -> str:
    """An attribute as text; long arrays by their first elements."""
    if isinstance(value, Literal):
        array = value.array
        shown = np.array2string(array, separator=", ", threshold=6, edgeitems=2).replace("\n", "")
        return f"{shown if array.ndim else array.item()}: {value.dtype}{list(value.shape)}"
    if isinstance(value, tuple):
        return f"({', '.join(map(attribute_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Operation):
        return value.name
    return format(value) if not isinstance(value, str) else repr(value)
