"""Einstein's summation: every letter is an axis, and letters that the result lacks are summed over.

One or two operands are one contraction, whatever the order of their axes: no transposes, no reshapes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.kernel.expr import Expr, Index, Reduce
from staticgraph.compiler.ops.kinds import View, conjugate, contraction
from staticgraph.compiler.ops.linear_algebra.products import PRODUCTS
from staticgraph.compiler.ops.samples import Sample, real


def parts(equation: str) -> tuple[list[str], str]:
    """The letters of each operand and of the result of `ab,bc->ac`."""
    left, _, result = equation.partition("->")
    return left.split(","), result


def _sizes(letters: Sequence[str], shapes: Sequence[Sequence[int | None]]) -> dict[str, int | None]:
    """The size of every letter. Upper case letters stand for axes that broadcast."""
    sizes: dict[str, int | None] = {}
    for name, shape in zip(letters, shapes, strict=True):
        for letter, n in zip(name, shape, strict=True):
            known = sizes.get(letter)
            if known is None or (letter.isupper() and known == 1):
                sizes[letter] = n
            elif n is not None and not (letter.isupper() and n == 1):
                what = f"axis {letter} has size {known} in one operand and {n} in another"
                require(known == n, what, hint="axes of one letter have one size")
    return sizes


def _type(*inputs: TensorType, equation: str) -> TensorType:
    letters, result = parts(equation)
    require(
        len(letters) == len(inputs), f"{equation!r} is for {len(letters)} operands, there are {len(inputs)}"
    )
    for name, t in zip(letters, inputs, strict=True):
        require(
            t.shape is None or len(t.shape) == len(name),
            f"{name!r} names {len(name)} axes of an operand of shape {shape_text(t.shape)}",
        )
        require(len(set(name)) == len(name), f"{name!r} names two axes of one operand alike")
    require(len(set(result)) == len(result), f"{result!r} names two axes of the result alike")
    missing = set(result) - set("".join(letters))
    require(not missing, f"the result has the axis {min(missing, default='')!r} that no operand has")
    shapes = [t.shape or (None,) * len(name) for name, t in zip(letters, inputs, strict=True)]
    sizes = _sizes(letters, shapes)
    return TensorType(inputs[0].dtype, tuple(sizes[letter] for letter in result))


def _numpy(*inputs: np.ndarray, equation: str) -> np.ndarray:
    letters, result = parts(equation)
    sizes = _sizes(letters, [x.shape for x in inputs])
    wide = {"f": np.float64, "c": np.complex128}.get(inputs[0].dtype.kind, inputs[0].dtype)
    full = [
        np.broadcast_to(x.astype(wide), [sizes[letter] or 0 for letter in name])
        for name, x in zip(letters, inputs, strict=True)
    ]
    number = {letter: i for i, letter in enumerate(sizes)}
    operands = [
        part for name, x in zip(letters, full, strict=True) for part in (x, [number[a] for a in name])
    ]
    return np.asarray(np.einsum(*operands, [number[a] for a in result])).astype(inputs[0].dtype)


def _grad(g: Any, y: Any, *inputs: Any, equation: str) -> tuple[Any, ...]:
    letters, result = parts(equation)
    sizes = _sizes(letters, [x.shape for x in inputs])
    out = []
    for i, name in enumerate(letters):
        others = [(n, x) for j, (n, x) in enumerate(zip(letters, inputs, strict=True)) if j != i]
        seen = set(result).union(*(n for n, _ in others))
        found = "".join(letter for letter in name if letter in seen)
        rest = [conjugate(x) for _, x in others]
        equation = ",".join([result, *(n for n, _ in others)]) + "->" + found
        by_x = einsum([g, *rest], equation=equation)
        # An axis of this operand alone was summed over: each element along it has the same cotangent.
        by_x = ops.reshape(by_x, shape=tuple(sizes[a] if a in seen else 1 for a in name))
        out.append(
            ops.broadcast_to(by_x, shape=tuple(sizes[a] for a in name))
        )  # the engine sums what x repeated
    return tuple(out)


def _complex_einsum(*inputs: Any, equation: str) -> Any:
    """Sums of products of complex numbers, by those of their parts."""

    def summed(*values: Any) -> Any:
        return ops.einsum(list(values), equation=equation)

    (x, y), *others = ((ops.real(value), ops.imag(value)) for value in inputs)
    if not others:
        return ops.complex(summed(x), summed(y))
    ((u, v),) = others
    return ops.complex(summed(x, u) - summed(y, v), summed(x, v) + summed(y, u))


@contraction(
    tf="Einsum", type=_type, numpy=_numpy, dtypes=PRODUCTS, grad=_grad, expand=_complex_einsum,
    samples=[Sample(real(2, 3), real(3, 4), equation="ij,jk->ik"),
             Sample(real(3, 2, 4), real(4, 2, 5), equation="bik,kin->nb"),
             Sample(real(2, 3, 4), equation="abc->ca"), Sample(real(3), real(2), equation="i,j->ij"),
             Sample(real(2, 3), real(4, 3), equation="ij,kj->"),
             Sample(real(1, 2, 3), real(4, 3, 2), equation="Aij,Ajk->Aik")],
)
def einsum(at: tuple[Expr, ...], *inputs: View, equation: str) -> Expr:
    """Sum of products of one or two operands, over the letters of `equation` that its result lacks."""
    letters, result = parts(equation)
    sizes = _sizes(letters, [x.shape for x in inputs])
    place: dict[str, Expr] = dict(zip(result, at, strict=True))
    known = ((letter, 0 if n is None else n) for letter, n in sizes.items() if letter not in place)
    summed = tuple(Index(f"k{letter}", n) for letter, n in known)
    place |= {index.name[1:]: index for index in summed}
    factors = [x.broadcast(tuple(place[a] for a in name)) for name, x in zip(letters, inputs, strict=True)]
    product = math.prod(factors[1:], start=factors[0])
    return Reduce(summed, "add", product) if summed else product
