"""Types of native code as in C: numbers, pointers, functions, and structs whose fields have names.

A struct is an enumeration: the value of a member is the place of the field, and `kind` is its type. So Python
code that fills such memory and native code that reads it share one declaration.
"""

from __future__ import annotations

import functools
from enum import IntEnum

from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A type: its name in LLVM, and what C knows of it beyond that. There is one object for each."""

    llvm: str
    bits: int = 0  # of an integer, 0 for others
    unsigned: bool = False
    target: Kind | Atomic | Inline | type[Struct] | None = None  # of a pointer
    result: Kind | None = None  # of a function
    parameters: tuple[Kind, ...] = ()

    @property
    def is_pointer(self) -> bool:
        """True for addresses, of functions too."""
        return self.llvm == "ptr"


@dataclass(frozen=True, slots=True)
class Atomic:
    """A number or pointer in memory that several threads change."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Inline:
    """Elements that lie in the struct itself: the field stands for the address of the first one."""

    kind: Kind | Atomic


VOID = Kind("void")
BOOL = Kind("i1", 1, True)
BYTE = Kind("i8", 8, True)
UINT16 = Kind("i16", 16, True)
INT32, UINT32 = Kind("i32", 32), Kind("i32", 32, True)
INT64, UINT64 = Kind("i64", 64), Kind("i64", 64, True)
FLOAT, DOUBLE = Kind("float"), Kind("double")
ADDRESS = Kind("ptr")  # of anything, void * in C


@functools.cache
def pointer(target: Kind | Atomic | Inline | type[Struct]) -> Kind:
    """The address of one or more values, or of one or more structs."""
    return Kind("ptr", target=target)


@functools.cache
def function_pointer(result: Kind, *parameters: Kind) -> Kind:
    """The address of a function."""
    return Kind("ptr", result=result, parameters=parameters)


class Struct(IntEnum):
    """Fields of a struct: the type of each, and its offset in bytes."""

    kind: Kind | Atomic | Inline
    offset: int


SELF = pointer(Struct)  # for fields: the address of another struct of the same type


class Record(Struct):
    """Fields of 8 bytes each, one after the other; a member is the number of its field."""

    def __new__(cls, kind: Kind | Atomic) -> Record:
        number = len(cls.__members__)
        made = int.__new__(cls, number)
        made._value_, made.kind, made.offset = number, kind, 8 * number
        return made


class Layout(Struct):
    """Fields at given offsets; a member is the offset of its field."""

    def __new__(cls, offset: int, kind: Kind | Atomic | Inline) -> Layout:
        made = int.__new__(cls, offset)
        made._value_, made.kind, made.offset = offset, kind, offset
        return made
