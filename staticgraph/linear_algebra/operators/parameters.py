"""Tensors that operators are made of, shapes that follow from several of them, and hints about operators:
those that follow from others, and from those of operators that one is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    concat,
    shape,
)
from staticgraph.building.conversion import convert_to_tensor
from staticgraph.building.framework import control_dependencies
from staticgraph.building.inputs import identity
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_non_negative
from staticgraph.state.variables import Variable


def parameter(value: Any, name: str, least_rank: int) -> Any:
    """Return a tensor that an operator is made of. A variable stays one: each use of the operator reads it.

    Raises:
        ValueError: If its rank is less than `least_rank`.
    """
    tensor = value if isinstance(value, Variable) else convert_to_tensor(value, name=name)
    rank = tensor.shape.ndims
    if rank is not None and rank < least_rank:
        dimensions = f"{least_rank} dimension{'s' * (least_rank > 1)}"
        raise misuse(ValueError, f"{name} must have at least {dimensions}, and has shape {tensor.shape}")
    return tensor


def whole_numbers(value: Any, name: str, rank: int, assert_proper_shapes: bool) -> tuple[Tensor, Any]:
    """Return a size (`rank` 0) or a shape (`rank` 1) as a tensor, and its value if that is known.

    Args:
        value: A number, a list of numbers, a TensorShape, or an integer tensor.
        name: The name of the argument.
        rank: The rank that it must have.
        assert_proper_shapes: If the graph is to check what is known only when it runs.

    Raises:
        TypeError: If the numbers are not whole, or come from a variable.
        ValueError: If they are negative, or if the rank is wrong.
    """
    if isinstance(value, Variable):
        raise misuse(TypeError, f"{name} is a variable, and must be a number or a tensor")
    value = value.as_list() if isinstance(value, TensorShape) else value
    empty = isinstance(value, list | tuple) and not value
    tensor = convert_to_tensor(value, dtype=int32 if empty else None, name=name)
    if not tensor.dtype.is_integer:
        raise misuse(TypeError, f"{name} must be of whole numbers, and is {tensor.dtype.name}")
    known = static_value(tensor)
    if tensor.shape.ndims not in (None, rank):
        raise misuse(ValueError, f"{name} must have {rank} dimensions, and has shape {tensor.shape}")
    if known is not None and np.any(np.asarray(known) < 0):
        raise misuse(ValueError, f"{name} must not be negative, and is {known}")
    if assert_proper_shapes:
        with control_dependencies([assert_non_negative(tensor, message=f"{name} must not be negative")]):
            tensor = identity(tensor)
    return tensor, known


def common_batch(shapes: Iterable[TensorShape]) -> TensorShape:
    """Return the shape that batches broadcast to, as far as it is known."""
    return reduce(broadcast_static_shape, shapes)


def common_batch_tensor(shapes: Iterable[Any]) -> Any:
    """Return the shape that batches broadcast to as a tensor."""
    return reduce(broadcast_dynamic_shape, shapes)


def with_common_batch(matrices: Sequence[Any]) -> list[Any]:
    """Return batches of matrices, or of columns, that all have the batch shape that they broadcast to."""
    if len(matrices) < 2:
        return list(matrices)
    batch = common_batch(each.shape[:-2] for each in matrices)
    if batch.is_fully_defined():
        wanted: Any = batch.as_list()
        given = [wanted == each.shape[:-2].as_list() for each in matrices]
    else:
        wanted = common_batch_tensor(shape(each)[:-2] for each in matrices)
        given = [False] * len(matrices)
    return [
        each if has else broadcast_to(each, concat([wanted, shape(each)[-2:]], axis=0))
        for each, has in zip(matrices, given, strict=True)
    ]


Hint = bool | None
HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


def implied(
    is_non_singular: Hint, is_self_adjoint: Hint, is_positive_definite: Hint, is_square: Hint
) -> tuple[Hint, Hint]:
    """Return the hints `is_non_singular` and `is_square` that follow from all.

    Raises:
        ValueError: If hints contradict each other.
    """
    if is_positive_definite:
        if is_non_singular is False:
            raise misuse(ValueError, "a positive definite operator is always non-singular")
        is_non_singular = True
    if is_non_singular or is_self_adjoint:
        if is_square is False:
            kind = "non-singular" if is_non_singular else "self-adjoint"
            raise misuse(ValueError, f"a {kind} operator is always square")
        is_square = True
    return is_non_singular, is_square


def always(what: str, hint: str, given: Hint, holds: bool = True) -> bool:
    """Return the value of a hint that a kind of operator always has.

    Args:
        what: The kind of operator, as in "a real diagonal operator".
        hint: The name of the hint.
        given: The program's hint.
        holds: The value that it always has.

    Raises:
        ValueError: If the program's hint is another.
    """
    if given is (not holds):
        raise misuse(ValueError, f"{what} always has {hint}={holds}, not {given}")
    return holds


def of_all(operators: Iterable[Any], what: str, hint: str, given: Hint) -> Hint:
    """Return a hint that holds for a combination of operators if it holds for each of them."""
    return always(what, hint, given) if all(getattr(each, hint) for each in operators) else given


def of_one(operator: Any, what: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the hints of an operator that has those of another, such as its adjoint.

    Raises:
        ValueError: If a given hint contradicts one of the other operator.
    """
    hints = {}
    for hint in HINTS:
        own, other = given[hint], getattr(operator, hint)
        if None not in (own, other) and own != other:
            raise misuse(ValueError, f"{what} has {hint}={other}, as {operator.name} does, not {own}")
        hints[hint] = other if own is None else own
    return hints


def copied(operator: Any) -> dict[str, Any]:
    """Return the hints of an operator."""
    return {hint: getattr(operator, hint) for hint in HINTS}
