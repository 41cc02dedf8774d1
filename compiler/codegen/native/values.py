"""Values of native code, with the operators that C has for them.

`a + b` and `a == b` emit an instruction each; `feed.dims` loads a field and `feed.dims = x` stores it; `p[i]`
and `p[i] = x` are an element. What is at an address of a struct is the struct: `feeds[i]` is the address of
one of them. `&`, `|` and `~` of conditions evaluate both sides. Numbers without a sign divide, compare, shift
and widen as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeAlias

from staticgraph.compiler.codegen.native.c_types import (
    ADDRESS,
    BOOL,
    DOUBLE,
    FLOAT,
    INT64,
    SELF,
    UINT64,
    Atomic,
    Inline,
    TypeKind,
    pointer,
)


class InstructionWriter(Protocol):
    """A function that is being written."""

    def line(self, text: str) -> None:
        """Append an instruction without a result."""

    def value(self, kind: TypeKind, text: str) -> Register:
        """Append an instruction with a result."""

    def call(
        self, result: TypeKind, parameters: Sequence[TypeKind], function: str, arguments: Sequence[Operand]
    ) -> Register:
        """Call a function by its address or symbol."""


class Null:
    """The address of nothing."""


NULL: Final = Null()


class Register:
    """A value in a register."""

    __slots__ = ("_kind", "_text", "_writer")

    _kind: TypeKind
    _text: str
    _writer: InstructionWriter

    def __init__(self, writer: InstructionWriter, kind: TypeKind, text: str) -> None:
        put = object.__setattr__
        put(self, "_writer", writer)
        put(self, "_kind", kind)
        put(self, "_text", text)

    def __bool__(self) -> bool:
        raise TypeError("the value is not known before the code runs: use if_, while_ or select")

    # Numbers.

    def __add__(self, other: Operand) -> Register:
        if self._kind.is_pointer:
            return element_address(self, other)
        return self._combined("add", other)

    def __sub__(self, other: Operand) -> Register:
        return self._combined("sub", other)

    def __mul__(self, other: Operand) -> Register:
        return self._combined("mul", other)

    def __floordiv__(self, other: Operand) -> Register:
        return self._combined("udiv" if self._kind.unsigned else "sdiv", other)

    def __mod__(self, other: Operand) -> Register:
        return self._combined("urem" if self._kind.unsigned else "srem", other)

    def __lshift__(self, other: Operand) -> Register:
        return self._combined("shl", other)

    def __rshift__(self, other: Operand) -> Register:
        return self._combined("lshr" if self._kind.unsigned else "ashr", other)

    def __and__(self, other: Operand) -> Register:
        return self._combined("and", other)

    def __or__(self, other: Operand) -> Register:
        return self._combined("or", other)

    def __invert__(self) -> Register:
        return self._combined("xor", True if self._kind == BOOL else -1)

    # Conditions.

    def __eq__(self, other: Operand) -> Register:  # type: ignore[override]
        return self._compared("eq", other)

    def __ne__(self, other: Operand) -> Register:  # type: ignore[override]
        return self._compared("ne", other)

    def __lt__(self, other: Operand) -> Register:
        return self._compared("lt", other)

    def __le__(self, other: Operand) -> Register:
        return self._compared("le", other)

    def __gt__(self, other: Operand) -> Register:
        return self._compared("gt", other)

    def __ge__(self, other: Operand) -> Register:
        return self._compared("ge", other)

    __hash__ = None  # type: ignore[assignment]

    # Memory.

    def __getitem__(self, index: Operand) -> Any:
        return loaded(element_address(self, index))

    def __setitem__(self, index: Operand, value: Operand) -> None:
        stored(element_address(self, index), value)

    def __getattr__(self, name: str) -> Any:
        return loaded(field_address(self, name))

    def __setattr__(self, name: str, value: Operand) -> None:
        stored(field_address(self, name), value)

    # Functions and types.

    def __call__(self, *arguments: Operand) -> Register:
        """Call the function at this address."""
        result = self._kind.result
        if result is None:
            raise TypeError(f"{self._kind} is not a function")
        return self._writer.call(result, self._kind.parameters, self._text, arguments)

    def to(self, kind: TypeKind) -> Register:
        """Convert to another type, as a cast of C does."""
        return converted(self, kind)

    def _combined(self, operation: str, other: Operand) -> Register:
        text = operand(self._kind, other)
        return self._writer.value(self._kind, f"{operation} {self._kind.llvm} {self._text}, {text}")

    def _compared(self, relation: str, other: Operand) -> Register:
        sign = "" if relation in ("eq", "ne") else "u" if self._kind.unsigned else "s"
        text = operand(self._kind, other)
        return self._writer.value(BOOL, f"icmp {sign}{relation} {self._kind.llvm} {self._text}, {text}")


class AtomicPlace:
    """A word in memory that several threads change. Orders are those of C11, by LLVM's names."""

    __slots__ = ("_address", "_kind", "_writer")

    def __init__(self, address: Register, kind: TypeKind) -> None:
        self._writer, self._address, self._kind = address._writer, address._text, kind

    def load(self, order: str) -> Register:
        """The present value."""
        return self._writer.value(
            self._kind, f"load atomic {self._kind.llvm}, ptr {self._address} {order}, align 8"
        )

    def store(self, value: Operand, order: str) -> None:
        """Make `value` the present one."""
        text = f"{self._kind.llvm} {operand(self._kind, value)}"
        self._writer.line(f"store atomic {text}, ptr {self._address} {order}, align 8")

    def fetch_add(self, value: Operand, order: str) -> Register:
        """Add `value`. Returns the one before."""
        return self._changed("add", value, order)

    def fetch_sub(self, value: Operand, order: str) -> Register:
        """Subtract `value`. Returns the one before."""
        return self._changed("sub", value, order)

    def compare_exchange(self, expected: Operand, desired: Operand, order: str) -> Register:
        """Make `desired` the present value if `expected` is. Returns true if so; else nothing is ordered."""
        kind = self._kind.llvm
        old, new = operand(self._kind, expected), operand(self._kind, desired)
        pair = self._writer.value(
            self._kind, f"cmpxchg ptr {self._address}, {kind} {old}, {kind} {new} {order} monotonic"
        )
        return self._writer.value(BOOL, f"extractvalue {{ {kind}, i1 }} {pair._text}, 1")

    def _changed(self, operation: str, value: Operand, order: str) -> Register:
        text = f"{self._kind.llvm} {operand(self._kind, value)}"
        return self._writer.value(self._kind, f"atomicrmw {operation} ptr {self._address}, {text} {order}")


Operand: TypeAlias = Register | int | Null


def operand(kind: TypeKind, value: Operand) -> str:
    """The text of a value of type `kind`: TypeError if it has another type."""
    if isinstance(value, Register):
        if not _fits(value._kind, kind):
            raise TypeError(f"expected {kind}, not {value._kind}")
        return value._text
    if isinstance(value, Null) != kind.is_pointer or isinstance(value, bool) != (kind == BOOL):
        raise TypeError(f"expected {kind}, not {value}")
    return "null" if isinstance(value, Null) else str(value).lower()


def loaded(address: Register) -> Any:
    """The value at an address; the address itself if a struct or the elements of a field are there."""
    kind = address._kind.target
    if isinstance(kind, Atomic):
        return AtomicPlace(address, kind.kind)
    if isinstance(kind, Inline):
        return Register(address._writer, pointer(kind.kind), address._text)
    if isinstance(kind, TypeKind):
        return address._writer.value(kind, f"load {kind.llvm}, ptr {address._text}")
    return address


def stored(address: Register, value: Operand) -> None:
    """Store `value` at an address."""
    kind = address._kind.target
    if not isinstance(kind, TypeKind):
        raise TypeError(f"{kind} is not stored as one value")
    address._writer.line(f"store {kind.llvm} {operand(kind, value)}, ptr {address._text}")


def element_address(base: Register, index: Operand) -> Register:
    """The address of an element."""
    target = base._kind.target
    if target is None or isinstance(target, Inline):
        raise TypeError(f"{base._kind} has no elements")
    if isinstance(index, int) and not index:
        return base
    if isinstance(target, type):
        element = f"[{len(target)} x i64]"
    else:
        element = (target if isinstance(target, TypeKind) else target.kind).llvm
    unsigned = isinstance(index, Register) and index._kind == UINT64
    number = operand(UINT64 if unsigned else INT64, index)
    return base._writer.value(base._kind, f"getelementptr {element}, ptr {base._text}, i64 {number}")


def field_address(base: Register, name: str) -> Register:
    """The address of a field of the struct at `base`, with the type of the field."""
    struct = base._kind.target
    try:
        field = struct[name.upper()]  # type: ignore[index]
    except (TypeError, KeyError):
        raise AttributeError(f"{base._kind} has no field {name}") from None
    kind = pointer(pointer(struct) if field.kind is SELF else field.kind)
    if not field.offset:
        return Register(base._writer, kind, base._text)
    return base._writer.value(kind, f"getelementptr i8, ptr {base._text}, i64 {field.offset}")


def converted(value: Register, kind: TypeKind) -> Register:
    """`value` as another type."""
    source = value._kind
    if source.llvm == kind.llvm:
        return Register(value._writer, kind, value._text)
    if source.bits and kind.bits:
        operation = "trunc" if kind.bits < source.bits else "zext" if source.unsigned else "sext"
    elif source.bits:
        operation = "uitofp" if source.unsigned else "sitofp"
    else:
        operation = {(DOUBLE, FLOAT): "fptrunc", (FLOAT, DOUBLE): "fpext"}[source, kind]
    return value._writer.value(kind, f"{operation} {source.llvm} {value._text} to {kind.llvm}")


def _fits(found: TypeKind, wanted: TypeKind) -> bool:
    """Return True if C takes a value of one type for the other without a cast."""
    if found is wanted:
        return True
    return found.is_pointer and wanted.is_pointer and ADDRESS in (found, wanted)
