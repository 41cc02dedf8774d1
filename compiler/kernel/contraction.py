"""Contractions: which kernels are sums of products, and in what form a register-blocked generator wants them.

Matrix products in all transposes, batched products, einsum, convolution and its gradients are all

    result[d] = epilogue(sum over k of a[d, k] * b[d, k], other arrays at d)

with a, b and the other arrays at affine positions of the domain d. `analyse` recognises this form in the
stores of an unplaced kernel. It forgets axes: every access becomes a flat offset and a step per index,
neighbouring indices that step through all arrays as one become one index, and each index gets a role by the
operands that it moves:

    lanes   runs along the vector lanes: unit step in the result, and moves b (exchanged with a if need be)
    rows    moves only a; the accumulators are a tile of rows by lanes
    outer   the remaining indices of the domain: loops around the tiles
    k       the indices of the sum, outermost first; an open one is the first

Products may be limited to where a window lies inside of an array, as in a padded convolution: such a `Limit`
ties an index of the sum to one outside of it.

A convolution of NHWC images with HWIO weights comes out as k = (kh, kw and ci in one), rows = ow, lanes = co.

Extents and strides may be open, those along the lanes too. If few vectors are multiplied with the rows of a
matrix, of which there is an open number, the lanes are an index with one value instead, and vectors run along
the sum. Decisions take numbers for open sizes, see `count` and `Access.step`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from staticgraph.compiler.graph.dtypes import FLOATING, DType, float32, float64
from staticgraph.compiler.graph.sizes import AnySize, Size, Undecided, content, estimate, same
from staticgraph.compiler.kernel.expr import (
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Reduce,
    Scalar,
    free_indices,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.indices.affine import Affine, linear
from staticgraph.compiler.kernel.lower_expressions import sum_of_products
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.support.dataclass import dataclass, replace

if TYPE_CHECKING:
    from staticgraph.compiler.kernel.predicated_loads import Inside

    Operand = tuple[Load, tuple[Inside, ...]]  # an element, and where it exists
_SHORT = 16  # values of an index of the sum, for each of which code may be written
_FEW = 6  # fewer rows than this do not fill the registers, and so many are few vectors


@dataclass(frozen=True, slots=True)
class Access:
    """Addresses of the elements of one access: `offset` elements from the start, and `steps` per index."""

    buffer: str
    dtype: DType
    offset: AnySize
    steps: Mapping[Index, AnySize]

    def stride(self, index: Index | None) -> AnySize:
        """Elements between neighbours along `index`; 0 if the access does not depend on it."""
        return self.steps.get(index, 0) if index is not None else 0

    def step(self, index: Index | None) -> int:
        """The same as a number to decide by: an open stride is neither 0 nor 1, and not negative."""
        step = self.stride(index)
        return max(2, estimate(step)) if isinstance(step, Size) else step

    def same(self, other: Access) -> bool:
        """Return True if the other access is to the same elements for all sizes."""
        return (
            (self.buffer, self.dtype, self.steps.keys()) == (other.buffer, other.dtype, other.steps.keys())
            and same(self.offset, other.offset)
            and all(same(step, other.steps[index]) for index, step in self.steps.items())
        )


@dataclass(frozen=True, slots=True)
class Limit:
    """The products exist only where 0 <= offset + step * k + place_step * place < extent."""

    k: Index
    step: int
    place: Index | None  # not an index of the sum
    place_step: int
    offset: int
    extent: int

    def span(self, start: int) -> tuple[int, int]:
        """The values of k that are inside, from the first to before the last, where offset and place add up
        to `start`; the same number twice if there are none.
        """
        count = closed(self.k)
        first = min(count, max(0, -(start // self.step)))
        return first, max(first, min(count, -((start - self.extent) // self.step)))


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of the open index of a sum: about equal ones of at least `least` values, each but the last one a
    multiple of `unit`. There is at least one, and at most as many as `index` has values.
    """

    index: Index
    least: int
    unit: int


@dataclass(frozen=True, slots=True, eq=False)
class Contraction:
    """Sums of products in normal form, see the module.

    The values of `stores` are made of locals: `acc` is the sum, the others are elements of `loads`.
    """

    dtype: DType
    acc: Local
    a: Access
    b: Access
    rows: Index | None
    lanes: Index
    outer: tuple[Index, ...]
    k: tuple[Index, ...]
    stores: tuple[Store, ...]
    targets: tuple[Access, ...]  # of the stores, one each
    loads: Mapping[Local, Access]  # what the epilogue reads, by the name that the values have for it
    buffers: Mapping[str, Buffer]
    limits: tuple[Limit, ...] = ()  # of a
    open: Index | None = None  # an index with an open extent, that of the sum if that is one
    slices: Slices | None = None  # of the open index of the sum
    sizes: tuple[Size, ...] = ()  # that are open

    @property
    def row_count(self) -> int:
        """The count of `rows`; 1 if there is no index that moves only a."""
        return 1 if self.rows is None else count(self.rows)

    @property
    def row_unit(self) -> int:
        """A number that divides the number of rows, whatever open sizes are."""
        return 1 if self.rows is None else max(1, content(self.rows.extent))

    @property
    def column_count(self) -> int:
        """The count of `lanes`."""
        return count(self.lanes)

    @property
    def open_columns(self) -> bool:
        """True if the extent of `lanes` is open."""
        return isinstance(self.lanes.extent, Size)

    @property
    def open_rows(self) -> bool:
        """True if the number of rows is open."""
        return self.rows is not None and isinstance(self.rows.extent, Size)

    @property
    def open_outer(self) -> tuple[Index, ...]:
        """The indices of the results with an open extent, the lanes apart."""
        indices = (*self.outer, *((self.rows,) if self.rows else ()))
        return tuple(i for i in indices if isinstance(i.extent, Size))

    @property
    def several_open(self) -> bool:
        """True if several indices of the sum are open."""
        return sum(isinstance(i.extent, Size) for i in self.k) > 1

    @property
    def open_sum(self) -> bool:
        """True if the number of products in each sum is open."""
        return self.open is not None and not any(i is self.open for i in (self.rows, self.lanes, *self.outer))

    def arguments(self, operand: Access) -> tuple[int, ...] | None:
        """The buffer that an operand is read from; None if it lies in scratch memory."""
        return (list(self.buffers).index(operand.buffer),) if operand.buffer else None

    @property
    def outer_of_b(self) -> tuple[Index, ...]:
        """The outer indices that move b: the first ones."""
        slices = self.slices and self.slices.index
        return tuple(i for i in self.outer if self.b.step(i) or i is slices)

    @property
    def other_outer(self) -> tuple[Index, ...]:
        """The outer indices that do not move b: the last ones."""
        return self.outer[len(self.outer_of_b) :]

    @property
    def depth(self) -> int:
        """Number of products in each sum."""
        depth = math.prod(map(count, self.k))
        if self.slices is not None and self.k[0] is self.open:
            return max(1, depth // count(self.slices.index))
        return depth

    def size(self, operand: Access) -> int:
        """The number of elements of the buffer of an operand, or of what it reaches of scratch memory."""
        if not operand.buffer:
            return 1 + sum(step * (count(index) - 1) for index, step in operand.steps.items())
        return estimate(self.buffers[operand.buffer].size)


def count(index: Index) -> int:
    """The extent of an index; a number for estimates if it is open."""
    return estimate(index.extent)


def closed(index: Index) -> int:
    """The extent of an index that is not open. Raises Undecided if it is."""
    known: int = int(index.extent) if isinstance(index.extent, Size) else index.extent
    return known


def _repeats(index: Index) -> bool:
    """True unless the index has exactly one value."""
    return isinstance(index.extent, Size) or index.extent != 1


def access(buffer: str, at: tuple[Expr, ...], buffers: Mapping[str, Buffer]) -> Access | None:
    """The flat form of `buffer[at]`; None if a position is not affine."""
    flat = Affine({})
    for position, stride in zip(at, buffers[buffer].strides, strict=True):
        form = linear(position)
        if not all(isinstance(term, (Index, Extent)) for term in form.terms):
            return None
        flat += form.times(stride)
    moving = {i: step for i, step in flat.terms.items() if isinstance(i, Index) and _repeats(i)}
    return Access(buffer, buffers[buffer].dtype, flat.size, moving)


def analyse(
    domain: tuple[Index, ...], stores: tuple[Store, ...], buffers: Mapping[str, Buffer]
) -> Contraction | None:
    """The normal form of `stores`, executed for all values
    of the indices `domain`; None if they have another form.

    The stored values must contain one sum in float32 or float64, of products of two floating elements; the
    rest of them may use other elements at affine positions, but not the loop variables themselves. A buffer
    may be updated in place: the positions read and written must then be the same.
    """
    product = factors(buffers, stores)
    if product is None:
        return None
    total, (left, left_inside), (right, right_inside) = product
    if any(not isinstance(index.extent, Size) and index.extent == 0 for index in domain + total.axes):
        return None
    if (body := _body(total, (left, right), stores, buffers)) is None:
        return None
    windows = [_position(inside.place, total.dtype) for inside in left_inside + right_inside]
    accesses = [*body.operands, *body.others, *body.written, *windows]
    outside, accesses = merged([i for i in domain if _repeats(i)], accesses)
    inside, accesses = merged([i for i in total.axes if _repeats(i)], accesses)
    (a, b), rest = accesses[:2], accesses[2:]
    others, rest = rest[: len(body.others)], rest[len(body.others) :]
    written, windows = rest[: len(stores)], rest[len(stores) :]
    limits = [
        _limit(window, inside, outside, x.extent)
        for window, x in zip(windows, left_inside + right_inside, strict=True)
    ]
    if (sides := _sides(a, b, written, inside, outside, bool(limits))) is None:
        return None
    a, b, written, lanes, swapped = sides
    of_a = right_inside if swapped else left_inside
    if len(of_a) != len(limits) or any(x is None or x.place is lanes for x in limits):
        return None
    unknown = [i for i in (*inside, *outside) if isinstance(i.extent, Size)]
    _refuse_open_windows(limits, unknown)
    short = [x.place for x in limits if x and x.k.extent > _SHORT]
    rows = _rows(
        [i for i in outside if i is not lanes and i not in short and a.step(i) and not b.step(i)], written[0]
    )
    return Contraction(
        total.dtype,
        body.acc,
        a,
        b,
        rows,
        lanes,
        outer=tuple(
            sorted((i for i in outside if i is not lanes and i is not rows), key=lambda i: not b.step(i))
        ),
        k=tuple(sorted(inside, key=lambda i: -max(abs(a.step(i)), abs(b.step(i))))),
        stores=body.stores,
        targets=tuple(written),
        loads=dict(zip(body.names, others, strict=True)),
        buffers=buffers,
        limits=tuple(x for x in limits if x),
        open=unknown[0] if unknown else None,
        sizes=_open_sizes(unknown, body.stores, (a, b, *written, *others)),
    )


def _refuse_open_windows(limits: Sequence[Limit | None], unknown: Sequence[Index]) -> None:
    """Raise Undecided if a window is along an axis of open size."""
    if any(x and (x.place in unknown or x.k in unknown) for x in limits):
        sizes = tuple(i.extent for i in unknown)
        raise Undecided(f"the sizes {', '.join(map(repr, sizes))} of one product", sizes=sizes)


def _sides(
    a: Access, b: Access, written: list[Access], inside: list[Index], outside: list[Index], limited: bool
) -> tuple[Access, Access, list[Access], Index, bool] | None:
    """Return which operand is a, which is b, the results, the index in lanes, and if operands changed sides.

    Lanes move along b. None if no index can be in lanes.
    """
    lanes, swapped = _lanes(outside, written), False
    if lanes is None or not (a.step(lanes) or b.step(lanes)) or _is_row_by_row(a, b, lanes, outside):
        return None
    if isinstance(lanes.extent, Size):
        if a.step(lanes) and b.step(lanes):
            return None
        if b.step(lanes):
            a, b, swapped = b, a, not swapped
        if limited or _is_few_vectors(a, b, inside, outside):
            if any(isinstance(x.stride(i), Size) and i is not lanes for x in (a, b) for i in inside):
                return None  # neighbours along the sum are far apart, those along the results are not
            lanes = Index("lane", 1)  # of a matrix times a vector, whose rows move through the result
            b = replace(b, steps={**b.steps, lanes: 1})
            written = [replace(x, steps={**x.steps, lanes: 1}) for x in written]
    if a.step(lanes) and (not b.step(lanes) or (b.step(lanes) != 1 and a.step(lanes) == 1)):
        a, b, swapped = b, a, not swapped
    return a, b, written, lanes, swapped


def _is_row_by_row(a: Access, b: Access, lanes: Index, outside: Sequence[Index]) -> bool:
    """Return True for products of a row with one other row, as in a norm: vectors had better run along them.

    No element is used for two results, so a tile of them gains nothing.
    """
    apart = 1 not in (a.step(lanes), b.step(lanes))
    return apart and all(a.step(i) and b.step(i) for i in outside)


@dataclass(frozen=True, slots=True)
class _Body:
    """Accesses of a nest with one sum, and its stores with names for the sum and for elements."""

    acc: Local
    stores: tuple[Store, ...]
    names: list[Local]
    operands: list[Access]
    others: list[Access]  # by the names
    written: list[Access]


def _body(
    total: Reduce, factors: tuple[Load, Load], stores: tuple[Store, ...], buffers: Mapping[str, Buffer]
) -> _Body | None:
    """Return the parts of stores around one sum; None if a position is not affine, or is in the way."""
    acc = Local("acc", total.dtype)
    stores = tuple(replace(s, value=substitute(s.value, {total: acc})) for s in stores)
    elements = _loads(stores)
    names = [Local(f"x{n}", e.dtype) for n, e in enumerate(elements)]
    targets = [access(s.buffer, s.at, buffers) for s in stores]
    found = [access(e.buffer, e.at, buffers) for e in (*factors, *elements)]
    named: dict[Expr, Expr] = dict(zip(elements, names, strict=True))
    stores = tuple(replace(s, value=substitute(s.value, named)) for s in stores)
    if any(x is None for x in targets + found) or any(free_indices(s.value) for s in stores):
        return None
    operands, others = [x for x in found[:2] if x], [x for x in found[2:] if x]
    written = [x for x in targets if x]
    if not _independent(operands, others, written):
        return None
    return _Body(acc, stores, names, operands, others, written)


def _is_few_vectors(a: Access, b: Access, inside: Sequence[Index], outside: Sequence[Index]) -> bool:
    """Return True for few vectors times an open number of rows, all of which lie along the sum in memory."""
    along_sum = all(any(same(x.stride(i), 1) for i in inside) for x in (a, b))
    return along_sum and all(count(i) <= _FEW for i in outside if b.step(i) and not a.step(i))


def _open_sizes(
    unknown: Sequence[Index], stores: Sequence[Store], accesses: Sequence[Access]
) -> tuple[Size, ...]:
    """Return the open sizes that code for a contraction asks for."""
    found: list[AnySize] = [i.extent for i in unknown]
    found += [e.size for e in walk(*(s.value for s in stores)) if isinstance(e, Extent)]
    found += [n for x in accesses for n in (x.offset, *x.steps.values())]
    return tuple(dict.fromkeys(n for n in found if isinstance(n, Size)))


def factors(
    buffers: Mapping[str, Buffer], stores: tuple[Store, ...]
) -> tuple[Reduce, Operand, Operand] | None:
    """The one sum in the stored values, and the two elements that it multiplies; None if it is not that."""
    total = sum_of_products(stores)
    if total is None:
        return None
    left, right = (_operand(buffers, x) for x in total.value.children)
    return (total, left, right) if left and right else None


def _position(place: Affine, dtype: DType) -> Access:
    """A position in a padded array in the form of an access, so that indices merge only where it allows."""
    steps = {i: int(s) for i, s in place.terms.items() if isinstance(i, Index)}
    return Access("", dtype, place.constant, steps)


def _limit(window: Access, inside: list[Index], outside: list[Index], extent: int) -> Limit | None:
    """The limit that a position sets, if it depends on one index of the sum and on one other at most."""
    ks, places = [i for i in inside if window.step(i)], [i for i in outside if window.step(i)]
    if len(ks) != 1 or len(places) > 1 or window.step(ks[0]) < 0 or any(window.step(i) < 0 for i in places):
        return None
    place = places[0] if places else None
    return Limit(ks[0], window.step(ks[0]), place, window.step(place), window.offset, extent)


def _operand(buffers: Mapping[str, Buffer], expr: Expr) -> Operand | None:
    match expr:
        case Scalar("cast", (inner,), dtype) if dtype in (float32, float64) and inner.dtype in FLOATING:
            expr = inner
    match expr:
        case Load():
            return expr, ()
        case Scalar("select"):
            from staticgraph.compiler.kernel.predicated_loads import unpadded  # of windows over edges

            return unpadded(expr, buffers)
    return None


def _loads(stores: tuple[Store, ...]) -> list[Load]:
    return [e for e in walk(*(s.value for s in stores)) if isinstance(e, Load)]


def _independent(operands: list[Access], others: list[Access], written: list[Access]) -> bool:
    """Return True if no element is written before the value of another position has read it."""
    targets: dict[str, Access] = {}
    for target in written:
        if target.buffer in targets:
            return False
        targets[target.buffer] = target
    if any(x.buffer in targets for x in operands):
        return False
    return all(x.same(targets.get(x.buffer, x)) for x in others)


def merged(indices: list[Index], accesses: list[Access]) -> tuple[list[Index], list[Access]]:
    """Make one index of two wherever every access steps over the second as often as the first has values."""
    again = True
    while again:
        again = False
        for p, q in permutations(indices, 2):
            if all(same(x.stride(p), x.stride(q) * q.extent) for x in accesses):
                both = Index(f"{p.name}_{q.name}", p.extent * q.extent)
                at = min(indices.index(p), indices.index(q))
                indices = [i for i in indices if i not in (p, q)]
                indices.insert(at, both)
                accesses = [_joined(x, p, q, both) for x in accesses]
                again = True
                break
    return indices, accesses


def _joined(x: Access, p: Index, q: Index, both: Index) -> Access:
    steps = {index: step for index, step in x.steps.items() if index not in (p, q)}
    if q in x.steps:
        steps[both] = x.steps[q]
    return replace(x, steps=steps)


def _lanes(indices: Iterable[Index], written: list[Access]) -> Index | None:
    """The index along the vector lanes: the one with the shortest step through the first result."""
    moving = [i for i in indices if written[0].step(i)]
    return min(moving, key=lambda i: abs(written[0].step(i)), default=None)


def _rows(candidates: list[Index], target: Access) -> Index | None:
    """The index along the rows of a tile: the innermost of
    the result that has enough values, or else the longest.
    """
    enough = [i for i in candidates if count(i) >= _FEW]
    if enough:
        return min(enough, key=lambda i: abs(target.step(i)))
    return max(candidates, key=count, default=None)
