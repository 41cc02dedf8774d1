"""Writing LLVM IR as text: names, blocks and loops in SSA form, with nothing but string formatting.

An `Emitter` holds the lines of one function. Open scopes (loop bodies, guarded code) each collect their own
lines and are appended to the scope around them when they close. So while a loop body is being written, a line
may still be put in front of the loop: `with emitter.at(level)`. This is how loop-invariant code leaves a
loop, as no LLVM pass will move it.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16
from staticgraph.compiler.graph.sizes import OPEN_TEXT, Undecided
from staticgraph.compiler.support.dataclass import dataclass

_REGISTER = {"float16": "float", "bfloat16": "float", "float32": "float", "float64": "double", "bool": "i1"}
_MEMORY = {"float16": "half", "bfloat16": "i16", "bool": "i8"}
NAME = "@kernel.name"  # where a definition is to have the symbol that is a hash of it


@functools.cache
def register_type(dtype: DType, lanes: int = 1) -> str:
    """The LLVM type of a value in registers: bool is i1,
    float16 and bfloat16 are float (of their precision).
    """
    return vector(_REGISTER.get(dtype.name) or f"i{8 * dtype.size}", lanes)


@functools.cache
def memory_type(dtype: DType, lanes: int = 1) -> str:
    """The LLVM type of an element of a buffer."""
    return vector(_MEMORY.get(dtype.name) or register_type(dtype), lanes)


def vector(element: str, lanes: int) -> str:
    """`<16 x float>`, or just `float` for one lane."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def suffix(element: str, lanes: int = 1) -> str:
    """Return the suffix of an overloaded intrinsic's name for a type: `v16f32` for `float` in 16 lanes."""
    name = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(element, element)
    return name if lanes == 1 else f"v{lanes}{name}"


def splat(element: str, constant: str, lanes: int) -> str:
    """A constant, or a vector that repeats it."""
    return constant if lanes == 1 else f"splat ({element} {constant})"


@dataclass(frozen=True, slots=True)
class Code:
    """One compiled-to-be function: its symbol, its definition, the declarations and internal helpers that it
    needs, and the functions that it calls and has in common with others, which are compiled once.
    """

    name: str
    text: str
    needs: tuple[str, ...] = ()
    plain: bool = False  # its own instructions take no time worth mentioning: LLVM need not choose them well
    calls: tuple[Code, ...] = ()


@dataclass(slots=True)
class Scope:
    """Lines that will be appended to the enclosing scope, and the label of the block they end in."""

    lines: list[str]
    block: str


@dataclass(slots=True)
class LoopValues:
    """The SSA values of a loop being written.

    `carried` are the values at the start of an iteration; the body replaces `next`, the values for the next
    one. After the loop `next` holds the final values.
    """

    index: str
    carried: list[str]
    next: list[str] = field(default_factory=list)


class Emitter:
    """The text of one function.

    >>> e = Emitter()
    >>> with e.loop(0, 10, 1, [("i64", "0")]) as total:
    ...     total.next = [e.value(f"add i64 {total.carried[0]}, {total.index}")]
    >>> e.line(f"store i64 {total.next[0]}, ptr %b0")
    >>> code = e.finish(["ptr %b0"])
    >>> code.text.splitlines()[0].startswith("define void @k")
    True
    """

    def __init__(self, contract: bool = True) -> None:
        self.flags = "contract " if contract else ""  # goes before the type of floating arithmetic
        self.needs: dict[str, None] = {}  # declarations and helper functions, in order of first use
        self.calls: dict[Code, None] = {}  # functions that are compiled on their own
        self.scopes = [Scope([], "entry")]
        self.lines = self.scopes[0].lines
        self.floor = (
            0  # the level of the innermost guarded scope: code in it may not run, so it must not move out
        )
        self._current = self.scopes[0]
        self._count = 0

    @property
    def level(self) -> int:
        """The number of scopes around the innermost one."""
        return len(self.scopes) - 1

    @property
    def block(self) -> str:
        """The label of the block that lines are going to."""
        return self._current.block

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def value(self, text: str) -> str:
        """Append an instruction and return the name of its result."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def shuffle(self, kind: str, lanes: Iterable[int], first: str, second: str = "poison") -> str:
        """Append a vector of lanes of two vectors of type `kind`. Return its name.

        The numbers of the lanes of `second` follow those of `first`.
        """
        numbers = [f"i32 {lane}" for lane in lanes]
        order = f"<{len(numbers)} x i32> <{', '.join(numbers)}>"
        return self.value(f"shufflevector {kind} {first}, {kind} {second}, {order}")

    def first_value(self, text: str) -> str:
        """Append an instruction to the outermost scope, before all loops. Return the name of its result."""
        self._count += 1
        name = f"%v{self._count}"
        self.scopes[0].lines.append(f"  {name} = {text}")
        return name

    def reserve(self) -> str:
        """A fresh SSA name, for a phi that is written later."""
        self._count += 1
        return f"%v{self._count}"

    def label(self) -> str:
        """A fresh block label."""
        self._count += 1
        return f"block{self._count}"

    def start(self, label: str) -> None:
        """Begin the block `label`. The block before must have ended in a branch."""
        self.lines.append(f"{label}:")
        self._current.block = label

    def branch(self, label: str) -> None:
        """End the block."""
        self.lines.append(f"  br label %{label}")

    def branch_if(self, condition: str, then: str, otherwise: str, unlikely: bool = False) -> None:
        """End the block in one of two ways. `unlikely`: `then` is rarely taken."""
        weights = ', !prof !{!"branch_weights", i32 1, i32 2000}' if unlikely else ""
        self.lines.append(f"  br i1 {condition}, label %{then}, label %{otherwise}{weights}")

    def need(self, text: str) -> None:
        """The module must hold this declaration, or this `define internal` helper function."""
        self.needs[text] = None

    def call(self, result: str, name: str, *operands: tuple[str, str]) -> str:
        """Call the function `name`, declaring it; operands are pairs of type and value."""
        self.need(f"declare {result} @{name}({', '.join([t for t, _ in operands])})")
        arguments = ", ".join([f"{t} {v}" for t, v in operands])
        if result == "void":
            self.line(f"call void @{name}({arguments})")
            return ""
        return self.value(f"call {result} @{name}({arguments})")

    def call_shared(self, code: Code, *operands: tuple[str, str], result: str = "void") -> str:
        """Call a function that is compiled on its own, as one is that other code calls, too."""
        self.calls[code] = None
        return self.call(result, code.name, *operands)

    def copy(self, target: str, source: str, size: int | str) -> None:
        """`size` bytes from one address to another, which do not overlap."""
        places = ("ptr", target), ("ptr", source)
        self.call("void", "llvm.memcpy.p0.p0.i64", *places, ("i64", str(size)), ("i1", "false"))

    def clear(self, target: str, size: int | str) -> None:
        """Zeros in `size` bytes."""
        operands = ("ptr", target), ("i8", "0"), ("i64", str(size)), ("i1", "false")
        self.call("void", "llvm.memset.p0.i64", *operands)

    def at(self, level: int) -> _At:
        """Context in which lines go to an enclosing scope: to where the scope inside it begins."""
        return _At(self, self.scopes[level])

    def go_on(self, scope: Scope) -> Scope:
        """Let lines go to a scope. Return the one that they went to."""
        current, self._current, self.lines = self._current, scope, scope.lines
        return current

    @contextmanager
    def scope(self, guarded: bool = False) -> Iterator[Scope]:
        """Lines collect in a scope of their own, whose first line begins a block, until it closes."""
        parent, floor = self._current, self.floor
        scope = Scope([], parent.block)
        self.scopes.append(scope)
        if guarded:
            self.floor = self.level
        self._current, self.lines = scope, scope.lines
        try:
            yield scope
        finally:
            self.scopes.pop()
            self.floor = floor
            parent.lines += scope.lines
            parent.block = scope.block
            self._current, self.lines = parent, parent.lines

    @contextmanager
    def section(self) -> Iterator[None]:
        """A scope that just follows the code before it, in a block of its own: that code may still grow."""
        label = self.label()
        with self.scope():
            self.branch(label)
            self.start(label)
            yield

    @contextmanager
    def loop(
        self,
        start: int | str,
        stop: int | str,
        step: int | str = 1,
        carried: Sequence[tuple[str, str]] = (),
        exact: bool = False,
        opaque: bool = False,
    ) -> Iterator[LoopValues]:
        """A loop `for index in range(start, stop, step)` that runs at least once; the test comes last.

        `carried` are pairs of type and initial value. The index is an i64. `exact`: it meets `stop`, so that
        LLVM sees how often a loop runs whose `stop` is no number. `opaque`: LLVM does not see that the index
        grows evenly, and does not look for a better form of the addresses in the loop.
        """
        head, done = self.label(), self.label()
        index, following = self.reserve(), self.reserve()
        values = LoopValues(index, [self.reserve() for _ in carried])
        with self.scope() as scope:
            self.start(head)
            yield values
            if len(values.next) != len(carried):
                raise ValueError(
                    f"the loop carries {len(carried)} values, its body leaves {len(values.next)}"
                )
            latch = self.block
            self.line(f"{following} = add nuw nsw i64 {index}, {step}")
            again = self.value(f"icmp {'ne' if exact else 'slt'} i64 {following}, {stop}")
            self.branch_if(again, head, done)
            # Only now is the block before the loop complete: hoisted code may have brought branches of its
            # own.
            before = self.scopes[-2].block
            counter = self.reserve() if opaque else index
            phis = [f"  {counter} = phi i64 [ {start}, %{before} ], [ {following}, %{latch} ]"]
            for name, (kind, initial), last in zip(values.carried, carried, values.next, strict=True):
                phis.append(f"  {name} = phi {kind} [ {initial}, %{before} ], [ {last}, %{latch} ]")
            if opaque:
                phis.append(f"  {index} = freeze i64 {counter}")
            scope.lines[0:1] = [f"  br label %{head}", f"{head}:", *phis]
            self.start(done)

    def while_loop(
        self,
        carried: Sequence[tuple[str, str]],
        condition: Callable[[list[str]], str],
        body: Callable[[list[str]], list[str]],
    ) -> list[str]:
        """A loop that runs while `condition` of the carried values holds; `body` makes the next ones of them.

        Both are called once, to write their code. Returns the final values.
        """
        head, inside, done = self.label(), self.label(), self.label()
        names = [self.reserve() for _ in carried]
        with self.scope(guarded=True) as scope:
            self.start(head)
            self.branch_if(condition(names), inside, done)
            self.start(inside)
            following = body(names)
            latch = self.block
            self.branch(head)
            before = self.scopes[-2].block
            phis = [
                f"  {name} = phi {kind} [ {initial}, %{before} ], [ {last}, %{latch} ]"
                for name, (kind, initial), last in zip(names, carried, following, strict=True)
            ]
            scope.lines[0:1] = [f"  br label %{head}", f"{head}:", *phis]
            self.start(done)
        return names

    def finish(self, parameters: Sequence[str], result: str = "void", attributes: str = "nounwind") -> Code:
        """The function, which returns nothing or `result`, such as "i32 0". Its symbol is a hash of its text,
        so equal functions have equal symbols.
        """
        head = f"define {result.split()[0]} {NAME}({', '.join(parameters)}) {attributes} {{\nentry:\n"
        text = head + "\n".join(self.lines) + f"\n  ret {result}\n}}\n"
        return function(text, tuple(self.needs), tuple(self.calls))


class _At:
    """The context of `Emitter.at`, which is entered for every value."""

    __slots__ = ("_before", "_emitter", "_scope")

    def __init__(self, emitter: Emitter, scope: Scope) -> None:
        self._emitter, self._scope = emitter, scope

    def __enter__(self) -> None:
        self._before = self._emitter.go_on(self._scope)

    def __exit__(self, *_: object) -> None:
        self._emitter.go_on(self._before)


def function(text: str, needs: tuple[str, ...] = (), calls: tuple[Code, ...] = ()) -> Code:
    """The function whose definition is `text`, with `NAME` for its symbol."""
    if OPEN_TEXT in text:
        raise Undecided("an open size in the text of a function")
    digest = hashlib.blake2b("\n".join((text, *needs)).encode(), digest_size=12).hexdigest()
    return Code(f"k{digest}", text.replace(NAME, f"@k{digest}", 1), needs, calls=calls)


def with_calls(codes: Iterable[Code]) -> list[Code]:
    """Functions and all that they call, each once.

    >>> inner = function(f"define void {NAME}() {{ ret void }}")
    >>> outer = function(f"define void {NAME}() {{ ret void }} ; another", calls=(inner,))
    >>> with_calls([outer, inner]) == [inner, outer]
    True
    """
    found: dict[str, Code] = {}
    for code in codes:
        if code.name not in found:
            for called in with_calls(code.calls) if code.calls else ():
                found.setdefault(called.name, called)
            found[code.name] = code
    return [*found.values()]


def module(codes: Sequence[Code], target: CpuTarget) -> str:
    """The text of an LLVM module with these functions."""
    needs = dict.fromkeys(need for code in codes for need in code.needs)
    defined = tuple(f"@{code.name}(" for code in codes)
    declared = [n for n in needs if not (n.startswith("declare") and any(name in n for name in defined))]
    header = f'target triple = "{target.triple}"\ntarget datalayout = "{target.data_layout}"\n'
    return "\n".join([header, *declared, *dict.fromkeys(code.text for code in codes)])


_FLAGGED = frozenset({"fadd", "fsub", "fmul", "fdiv"})


def constant(value: Any, dtype: DType) -> str:
    """A number as LLVM spells it."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_integer:
        bits = 8 * dtype.size
        wrapped = int(value) % (1 << bits)
        return str(wrapped - (1 << bits) if dtype.kind == "int" and wrapped >> (bits - 1) else wrapped)
    return _floating(struct.pack("d", value), dtype)


@lru_cache(4096)
def _floating(double: bytes, dtype: DType) -> str:
    """The number with these bytes, rounded: by its bytes, since 0.0 and -0.0 are equal."""
    (value,) = struct.unpack("d", double)
    with np.errstate(over="ignore"):
        exact = float(dtype.round(value))
    return f"0x{struct.unpack('Q', struct.pack('d', exact))[0]:016X}"


@dataclass(slots=True)
class Site:
    """A place in a function that computes on values of one dtype, in some lanes."""

    emitter: Emitter
    dtype: DType  # of the operands
    lanes: int

    @property
    def type(self) -> str:
        """The LLVM type of the operands."""
        return register_type(self.dtype, self.lanes)

    @property
    def mask_type(self) -> str:
        return vector("i1", self.lanes)

    @property
    def is_half(self) -> bool:
        return self.dtype is float16 or self.dtype is bfloat16

    def of(self, dtype: DType) -> Site:
        """The same place, for values of another dtype."""
        return Site(self.emitter, dtype, self.lanes)

    def const(self, value: Any) -> str:
        """A constant operand."""
        return splat(register_type(self.dtype), constant(value, self.dtype), self.lanes)

    def value(self, text: str) -> str:
        return self.emitter.value(text)

    def op(self, instruction: str, a: str, b: str) -> str:
        """`fadd contract <16 x float> a, b`."""
        flags = self.emitter.flags if instruction in _FLAGGED else ""
        return self.emitter.value(f"{instruction} {flags}{self.type} {a}, {b}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        kind = "fcmp" if self.dtype.is_floating else "icmp"
        return self.emitter.value(f"{kind} {predicate} {self.type} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        kind = self.type
        return self.emitter.value(f"select {self.mask_type} {condition}, {kind} {a}, {kind} {b}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """An intrinsic whose operands and result are all of the type."""
        full = f"llvm.{name}.{suffix(register_type(self.dtype), self.lanes)}"
        return self.emitter.call(self.type, full, *[(self.type, x) for x in operands])
