"""One element of a value as an expression over elements of other values.

The element formula of a node is read once, on stand-in indices, and kept as a template:

    transpose(x)[@0, @1]  =  ?0[@1, @0]
    reduce_sum(x)[@0]     =  Reduce(r0, add, ?0[@0, r0])

To pull an element at some position, the stand-ins are replaced by the position, the bound indices by new
ones, and each `?n[...]` by the element of the n-th input at that position.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float32
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.opdef import Kind, OpDef
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.size_contexts import Answer, Undecided, answering, current_answer
from staticgraph.compiler.graph.sizes import AnySize, estimate, is_open, same
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, Reduce, Scalar, rebuild, walk
from staticgraph.compiler.kernel.indices.affine import affine
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.scalar import cast
from staticgraph.compiler.kernel.stmt import Loop, Stmt, Update, While, expressions, inner, statements
from staticgraph.compiler.ops.kinds import Described, Out, Piece, View, described
from staticgraph.compiler.support.dataclass import dataclass

Position = tuple[Expr, ...]
TEMPLATE_LIMIT = 1 << 14  # formulas kept: a program that meets ever new shapes must not grow for ever


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """The formula of one output element, over stand-ins:
    `at` for the position, loads of `?n` for the inputs.
    """

    at: tuple[Index, ...]
    value: Expr
    order: tuple[Expr, ...]  # the expressions of `value`, arguments before users

    @property
    def is_copy(self) -> bool:
        """True if the element is a single element of an input, at an affine position."""
        return isinstance(self.value, Load) and all(affine(e) is not None for e in self.value.at)

    @property
    def on_tiles(self) -> bool:
        """True if tiles of a product, which have no positions, can compute it: a copy, or one number."""
        return self.is_copy or not any(isinstance(e, (Load, Index, Reduce)) for e in self.order)


def template(node: Node) -> Template:
    """The template of a node that has an element formula."""
    found = node.formula
    if found is None:
        inputs, attrs = tuple([v.type for v in node.inputs]), tuple(node.attrs.items())
        output = node.outputs[0].type
        answers = None
        if node.op.kind is Kind.ELEMENTWISE:  # of whatever size: layers have one formula
            inputs = tuple([_of_any_size(t.dtype, t.static_shape) for t in inputs])
            output = _of_any_size(output.dtype, output.static_shape)
        else:
            answers = _answers(*inputs, output)
        try:
            found = node.formula = _template(node.op, inputs, output, attrs, answers)
        except Undecided as undecided:
            undecided.asked_by = undecided.asked_by or ((node.op.name, node.where),)
            raise
    made: Template = found
    return made


@lru_cache(TEMPLATE_LIMIT)
def _of_any_size(dtype: DType, shape: tuple[AnySize, ...]) -> TensorType:
    """A type with the axes of size one of a shape. Which other sizes there are is of no account."""
    return TensorType(dtype, tuple([1 if n.__class__ is int and n == 1 else 2 for n in shape]))


def _answers(*types: TensorType) -> Answer | None:
    """The answers to comparisons of open sizes that a formula may depend on: it is kept for them alone."""
    answer = current_answer()
    return answer if answer is not None and any(is_open(t.static_shape) for t in types) else None


def _views(types: tuple[TensorType, ...]) -> list[View]:
    def view(position: int, type: TensorType) -> View:
        return View(type.static_shape, type.dtype, lambda at: Load(f"?{position}", at, type.dtype))

    return [view(i, t) for i, t in enumerate(types)]


@lru_cache(TEMPLATE_LIMIT)
def _template(
    op: OpDef,
    inputs: tuple[TensorType, ...],
    output: TensorType,
    attrs: tuple[tuple[str, Any], ...],
    answers: Answer | None,
) -> Template:
    assert op.element is not None, op
    at = tuple([Index(f"@{d}", n) for d, n in enumerate(output.static_shape)])
    with answering(answers):
        value = widened(simplify_index(op.element(at, *_views(inputs), **dict(attrs))))
    return Template(at, value, tuple(walk(value)))


def widened(value: Expr) -> Expr:
    """`value` with sums and products over 16-bit floats kept in float32 until they are complete."""
    if Reduce not in map(type, walk(value)):
        return value
    done: dict[Expr, Expr] = {}
    for e in walk(value):
        same = rebuild(e, tuple(map(done.__getitem__, e.children))) if e.children else e
        narrow = same.dtype is float16 or same.dtype is bfloat16
        if narrow and isinstance(same, Reduce) and same.combine in ("add", "mul"):
            match same.value:
                case Scalar("mul", (a, b)):
                    inner = cast(a, float32) * cast(b, float32)
                case single:
                    inner = cast(single, float32)
            same = cast(Reduce(same.axes, same.combine, inner), same.dtype)
        done[e] = same
    return done[value]


@lru_cache(TEMPLATE_LIMIT)
def _pieces(
    op: OpDef, inputs: tuple[TensorType, ...], attrs: tuple[tuple[str, Any], ...], answers: Answer | None
) -> tuple[tuple[Piece, Template], ...]:
    assert op.pieces is not None, op
    out = []
    with answering(answers):
        for piece in op.pieces(*_views(inputs), **dict(attrs)):
            if not any(same(n, 0) for n in piece.shape):
                at = tuple(Index(f"@{d}", n) for d, n in enumerate(piece.shape))
                value = widened(simplify_index(piece.element(at)))
                out.append((piece, Template(at, value, tuple(walk(value)))))
    return tuple(out)


def pieces(node: Node) -> tuple[tuple[Piece, Template], ...]:
    """The pieces of an assembly, each with the template of its elements."""
    inputs = tuple(v.type for v in node.inputs)
    answers = _answers(*inputs, *(v.type for v in node.outputs))
    return _pieces(node.op, inputs, tuple(node.attrs.items()), answers)


def streams(node: Node) -> tuple[tuple[Position, ...], ...]:
    """For each input of a routine, where it reads elements of it; nothing unless it reads each about once.

    Such an input need not be a buffer: the routine may compute each element where it needs it.
    """
    found: tuple[tuple[Position, ...], ...] = _streams(*_key(node))
    return found


@lru_cache(TEMPLATE_LIMIT)
def _streams(
    op: OpDef,
    inputs: tuple[TensorType, ...],
    outputs: tuple[TensorType, ...],
    attrs: tuple[tuple[str, Any], ...],
    answers: Answer | None,
) -> tuple[tuple[Position, ...], ...]:
    reads: dict[str, list[tuple[Position, float]]] = {}
    body, _ = described(_made(op, inputs, outputs, attrs, answers))
    for load, times in _loads(body, 1):
        reads.setdefault(load.buffer, []).append((load.at, times))
    found = []
    for n, type in enumerate(inputs):
        sites = reads.get(f"?{n}", [])
        computed = any(isinstance(e, (Load, Local)) for at, _ in sites for e in walk(*at))
        once = sum(times for _, times in sites) <= max(estimate(type.size), 1)
        found.append(tuple(at for at, _ in sites) if once and not computed else ())
    return tuple(found)


@lru_cache(8)  # questions about a routine follow each other, and bodies are large
def _made(
    op: OpDef,
    inputs: tuple[TensorType, ...],
    outputs: tuple[TensorType, ...],
    attrs: tuple[tuple[str, Any], ...],
    answers: Answer | None,
) -> tuple[Stmt, ...] | Described:
    """The statements of a routine of inputs ?0, ?1, ... and outputs !0, !1, ..."""
    assert op.statements is not None, op
    outs = tuple(Out(f"!{n}", t.static_shape, t.dtype) for n, t in enumerate(outputs))
    with answering(answers):
        return op.statements(outs, *_views(inputs), **dict(attrs))


def _repeats(stmt: Stmt) -> float:
    """Return how often a statement does what is inside it, infinity if nobody knows."""
    match stmt:
        case Loop(index):
            return estimate(index.extent)
        case While():
            return math.inf
    return 1


def statements_of(node: Node) -> tuple[Stmt, ...] | Described:
    """The statements of a routine of inputs ?0, ?1, ... and outputs !0, !1, ..."""
    return _made(*_key(node))


def body_can_split(node: Node) -> bool:
    """Return True if real numbers can take the place of the complex ones of a routine."""
    return _can_split(*_key(node))


def _key(node: Node) -> tuple[Any, ...]:
    """Everything that decides the statements of a routine."""
    inputs, outputs = (tuple(v.type for v in values) for values in (node.inputs, node.outputs))
    return node.op, inputs, outputs, tuple(node.attrs.items()), _answers(*inputs, *outputs)


@lru_cache(TEMPLATE_LIMIT)
def _can_split(*routine: Any) -> bool:
    from staticgraph.compiler.kernel.complex_numbers.split import can_split

    body = statements(described(_made(*routine))[0])
    sums = all(s.combine in (None, "add") for s in body if isinstance(s, Update) and s.local.dtype.is_complex)
    return sums and can_split(walk(*(e for stmt in body for e in expressions(stmt))))


def _loads(body: tuple[Stmt, ...], times: float) -> Iterator[tuple[Load, float]]:
    """Every element that `body` reads, and how often the loops around it do so."""
    for stmt in body:
        for node in walk(*expressions(stmt)):
            if isinstance(node, Load):
                yield node, times
        yield from _loads(inner(stmt), times * _repeats(stmt))


class IndexNumbering:
    """Numbers the bound indices of one kernel, so that equal kernels get equal names."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def __call__(self, extent: int) -> Index:
        return Index(f"r{next(self._numbers)}", extent)


def instantiate(
    template: Template, at: Position, fresh: IndexNumbering, element: Callable[[int, Position], Expr]
) -> Expr:
    """The template's value at the position `at`; `element(n, at)` gives elements of the n-th input."""
    done: dict[Expr, Expr] = dict(zip(template.at, at, strict=True))
    axes, inputs, _ = _bound(template)
    for axis in axes:
        if axis not in done:
            done[axis] = fresh(axis.extent)
    for e in template.order:
        if e in done:
            continue
        children = tuple(map(done.__getitem__, e.children))
        if e in inputs:
            done[e] = element(inputs[e], children)
        elif isinstance(e, Reduce):
            renamed = tuple([done[a] for a in e.axes])
            done[e] = Reduce(renamed, e.combine, children[0])  # type: ignore[arg-type]
        else:
            done[e] = e if children == e.children else rebuild(e, children)
    return done[template.value]


def reads(template: Template, at: Position) -> list[tuple[int, Position]] | None:
    """Return what `instantiate` asks `element` for, without the value: numbers of inputs, and positions.

    None if positions depend on elements, or if the template has sums, which are over new indices.
    """
    axes, loads, order = _bound(template)
    if axes or order is None:
        return None
    done: dict[Expr, Expr] = dict(zip(template.at, at, strict=True))
    for e in order:
        if e not in done:
            children = tuple(map(done.__getitem__, e.children))
            done[e] = e if children == e.children else rebuild(e, children)
    return [(n, tuple(map(done.__getitem__, load.children))) for load, n in loads.items()]


def _bound(template: Template) -> tuple[tuple[Index, ...], dict[Expr, int], list[Expr] | None]:
    """Find the parts of a template that an instance replaces.

    Returns:
        The axes of reductions, in order of appearance; loads of elements of inputs, with their numbers; and
        the expressions of which their positions consist, None if these have loads in them.
    """
    known = template.value.known
    if "bound" not in known:
        axes = dict.fromkeys([a for e in template.order if isinstance(e, Reduce) for a in e.axes])
        loads: dict[Expr, int] = {
            e: int(e.buffer[1:]) for e in template.order if isinstance(e, Load) and e.buffer.startswith("?")
        }
        order = walk(*[e for load in loads for e in load.children])
        depends = not _DEPENDS.isdisjoint(map(type, order))
        known["bound"] = tuple(axes), loads, None if depends else order
    found: tuple[tuple[Index, ...], dict[Expr, int], list[Expr] | None] = known["bound"]
    return found


_DEPENDS = {Load, Reduce}


def domain_of(value: Value) -> tuple[Index, ...]:
    """The loops over all elements of a value."""
    return tuple(Index(f"i{d}", n) for d, n in enumerate(value.shape))
