"""The meaning of Functions and of operations: NumPy, one node at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.builder import plain
from staticgraph.compiler.graph.errors import (
    TOLD,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    RuleError,
    headline,
    hint,
    layout,
)
from staticgraph.compiler.graph.function import Function, Value, as_outputs
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor


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
            if node.op.meaning is None:
                raise TypeError(f"{node} has no value: pass one for each param")
            made = node.op.meaning(*(values[v] for v in node.inputs), **node.attrs)
            for output, array in zip(node.outputs, as_outputs(made), strict=True):
                values[output] = output.dtype.round(array)
    return [values[r] for r in function.results]


def perform(op: Operation, value: Callable[[Tensor], Any]) -> tuple[np.ndarray, ...]:
    """The outputs of an operation of a user's graph, whose inputs have the values `value(tensor)`.

    What its meaning raises becomes an OpError that names the user's line; an OpError keeps its class.
    """
    return performer(op)([*map(value, op.all_inputs)])


def performer(op: Operation) -> Callable[[Sequence[Any]], tuple[np.ndarray, ...]]:
    """Return `perform` as a function of the values of `op.all_inputs`, for an operation that runs often."""
    reference = op.definition.reference
    assert reference is not None, op
    attrs, count = attributes_of(op), len(op.tensors)
    operands = {name: at for at, name in enumerate(op.operands, count) if name in _parameters(op)}

    def made(values: Sequence[Any]) -> tuple[np.ndarray, ...]:
        if not operands:
            return _outputs(op, lambda: reference(*values, **attrs))
        given = {name: plain(values[at]) for name, at in operands.items()}
        inputs, sized = values[:count], attrs | given

        def results() -> Any:
            _require_memory(op, inputs, sized)
            return reference(*inputs, **sized)

        return _outputs(op, results)

    return made


def _require_memory(op: Operation, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> None:
    """Raise MemoryError if the operands of an op ask for results that the system has no memory for."""
    from staticgraph.compiler.graph.checks.result_types import result_types  # few operations need these
    from staticgraph.compiler.support.system_memory import require_memory

    given = [TensorType(t.dtype, array.shape) for t, array in zip(op.tensors, inputs, strict=True)]
    types = result_types(op.definition, given, attrs)
    known = (t for t in types if t.shape is not None and None not in t.shape)
    require_memory(sum(t.size * t.dtype.numpy.itemsize for t in known))


def outputs_of(op: Operation, make: Callable[[dict[str, Any]], Any]) -> tuple[np.ndarray, ...]:
    """The outputs of an operation that `make` gives for its attributes, with the errors of `perform`."""
    attrs = attributes_of(op)
    return _outputs(op, lambda: make(attrs))


def _parameters(op: Operation) -> list[str]:
    return [p.name for p in op.definition.params]


def attributes_of(op: Operation) -> dict[str, Any]:
    """The attributes that are parameters, without operands that are tensors."""
    return {name: op.attrs[name] for name in _parameters(op) if name in op.attrs and name not in op.operands}


def _outputs(op: Operation, make: Callable[[], Any]) -> tuple[np.ndarray, ...]:
    try:
        with np.errstate(all="ignore"):
            made = make()
        outputs = made if isinstance(made, tuple) else (made,)
        pairs = zip(outputs, op.outputs, strict=True)
        return tuple([np.asarray(t.type.dtype.round(m), order="C") for m, t in pairs])
    except Exception as error:
        raise failure(error, f"{op.name} ({op.type})", op.where, op)  # noqa: B904 (it has its cause)


def failure(error: Exception, what: str, where: Provenance | None, op: Operation | None = None) -> Exception:
    """Return the exception to raise for an `error` from the NumPy meaning of an op.

    Known kinds of errors become an OpError that names the user's line. Other exceptions, and an OpError that
    has its op already, are returned as they are.
    """
    made: OpError
    match error:
        case OpError() if error.op is None:
            text = headline(error) if TOLD in vars(error) else error.message  # without a line of its own
            made = type(error)(layout(f"{what}: {text}", where, (), error.hint or hint(error)), op)
            made.__cause__ = error.__cause__
        case RuleError():
            made = InvalidArgumentError(layout(f"{what}: {error.what}", where, (), error.hint), op)
            made.__cause__ = None
        case MemoryError() if not isinstance(error, OpError):
            made = ResourceExhaustedError(layout(f"{what}: {error or 'there is no more memory'}", where), op)
            made.__cause__ = None
        case OSError() if not isinstance(error, OpError):
            from staticgraph.compiler.graph.checks.system_errors import system_error  # few programs need it

            meant = system_error(error)
            made = type(meant)(layout(f"{what}: {meant.message}", where, (), meant.hint), op)
            made.__cause__ = None
        case ArithmeticError() | LookupError() | TypeError() | ValueError() if not isinstance(error, OpError):
            made = InvalidArgumentError(layout(f"{what}: {error}", where), op)
            made.__cause__ = error
        case _:
            return error  # it tells its own line
    made.place = where, what
    return made
