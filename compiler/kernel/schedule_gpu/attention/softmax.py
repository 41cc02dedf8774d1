"""Weights that are a softmax of scores, recognised by their expressions.

    weights[k] = exp(x[k] - maximum(x)) / sum(exp(x - maximum(x)))          x[k] is made of scores[k]

Such weights can be made from the first keys before the others are known, and corrected later. What is done to
them afterwards may scale each, or set it to 0, as a dropout does: then it may be done before the division.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, Reduce, Scalar, substitute, walk
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.attention.form import SCORES, WEIGHTS, position
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Softmax:
    """`x` is what the softmax is of, in terms of the indices of rows and keys. `weight` is made of `part`,
    which is the softmax, or any multiple of it.
    """

    x: Expr
    part: Local
    weight: Expr


def softmax(nests: Sequence[Nest], rows: Sequence[Index], keys: Index) -> Softmax | None:
    """Return the softmax that the nests compute; None if they compute anything else.

    The nests must not use local rows. They may store numbers for each row, and the weights once.
    """
    numbers: dict[Expr, Expr] = {}
    stores = []
    for nest in nests:
        for store in nest.stores:
            if store.at == () and nest.domain == tuple(rows):
                numbers[Load(store.buffer, (), store.value.dtype)] = substitute(store.value, numbers)
            else:
                stores.append(store)
    if len(stores) != 1 or stores[0].buffer != WEIGHTS or stores[0].at != position((*rows, keys)):
        return None
    value = substitute(stores[0].value, numbers)
    for quotient in walk(value):
        x = _operand(quotient, keys)
        if x is not None:
            part = Local("part", quotient.dtype)
            weight = substitute(value, {quotient: part})
            plain = all(map(partial(_is_plain, at=position((*rows, keys))), walk(x, weight)))
            return Softmax(x, part, weight) if plain and _scales(weight, part) else None
    return None


def _is_plain(e: Expr, at: tuple[Expr, ...]) -> bool:
    """True if an expression reads no score other than the one at position `at`, and reduces nothing."""
    return not isinstance(e, Reduce) and not (isinstance(e, Load) and e.buffer == SCORES and e.at != at)


def _operand(e: Expr, keys: Index) -> Expr | None:
    """Return the expression that `e` is the softmax of; None if `e` is no softmax over `keys`."""
    match e:
        case Scalar("div", (Scalar("exp", (Scalar("sub", (x, most)),)) as power, total)):
            largest, summed = _combined(most, "maximum", keys), _combined(total, "add", keys)
            return x if largest is _uncast(x) and summed is power else None
    return None


def _combined(e: Expr, combine: str, keys: Index) -> Expr | None:
    """Return the value at one of the `keys` that `e` reduces over all of them with `combine`, else None.

    The dtype of the reduction does not matter.
    """
    match _uncast(e):
        case Reduce((axis,), how, value) if how == combine and axis.extent == keys.extent:
            return _uncast(simplify_index(substitute(value, {axis: keys})))
    return None


def _uncast(e: Expr) -> Expr:
    while isinstance(e, Scalar) and e.op == "cast" and e.dtype.is_floating and e.args[0].dtype.is_floating:
        e = e.args[0]
    return e


def _scales(e: Expr, part: Local) -> bool:
    """True if an expression is a multiple of `part`, or 0."""
    if part not in walk(e):
        return isinstance(e, Const) and e.value == 0
    match e:
        case Scalar("mul", (x, y)):
            return _scales(x, part) if part not in walk(y) else part not in walk(x) and _scales(y, part)
        case Scalar("div", (x, y)):
            return part not in walk(y) and _scales(x, part)
        case Scalar("neg" | "cast", (x,)):
            return e.dtype.is_floating and _scales(x, part)
        case Scalar("select", (condition, x, y)):
            return part not in walk(condition) and _scales(x, part) and _scales(y, part)
    return e is part
