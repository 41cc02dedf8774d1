"""Printing scalar expressions as LLVM instructions.

An expression is a DAG: each node is printed once and remembered while the scope lasts in which its
instruction stands. It goes to the outermost scope where its operands are known, so loop-invariant parts leave
their loops. A value is single while all lanes agree on it and becomes a vector where it meets one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from staticgraph.compiler.codegen.llvm.scalar import apply, convert, divide_by_constant
from staticgraph.compiler.codegen.llvm.text import (
    Emitter,
    Site,
    constant,
    register_type,
    splat,
    suffix,
    vector,
)
from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Lookup,
    Scalar,
    ScalarParameter,
    missing,
    subtracts_from_product,
)
from staticgraph.compiler.kernel.indices.affine import bounds
from staticgraph.compiler.kernel.lower_expressions import approximation_of
from staticgraph.compiler.kernel.primitives.instructions import CONVERSIONS

NOTHING: frozenset[Hashable] = frozenset()


class LlvmValue(NamedTuple):
    """A printed expression: an SSA name or a constant."""

    text: str
    lanes: int = 1
    level: int = 0  # of the scope that it is defined in
    reads: frozenset[Hashable] = NOTHING  # what it was computed from that may change: locals, buffers


class ExprPrinter:
    r"""Prints expressions with an emitter, in vectors of `lanes`.

    `bind` tells the value of an expression that is a leaf here (an `Index`, a `Local`); `load` prints a
    `Load`: it gets the printer and the expression, and may call the printer for what the address needs.
    Printing may begin new basic blocks, so ask `emitter.block` for the current one afterwards. `sizes` has
    the parameters of open sizes, and gets one for each that is new.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> from staticgraph.compiler.kernel.expr import Local
    >>> x = Local("x", float32)
    >>> emitter = Emitter()
    >>> printer = ExprPrinter(emitter, lanes=8)
    >>> printer.bind(x, LlvmValue("%x", 8))
    >>> printer.vector(x * x + 1.0)
    '%v2'
    >>> print("\n".join(emitter.lines))
      %v1 = fmul contract <8 x float> %x, %x
      %v2 = fadd contract <8 x float> %v1, splat (float 0x3FF0000000000000)
    """

    def __init__(
        self,
        emitter: Emitter,
        lanes: int = 1,
        load: Callable[[ExprPrinter, Load], LlvmValue] | None = None,
        sizes: dict[Size, str] | None = None,
    ) -> None:
        self.emitter = emitter
        self.lanes = lanes
        self._load = load
        self._sizes: dict[Size, str] = {} if sizes is None else sizes
        self._lane_index: Index | None = None
        self._known: dict[Hashable, LlvmValue] = {}
        self._by_level: list[list[Hashable]] = []
        self._readers: dict[Hashable, list[Hashable]] = {}

    def bind(self, key: Hashable, value: LlvmValue) -> None:
        """From here to the end of the scope of `value`, `key`
        (an expression, or any name of yours) is that value.
        """
        self._known[key] = value
        while len(self._by_level) <= value.level:
            self._by_level.append([])
        self._by_level[value.level].append(key)
        for source in value.reads:
            self._readers.setdefault(source, []).append(key)

    def bind_lanes(self, index: Index, first: LlvmValue) -> None:
        """From here on, the lanes are consecutive values of `index`, beginning with `first`."""
        self._lane_index = index
        self.bind(("first lane", index), first)

    def unbind_lanes(self) -> None:
        """A loop over lanes has ended: another one over the same index may be serial."""
        self._lane_index = None

    def find(self, key: Hashable) -> LlvmValue | None:
        """Return the value that `key` is bound to, or None."""
        return self._known.get(key)

    def forget(self, changed: Iterable[Hashable]) -> None:
        """Values computed from these locals or buffers are out of date."""
        for source in changed:
            for key in self._readers.pop(source, ()):
                self._known.pop(key, None)

    def close(self, level: int) -> None:
        """The scopes from `level` inwards have ended, and the values in them."""
        for keys in self._by_level[level:]:
            for key in keys:
                self._known.pop(key, None)
        del self._by_level[level:]

    def value(self, expr: Expr) -> LlvmValue:
        """Print `expr`, unless it is known already."""
        for node in missing(expr, self._known, self._operands):
            if node not in self._known:  # as what the position of a load before has printed
                self.bind(node, self._print(node))
        return self._known[expr]

    def extent(self, size: AnySize) -> str:
        """A size: a number, or the parameter that holds it."""
        return self._sizes.setdefault(size, f"%s{len(self._sizes)}") if isinstance(size, Size) else str(size)

    def single(self, expr: Expr) -> str:
        """An expression on which all lanes agree."""
        value = self.value(expr)
        if value.lanes != 1:
            raise ValueError(f"the lanes have different values of {expr}")
        return value.text

    def vector(self, expr: Expr) -> str:
        """An expression in all lanes."""
        return self.spread(self.value(expr), expr.dtype)

    def spread(self, value: LlvmValue, dtype: DType) -> str:
        """A value repeated in all lanes, if it is single."""
        if value.lanes == self.lanes:
            return value.text
        element = register_type(dtype)
        if not value.text.startswith("%"):
            return splat(element, value.text, self.lanes)
        key = ("spread", self.lanes, value.text)
        known = self._known.get(key)
        if known is None:
            emitter, kind = self.emitter, vector(element, self.lanes)
            with emitter.at(value.level):
                first = emitter.value(f"insertelement {kind} poison, {element} {value.text}, i64 0")
                order = vector("i32", self.lanes)
                text = emitter.value(f"shufflevector {kind} {first}, {kind} poison, {order} zeroinitializer")
            known = LlvmValue(text, self.lanes, value.level, value.reads)
            self.bind(key, known)
        return known.text

    def _operands(self, node: Expr) -> tuple[Expr, ...]:
        """Return the operands to print before `node`. A `Load` prints its address itself."""
        if isinstance(node, Scalar):
            op = node.op
            if op == "select" and _has_rare_branch(node):
                return node.args[:2] + node.args[2].children
            return () if op == "cast" and self._is_lane_number(node) else node.args
        return node.children if isinstance(node, Lookup) else ()

    def _print(self, node: Expr) -> LlvmValue:
        match node:
            case Scalar():
                if self._is_lane_number(node):
                    return self._lane_numbers(node.dtype)
                return self._computed(node)
            case ScalarParameter(buffer, dtype) if self._load is not None:
                return self._load(self, Load(buffer, (), dtype))
            case Const(value, dtype):
                return LlvmValue(constant(value, dtype))
            case Load() if self._load is not None:
                return self._load(self, node)
            case Extent(size):
                return LlvmValue(self.extent(size))
            case Index() if node is self._lane_index:
                return self._lane_numbers(int64)
            case Lookup():
                return self._computed(node)
        raise ValueError(f"{node} has no value here")

    def _computed(self, node: Scalar | Lookup) -> LlvmValue:
        emitter = self.emitter
        values: list[LlvmValue] = []
        level, lanes, reads = emitter.floor, 1, NOTHING
        for operand in self._operands(node):
            value = self._known[operand]
            values.append(value)
            level, lanes, reads = max(level, value.level), max(lanes, value.lanes), reads | value.reads
        inside = emitter.go_on(emitter.scopes[level])  # no `with`: this is done for every value
        if isinstance(node, Lookup):
            from staticgraph.compiler.codegen.llvm.functions import look_up  # few kernels have tables

            text = look_up(Site(emitter, node.dtype, lanes), node.table, values[0].text)
        elif _has_rare_branch(node):
            text = self._with_rare_branch(node, values, lanes)
        else:
            text = self._instruction(node, values, lanes)
        emitter.go_on(inside)
        return LlvmValue(text, lanes, level, reads)

    def _instruction(self, node: Scalar, values: list[LlvmValue], lanes: int) -> str:
        site = Site(self.emitter, node.args[-1].dtype, lanes)
        if lanes == 1:
            operands = [v.text for v in values]
        elif node.op == "select" and values[0].lanes == 1:
            a, b = (self.spread(v, node.dtype) for v in values[1:])
            return self.emitter.value(f"select i1 {values[0].text}, {site.type} {a}, {site.type} {b}")
        else:
            operands = [self.spread(v, x.dtype) for v, x in zip(values, node.args, strict=True)]
        if subtracts_from_product(node):
            return site.value(f"fsub {site.type} {operands[0]}, {operands[1]}")
        if node.op in CONVERSIONS:
            return convert(site, node.op, operands[0], node.dtype)
        if node.op in _UNSIGNED_DIVISION and _is_division_by_constant(node):
            if bounds(node.args[0])[0] >= 0:
                return site.op(_UNSIGNED_DIVISION[node.op], *operands)
            return divide_by_constant(site, node.op, operands[0], node.args[1])
        return apply(site, node.op, *operands)

    def _with_rare_branch(self, node: Scalar, values: list[LlvmValue], lanes: int) -> str:
        """`select(common, fast, slow)`, where `slow` is skipped unless some lane needs it."""
        emitter, slow = self.emitter, node.args[2]
        assert isinstance(slow, Scalar)
        common, fast = (
            v.text if lanes == 1 else self.spread(v, x.dtype)
            for v, x in zip(values[:2], node.args[:2], strict=True)
        )
        site = Site(emitter, node.dtype, lanes)
        every = common
        if lanes > 1:
            every = emitter.call("i1", f"llvm.vector.reduce.and.v{lanes}i1", (site.mask_type, common))
        rare, done = emitter.label(), emitter.label()
        before = emitter.block
        emitter.branch_if(emitter.value(f"xor i1 {every}, true"), rare, done, unlikely=True)
        emitter.start(rare)
        chosen = site.select(common, fast, self._far(site, slow, values[2]))
        after = emitter.block
        emitter.branch(done)
        emitter.start(done)
        return emitter.value(f"phi {site.type} [ {fast}, %{before} ], [ {chosen}, %{after} ]")

    def _far(self, site: Site, node: Scalar, value: LlvmValue) -> str:
        """The form for huge arguments: lane by lane, as it is long."""
        name = f"far.{node.op}.{suffix(register_type(node.dtype))}"
        for need in _far_function(name, node.op, node.dtype):
            self.emitter.need(need)
        text = value.text if site.lanes == 1 else self.spread(value, node.dtype)
        from staticgraph.compiler.codegen.llvm.functions import (
            each_lane_in_turn,  # few kernels have functions
        )

        return each_lane_in_turn(site, name, text)

    def _is_lane_number(self, node: Scalar) -> bool:
        return node.op == "cast" and node.args[0] is self._lane_index and node.dtype.is_integer

    def _lane_numbers(self, dtype: DType) -> LlvmValue:
        """The value of the lane index in each lane: in the
        dtype that is wanted, as narrow ones are cheaper.
        """
        first = self._known["first lane", self._lane_index]
        element = register_type(dtype)
        start = 0 if first.text.startswith("%") else int(first.text)
        steps = "<" + ", ".join(f"{element} {start + lane}" for lane in range(self.lanes)) + ">"
        if not first.text.startswith("%"):
            return LlvmValue(steps, self.lanes, first.level)
        emitter = self.emitter
        with emitter.at(first.level):
            text = first.text
            if dtype.size < 8:
                text = emitter.value(f"trunc i64 {text} to {element}")
            spread = self.spread(LlvmValue(text, 1, first.level), dtype)
            return LlvmValue(
                emitter.value(f"add {vector(element, self.lanes)} {spread}, {steps}"), self.lanes, first.level
            )


_UNSIGNED_DIVISION = {"floordiv": "udiv", "truncdiv": "udiv", "floormod": "urem", "truncmod": "urem"}


def _has_rare_branch(node: Scalar) -> bool:
    """True if the last operand is a function call that the approximation keeps for rare arguments."""
    if node.op != "select" or not isinstance(node.args[2], Scalar):
        return False
    form = approximation_of(node.args[2].op)
    return form is not None and form.far is not None


def _far_function(name: str, op: str, dtype: DType) -> tuple[str, ...]:
    """A function of one number, and what it needs itself."""
    x, emitter = Local("x", dtype), Emitter()
    printer = ExprPrinter(emitter)
    printer.bind(x, LlvmValue("%x"))
    form = approximation_of(op)
    assert form is not None and form.far is not None
    result, kind = printer.single(form.far(x)), register_type(dtype)
    lines = "\n".join(emitter.lines)
    head = f"define internal {kind} @{name}({kind} %x) nounwind"
    return (*emitter.needs, f"{head} {{\nentry:\n{lines}\n  ret {kind} {result}\n}}\n")


def _is_division_by_constant(node: Scalar) -> bool:
    """True for a division of integers by a positive constant, which cannot trap."""
    divisor = node.args[1]
    return node.dtype.is_integer and isinstance(divisor, Const) and divisor.value > 0
