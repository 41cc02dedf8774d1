"""Conversion of an op call into an operation of the user's graph: arguments, dtypes, types of results.

What stands for a tensor is converted, too: variables, slices, and objects of registered types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.graph.builder import infer_dtype, plain
from staticgraph.compiler.graph.checks.arguments import walked
from staticgraph.compiler.graph.checks.result_types import result_types
from staticgraph.compiler.graph.dtypes import (
    DType,
    as_dtype,
    as_strings,
    complex64,
    dtypes_text,
    float32,
    int32,
    string,
    uint8,
)
from staticgraph.compiler.graph.errors import (
    DtypeError,
    MissingValueError,
    OtherGraphError,
    RuleError,
    misuse,
    require,
    shown,
)
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.opdef import METHODS, OPS, Effect, OpDef, Param, Role
from staticgraph.compiler.graph.recording.op_count import uncounted
from staticgraph.compiler.graph.shapes import Dimension, TensorType, check_parts
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass


class _GraphLike(Protocol):
    def record(self, op: OpDef, values: dict[str, Any], name: str | None = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """The arguments of one operation."""

    op: OpDef
    inputs: tuple[Tensor, ...]
    operands: dict[str, Tensor]
    attrs: dict[str, Any]

    def infer(self) -> tuple[TensorType, ...]:
        """The types of the outputs, as far as they are known."""
        types = tuple([t.type for t in self.inputs])
        attrs = dict(self.attrs)
        for param in self.op.params:
            if param.name in self.operands:
                value = static_value(self.operands[param.name], param.partial)
                # A rule that is given None for an operand with that default takes it as left out.
                if value is None and (not param.partial or param.default is None):
                    return self._unknown(types)
                attrs[param.name] = value
        given = {p.name: attrs[p.name] for p in self.op.params if p.name in attrs}
        if self.op.counted is not None and given.get("num_segments", 0) is None:
            given["num_segments"] = self._count()
        made = result_types(self.op, types, given)
        return made[:1] if self.op.effect is Effect.WRITE else made

    def _count(self) -> int | None:
        """The size that the last input decides; None if its values are not known."""
        value, counting = static_value(self.inputs[-1]), OPS[self.op.counted or ""]
        if value is None or counting.reference is None:
            return None
        return int(counting.reference(np.asarray(value, self.inputs[-1].dtype.numpy)))

    def _unknown(self, types: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        """An operand depends on what is fed: only the dtype is known."""
        for attr in ("dtype", "output_type"):
            if isinstance(self.attrs.get(attr), DType):
                return (TensorType(self.attrs[attr], None),)
        dtype = types[0].dtype if types else next(iter(self.operands.values())).dtype
        if self.attrs.get("keepdims") and types[0].rank is not None:
            return (TensorType(dtype, (None,) * types[0].rank),)
        name = next((n for n in ("num_split", "num") if self.attrs.get(n)), None)
        count = 1 if name is None else self.attrs[name]
        if name is not None:
            require(
                isinstance(count, int),
                f"{name} is {shown(count)}, and must be a whole number",
                kind=DtypeError,
            )
            check_parts(name, count)
        return (TensorType(dtype, None),) * count


def bind_call(graph: _GraphLike, op: OpDef, values: dict[str, Any], name: str) -> RecordedCall:
    """Turn Python values into constants called after the operation, and check dtypes."""
    values = converted(values)
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
                if not isinstance(value, list | tuple):
                    text = f"{param.name} must be a list of tensors, and is {shown(value)}"
                    require(False, text, hint=f"write [{param.name}] for a list of one", kind=DtypeError)
                for i, v in enumerate(value):
                    inputs.append(_input(graph, op, param, v, dtypes, f"{label}_{i}", f"{param.name}[{i}]"))
            case Role.OPERAND if value is not None:
                operands[param.name] = _operand(graph, value, label)
            case _:
                attrs[param.name] = plain(value)
    return RecordedCall(op, tuple(inputs), operands, attrs)


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
                    is_tensor = isinstance(v, Tensor) or stands_for_tensor(v)
                    if v is not None and (is_tensor or isinstance(v, wanted)):
                        found = (
                            (getattr(v, "dtype", None) or as_one_tensor(v).dtype)
                            if is_tensor
                            else _python_dtype(v)
                        )
                        out[param.var] = found
                        break
    return out


def _python_dtype(value: Any) -> DType:
    return walked(_dtype_inside, value, "a list") or infer_dtype(value)


def _input(
    graph: _GraphLike,
    op: OpDef,
    param: Param,
    value: Any,
    dtypes: dict[str, DType],
    label: str,
    shown_name: str | None = None,
) -> Tensor:
    name = shown_name or param.name
    hint = "a function without `return`, and a gradient that does not exist, give None"
    require(value is not None, f"{name} is None, a tensor is needed", hint, MissingValueError)
    fixed = as_dtype(param.var) if len(param.var) > 1 else None
    wanted = None if param.var == "*" else fixed or dtypes.get(param.var)
    tensor = as_tensor(graph, value, wanted, label)
    allowed = op.dtypes.get(param.var)
    if allowed is not None and tensor.dtype not in allowed and not (op.strings and tensor.dtype is string):
        hint = _conversion(name, tensor.dtype, allowed)
        what = f"{name} is {tensor.dtype.name}, and must be {dtypes_text(allowed)}"
        require(False, what, hint, kind=DtypeError)
    if wanted is not None and tensor.dtype is not wanted:
        what = f"{name} is {tensor.dtype.name}, and must be {wanted.name}"
        require(False, what, f"convert one of them: cast({name}, sg.{wanted.name})", kind=DtypeError)
    return tensor


def _conversion(name: str, dtype: DType, allowed: Collection[DType]) -> str:
    """Return a hint that tells how to make a tensor of one of the `allowed` dtypes."""
    best = next((d for d in (float32, int32, uint8, complex64, string) if d in allowed), dtype)
    if dtype is string:
        return f"strings.to_number({name}) gives the numbers that strings tell"
    if best is string:
        return f"strings.as_string({name}) writes numbers as strings"
    return f"convert it: cast({name}, sg.{best.name})"


def _operand(graph: _GraphLike, value: Any, label: str) -> Tensor:
    if isinstance(value, Tensor) or stands_for_tensor(value):
        made: Tensor = snapshot(as_tensor(graph, value, None, label))  # a compile asks for its one value
        return made
    if hasattr(value, "as_list"):
        value = value.as_list()
    if isinstance(value, list | tuple):
        value = [v.value if isinstance(v, Dimension) else v for v in value]
        require(
            all(v is not None for v in value),
            f"{shown(value)} has an unknown entry",
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
    if not isinstance(value, Tensor):
        value = as_one_tensor(value, dtype)
    if isinstance(value, Tensor):
        if value.op.graph is not graph:
            hint = "make all of them inside one `with graph.as_default():`, and after reset_default_graph()"
            require(False, f"{value.name} belongs to another graph", hint, OtherGraphError)
        return value
    if isinstance(value, list | tuple) and walked(holds_tensor, value, "a list"):
        dtype = dtype or _dtype_inside(value)
        parts = [as_tensor(graph, v, dtype, f"{name}/{i}") for i, v in enumerate(value)]
        if dtype is not None:  # as in TensorFlow, what is packed takes the dtype that is wanted
            parts = [
                p if p.dtype is dtype else graph.record(OPS["cast"], {"x": p, "dtype": dtype}) for p in parts
            ]
        return METHODS["stack"](parts, name=f"{name}/")
    array = as_array(value)
    target = dtype or infer_dtype(value)
    check_representable(value, array, target)
    if target is string:  # NumPy's arrays of bytes would lose zero bytes at the end
        try:
            array = as_strings(value)
        except TypeError as error:
            hint = "a tensor holds numbers or strings, and not both"
            raise RuleError(str(error), hint, DtypeError) from None
    return graph.record(OPS["constant"], {"value": Literal.of(array, target)}, f"{name}/")


def as_array(value: Any) -> np.ndarray:
    """An array of numbers or strings."""
    try:
        array = np.asarray(value)
    except NotImplementedError:
        hint = "tensors are joined by stack, in the graph"
        raise RuleError(f"{shown(value)} holds tensors, and is no array", hint, DtypeError) from None
    except UnicodeDecodeError:  # NumPy makes text of bytes that are beside text
        array = np.asarray(value, object)
    except ValueError:
        hint = "rows must have one length: pad them, or use a SparseTensor"
        raise RuleError(f"the rows of {shown(value)} differ in length", hint) from None
    if array.dtype == object and not all(isinstance(v, str | bytes) for v in array.flat):
        odd = next(v for v in array.flat if not isinstance(v, str | bytes))
        odd = getattr(odd, "value", odd) if isinstance(odd, Dimension) else odd
        what = "None" if odd is None else f"a value of type {type(odd).__name__}"
        hint = "numbers, strings, and arrays of them can be"
        if odd is None:
            hint = "an unknown size is shape(x)[axis]"
        raise RuleError(f"{what} cannot be a part of a tensor", hint, DtypeError)
    return array


def _dtype_inside(value: Any) -> DType | None:
    """The dtype of the first tensor in nested lists: numbers beside it are of that type too."""
    if isinstance(value, list | tuple):
        return next((dtype for item in value if (dtype := _dtype_inside(item))), None)
    value = as_one_tensor(value)
    return value.dtype if isinstance(value, Tensor) else None


def holds_tensor(value: Any) -> bool:
    """Return True for a tensor, and for nested lists with one. RecursionError for lists without end."""
    if isinstance(value, list | tuple):
        return any(holds_tensor(v) for v in value)
    return isinstance(value, Tensor) or stands_for_tensor(value)


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
            f"{shown(value)} is not {name}",
            hint=f"write a value of type {name}, or cast the tensor",
            kind=DtypeError,
        )
    if dtype.is_integer and array.size and kind in "iu":
        low, high = array.min(), array.max()
        if low < dtype.min or high > dtype.max:
            hint = f"it holds {dtype.min} to {dtype.max}"
            require(False, f"{shown(value)} does not fit into {name}", hint, DtypeError)


_REGISTERED: list[tuple[int, Any, Callable[..., Any]]] = []  # in the order in which they are asked


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Let objects of a type be used as tensors: by `convert_to_tensor`, and by all operations.

    Args:
        base_type: The type, or a tuple of types. Objects of their subclasses are converted too.
        conversion_func: A function `(value, dtype=None, name=None, as_ref=False)` that returns a tensor, or
            NotImplemented to have the next function asked.
        priority: Functions of a lower priority are asked first, and those of the same one in order.

    Raises:
        TypeError: If `base_type` is no type, or if `conversion_func` cannot be called.

    >>> import staticgraph as sg
    >>> class Meters:
    ...     def __init__(self, value):
    ...         self.value = value
    >>> def convert(value, dtype=None, name=None, as_ref=False):
    ...     return sg.convert_to_tensor(value.value, dtype, name)
    >>> sg.register_tensor_conversion_function(Meters, convert)
    >>> with sg.Session() as sess:
    ...     print(sess.run(sg.add(Meters([1.0, 2.0]), 1.0)))
    [2. 3.]
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(each, type) for each in types):
        raise misuse(TypeError, f"base_type is {shown(base_type)}, and must be a type or a tuple of types")
    if not callable(conversion_func):
        raise misuse(TypeError, f"conversion_func is {shown(conversion_func)}, and must be callable")
    _REGISTERED.append((priority, types, conversion_func))
    _REGISTERED.sort(key=lambda entry: entry[0])


def stands_for_tensor(value: Any) -> bool:
    """Return True for what is no tensor but is used as one: a variable, slices, or a registered type."""
    if hasattr(value, "to_tensor"):
        return not hasattr(value, "row_splits")  # ragged rows are padded only by who asks for it
    return bool(_REGISTERED) and any(isinstance(value, types) for _, types, _ in _REGISTERED)


def converted(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of an operation with a tensor for each object of a registered type."""
    if not _REGISTERED:
        return values

    def convert(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(convert, value)) if type(value) in (list, tuple) else value
        return value if hasattr(value, "to_tensor") else as_one_tensor(value)

    return {name: convert(value) for name, value in values.items()}


def as_one_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return the tensor that a value stands for, or the value itself if it stands for none."""
    if hasattr(value, "to_tensor"):
        return value if hasattr(value, "row_splits") else value.to_tensor()
    for _, types, function in _REGISTERED:
        if isinstance(value, types):
            made = function(value, dtype=dtype, name=name, as_ref=False)
            if made is NotImplemented:
                continue
            if not isinstance(made, Tensor):
                text = f"the conversion function of {type(value).__name__} returned {shown(made)}"
                raise misuse(RuntimeError, text, "it must return a tensor or NotImplemented")
            return made
    return value


class _Snapshots(dict[Operation, None]):
    """The snapshots that were made in a graph, in order."""


def snapshot(value: Any) -> Any:
    """Return `value`, but for the operand of a variable a tensor with the value that the variable has here.

    Args:
        value: a tensor, or anything else, which is returned as it is.

    Returns:
        The tensor. It is an operation of its own, and the same as before if only reads were made since it.
        In a finalized graph it is the operand: no assignment can follow.
    """
    if not isinstance(value, Tensor) or value.op.definition.name not in ("variable", "read_variable"):
        return value
    graph = value.graph
    if graph.finalized:
        return value
    handle = value if value.op.definition.name == "variable" else value.op.tensors[0]
    here = graph.region, graph.control_inputs
    snapshots = graph.attached.setdefault(_Snapshots, _Snapshots())
    for op in reversed(graph.recorded):
        if op.definition.name != "read_value":
            break
        # A read of the user's is never shared: to feed it, or a derivative by it, is about that read alone.
        if op in snapshots and op.tensors[0] is handle and (op.region, op.controls) == here:
            return op.outputs[0]
    with uncounted(graph):
        made = graph.record(OPS["read_value"], {"input": handle}, f"{handle.op.name}/value/")
    snapshots[made.op] = None
    return made


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
