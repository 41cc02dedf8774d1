"""Addresses of the elements of a `Load` or `Store`: a pointer, and the steps of the vector lanes from it.

The flat offset of an element is an affine form. Its terms are added to the pointer from the outermost loop
inwards, each sum in the loop where it is known, so that an inner loop only adds its own index.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from staticgraph.compiler.codegen.llvm.expr import NOTHING, ExprPrinter, LlvmValue
from staticgraph.compiler.codegen.llvm.text import memory_type, register_type, vector
from staticgraph.compiler.graph.dtypes import int32, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, content, same
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, Scalar, walk
from staticgraph.compiler.kernel.indices.affine import Affine, bounds
from staticgraph.compiler.kernel.indices.index import offset
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.stmt import Buffer, Stmt, Store
from staticgraph.compiler.support.dataclass import dataclass

_TOGETHER = (2, 4, 8, 16)  # neighbours that lanes store together
_RING = frozenset({"add", "sub", "mul", "neg"})  # right modulo 2**32 whatever the operands
_ORDERED = frozenset({"floordiv", "floormod", "truncdiv", "truncmod", "minimum", "maximum"})
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


@dataclass(frozen=True, slots=True)
class Address:
    """The elements at `base + stride * lane + offsets[lane]`;
    without `offsets`, all lanes follow the stride.

    `parity`: if the elements of all lanes are first (0) or second ones (1) of pairs, as complex numbers are.
    The stride is then 2 or -2.
    """

    base: LlvmValue
    stride: AnySize
    offsets: LlvmValue | None = None
    offset_type: str = ""
    parity: int | None = None

    @property
    def moves(self) -> bool:
        """True if the lanes may have different elements by their stride."""
        return isinstance(self.stride, Size) or self.stride != 0

    @property
    def level(self) -> int:
        """The scope in which both parts are known."""
        return self.base.level if self.offsets is None else max(self.base.level, self.offsets.level)

    @property
    def reads(self) -> frozenset[Hashable]:
        """Variable values that the address was computed from."""
        return self.base.reads if self.offsets is None else self.base.reads | self.offsets.reads


class Addresses:
    """The addresses of a kernel's buffers. `pointers` are their arguments, by name."""

    def __init__(self, printer: ExprPrinter, buffers: dict[str, Buffer], pointers: dict[str, str]) -> None:
        self._printer = printer
        self._buffers = buffers
        self._pointers = pointers
        self._offsets: dict[tuple[str, tuple[Expr, ...]], Affine] = {}

    def address(self, buffer: str, at: tuple[Expr, ...], lane_index: Index | None) -> Address:
        """Print the address of an element of `buffer`; `lane_index` runs along the lanes."""
        form = self._form(buffer, at)
        stride = form.terms.get(lane_index, 0) if lane_index is not None else 0
        moves = lane_index in form.terms
        uniform, varying = [], {}
        for term, factor in form.terms.items():
            if term is lane_index:
                continue
            if lane_index is not None and self._varies(term, lane_index):
                varying[term] = factor
            else:
                uniform.append((term, self._printer.value(term), factor))
        if varying and lane_index is not None:
            if moves:
                varying[lane_index] = stride
            return self._scattered(buffer, uniform, form.constant, Affine(varying).expr)
        if moves and lane_index is not None:
            first = self._printer.find(("first lane", lane_index))
            assert first is not None
            uniform.append((lane_index, first, stride))
        paired = isinstance(stride, int) and stride in (2, -2)
        sizes = (self._buffers[buffer].size, *form.terms.values())
        parity = form.constant % 2 if paired and all(content(n) % 2 == 0 for n in sizes) else None
        return Address(self._pointer(buffer, uniform, form.constant), stride, parity=parity)

    def unit(self, buffer: str, at: tuple[Expr, ...], lane_index: Index) -> int | None:
        """The number of which the elements of all first lanes have a multiple before them; 0: all numbers.

        None if the lanes do not have neighbours.
        """
        form = self._form(buffer, at)
        others = [term for term in form.terms if term is not lane_index]
        if not same(form.terms.get(lane_index, 0), 1) or any(self._varies(t, lane_index) for t in others):
            return None
        return math.gcd(form.constant, *(content(form.terms[term]) for term in others))

    def _form(self, buffer: str, at: tuple[Expr, ...]) -> Affine:
        form = self._offsets.get((buffer, at))
        if form is None:
            form = self._offsets[buffer, at] = offset(self._buffers[buffer], at)
        return form

    def together(self, stmts: Sequence[Stmt], lane_index: Index | None) -> list[Store]:
        """The first stores, if they write what lies from the element of each lane to that of the next one."""
        first = stmts[0]
        if lane_index is None or not isinstance(first, Store):
            return []
        address = self.address(first.buffer, first.at, lane_index)
        stride = address.stride
        count = stride if isinstance(stride, int) and stride in _TOGETHER else 0
        stores = [s for s in stmts[:count] if isinstance(s, Store) and s.buffer == first.buffer]
        if not count or len(stores) < count or (count == 2 and address.parity != 0):
            return []
        start, *others = (self._form(first.buffer, s.at) for s in stores)
        follow = all(
            start.terms == other.terms and start.constant + k == other.constant
            for k, other in enumerate(others, 1)
        )
        if not follow:
            return []
        # All values are computed before the first is stored.
        loads = [] if count == 2 else [a.buffer for a in accesses((*stores,)) if isinstance(a, Load)]
        return stores if first.buffer not in loads else []

    def _scattered(
        self, buffer: str, uniform: list[tuple[Expr, LlvmValue, AnySize]], constant: int, offsets: Expr
    ) -> Address:
        size = self._buffers[buffer].size
        if (size < 2**31) if isinstance(size, int) else _fits(offsets):
            offsets = _in_32_bits(offsets)
        printer = self._printer
        value = printer.value(offsets)
        return Address(
            self._pointer(buffer, uniform, constant),
            0,
            value._replace(text=printer.spread(value, offsets.dtype)),
            vector(register_type(offsets.dtype), printer.lanes),
        )

    def _varies(self, term: Expr, lane_index: Index) -> bool:
        """True if the lanes may have different values of `term`."""
        if isinstance(term, Index):
            return term is lane_index
        for node in walk(term):
            if node is lane_index:
                return True
            if isinstance(node, Local):
                value = self._printer.find(node)
                if value is not None and value.lanes > 1:
                    return True
        return False

    def _pointer(self, buffer: str, terms: list[tuple[Expr, LlvmValue, AnySize]], constant: int) -> LlvmValue:
        printer, emitter = self._printer, self._printer.emitter
        element = memory_type(self._buffers[buffer].dtype)
        floor = emitter.floor
        level = max([floor, *[value.level for _, value, _ in terms]])
        moving: list[tuple[LlvmValue, AnySize]] = []
        for _, value, factor in terms:
            if _is_literal(value, factor):
                constant += int(value.text) * factor
            else:
                moving.append((value, factor))
        moving.sort(key=_level)
        pointer = LlvmValue(self._pointers[buffer], 1, floor)
        key: tuple[Hashable, ...] = ("pointer", buffer)
        while moving:
            depth = max(moving[0][0].level, floor)
            count = sum([value.level <= depth for value, _ in moving])
            parts, moving = moving[:count], moving[count:]
            key += tuple([(value.text, factor) for value, factor in parts])
            known = printer.find(key)
            if known is None:
                with emitter.at(depth):
                    flat = ""
                    for value, factor in parts:
                        scaled = value.text
                        if isinstance(factor, Size) or factor != 1:
                            scaled = emitter.value(f"mul i64 {scaled}, {printer.extent(factor)}")
                        flat = emitter.value(f"add i64 {flat}, {scaled}") if flat else scaled
                    text = emitter.value(f"getelementptr {element}, ptr {pointer.text}, i64 {flat}")
                reads = NOTHING.union(pointer.reads, *[value.reads for value, _ in parts])
                known = LlvmValue(text, 1, depth, reads)
                printer.bind(key, known)
            pointer = known
        if constant:
            key += (constant,)
            known = printer.find(key)
            if known is None:
                with emitter.at(pointer.level):
                    text = emitter.value(f"getelementptr {element}, ptr {pointer.text}, i64 {constant}")
                known = pointer._replace(text=text)
                printer.bind(key, known)
            pointer = known
        # A loop variable that is a constant here, in a loop written out, still has another value in the next
        # copy.
        return pointer._replace(level=level)


def _level(part: tuple[LlvmValue, AnySize]) -> int:
    return part[0].level


def lane_steps(printer: ExprPrinter, address: Address, lanes: int) -> tuple[str, str]:
    """The distance of each lane's element from the base, and the type of these distances."""
    if address.offsets is not None:
        return address.offsets.text, address.offset_type
    if isinstance(address.stride, Size):
        return _open_steps(printer, address.stride, lanes), vector("i64", lanes)
    kind = "i32" if abs(address.stride) * lanes < 2**31 else "i64"
    steps = ", ".join(f"{kind} {address.stride * lane}" for lane in range(lanes))
    return f"<{steps}>", vector(kind, lanes)


def _open_steps(printer: ExprPrinter, stride: Size, lanes: int) -> str:
    """The multiples of an open stride, computed once."""
    key, emitter = ("steps", stride, lanes), printer.emitter
    known = printer.find(key)
    if known is None:
        kind, numbers = vector("i64", lanes), ", ".join(f"i64 {lane}" for lane in range(lanes))
        with emitter.at(0):
            first = emitter.value(f"insertelement {kind} poison, i64 {printer.extent(stride)}, i64 0")
            order = f"{vector('i32', lanes)} zeroinitializer"
            spread = emitter.value(f"shufflevector {kind} {first}, {kind} poison, {order}")
            text = emitter.value(f"mul {kind} {spread}, <{numbers}>")
        known = LlvmValue(text, lanes)
        printer.bind(key, known)
    return known.text


def _is_literal(value: LlvmValue, factor: AnySize) -> bool:
    """True if a term is a number: its loop is written out, and its stride is not open."""
    return not value.text.startswith("%") and not isinstance(factor, Size)


def _in_32_bits(expr: Expr) -> Expr:
    """A position that is known to fit, in int32: twice the lanes per register, and cheap division."""
    if expr.dtype is not int64:
        return expr
    match expr:
        case Const(value) if int32.min <= value <= int32.max:
            return Const(value, int32)
        case Scalar(op, args) if op in _RING or (op in _ORDERED and all(_fits(a) for a in args)):
            return Scalar(op, tuple(_in_32_bits(a) for a in args), int32)
        case Scalar("select", (condition, a, b)):
            return Scalar("select", (_condition(condition), _in_32_bits(a), _in_32_bits(b)), int32)
        case Scalar("cast", (a,)) if a.dtype is int32:
            return a
    return Scalar("cast", (expr,), int32)


def _condition(expr: Expr) -> Expr:
    match expr:
        case Scalar(op, args, dtype) if op in _COMPARISONS and all(
            a.dtype is int64 and _fits(a) for a in args
        ):
            return Scalar(op, tuple(_in_32_bits(a) for a in args), dtype)
        case Scalar("and" | "or" | "invert" as op, args, dtype):
            return Scalar(op, tuple(_condition(a) for a in args), dtype)
    return expr


def _fits(expr: Expr) -> bool:
    low, high = bounds(expr)
    return bool(int32.min <= low and high <= int32.max)
