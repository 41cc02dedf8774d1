"""Contractions that are products of matrices as cuBLAS takes them, and what is left to do after them.

Of several indices that move the same operands, one becomes the rows, the columns or the batch of a product. A
batch of several axes, such as the heads of each example, is one product whose matrices are found by pointers,
which a function of our own writes before it. Scaling the product and adding it to what the result held
before, as in a step of gradient descent, is part of the product. Any other epilogue is done after it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import le

from staticgraph.compiler.graph.dtypes import float32, float64, uint64
from staticgraph.compiler.graph.sizes import MANY, AnySize, at_least, estimate, proven
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local, Scalar, substitute, walk
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, GpuSchedule, Grid
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axes, Axis
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Precision, Product
from staticgraph.compiler.kernel.schedule_gpu.products.results import ResultSchedule, in_scratch
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

_EXACT = Precision.FLOAT32
_SMALL = 32**3  # products of numbers: less is done sooner by a function of our own
_THIN = 8  # rows, columns or products of a sum
_MUCH, _LONG = 2**27, 192  # work, and sums, that are worth reading and writing the results once more
_INT32 = 2**31
_FEW = 2  # products in place of one that take no longer than to write pointers, and then one product
_WORTH_POINTERS = 2**24  # work of which a product of our own takes about as long as one more function
_POINTERS = "pointers"


@dataclass(frozen=True, slots=True)
class PointerSchedule(FunctionSchedule):
    """The function that writes the addresses of all matrices of a product, a thread those of one point of the
    batch.

    It runs each time before the product. So addresses need no memory that outlives it, nothing is uploaded,
    and a captured graph may be moved to other buffers like any other.
    """

    product: Product

    kind = "pointers"
    takes_sizes = True
    meets = False

    @property
    def about(self) -> str:
        """The points."""
        return f"the addresses of {self.points.extent} matrices of each operand"

    @property
    def points(self) -> Axis:
        """The number of a point of the batch."""
        extents = (*self.product.axes, self.product.batch)
        return Axis("at", tuple(Index(f"axis{n}", extent) for n, extent in enumerate(extents)))

    @property
    def grid(self) -> Grid:
        return at_least(-(-self.points.extent // THREADS), 1), 1, 1


@dataclass(frozen=True, slots=True)
class _Form:
    """The indices of a product of matrices, and those that it is done for each of."""

    m: Index
    n: Index
    k: Index
    batch: Index | None
    rest: tuple[Index, ...]
    swapped: bool  # the product is that of the transposed operands in the other order

    @property
    def pieces(self) -> AnySize:
        """Number of products: one for each point of `rest`."""
        return math.prod(i.extent for i in self.rest)


def library(c: Contraction, along: Axes, outputs: Axis, precision: Precision = _EXACT) -> GpuSchedule | None:
    """The schedule by the library; None if that cannot do it, or would take longer."""
    core = _core(c)
    if core is None or c.limits or len(c.k) != 1:
        return None
    if len(c.stores) == 1 and (scaled := _scaled(c, core)) is not None:
        form = _form(c, along, c.targets[0])
        if form is None:
            return None
        return _products(c, form, c.targets[0], precision, *scaled)
    if core is c.acc and (c.depth < _LONG or _work(c) < _MUCH):
        return None
    return _in_two_steps(c, core, along, outputs, precision)


def _core(c: Contraction) -> Expr | None:
    """Return the expression that the library computes: the sum, or the sum cast to its 16-bit operand type.

    None if the library does not take these dtypes, or if a stored value needs the sum before the cast.
    """
    if c.a.dtype is not c.b.dtype:
        return None
    if c.a.dtype in (float32, float64):
        return c.acc if c.a.dtype is c.dtype else None
    core = Scalar("cast", (c.acc,), c.a.dtype)
    hidden = [substitute(s.value, {core: Const(0, c.a.dtype)}) for s in c.stores]
    return core if c.acc not in walk(*hidden) and c.dtype is float32 else None


def _scaled(c: Contraction, core: Expr) -> tuple[float, bool] | None:
    """The factor of the product, and whether it is added to what the result held, if that is the epilogue."""
    (store,), (target,) = c.stores, c.targets
    old = {local for local, x in c.loads.items() if x == target}

    def factor(e: Expr) -> float | None:
        match e:
            case _ if e is core:
                return 1.0
            case Scalar("mul", (x, Const(value)) | (Const(value), x)) if x is core:
                return float(value)
            case Scalar("neg", (x,)):
                found = factor(x)
                return None if found is None else -found
        return None

    alpha, accumulate = factor(store.value), False
    match store.value:
        case Scalar("add", (x, y)) if x in old or y in old:
            alpha, accumulate = factor(y if x in old else x), True
        case Scalar("sub", (x, y)) if x in old:
            found = factor(y)
            alpha, accumulate = None if found is None else -found, True
    if alpha is None or (core is not c.acc and (alpha != 1.0 or accumulate)):
        return None
    return alpha, accumulate


def _in_two_steps(
    c: Contraction, core: Expr, along: Axes, outputs: Axis, precision: Precision
) -> GpuSchedule | None:
    """The product into a result that has room for it, or into scratch memory; then the epilogue."""
    read = {x.buffer for x in c.loads.values()}
    plain = [n for n, s in enumerate(c.stores) if s.value is core]
    free = [n for n, x in enumerate(c.targets) if x.dtype is core.dtype and x.buffer not in read]
    for n in (*plain, *free):
        target = c.targets[n]
        form = _form(c, along, target)
        if form is not None and target.buffer not in read:
            left = [m for m in range(len(c.stores)) if m != n or n not in plain]
            after = _after(c, core, target, left, outputs)
            return _followed(_products(c, form, target, precision), after)
    scratch = in_scratch("product", core.dtype, outputs)
    form = _form(c, along, scratch)
    if form is None:
        return None
    buffers = {**c.buffers, scratch.buffer: Buffer(core.dtype, (outputs.extent,))}
    after = _after(replace(c, buffers=buffers), core, scratch, range(len(c.stores)), outputs)
    size = outputs.extent * core.dtype.size
    return _followed(_products(c, form, scratch, precision), after, (scratch.buffer, size))


def _followed(first: GpuSchedule, last: FunctionSchedule, *scratch: tuple[str, AnySize]) -> GpuSchedule:
    return GpuSchedule((*first.functions, last), (*first.scratch, *scratch))


def _after(c: Contraction, core: Expr, where: Access, left: Iterable[int], outputs: Axis) -> ResultSchedule:
    """The call that makes the results, those of these numbers, of the product."""
    left, found = list(left), Local("product", core.dtype)
    stores = tuple(replace(c.stores[n], value=substitute(c.stores[n].value, {core: found})) for n in left)
    used = set(walk(*(s.value for s in stores)))
    loads = {local: x for local, x in c.loads.items() if local in used} | {found: where}
    targets = tuple(map(c.targets.__getitem__, left))
    return ResultSchedule(replace(c, stores=stores, targets=targets, loads=loads), outputs)


def _work(c: Contraction) -> int:
    outside = (*c.outer, c.rows, c.lanes)
    return c.depth * estimate(math.prod(i.extent for i in outside if i is not None), MANY)


def _form(c: Contraction, along: Axes, out: Access) -> _Form | None:
    """The indices of the largest product of matrices."""
    (k,) = c.k
    outside = (*along.rows.indices, *along.columns.indices, *along.batch.indices)
    if any(x.step(i) < 0 for x in (c.a, c.b, out) for i in (*outside, k)) or not all(map(out.step, outside)):
        return None
    found = []
    for m, n in itertools.product(along.rows.indices, along.columns.indices):
        swapped = out.step(n) != 1
        if _matrix(c.a, m, k) and _matrix(c.b, k, n) and _matrix(out, *((n, m) if swapped else (m, n))):
            if out.step(m if swapped else n) == 1:
                found.append((m, n, swapped))
    if not found:
        return None
    m, n, swapped = max(found, key=lambda f: _about(f[0]) * _about(f[1]))
    rest = sorted((i for i in outside if i not in (m, n)), key=_about)
    batch = rest.pop() if rest else None
    form = _Form(m, n, k, batch, tuple(rest), swapped)
    if min(map(_about, (m, n, k))) < _THIN or math.prod(map(_about, (m, n, k))) < _SMALL:
        return None
    return form if estimate(form.pieces, MANY) <= _FEW or _work(c) >= _WORTH_POINTERS else None


def _about(index: Index) -> int:
    """About how many iterations an index has."""
    return estimate(index.extent, MANY)


def _matrix(x: Access, rows: Index, columns: Index) -> Matrix | None:
    """The matrix of elements along two indices, if its rows or columns are contiguous and do not overlap."""
    for first, second, transposed in ((rows, columns, False), (columns, rows, True)):
        if x.step(second) == 1 and proven(le, second.extent, x.step(first)) and x.step(first) < _INT32:
            return Matrix(x.buffer, x.step(first), transposed)
    return None


def _products(
    c: Contraction, form: _Form, out: Access, precision: Precision, alpha: float = 1.0, add: bool = False
) -> GpuSchedule:
    """The product; or a few, one for each value of the indices that are left. `add` it to what is there."""
    sides = ((c.a, form.m, form.k), (c.b, form.k, form.n), (out, form.m, form.n))
    if form.swapped:
        sides = ((c.b, form.n, form.k), (c.a, form.k, form.m), (out, form.n, form.m))
    found = []
    for x, first, second in sides:
        matrix = _matrix(x, first, second)
        assert matrix is not None
        steps = tuple(map(x.step, form.rest))
        found.append(replace(matrix, offset=x.offset, batch_stride=x.step(form.batch), steps=steps))
    a, b, result = found
    m, n = (form.n, form.m) if form.swapped else (form.m, form.n)
    batch, axes = form.batch.extent if form.batch else 1, tuple(i.extent for i in form.rest)
    sizes = m.extent, n.extent, form.k.extent, batch
    one = Product(out.dtype, *sizes, a, b, result, add, alpha, precision, axes)
    if form.pieces <= _FEW:
        return GpuSchedule(tuple(_apart(one)))
    one = replace(one, pointers=_POINTERS)
    return GpuSchedule((PointerSchedule(one), one), ((_POINTERS, 3 * one.count * uint64.size),))


def _apart(product: Product) -> Iterator[Product]:
    """The same as products whose batches have one axis."""
    for point in itertools.product(*map(range, product.axes)):

        def there(matrix: Matrix, point: tuple[int, ...] = point) -> Matrix:
            moved = sum(step * at for step, at in zip(matrix.steps, point, strict=True))
            return replace(matrix, offset=matrix.offset + moved, steps=())

        a, b, out = map(there, (product.a, product.b, product.out))
        yield replace(product, axes=(), a=a, b=b, out=out)
