"""The emitter with what the contraction generator says all
the time: addresses, short loops, whole or masked vectors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache

from staticgraph.compiler.codegen.gemm.several import Several
from staticgraph.compiler.codegen.llvm import memory
from staticgraph.compiler.codegen.llvm.text import Emitter, Site, memory_type, register_type, suffix, vector
from staticgraph.compiler.codegen.target import register_bytes
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import OPEN_TEXT, Size, Undecided

# Of functions that only call others: LLVM compiles them in half the time, and they take no time that shows.
UNOPTIMIZED = "noinline optnone nounwind"

# An int64: an SSA name, a number known while writing, an open size, or numbers of several products.
Number = str | int | Size | Several


@cache
def _multiply_add(dtype: DType, width: int) -> tuple[str, str, str]:
    """The declaration of a * b + c, its call without operands, and their type."""
    kind, name = vector(memory_type(dtype), width), f"llvm.fmuladd.{suffix(memory_type(dtype), width)}"
    return f"declare {kind} @{name}({kind}, {kind}, {kind})", f"call {kind} @{name}", kind


class GemmWriter(Emitter):
    """The text of one function. Index arithmetic on known numbers is done at once.

    Args:
        sizes: The parameters that hold open sizes. Those of numbers that differ between products are added.
    """

    def __init__(self, sizes: dict[Size | Several, str] | None = None) -> None:
        super().__init__()
        self.sizes = {} if sizes is None else sizes
        self.used: dict[str, None] = {}  # parameters of sizes
        self._multiples: dict[tuple[str, int], str] = {}

    def number(self, n: Number) -> str | int:
        """A number as text, or as one that is known while writing."""
        if isinstance(n, Size):
            name = self.sizes[n]
        elif isinstance(n, Several):
            name = self.sizes.setdefault(n, f"%n{len(self.sizes)}")
        else:
            return n
        self.used[name] = None
        return name

    def _multiple(self, several: Several, times: int) -> str:
        """A multiple of a parameter, computed at the very beginning."""
        key = str(self.number(several)), times
        if key not in self._multiples:
            name = self._multiples[key] = self.reserve()
            self.scopes[0].lines.insert(0, f"  {name} = mul nsw i64 {key[0]}, {times}")
        return self._multiples[key]

    def add(self, a: Number, b: Number) -> Number:
        """a + b"""
        if isinstance(a, int | Several) and isinstance(b, int | Several):
            total: Number = a + b
            return total
        a, b = self.number(a), self.number(b)
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.value(f"add nsw i64 {a}, {b}")

    def mul(self, a: Number, b: Number) -> Number:
        """a * b"""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        for one, times in ((a, b), (b, a)):
            if isinstance(one, Several) and isinstance(times, int | Several):
                multiple = isinstance(times, int) and times not in (0, 1)
                return self._multiple(one, int(times)) if multiple else one * times
        a, b = self.number(a), self.number(b)
        if a == 0 or b == 0:
            return 0
        if a == 1 or b == 1:
            return b if a == 1 else a
        return self.value(f"mul nsw i64 {a}, {b}")

    def quotient(self, a: Number, b: int) -> Number:
        """a // b of a number that is not negative."""
        if isinstance(a, int | Several):
            return a // b
        a, divisor = self.number(a), self.number(b)
        return a if divisor == 1 else self.value(f"udiv i64 {a}, {divisor}")

    def ratio(self, a: Number, b: Number) -> Number:
        """The same for a divisor that need not be known."""
        return (
            self.quotient(a, b)
            if isinstance(b, int)
            else self.value(f"udiv i64 {self.number(a)}, {self.number(b)}")
        )

    def minimum(self, a: Number, b: Number) -> Number:
        """The smaller of two numbers."""
        a, b = self.number(a), self.number(b)
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        less = self.value(f"icmp slt i64 {a}, {b}")
        return self.value(f"select i1 {less}, i64 {a}, i64 {b}")

    def maximum(self, a: Number, b: Number) -> Number:
        """The larger of two numbers."""
        a, b = self.number(a), self.number(b)
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        more = self.value(f"icmp sgt i64 {a}, {b}")
        return self.value(f"select i1 {more}, i64 {a}, i64 {b}")

    def when_less(self, a: Number, b: Number, body: Callable[[], None]) -> None:
        """`body()` where a < b."""
        a, b = self.number(a), self.number(b)
        if isinstance(a, int) and isinstance(b, int):
            if a < b:
                body()
            return
        some, after = self.label(), self.label()
        self.branch_if(self.value(f"icmp slt i64 {a}, {b}"), some, after)
        self.start(some)
        body()
        self.branch(after)
        self.start(after)

    def either(self, condition: str, yes: Callable[[], None], no: Callable[[], None]) -> None:
        """`yes` where the condition holds, else `no`."""
        if condition in ("true", "false"):
            (yes if condition == "true" else no)()
            return
        first, second, after = self.label(), self.label(), self.label()
        self.branch_if(condition, first, second)
        for label, body in ((first, yes), (second, no)):
            self.start(label)
            body()
            self.branch(after)
        self.start(after)

    def address(self, pointer: str, elements: Number, dtype: DType) -> str:
        """The address of an element some elements further."""
        elements = self.number(elements)
        if elements == 0:
            return pointer
        return self.value(f"getelementptr {memory_type(dtype)}, ptr {pointer}, i64 {elements}")

    def repeat(
        self,
        start: Number,
        stop: Number,
        step: int,
        body: Callable[[Number, list[str]], list[str]],
        carried: Sequence[tuple[str, str]] = (),
    ) -> list[str]:
        """`body(index, values)` for index in range(start, stop, step), which is not empty; the final values.

        `carried` are pairs of type and initial value. A loop of one round is written without a loop. LLVM
        sees no pattern in the index: it would spend a quarter of its time on other forms of addresses.
        """
        start, stop, by = self.number(start), self.number(stop), self.number(step)
        if isinstance(start, int) and isinstance(stop, int) and stop - start <= step:
            return body(start, [v for _, v in carried])
        with self.loop(start, stop, by, carried, opaque=True) as values:
            values.next = body(values.index, values.carried)
        return values.next

    def each(self, start: Number, stop: Number, step: int, body: Callable[[Number], None]) -> None:
        """`body(index)` for index in range(start, stop, step), which is not empty."""

        def run(index: Number, values: list[str]) -> list[str]:
            body(index)
            return values

        self.repeat(start, stop, step, run)

    def each_of(self, count: Number, body: Callable[[Number], None]) -> None:
        """`body(index)` for index in range(count), which may be empty."""
        self.when_less(0, count, lambda: self.each(0, count, 1, body))

    def prefetch(self, pointer: str) -> None:
        """Ask for a cache line that will be read soon; the address need not exist."""
        self.need("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.line(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")

    def load(self, pointer: str, dtype: DType, width: int, valid: int | str) -> str:
        """`width` neighbouring elements, zeros after the first `valid`."""
        return memory.load(Site(self, dtype, width), pointer, self._mask(width, valid))

    def store(self, value: str, pointer: str, dtype: DType, width: int, valid: int | str) -> None:
        """The first `valid` lanes of a vector to neighbouring elements."""
        memory.store(Site(self, dtype, width), value, pointer, self._mask(width, valid))

    def gather(self, pointer: str, dtype: DType, step: Number, width: int, valid: int | str) -> str:
        """`valid` elements `step` apart as a vector, zeros behind them."""
        offsets = self._offsets(step, width)
        return memory.gather(Site(self, dtype, width), pointer, *offsets, self._mask(width, valid))

    def scatter(
        self, value: str, pointer: str, dtype: DType, step: Number, width: int, valid: int | str
    ) -> None:
        """The first `valid` lanes of a vector to elements `step` apart."""
        offsets = self._offsets(step, width)
        memory.scatter(Site(self, dtype, width), value, pointer, *offsets, self._mask(width, valid))

    def _mask(self, width: int, valid: int | str) -> str | None:
        if isinstance(valid, str):
            return memory.lanes_before(self, valid, width)
        return memory.first_lanes(valid, width) if valid < width else None

    def _offsets(self, step: Number, width: int) -> tuple[str, str]:
        """Multiples of `step`, and their type."""
        step, kind = self.number(step), f"<{width} x i64>"
        if isinstance(step, int):
            return "<" + ", ".join(f"i64 {lane * step}" for lane in range(width)) + ">", kind
        lanes = ", ".join(f"i64 {lane}" for lane in range(width))
        return self.value(f"mul {kind} {self.spread(step, 'i64', width)}, <{lanes}>"), kind

    def spread(self, scalar: str, kind: str, width: int) -> str:
        """A scalar of LLVM type `kind` in all lanes of a vector."""
        if width == 1:
            return scalar
        wide = vector(kind, width)
        first = self.value(f"insertelement {wide} poison, {kind} {scalar}, i64 0")
        return self.value(f"shufflevector {wide} {first}, {wide} poison, <{width} x i32> zeroinitializer")

    def lanes(self, value: str, dtype: DType, width: int, start: int, count: int) -> str:
        """`count` lanes of a vector of `width`, from `start` on; a scalar where that is one."""
        kind = memory_type(dtype)
        if count == width:
            return value
        if count == 1:
            return self.value(f"extractelement {vector(kind, width)} {value}, i64 {start}")
        return self.shuffled(value, dtype, width, range(start, start + count))

    def shuffled(self, value: str, dtype: DType, width: int, lanes: Sequence[int]) -> str:
        """A vector of these lanes of a vector of `width`."""
        return self.shuffle(vector(memory_type(dtype), width), lanes, value)

    def fma(self, a: str, b: str, c: str, dtype: DType, width: int) -> str:
        """a * b + c"""
        declaration, call, kind = _multiply_add(dtype, width)
        self.needs[declaration] = None
        return self.value(f"{call}({kind} {a}, {kind} {b}, {kind} {c})")

    def convert(self, value: str, dtype: DType, to: DType, width: int) -> str:
        """A value of one floating type, in its register form, as another one."""
        if dtype is to:
            return value
        kind, wanted = register_type(dtype, width), register_type(to, width)
        if kind == wanted:
            return value
        wider = register_bytes(dtype) < register_bytes(to)
        return self.value(f"{'fpext' if wider else 'fptrunc'} {kind} {value} to {wanted}")

    def helper(self, parameters: Sequence[str], attributes: str, returns: str = "void") -> tuple[str, str]:
        """Symbol and text of an internal function that ends with the value `returns`, after its type. The
        symbol is a hash of the text.

        The sizes that it has used are further parameters.
        """
        parameters = (*parameters, *(f"i64 {name}" for name in self.used))
        body = "\n".join(self.lines)
        if OPEN_TEXT in body:
            raise Undecided("an open size in the text of a function")
        rest = f"({', '.join(parameters)}) {attributes} {{\nentry:\n{body}\n  ret {returns}\n}}\n"
        symbol = "@h" + hashlib.blake2b(rest.encode(), digest_size=10).hexdigest()
        return symbol, f"define internal {returns.split()[0]} {symbol}{rest}"
