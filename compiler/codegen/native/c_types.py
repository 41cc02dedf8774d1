"""Types of native code as in C: numbers, pointers, functions, and structs whose fields have names.

A struct is an enumeration: the value of a member is the place of the field, and `kind` is its type. So Python
code that fills such memory and native code that reads it share one declaration.
"""

from __future__ import annotations

import functools
from enum import IntEnum

from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class TypeKind:
    """A type: its name in LLVM, and what C knows of it beyond that. There is one object for each."""

    llvm: str
    bits: int = 0  # of an integer, 0 for others
    unsigned: bool = False
    target: TypeKind | Atomic | Inline | type[Struct] | None = None  # of a pointer
    result: TypeKind | None = None  # of a function
    parameters: tuple[TypeKind, ...] = ()

    @property
    def is_pointer(self) -> bool:
        """True for addresses, of functions too."""
        return self.llvm == "ptr"


@dataclass(frozen=True, slots=True)
class Atomic:
    """A number or pointer in memory that several threads change."""

    kind: TypeKind


@dataclass(frozen=True, slots=True)
class Inline:
    """Elements that lie in the struct itself: the field stands for the address of the first one."""

    kind: TypeKind | Atomic


VOID = TypeKind("void")
BOOL = TypeKind("i1", 1, True)
BYTE = TypeKind("i8", 8, True)
UINT16 = TypeKind("i16", 16, True)
INT32, UINT32 = TypeKind("i32", 32), TypeKind("i32", 32, True)
INT64, UINT64 = TypeKind("i64", 64), TypeKind("i64", 64, True)
FLOAT, DOUBLE = TypeKind("float"), TypeKind("double")
ADDRESS = TypeKind("ptr")  # of anything, void * in C


@functools.cache
def pointer(target: TypeKind | Atomic | Inline | type[Struct]) -> TypeKind:
    """The address of one or more values, or of one or more structs."""
    return TypeKind("ptr", target=target)


@functools.cache
def function_pointer(result: TypeKind, *parameters: TypeKind) -> TypeKind:
    """The address of a function."""
    return TypeKind("ptr", result=result, parameters=parameters)


class Struct(IntEnum):
    """Fields of a struct: the type of each, and its offset in bytes."""

    kind: TypeKind | Atomic | Inline
    offset: int


SELF = pointer(Struct)  # for fields: the address of another struct of the same type


class Record(Struct):
    """Fields of 8 bytes each, one after the other; a member is the number of its field."""

    def __new__(cls, kind: TypeKind | Atomic) -> Record:
        number = len(cls.__members__)
        made = int.__new__(cls, number)
        made._value_, made.kind, made.offset = number, kind, 8 * number
        return made


class Layout(Struct):
    """Fields at given offsets; a member is the offset of its field."""

    def __new__(cls, offset: int, kind: TypeKind | Atomic | Inline) -> Layout:
        made = int.__new__(cls, offset)
        made._value_, made.kind, made.offset = offset, kind, offset
        return made
