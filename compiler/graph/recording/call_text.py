"""The text of a call in an error: a use of an op as a user would write it."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import shown
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.opdef import OpDef, Role
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor

_SHOWN = 8  # tensors of a list in a message


def tensors_of(values: dict[str, Any]) -> list[tuple[str, Tensor]]:
    """Return the tensors among the arguments of a call, those of lists too, each with its name there."""
    found = []
    for name, value in values.items():
        if isinstance(value, Tensor):
            found.append((name, value))
        elif isinstance(value, list | tuple):
            found += [(f"{name}[{i}]", v) for i, v in enumerate(value) if isinstance(v, Tensor)]
    return found


def _text(value: Any) -> str:
    return shown(list(value) if type(value) is tuple else value)


def call_text(op: OpDef, values: dict[str, Any]) -> str:
    """A use of an op as a user would write it, with types for tensors: `matmul(a: float32[2, 3], b: ...)`."""
    parts = []
    for param in op.params:
        value = values[param.name]
        if isinstance(value, Tensor):
            known = static_value(value) if param.role is Role.OPERAND else None
            parts.append(f"{param.name}: {value.type}" if known is None else f"{param.name}={_text(known)}")
        elif isinstance(value, list | tuple) and any(isinstance(v, Tensor) for v in value):
            inner = ", ".join(str(v.type) if isinstance(v, Tensor) else shown(v) for v in value[:_SHOWN])
            inner += ", ..." if len(value) > _SHOWN else ""
            parts.append(f"{param.name}: [{inner}]")
        elif value is not param.default and not (isinstance(value, tuple) and value == param.default):
            parts.append(f"{param.name}={_text(value.array if isinstance(value, Literal) else value)}")
    return f"{op.name}({', '.join(parts)})"
