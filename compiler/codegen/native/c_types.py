"""Types of native code as in C: numbers, pointers, functions, and structs whose fields have names.

A struct is a class of numbers: each is the place of a field, and `kind` is its type. So Python code that
fills such memory and native code that reads it share one declaration.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


class Field(int):
    """A field of a struct: its place as a number, its name, its type and its offset in bytes."""

    name: str
    kind: TypeKind | Atomic | Inline
    offset: int


class _StructType(type):
    """The type of structs. An import makes many, in a third of the time that those of `enum` take."""

    members: dict[str, Field]

    def __init__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> None:
        cls.members = {}
        for field, kind in space.items():
            if field.isupper():
                if isinstance(kind, tuple):  # of a layout
                    place, kind = kind
                    offset = place
                else:
                    place = len(cls.members)
                    offset = 8 * place
                made = cls.members[field] = Field(place)
                made.name, made.kind, made.offset = field, kind, offset
                setattr(cls, field, made)

    def __getitem__(cls, name: str) -> Field:
        return cls.members[name]

    def __iter__(cls) -> Iterator[Field]:
        return iter(cls.members.values())

    def __len__(cls) -> int:
        return len(cls.members)


if TYPE_CHECKING:
    # Type checkers know how members of an enumeration are declared.
    class Struct(IntEnum):
        """Fields of a struct: the type of each, and its offset in bytes."""

        kind: TypeKind | Atomic | Inline
        offset: int
else:

    class Struct(metaclass=_StructType):
        """Fields of a struct: the type of each, and its offset in bytes."""


SELF = pointer(Struct)  # for fields: the address of another struct of the same type


class Record(Struct):
    """Fields of 8 bytes each, one after the other; a member is the number of its field."""


class Layout(Struct):
    """Fields at given offsets; a member is the offset of its field."""
