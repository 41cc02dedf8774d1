"""Recognition of attention: a product, what is done to each of its rows, and perhaps a second product.

    scores[b, q, k]  = sum over d of query[b, q, d] * key[b, k, d]
    weights[b, q, k] = softmax of a row of scores, or whatever else is done to rows
    out[b, q, d]     = sum over k of weights[b, q, k] * value[b, k, d]

All is done row by row, and no row needs another one. Scores and weights become buffers of their own, which
lie in shared memory; where something else reads them too, they are stored besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import FLOATING, DType, float32, int64
from staticgraph.compiler.kernel.contraction import Access, Contraction, access
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Index,
    Load,
    Local,
    Reduce,
    Scalar,
    free_indices,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axes, Axis
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.support.dataclass import dataclass

SCORES, WEIGHTS = "scores", "weights"  # of every row, in shared memory


@dataclass(frozen=True, slots=True)
class AttentionForm:
    """Attention for each of `rows`: the last of them counts queries, the others are the batch.

    `nests` make weights of scores. Of the contraction `second`, the left operand is the weights; None: the
    nests store all results.
    """

    rows: tuple[Index, ...]
    keys: Index
    first: Contraction
    nests: tuple[Nest, ...]
    second: Contraction | None
    buffers: Mapping[str, Buffer]

    @property
    def query(self) -> Index:
        """The index of queries."""
        return self.rows[-1]

    @property
    def batch(self) -> Axis:
        """Axis of the batch: attention is computed for each of its points."""
        return Axis("z", tuple(i for i in self.rows[:-1] if i.extent != 1))

    @property
    def is_short(self) -> bool:
        """True if all operands have 16-bit elements; tensor cores take all such types."""
        products = (self.first,) if self.second is None else (self.first, self.second)
        return all(x.dtype.size == 2 for product in products for x in (product.a, product.b))

    def along(self, product: Contraction) -> Axes:
        """The indices of one of the products."""
        columns = Axis("n", (product.lanes,))
        return Axes(Axis("m", (self.query,)), columns, self.batch, Axis("k", product.k))


def form(
    nests: Sequence[Nest], buffers: Mapping[str, Buffer], rows: Sequence[Index], sums: Sequence[Nest]
) -> AttentionForm | None:
    """The parts of a kernel of rows that is attention; None for other kernels."""
    if sums or len(nests) < 2 or not rows:
        return None
    first, *between = nests
    scores = _product_of(first, rows)
    keys = first.domain[-1]
    if scores is None or keys.extent == 1:
        return None
    at = position(first.domain)
    buffers = {**buffers, SCORES: Buffer(float32, tuple(i.extent for i in first.domain), written=True)}
    load = Load(SCORES, at, float32)
    stores = tuple(replace(s, value=substitute(s.value, {scores: load})) for s in first.stores)
    between = [Nest(first.domain, stores), *between]
    query_key = _contraction(scores, Access(SCORES, float32, 0, {}), rows, keys, buffers)
    if query_key is None:
        return None
    second = None
    last = between[-1]
    if len(between) > 1 and (total := _product_of(last, rows)) is not None:
        found = _weights(total, between[:-1], buffers, at, keys)
        if found is None:
            return None
        between, out, dtype = found
        buffers[WEIGHTS] = replace(buffers[SCORES], dtype=dtype)
        second = _with_epilogue(last, total, out, rows, buffers)
        if second is None:
            return None
    made = AttentionForm(tuple(rows), keys, query_key, tuple(between), second, buffers)
    return made if _in_order(made) else None


def keeps_to_rows(nests: Sequence[Nest], rows: Sequence[Index]) -> bool:
    """True if the nests read the buffers that they store only in the current row.

    The nests must store everything that they make for all rows.
    """
    stored = {store.buffer for nest in nests for store in nest.stores}
    values = (store.value for nest in nests for store in nest.stores)
    loads = (e for e in walk(*values) if isinstance(e, Load) and e.buffer in stored)
    return all(load.at[: len(rows)] == position(rows) for load in loads)


def position(domain: Sequence[Index]) -> tuple[Expr, ...]:
    """A point of the domain as kernels write it."""
    return tuple(Const(0, int64) if i.extent == 1 else i for i in domain)


def _product_of(nest: Nest, rows: Sequence[Index]) -> Reduce | None:
    """The sum of products that a nest over these rows, and one more index, is made of."""
    if nest.domain[:-1] != tuple(rows):
        return None
    sums = [e for e in walk(*(s.value for s in nest.stores)) if isinstance(e, Reduce)]
    if len(sums) != 1 or sums[0].dtype is not float32 or _factors(sums[0]) is None:
        return None
    return sums[0]


def _factors(total: Reduce) -> tuple[Load, Load] | None:
    match total.combine, total.value:
        case "add", Scalar("mul", (x, y)):
            left, right = _element(x), _element(y)
            return (left, right) if left is not None and right is not None else None
    return None


def _element(factor: Expr) -> Load | None:
    match factor:
        case Load(_, _, dtype) if dtype is float32:
            return factor
        case Scalar("cast", (Load(_, _, dtype) as inner,)) if dtype in FLOATING and dtype.size == 2:
            return inner
    return None


def _contraction(
    total: Reduce, target: Access, rows: Sequence[Index], columns: Index, buffers: Mapping[str, Buffer]
) -> Contraction | None:
    """The product of a left operand that the columns do not move, and a right one that queries do not."""
    factors = _factors(total)
    assert factors is not None
    found = [access(load.buffer, load.at, buffers) for load in factors]
    if found[0] is not None and found[0].step(columns):
        found.reverse()
    a, b = found
    query, batch = rows[-1], [i for i in rows[:-1] if i.extent != 1]
    if a is None or b is None or a.step(columns) or b.step(query) or not a.step(query) or not b.step(columns):
        return None
    k = tuple(i for i in total.axes if i.extent != 1)
    if not k or {*a.steps, *b.steps} - {query, columns, *batch, *k}:
        return None
    acc = Local("acc", float32)
    return Contraction(float32, acc, a, b, query, columns, tuple(batch), k, (), (target,), {}, buffers)


def _weights(
    total: Reduce, nests: Sequence[Nest], buffers: Mapping[str, Buffer], at: tuple[Expr, ...], keys: Index
) -> tuple[list[Nest], Reduce, DType] | None:
    """The nests, which store what `total` multiplies as weights too, that sum of weights, and their dtype."""
    factors = _factors(total)
    assert factors is not None
    stored = {s.buffer for n in nests for s in n.stores}
    load = next((x for x in factors if x.buffer in stored), None)
    if load is None or len(total.axes) != 1 or total.axes[0].extent != keys.extent:
        return None
    (axis,) = total.axes
    place = at[-1:] if buffers[load.buffer].local else at
    if load.at != (*place[:-1], axis):
        return None
    made = [nest for nest in nests if any(s.buffer == load.buffer for s in nest.stores)]
    if len(made) != 1 or made[0].domain[-1] is not keys:
        return None
    more = []
    for nest in nests:
        again = tuple(Store(WEIGHTS, at, s.value) for s in nest.stores if s.buffer == load.buffer)
        more.append(Nest(nest.domain, (*nest.stores, *again)))
    weights = substitute(total, {load: Load(WEIGHTS, (*at[:-1], axis), load.dtype)})
    assert isinstance(weights, Reduce)
    return more, weights, load.dtype


def _with_epilogue(
    nest: Nest, total: Reduce, weights: Reduce, rows: Sequence[Index], buffers: Mapping[str, Buffer]
) -> Contraction | None:
    """The second product, and what is made of its sums."""
    targets = [access(s.buffer, s.at, buffers) for s in nest.stores]
    if targets[0] is None:
        return None
    found = _contraction(weights, targets[0], rows, nest.domain[-1], buffers)
    if found is None or found.a.buffer != WEIGHTS:
        return None
    stores = tuple(replace(s, value=substitute(s.value, {total: found.acc})) for s in nest.stores)
    elements = [e for e in walk(*(s.value for s in stores)) if isinstance(e, Load)]
    names: list[Local] = [Local(f"x{n}", e.dtype) for n, e in enumerate(elements)]
    loads = {name: access(e.buffer, e.at, buffers) for name, e in zip(names, elements, strict=True)}
    named: dict[Expr, Expr] = dict(zip(elements, names, strict=True))
    stores = tuple(replace(s, value=substitute(s.value, named)) for s in stores)
    known = {local: x for local, x in loads.items() if x is not None}
    places = tuple(x for x in targets if x is not None)
    plain = not any(free_indices(s.value) for s in stores)
    if not plain or len(known) < len(loads) or len(places) < len(targets):
        return None
    return replace(found, stores=stores, targets=places, loads=known)


def _in_order(made: AttentionForm) -> bool:
    """True if no product reads a buffer that is written, and no buffer is written twice.

    The second product may read a target of its own at the place that it overwrites.
    """
    operands = {made.first.a.buffer, made.first.b.buffer}
    written = [s.buffer for nest in made.nests for s in nest.stores if s.buffer != WEIGHTS]
    if made.second is not None:
        own = made.second.targets  # what was there may be read where it is overwritten
        operands |= {made.second.b.buffer, *(x.buffer for x in made.second.loads.values() if x not in own)}
        written += [x.buffer for x in made.second.targets]
    return len(set(written)) == len(written) and operands.isdisjoint(written)
