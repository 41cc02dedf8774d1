"""Elements of an array with zeros around it, as windows that reach over its edges read them.

    select(e >= 0 & e < n, x[minimum(maximum(e, 0), n - 1)], 0)

`padded_load` writes this form; `unpadded` takes it apart again, also after the tests
and bounds that always hold have been simplified away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from staticgraph.compiler.graph.sizes import AnySize, Size, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Scalar
from staticgraph.compiler.kernel.indices.affine import Affine, affine, bounds
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Inside:
    """Condition for the existence of an element: 0 <= `place` < `extent`."""

    place: Affine
    extent: int


def padded_load(
    read: Callable[[tuple[Expr, ...]], Expr], at: Sequence[Expr], shape: Sequence[AnySize]
) -> Expr:
    """The element at a position, 0 where that is outside of the shape."""
    conditions: list[Expr] = []
    places: list[Expr] = []
    for place, extent in zip(at, shape, strict=True):
        if isinstance(place, Index) and same(place.extent, extent):
            places.append(place)
            continue
        low, high = bounds(place)
        if low < 0:
            conditions.append(scalar.ge(place, 0))
            place = scalar.maximum(place, 0)
        if high >= extent:
            conditions.append(scalar.lt(at[len(places)], extent))
            place = scalar.minimum(place, extent - 1)
        places.append(place)
    value = read(tuple(places))
    if not conditions:
        return value
    if any(same(extent, 0) for extent in shape):
        return Const(0, value.dtype)
    inside = conditions[0]
    for condition in conditions[1:]:
        inside = inside & condition
    return scalar.select(inside, value, Const(0, value.dtype))


def unpadded(expr: Expr, buffers: Mapping[str, Buffer]) -> tuple[Load, tuple[Inside, ...]] | None:
    """The element itself and where it exists, if `expr` is one, padded or not."""
    match expr:
        case Load():
            return expr, ()
        case Scalar("select", (condition, Load(buffer, at, dtype), Const(0))):
            tests = [_not_negative(c) for c in _conjuncts(condition)]
            bare = tuple(_unclamped(place) for place in at)
            inside = _explained(tests, bare, at, buffers[buffer].shape)
            return None if inside is None else (Load(buffer, bare, dtype), inside)
    return None


def _explained(
    tests: list[Affine | None], bare: tuple[Expr, ...], at: tuple[Expr, ...], shape: tuple[AnySize, ...]
) -> tuple[Inside, ...] | None:
    """The positions that the tests are about, if these make every clamped position what it is without."""
    left, found = list(tests), []
    for place, clamped, extent in zip(bare, at, shape, strict=True):
        form = affine(place)
        if form is None:
            return None
        if isinstance(extent, Size):  # a test of it would be left over
            if place is not clamped:
                return None
            continue
        low, high = form, Affine({}, extent - 1) + form.times(-1)
        tested = [t for t in (low, high) if t in left]
        left = [t for t in left if t not in tested]
        if any(t not in tested and t.range[0] < 0 for t in (low, high)):
            if place is not clamped or tested:
                return None
        elif tested:
            found.append(Inside(form, extent))
    return None if left else tuple(found)


def _conjuncts(condition: Expr) -> Iterable[Expr]:
    match condition:
        case Scalar("and", (a, b)):
            return (*_conjuncts(a), *_conjuncts(b))
    return (condition,)


def _not_negative(test: Expr) -> Affine | None:
    """The form that is at least 0 exactly where a comparison of positions holds."""
    match test:
        case Scalar("ge" | "le" | "gt" | "lt" as op, (a, b)) if a.dtype.is_integer:
            x, y = affine(a), affine(b)
            if x is None or y is None:
                return None
            more, less = (x, y) if op in ("ge", "gt") else (y, x)
            return more + less.times(-1) + Affine({}, 0 if op in ("ge", "le") else -1)
    return None


def _unclamped(place: Expr) -> Expr:
    match place:
        case Scalar("minimum" | "maximum", (inner, Const())) if not isinstance(inner, (Const, Index)):
            return _unclamped(inner)
    return place
