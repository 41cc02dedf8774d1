"""How a call of an op becomes an operation of the user's
graph: conversion of arguments, dtypes, types of results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.graph.builder import infer_dtype, plain
from staticgraph.compiler.graph.dtypes import DType, as_dtype, string
from staticgraph.compiler.graph.errors import DtypeError, MissingValueError, OtherGraphError, require
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.opdef import METHODS, OPS, OpDef, Param, Role
from staticgraph.compiler.graph.shapes import Dimension, TensorType
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.strings import as_strings
from staticgraph.compiler.graph.tensor import Tensor


class _GraphLike(Protocol):
    def record(self, op: OpDef, values: dict[str, Any], name: str | None = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one operation."""

    op: OpDef
    inputs: tuple[Tensor, ...]
    operands: dict[str, Tensor]
    attrs: dict[str, Any]

    def infer(self) -> tuple[TensorType, ...]:
        """The types of the outputs, as far as they are known."""
        types = tuple(t.type for t in self.inputs)
        attrs = dict(self.attrs)
        for param in self.op.params:
            if param.name in self.operands:
                value = static_value(self.operands[param.name], param.partial)
                if value is None and not param.partial:
                    return self._unknown(types)
                attrs[param.name] = value
        made = self.op.type(*types, **{p.name: attrs[p.name] for p in self.op.params if p.name in attrs})
        return made if isinstance(made, tuple) else (made,)

    def _unknown(self, types: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        """An operand depends on what is fed: only the dtype is known."""
        for attr in ("dtype", "output_type"):
            if isinstance(self.attrs.get(attr), DType):
                return (TensorType(self.attrs[attr], None),)
        dtype = types[0].dtype if types else next(iter(self.operands.values())).dtype
        count = self.attrs.get("num_split") or self.attrs.get("num") or 1
        return (TensorType(dtype, None),) * count


def bind_call(graph: _GraphLike, op: OpDef, values: dict[str, Any], name: str) -> Call:
    """Turn Python values into constants called after the operation, and check dtypes."""
    dtypes = _dtypes(op, values)
    inputs: list[Tensor] = []
    operands: dict[str, Tensor] = {}
    attrs: dict[str, Any] = {}
    for param in op.params:
        value, label = values[param.name], f"{name}/{param.tf or param.name}"
        match param.role:
            case Role.TENSOR:
                inputs.append(_input(graph, op, param, value, dtypes, label))
            case Role.TENSORS:
                require(
                    isinstance(value, list | tuple),
                    f"{param.name} must be a list of tensors",
                    kind=DtypeError,
                )
                inputs += [_input(graph, op, param, v, dtypes, f"{label}_{i}") for i, v in enumerate(value)]
            case Role.OPERAND if value is not None:
                operands[param.name] = _operand(graph, value, label)
            case _:
                attrs[param.name] = plain(value)
    return Call(op, tuple(inputs), operands, attrs)


def _dtypes(op: OpDef, values: dict[str, Any]) -> dict[str, DType]:
    """The dtype of each letter: that of the first tensor,
    else of the first array, else of the first number.
    """
    out: dict[str, DType] = {}
    for wanted in (Tensor, np.ndarray | np.generic, object):
        for param in op.params:
            if param.role in (Role.TENSOR, Role.TENSORS) and param.var not in out:
                value = values[param.name]
                for v in (
                    value if param.role is Role.TENSORS and isinstance(value, list | tuple) else (value,)
                ):
                    v = v.to_tensor() if hasattr(v, "to_tensor") else v
                    if v is not None and isinstance(v, wanted):
                        found = v.dtype if isinstance(v, Tensor) else _python_dtype(v)
                        out[param.var] = found
                        break
    return out


def _python_dtype(value: Any) -> DType:
    if isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, Tensor):
                return item.dtype
    return infer_dtype(value)


def _input(
    graph: _GraphLike, op: OpDef, param: Param, value: Any, dtypes: dict[str, DType], label: str
) -> Tensor:
    require(value is not None, f"{param.name} is None, a tensor is needed", kind=MissingValueError)
    fixed = as_dtype(param.var) if len(param.var) > 1 else None
    wanted = None if param.var == "*" else fixed or dtypes.get(param.var)
    tensor = as_tensor(graph, value, wanted, label)
    allowed = op.dtypes.get(param.var)
    if allowed is not None and tensor.dtype not in allowed and not (op.strings and tensor.dtype is string):
        names = ", ".join(sorted(d.name for d in allowed))
        require(False, f"{param.name} is {tensor.dtype.name}, and must be one of {names}", kind=DtypeError)
    require(
        wanted is None or tensor.dtype is wanted,
        f"{param.name} is {tensor.dtype.name}" + (f", and must be {wanted.name}" if wanted else ""),
        hint=f"convert one of them: cast({param.name}, sg.{wanted.name})" if wanted else None,
        kind=DtypeError,
    )
    return tensor


def _operand(graph: _GraphLike, value: Any, label: str) -> Tensor:
    if isinstance(value, Tensor) or hasattr(value, "to_tensor"):
        return as_tensor(graph, value, None, label)
    if hasattr(value, "as_list"):
        value = value.as_list()
    if isinstance(value, list | tuple):
        value = [v.value if isinstance(v, Dimension) else v for v in value]
        require(
            all(v is not None for v in value),
            f"{value} has an unknown entry",
            hint="use -1, or shape(x)[axis]",
        )
        if not value:
            value = np.zeros(0, np.int32)
    value = value.value if isinstance(value, Dimension) else value
    return as_tensor(graph, value, None, label)


def as_tensor(graph: _GraphLike, value: Any, dtype: DType | None = None, name: str = "Const") -> Tensor:
    """`value` as a tensor of `graph`: a constant called `name`
    for numbers and arrays, packed where it holds tensors.
    """
    if hasattr(value, "to_tensor"):
        value = value.to_tensor()
    if isinstance(value, Tensor):
        require(value.graph is graph, f"{value.name} belongs to another graph", kind=OtherGraphError)
        return value
    if isinstance(value, list | tuple) and _holds_tensor(value):
        dtype = dtype or _dtype_inside(value)
        return METHODS["stack"](
            [as_tensor(graph, v, dtype, f"{name}/{i}") for i, v in enumerate(value)], name=f"{name}/"
        )
    array = np.asarray(value)
    if array.dtype == object and not all(isinstance(v, str | bytes) for v in array.flat):
        require(False, f"{value!r} cannot be made into a tensor", kind=DtypeError)
    target = dtype or infer_dtype(value)
    check_representable(value, array, target)
    if target is string:  # NumPy's arrays of bytes would lose zero bytes at the end
        array = as_strings(value)
    return graph.record(OPS["constant"], {"value": Literal.of(array, target)}, f"{name}/")


def _dtype_inside(value: Any) -> DType | None:
    """The dtype of the first tensor in nested lists: numbers beside it are of that type too."""
    if isinstance(value, list | tuple):
        return next((dtype for item in value if (dtype := _dtype_inside(item))), None)
    value = value.to_tensor() if hasattr(value, "to_tensor") else value
    return value.dtype if isinstance(value, Tensor) else None


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_tensor(v) for v in value)
    return isinstance(value, Tensor) or hasattr(value, "to_tensor")


def check_representable(value: Any, array: np.ndarray, dtype: DType) -> None:
    """Python numbers must be of the tensor's kind; arrays
    are cast, as TF1 does, but not floats to integers.
    """
    kind, name = array.dtype.kind, dtype.name
    fits = {
        "float": kind in "fiub" and kind != "b",
        "complex": kind in "cfiu",
        "int": kind in "iu",
        "uint": kind in "iu",
        "bool": kind == "b",
        "string": kind in "USO",
    }[dtype.kind] or array.size == 0
    if not fits:  # texts of large arrays take long to make
        require(
            False,
            f"{value!r} is not {name}",
            hint=f"write a value of type {name}, or cast the tensor",
            kind=DtypeError,
        )
    if dtype.is_integer and array.size and kind in "iu":
        low, high = array.min(), array.max()
        if low < dtype.min or high > dtype.max:
            require(False, f"{value!r} does not fit into {name}", kind=DtypeError)
