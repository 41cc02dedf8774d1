"""C interface of compiled functions: names and types of C, and the struct that is their state.

A state begins with a number that marks it as initialised, then the address of the weights. Weights are the
variables that no function changes; they are read in place. Then come the variables that functions change and
the states of random operations. A workspace comes last.
"""

from __future__ import annotations

import math
import re

from staticgraph.compiler.codegen.llvm.c_interface import CState, EntryPoint, SharedPool
from staticgraph.compiler.codegen.llvm.open_interface import OpenEntryPoint
from staticgraph.compiler.codegen.llvm.staged_interface import StagedEntryPoint
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.support.dataclass import dataclass

_C_TYPES = {
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "complex64": "float",
    "complex128": "double",
}


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor that C knows by a name.

    >>> from staticgraph.compiler.graph.dtypes import complex64
    >>> array = Array("spectrum", TensorType(complex64, (8,)))
    >>> array.c_type, array.dims, array.stored
    ('float', (8, 2), 64)
    """

    name: str
    type: TensorType

    @property
    def c_type(self) -> str:
        """The type of its elements, or of the two parts of a complex one."""
        name = self.type.dtype.name
        return _C_TYPES.get(name, f"{name}_t")

    @property
    def is_open(self) -> bool:
        return is_open(self.type.static_shape)

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes of the array in C, which has no empty arrays."""
        pair = (2,) if self.type.dtype.is_complex else ()
        return (*self.type.static_shape, *pair) if self.type.size else (1,)

    @property
    def elements(self) -> int:
        """The number of elements of the array in C."""
        return math.prod(self.dims)

    @property
    def alignment(self) -> int:
        return self.type.dtype.real_dtype.size

    @property
    def stored(self) -> int:
        """The bytes of the array in C."""
        return self.elements * self.alignment

    @property
    def bytes(self) -> int:
        """The bytes of the tensor."""
        return self.type.size * self.type.dtype.size


@dataclass(frozen=True, slots=True)
class Field:
    """A member of the struct of variables, and what it is called in the graph."""

    array: Array
    tensor: str


@dataclass(frozen=True, slots=True)
class CFunction:
    """`int symbol(state, inputs..., outputs...)`, and what it is called in the file.

    `sizes`: the macros for the numbers of elements of all arrays, None for those of open size. `axes` are the
    names of sizes, which are parameters then, and of which array types tell; `conditions` say what must hold
    of them, one text for each program, "" for none. `sized`: the numbers of the inputs whose elements are
    sizes, too.
    """

    label: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    sizes: tuple[str | None, ...]
    entry: EntryPoint | OpenEntryPoint | StagedEntryPoint
    axes: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    sized: tuple[int, ...] = ()

    @property
    def symbol(self) -> str:
        return self.entry.name

    @property
    def programs(self) -> list[str]:
        """The symbols of its programs."""
        match self.entry:
            case StagedEntryPoint(stages=stages):
                return [p.entry.name for stage in stages for p in stage.entry.programs]
            case OpenEntryPoint(programs=programs):
                return [p.entry.name for p in programs]
        return [self.entry.name]

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays that a caller passes."""
        return (*self.inputs, *self.outputs)


@dataclass(frozen=True, slots=True)
class Interface:
    """Everything that the header tells, and that the code relies on.

    `content`: the weights, and then what a new state's variables hold. `workspace` and `size` are bytes:
    those of the last member of a state, and those of the whole. `pool`: that of the threads, if there may be
    any.
    """

    name: str
    fields: tuple[Field, ...]
    functions: tuple[CFunction, ...]
    state: CState
    content: bytes
    workspace: int
    size: int
    pool: SharedPool | None

    @property
    def mark(self) -> bytes:
        """The first bytes of a weights file.

        They are equal for all files that fit the code, whatever their values.
        """
        return b"sgweight" + self.state.ready.to_bytes(8, "little") + bytes(ALIGNMENT - 16)


# What C and C++ keep for themselves, and macros that many programs define.
_TAKEN = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
    const consteval constexpr constinit const_cast continue decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename typeof union
    unsigned using virtual void volatile wchar_t while xor xor_eq assert errno far linux main near size
    stderr stdin stdout unix
"""


class CNames:
    """Names of one scope of C, each used once, capitals or not: macros are made of them.

    >>> names = CNames()
    >>> names.new("dense/kernel"), names.new("dense.kernel"), names.new("class"), names.new("3d")
    ('dense_kernel', 'dense_kernel_2', 'class_', 'n3d')
    """

    def __init__(self, *taken: str) -> None:
        self._used = {name.lower() for name in taken}

    def new(self, name: str) -> str:
        """The name in C of what the graph calls `name`."""
        plain = identifier(name)
        found, number = plain, 2
        while found.lower() in self._used:
            found, number = f"{plain}_{number}", number + 1
        self._used.add(found.lower())
        return found


def identifier(name: str) -> str:
    """The letters of a name that C allows, as a name that is not taken."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "unnamed"
    plain = f"n{plain}" if plain[0].isdigit() else plain
    return f"{plain}_" if plain in _TAKEN.split() else plain
