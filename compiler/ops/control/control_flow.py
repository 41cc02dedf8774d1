"""Loops and branches.

In a user's graph they hold regions, in the compiler Functions. A compiled loop is rotated,

    if pred:  do  pred, *values = body(*values, *captures)  while pred

so that the condition of the next round is computed with the body of this one, by the same kernels. What the
body reads of the world around it are its captures: they are the same in all rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bool_, int32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.shapes import TensorType, common_shape, compatible
from staticgraph.compiler.graph.tensor import Region
from staticgraph.compiler.ops.kinds import structural

_Branch = TypeVar("_Branch", Function, Region)
_CONTROL: dict[str, Any] = {"effect": Effect.CONTROL, "vars": {"inputs": "*"}}


# In a user's graph


@structural(tf="Identity", type=lambda dtype, shape: TensorType(dtype, shape), effect=Effect.SOURCE)
def region_parameter(*, dtype: DType, shape: Any) -> Any:
    """A param of a region: what a loop carries from round to round, as its body finds it."""


def _while_type(*inputs: TensorType, cond: Region, body: Region, back_prop: bool) -> tuple[TensorType, ...]:
    carried = tuple(t.type for t in body.params)
    (pred,) = (t.type for t in cond.results)
    one_truth = _fits(pred, TensorType(bool_, ()))
    require(one_truth, f"the condition of a loop is {pred}, it must be one truth value")
    for what, types in (("condition takes", cond.params), ("body gives", body.results)):
        found = tuple(t.type for t in types)
        require(all_fit(found, carried), f"the {what} {found} and the loop carries {carried}")
    require(all_fit(inputs[: len(carried)], carried), f"the loop gets {inputs} and carries {carried}")
    return (*carried, TensorType(int32, ()))


def all_fit(types: Sequence[TensorType], others: Sequence[TensorType]) -> bool:
    """Return if each of `types` has the dtype, and may have the shape, of its counterpart in `others`."""
    return len(types) == len(others) and all(map(_fits, types, others))


def _fits(type: TensorType, other: TensorType) -> bool:
    return type.dtype is other.dtype and compatible(type.shape, other.shape)


def _if_wanted(count: int, back_prop: bool, **_: Any) -> range:
    return range(count if back_prop else 0)


@structural(tf="While", type=_while_type, differentiable=_if_wanted, **_CONTROL)
def while_region(*inputs: Any, cond: Region, body: Region, back_prop: bool = True) -> Any:
    """The values that `body` leaves when `cond` of them does not hold any more; and a number of rounds that
    was enough, a power of two.

    The first inputs are the values before the first round, the others are what the regions capture. Without
    `back_prop` no derivative flows through it.
    """


def _branch_type(pred: TensorType, *inputs: TensorType, branches: tuple[Region, ...]) -> Any:
    one_number = pred.dtype in (bool_, int32) and compatible(pred.shape, ())
    require(one_number, f"{pred} chooses no branch, it must be one truth value or one int32")
    rows = [[t.type for t in each.results] for each in branches]
    require(len(branches) > 0, "there are no branches")
    require(not any(each.params for each in branches), "a branch has no params")
    for row in rows:
        dtypes = [[t.dtype for t in each] for each in (row, rows[0])]
        require(dtypes[0] == dtypes[1], f"branches give {rows[0]} and {row}")
    columns = zip(*rows, strict=True)
    return tuple(TensorType(types[0].dtype, common_shape(*(t.shape for t in types))) for types in columns)


@structural(tf="If", type=_branch_type, effect=Effect.CONTROL, vars={"pred": "P", "inputs": "*"})
def branch_region(pred: Any, *inputs: Any, branches: tuple[Region, ...]) -> Any:
    """The results of one of `branches`: of the first or second as `pred` is True or False; or of the one with
    the number `pred`, the last one for all numbers that there is none of. `inputs` are what they capture.
    """


# In a Function


def _loop_type(
    pred: TensorType,
    *inputs: TensorType,
    body: Function,
    carried: int,
    family: int,
    bound: int | None,
    exact: bool,
    brief: bool,
) -> Any:
    require(pred == TensorType(bool_, ()), f"the condition of a loop is {pred}, it must be one truth value")
    taken = tuple(p.type for p in body.params)
    given = tuple(r.type for r in body.results)
    require(inputs == taken, f"the loop gets {inputs} and its body takes {taken}")
    require(
        given == (pred, *taken[:carried]), f"the body gives {given} and the loop carries {taken[:carried]}"
    )
    return taken[:carried]


def _loop_meaning(
    pred: np.ndarray, *inputs: np.ndarray, body: Function, carried: int, **_: Any
) -> tuple[Any, ...]:
    state, captures = [pred, *inputs[:carried]], inputs[carried:]
    while state[0]:
        state = interpret(body, dict(zip(body.params, (*state[1:], *captures), strict=True)))
    return tuple(state[1:])


@structural(type=_loop_type, numpy=_loop_meaning, internal=True, **_CONTROL)
def loop(
    *inputs: Any, body: Function, carried: int, family: int, bound: int | None, exact: bool, brief: bool
) -> Any:
    """The values after the last round. The inputs are the condition, the values before the first round,
    `carried` in number, and the captures of `body`.

    There are never more than `bound` rounds, if that is known, and always so many if `exact`. A run need not
    be stopped between the rounds of a loop that is `brief`, such as one that stands for a single op. Loops of
    the same `family` begin with the same values and do the same with them: they differ in what else they
    carry.
    """


def _branch_types(index: TensorType, *inputs: TensorType, branches: tuple[Function, ...]) -> Any:
    require(index == TensorType(int32, ()), f"the number of a branch is {index}, it must be one int32")
    for each in branches:
        taken, given = tuple(p.type for p in each.params), tuple(r.type for r in each.results)
        first = tuple(r.type for r in branches[0].results)
        require(inputs == taken, f"the branch gets {inputs} and takes {taken}")
        require(given == first, f"branches give {first} and {given}")
    return tuple(r.type for r in branches[0].results)


def taken(branches: Sequence[_Branch], number: int) -> _Branch:
    """The branch with this number, the last one if there is none."""
    return branches[number] if 0 <= number < len(branches) else branches[-1]


def _branch_meaning(index: np.ndarray, *inputs: np.ndarray, branches: tuple[Function, ...]) -> Any:
    chosen = taken(branches, int(index))
    return tuple(interpret(chosen, dict(zip(chosen.params, inputs, strict=True))))


@structural(type=_branch_types, numpy=_branch_meaning, internal=True, **_CONTROL)
def branch(*inputs: Any, branches: tuple[Function, ...]) -> Any:
    """The results of the branch with the number that is the first input, of the last one if there is none
    of that number. The other inputs are what the branches capture: all have the same params.
    """


def functions(attrs: dict[str, Any]) -> tuple[Function, ...]:
    """The Functions that a node with these attributes runs."""
    return attrs["branches"] if "branches" in attrs else (attrs["body"],) if "body" in attrs else ()
