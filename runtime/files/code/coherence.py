"""Coherence of a record of machine code: its counts and types fit together, and fit the graph of the file.

Native code reads its arguments and writes its results by the sizes for which it was compiled. The session
makes the arrays by the types of the record and of the graph. If these disagree, code reads or writes outside
an array.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.dtypes import bool_, uint64
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.shapes import TensorType, compatible
from staticgraph.compiler.graph.sizes import same_shape
from staticgraph.compiler.graph.tensor import Operation, Tensor

_STATE = TensorType(uint64, (3,))  # of a random op
_SOUND = TensorType(bool_, ())  # the last result of a program that checks indices and the like


def require_coherent(
    step: Step, arguments: Sequence[TensorType], results: Sequence[TensorType], in_place: Sequence[int]
) -> None:
    """Raise InvalidFileError if a program has other arguments or results than its step.

    Args:
        step: The step that the record tells of.
        arguments: Types of the feeds, of the variables that are read, and of the states of random ops.
        results: Types of the fetches, of the new values of variables and of the new states of random ops.
            A number that keeps effects in order may follow. The truth value of a checked step comes last.
        in_place: Numbers of the arguments that are overwritten.
    """
    _require_operations(step)
    takes = len(step.feeds) + len(step.reads) + len(step.counters)
    if len(arguments) != takes:
        raise InvalidFileError(f"a program has {len(arguments)} arguments, and its step has {takes}")
    makes = step.fetches + len(step.writes) + len(step.draws) + step.checked
    if len(results) not in (makes, makes + 1):
        raise InvalidFileError(f"a program has {len(results)} results, and its step has {makes}")
    read = len(step.feeds)
    variables = [*step.reads, *step.writes]
    kept = [*arguments[read : read + len(step.reads)], *results[step.fetches :][: len(step.writes)]]
    for tensor, type in zip(step.feeds, arguments, strict=False):
        require_type(tensor, type)
    for op, type in zip(variables, kept, strict=True):
        require_type(op.outputs[0], type)
    states = results[step.fetches + len(step.writes) :][: len(step.draws)]
    for type in (*arguments[read + len(step.reads) :], *states):
        _require_same(type, _STATE, "the state of a random op")
    if step.checked:
        _require_same(results[-1], _SOUND, "the truth value of a checked step")
    updates = {old: number for number, old in step.updates.items()}
    for number in in_place:
        if number not in updates:
            raise InvalidFileError(
                f"a program overwrites its argument {number}, which is no variable that it writes"
            )
        _require_same(results[updates[number]], arguments[number], "a variable that is overwritten")


def require_type(tensor: Tensor, type: TensorType) -> None:
    """Raise InvalidFileError if a tensor of the graph cannot have the type that a program has for it."""
    shape = tuple(n if isinstance(n, int) else None for n in type.static_shape)
    if tensor.dtype is not type.dtype or not compatible(shape, tensor.type.shape):
        raise InvalidFileError(f"a program has {tensor.name} as {type}, and the graph as {tensor.type}")


def _require_operations(step: Step) -> None:
    for operations, kind in ((step.reads, "reads"), (step.writes, "writes"), (step.needed, "needs")):
        for op in operations:
            if op.definition.name != "variable":
                raise InvalidFileError(f"a program {kind} {op.name}, which is no variable")
    for op in (*step.counters, *step.draws):
        if op.definition.advance is None:
            raise InvalidFileError(f"a program draws random numbers of {op.name}, which is no random op")
    for each in (step.reads, step.writes, step.counters, step.draws):
        _require_distinct(each)
    if not {*step.needed} <= {*step.reads} or not {*step.draws} <= {*step.counters}:
        raise InvalidFileError("a program needs values that it does not read")


def _require_distinct(operations: Sequence[Operation]) -> None:
    if len({*operations}) != len(operations):
        raise InvalidFileError("a program has an operation twice")


def _require_same(found: TensorType, wanted: TensorType, what: str) -> None:
    if found.dtype is not wanted.dtype or not same_shape(found.static_shape, wanted.static_shape):
        raise InvalidFileError(f"a program has {what} as {found}, not {wanted}")
