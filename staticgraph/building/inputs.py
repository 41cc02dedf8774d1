"""Inputs of a graph: constants, placeholders, and conversion to tensors.

Operations that change no value, such as `identity`, and operations
that only order others, such as `group`, are here too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.building.composites import for_composites
from staticgraph.building.framework import checked, control_dependencies, graph_of, name_scope
from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import infer_dtype
from staticgraph.compiler.graph.checks.arguments import walked
from staticgraph.compiler.graph.dtypes import DType, as_dtype, as_strings, string
from staticgraph.compiler.graph.errors import DtypeError, MissingValueError, RuleError, misuse, require, shown
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.opdef import METHODS
from staticgraph.compiler.graph.recording.calls import (
    as_array,
    as_one_tensor,
    check_representable,
    holds_tensor,
    stands_for_tensor,
)
from staticgraph.compiler.graph.shapes import TensorShape, as_shape, shape_text
from staticgraph.compiler.graph.tensor import Operation, Tensor

__all__ = [
    "constant",
    "group",
    "identity",
    "identity_n",
    "no_op",
    "placeholder",
    "placeholder_with_default",
    "stop_gradient",
    "tuple",
]

_tuple = tuple  # the public function of TF1's name hides the built-in one below


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value each run is told: `session.run(y, feed_dict={x: value})`.

    `shape` may have None for sizes that differ from run to run; None as a whole says nothing about the shape.

    >>> import staticgraph as sg
    >>> sg.placeholder(sg.float32, [None, 784], name="x")
    <sg.Tensor 'x:0' shape=(?, 784) dtype=float32>
    """
    if isinstance(dtype, Sequence) and not isinstance(dtype, str):
        raise misuse(TypeError, f"a placeholder of dtype {shown(dtype)}", "write placeholder(dtype, shape)")
    return ops.placeholder(dtype=as_dtype(dtype), shape=as_shape(shape), name=name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that a run may be told; otherwise it is
    `input`. `shape` may be less exact than that of `input`.

    >>> import staticgraph as sg
    >>> rate = sg.placeholder_with_default(0.5, [], name="rate")
    >>> rate.dtype
    sg.float32
    """
    with name_scope(name, "PlaceholderWithDefault", [input]) as scope:
        input = convert_to_tensor(input, name="input")
    wanted = TensorShape(as_shape(shape))
    with checked("placeholder_with_default"):
        require(
            input.shape.is_compatible_with(wanted),
            f"the default has shape {input.shape} and the placeholder {wanted}",
            hint="the placeholder's shape must allow the default",
        )
    return ops.placeholder_with_default(input, shape=wanted.shape, name=scope)


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A tensor with a value that is known now.

    Python floats become float32 and integers int32, arrays keep their dtype, unless `dtype` says otherwise.
    With `shape`, a value with fewer elements is filled up with its last one; `verify_shape` forbids that.
    TypeError if the value is not of that dtype, ValueError if it has too many elements.

    >>> import staticgraph as sg
    >>> sg.constant([1, 2, 3], shape=[2, 3])
    <sg.Tensor 'Const:0' shape=(2, 3) dtype=int32>
    """
    with checked("constant"):
        if isinstance(value, Tensor) or stands_for_tensor(value):
            hint = "use the tensor itself, or identity() for a new name"
            raise RuleError(f"{shown(value)} is a tensor, not a value", hint, DtypeError)
        none = "a function without `return`, and a gradient that does not exist, give None"
        require(value is not None, "None is no value", none, MissingValueError)
        array = as_array(value)
        wanted = as_dtype(dtype) if dtype is not None else infer_dtype(value)
        if wanted is string and array.dtype.kind in "USO":  # NumPy drops zero bytes at the end
            array = as_strings(value)
        if not isinstance(value, np.ndarray | np.generic):  # as in TF1, arrays are cast to anything
            check_representable(value, array, wanted)
        if shape is not None:
            array = _filled(array, TensorShape(as_shape(shape)), verify_shape)
    return ops.constant(value=Literal.of(array, wanted), name=name)


def _filled(array: np.ndarray, shape: TensorShape, verify: bool) -> np.ndarray:
    hint = "fill takes sizes that only the graph knows; a placeholder has unknown ones"
    require(shape.is_fully_defined(), f"shape {shape} has unknown sizes, and a constant has none", hint)
    sizes = [n for n in shape.as_list() if n is not None]
    size = math.prod(sizes)
    given = shape_text(array.shape)
    require(not verify or list(array.shape) == sizes, f"the value has shape {given}, not {shape}")
    bytes_of = math.prod(n for n in sizes if n) * array.itemsize  # also NumPy's limit of empty arrays
    require(bytes_of < 1 << 63, f"shape {shape} has more bytes than there are addresses", "make it smaller")
    if size == 0:  # as in TF1, whatever the value is
        return np.zeros([n for n in sizes if n is not None], array.dtype)
    require(
        0 < array.size <= size,
        f"{array.size} elements of shape {given} do not fit into shape {shape_text(shape.shape)}",
        hint="fewer elements are filled up with the last one, more are refused",
    )
    flat = array.reshape(-1)
    if array.size < size:
        flat = np.concatenate([flat, np.broadcast_to(flat[-1], size - array.size)])
    return flat.reshape(sizes)


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """Return `value` as an operand: as `staticgraph.convert_to_tensor` does, but a variable is not read yet.

    Each operation that takes the operand of a variable reads it at its own turn. A function that may return
    an operand as its result passes it through `snapshot`.
    """
    wanted = as_dtype(dtype) if dtype is not None else None
    if isinstance(value, Tensor) and (wanted is None or value.dtype is wanted):
        return value
    value = as_one_tensor(value, wanted, name)
    if isinstance(value, list | _tuple) and walked(holds_tensor, value, "value"):
        kind = _first_dtype(value)
        parts = [convert_to_tensor(v, kind) for v in value]
        if wanted is not None and kind is not wanted:
            parts = [ops.cast(part, dtype=wanted) for part in parts]
        value = METHODS["stack"](parts, name=name or "packed")
    if isinstance(value, Tensor):
        with checked("convert_to_tensor"):
            require(
                wanted is None or value.dtype is wanted,
                f"{value.name} is {value.dtype.name}, not {wanted}",
                hint=f"cast({value.name!r}, sg.{wanted})",
                kind=DtypeError,
            )
        return value
    if isinstance(value, TensorShape):
        value = value.as_list()
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    if wanted is None and hint is not None:
        try:
            return constant(value, hint, name=name or "Const")
        except TypeError:
            wanted = None
    if isinstance(value, list | _tuple) and not value and wanted is None:
        value = np.zeros(0, np.float32)
    return constant(value, wanted, name=name or "Const")


def _first_dtype(value: Any) -> DType | None:
    for item in value:
        if isinstance(item, list | _tuple):
            if (found := _first_dtype(item)) is not None:
                return found
        elif holds_tensor(item):
            return getattr(item, "dtype", None) or as_one_tensor(item).dtype
    return None


# Operations that change no value


@for_composites
def identity(input: Any, name: str | None = None) -> Tensor:
    """A tensor equal to `input`, with a name of its own,
    made under the present scopes and control dependencies.

    >>> x = sg.placeholder(sg.float32, [2])
    >>> sg.identity(x, name="input")
    <sg.Tensor 'input:0' shape=(2,) dtype=float32>
    """
    return ops.identity(convert_to_tensor(input), name=name)


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Tensors equal to those in the list `input`; none is given out before all have been computed.

    >>> a, b = sg.identity_n([sg.constant(1.0), sg.constant(2)])
    >>> a, b
    (<sg.Tensor 'IdentityN:0' shape=() dtype=float32>, <sg.Tensor 'IdentityN:1' shape=() dtype=int32>)
    """
    made = ops.identity_n([convert_to_tensor(x) for x in input], name=name)
    return list(made) if isinstance(made, _tuple) else [made]


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """A tensor equal to `input` that `gradients` takes for a constant.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [])
    >>> sg.gradients(sg.stop_gradient(x) * 2.0, [x])
    [None]
    """
    return ops.stop_gradient(convert_to_tensor(input), name=name)


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing: a place for control dependencies to meet.

    >>> with sg.control_dependencies([sg.constant(1.0)]):
    ...     done = sg.no_op(name="done")
    >>> sg.Session().run(done)
    """
    return ops.no_op(name=name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """One operation that runs all `inputs`: operations, tensors, and nested lists of these.

    >>> import staticgraph as sg
    >>> both = sg.group(sg.no_op(), sg.no_op())
    >>> both.name
    'group_deps'
    """
    listed = list(_flat(inputs))
    for item in listed:
        if not _runs(item):
            raise misuse(
                TypeError, f"group() takes operations and tensors, not {item!r} of type {type(item).__name__}"
            )
    with graph_of(listed).as_default(), name_scope(name, "group_deps", listed) as scope:
        if not listed:
            return no_op(name=scope)
        with control_dependencies(listed):
            return no_op(name=scope)


def _runs(item: Any) -> bool:
    return isinstance(item, Operation | Tensor) or hasattr(item, "to_tensor")


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | _tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def tuple(tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """The same tensors, none of which is given out before all have been computed. None stays None.

    ValueError if all are None, TypeError for what is neither tensor nor operation.
    """
    given = [t for t in tensors if t is not None]
    if not given:
        raise misuse(ValueError, "tuple() must have at least one tensor that is not None")
    for item in (*given, *(control_inputs or ())):
        if not _runs(item):
            raise misuse(
                TypeError, f"tuple() takes tensors and operations, not {item!r} of type {type(item).__name__}"
            )
    with name_scope(name, "tuple", given):
        gate = group(given, list(control_inputs or ()))
        with control_dependencies([gate]):
            return [_gated(t, gate) for t in tensors]


def _gated(item: Any, gate: Operation) -> Any:
    if item is None:
        return None
    if isinstance(item, Operation):
        return gate
    if hasattr(item, "with_values"):  # IndexedSlices
        return item.with_values(identity(item.values, name="control_dependency"))
    return identity(item, name="control_dependency")
