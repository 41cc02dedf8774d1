"""Operations allowed in a graph file: none that reach out of the graph, since anybody may have written it.

Running such a graph only computes. It calls no Python, and neither reads nor writes files. Names of files are
tensors, so a graph that may read files could send home whatever its user can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.opdef import Effect, OpDef

# Made by the compiler.
_INTERNAL = {
    "branch",
    "custom_vjp",
    "effect",
    "loop",
    "override",
    "parameter",
    "reads_of",
    "undefined_gradient",
    "unset",
    "watch",
}
# What attributes may be where otherwise they are Python's, or the paths of other files.
_PLAIN: dict[tuple[str, str], tuple[Any, ...]] = {
    ("print_line", "stream"): ("stdout", "stderr"),
    ("print_values", "first"): (None,),
    ("py_func_stateless", "func"): (),
}


def refusal(op: OpDef, attrs: Mapping[str, Any]) -> str | None:
    """Why no file can hold an operation, None if it can.

    >>> from staticgraph.compiler.graph.opdef import OPS
    >>> refusal(OPS["print_line"], {"stream": "/home/me/.profile"})
    "its stream is '/home/me/.profile'"
    >>> refusal(OPS["print_line"], {"stream": "stdout"})
    """
    if op.name in _INTERNAL:
        return f"{op.name} is an op of the compiler's"
    for name, value in attrs.items():
        if value not in _PLAIN.get((op.name, name), (value,)):
            return f"its {name} is {value!r}"
    if op.effect is Effect.HOST:
        return f"{op.name} reaches out of the graph"
    return None
