"""`tf.contrib.slim.model_analyzer`: how large variables and operations are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def tensor_description(var: Any) -> str:
    """The dtype and the shape of a tensor or variable.

    >>> from staticgraph.tf1.compat.contrib.framework.model_analyzer import tensor_description
    >>> tensor_description(sg.placeholder(sg.float32, [None, 3]))
    '(float32 ?x3)'
    """
    return f"({var.dtype.name} {'x'.join(str(size) for size in var.shape)})"


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """The number of elements of all results in a graph; those of unknown size count as 0."""
    _heading(print_info, "Operations: name -> (type shapes) [size]")
    total = 0
    for op in graph.get_operations():
        size = sum(output.shape.num_elements() or 0 for output in op.outputs)
        total += size
        if print_info:
            shapes = ", ".join(tensor_description(output) for output in op.outputs if output.shape)
            print(op.name, "\t->", shapes, f"[{size}]")
    return total


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """The number of elements of variables, and of bytes."""
    _heading(print_info, "Variables: name (type shape) [size]")
    elements = size = 0
    for var in variables:
        count = var.shape.num_elements() or 0
        elements += count
        size += count * var.dtype.size
        if print_info:
            print(var.name, tensor_description(var), f"[{count}, bytes: {count * var.dtype.size}]")
    if print_info:
        print(f"Total size of variables: {elements}")
        print(f"Total bytes of variables: {size}")
    return elements, size


def _heading(shown: bool, text: str) -> None:
    if shown:
        print(f"---------\n{text}\n---------")
