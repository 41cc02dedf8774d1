"""Functions that a C program calls with sizes: what `c_interface` writes, for programs with open sizes.

    i32 (ptr self, i64 s0, ..., ptr p0, ..., ptr space, i64 bytes)
    i32 (i64 s0, ..., ptr sized0, ..., ptr shape0, ..., ptr bytes)

Sizes are parameters, or elements of inputs, which the second function is given, too. The first one runs a
step in memory that the caller gives. The second one tells how much memory that is, and the shapes of results.
Both look for the first program that takes the sizes, and compute all that follows from them in 64 bits: what
does not fit is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from staticgraph.compiler.codegen.llvm.c_interface import (
    NO_POINTER,
    NOT_READY,
    CState,
    EntryPoint,
    Place,
    address,
    call_step,
    definition,
    enter_state,
    refuse_null,
    return_if,
)
from staticgraph.compiler.codegen.llvm.text import Code, Emitter
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.open_sizes import linear
from staticgraph.compiler.graph.sizes import MOST, AnySize, AtLeastOne, AtMost, Atom, Quotient, Size
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.support.dataclass import dataclass

# What a function returns if it does nothing, beside the codes of `c_interface`.
NEGATIVE_SIZE, TOO_LARGE, SIZES_DISAGREE, OTHER_SIZES, SMALL_WORKSPACE = 6, 7, 8, 9, 10
_SPACE = "%space"  # the memory that the caller gives
CONDITION = {"==": "ne", "!=": "eq", "<": "sge", ">=": "slt"}  # under which a guard does not hold


@dataclass(frozen=True, slots=True)
class OpenCProgram:
    """One program of a function, and the sizes that it takes.

    Attributes:
        entry: Its step, with what lies where in the workspace; the arena is the last block.
        axes: For each size of the function a number, or an open size as `OpenShapes` has them.
        guards: Sizes, and how each is compared with 0.
        blocks: The bytes of each block of memory of open size.
        numbers: The sizes that the code asks for, and where their values are in the workspace.
        numbers_at: The offset of these values in the workspace.
        arena: The bytes of the arena.
        arena_at: The offset of the arena in the workspace.
        needed: Parameters that must not be null unless they have no bytes, with their bytes.
        shapes: Shapes of the outputs whose size the second function tells.
    """

    entry: EntryPoint
    axes: tuple[AnySize, ...]
    guards: tuple[tuple[Size, str], ...]
    blocks: tuple[AnySize, ...]
    numbers: tuple[AnySize, ...]
    numbers_at: int
    arena: AnySize
    arena_at: int
    needed: tuple[tuple[int, AnySize], ...]
    shapes: tuple[tuple[AnySize, ...], ...]


@dataclass(frozen=True, slots=True)
class SizeInArray:
    """A size that is an element of an input: the number of the input, the place there, and the type."""

    array: int
    place: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class OpenEntryPoint:
    """A function of the interface that takes sizes. `sizes_name` is the one that tells what follows.

    `read`: the sizes that are elements of inputs, which come after the others.
    """

    name: str
    sizes_name: str
    programs: tuple[OpenCProgram, ...]
    read: tuple[SizeInArray, ...] = ()

    @property
    def checked(self) -> bool:
        return any(program.entry.checked for program in self.programs)

    @property
    def sizes(self) -> list[str]:
        """All sizes, as operands."""
        return [f"i64 %s{n}" for n in range(len(self.programs[0].axes))]

    @property
    def given(self) -> list[str]:
        """The sizes that are parameters."""
        return self.sizes[: len(self.sizes) - len(self.read)]

    @property
    def sized(self) -> list[int]:
        """The numbers of the inputs with sizes."""
        return sorted({size.array for size in self.read})


def open_functions(function: OpenEntryPoint, state: CState) -> tuple[list[Code], list[Code]]:
    """Return the definitions of the functions of the interface, and those of what they call."""
    first_program = function.programs[0]
    arrays = [f"ptr %p{n}" for n in range(first_program.entry.parameters)]
    shapes = [f"ptr %d{n}" for n in range(len(first_program.shapes))]
    running = [*arrays, f"ptr {_SPACE}", "i64 %bytes"]
    telling = [*shapes, "ptr %bytes"]
    sized = [f"ptr %p{n}" for n in function.sized]
    inner: list[Code] = []

    def choose(
        name: str, parameters: Sequence[str], write: Callable[[Emitter, OpenCProgram], None]
    ) -> Emitter:
        writer = Emitter()
        _read(writer, function)
        for n in range(len(function.sizes)):
            return_if(writer, writer.value(f"icmp slt i64 %s{n}, 0"), NEGATIVE_SIZE)
        for n in range(len(function.sizes)):
            return_if(writer, writer.value(f"icmp sgt i64 %s{n}, {MOST}"), TOO_LARGE)
        first = ""
        for number, program in enumerate(function.programs):  # no other function has two _ in its name
            part = Emitter()
            write(part, program)
            inner.append(definition(part, f"{name}__{number}", ", ".join(parameters)))
            status = writer.value(f"call i32 @{name}__{number}({', '.join(parameters)})")
            first = first or status
            others, done = writer.label(), writer.label()
            refused = [writer.value(f"icmp eq i32 {status}, {n}") for n in (SIZES_DISAGREE, OTHER_SIZES)]
            writer.branch_if(writer.value(f"or i1 {refused[0]}, {refused[1]}"), others, done)
            writer.start(done)
            writer.line(f"ret i32 {status}")
            writer.start(others)
        writer.line(f"ret i32 {first}")
        writer.start(writer.label())
        return writer

    run = choose(
        function.name,
        ["ptr %self", *function.sizes, *running],
        lambda writer, program: _run(writer, program, state),
    )
    tell = choose(function.sizes_name, [*function.sizes, *telling], _tell)
    exported = [
        definition(run, function.name, ", ".join(["ptr %self", *function.given, *running])),
        definition(tell, function.sizes_name, ", ".join([*function.given, *sized, *telling])),
    ]
    return exported, inner


def _read(writer: Emitter, function: OpenEntryPoint) -> None:
    """Read the sizes that are elements of inputs, which may be at any address."""
    refuse_null(writer, [f"%p{n}" for n in function.sized])
    for number, size in enumerate(function.read, len(function.given)):
        kind, bytes = f"i{8 * size.dtype.size}", size.dtype.size
        place = address(writer, Place(f"%p{size.array}", size.place * bytes))
        found = writer.value(f"load {kind}, ptr {place}, align 1")
        wide = "add i64 0," if bytes == 8 else f"{'zext' if size.dtype.is_unsigned else 'sext'} {kind}"
        writer.line(f"%s{number} = {wide} {found}{'' if bytes == 8 else ' to i64'}")


def _run(writer: Emitter, program: OpenCProgram, state: CState) -> None:
    sizes, total = _checked(writer, program)
    refuse_null(writer, ["%self", _SPACE])
    return_if(writer, writer.value(f"icmp ult i64 %bytes, {total}"), SMALL_WORKSPACE)
    for number, size in program.needed:
        missing = writer.value(f"icmp eq ptr %p{number}, null")
        used = writer.value(f"icmp ne i64 {sizes.value(size)}, 0")
        return_if(writer, writer.value(f"and i1 {missing}, {used}"), NO_POINTER)
    enter_state(writer, state, Place(_SPACE), NOT_READY)
    for number, size in enumerate(program.numbers):
        target = address(writer, Place("%workspace", program.numbers_at + 8 * number))
        writer.line(f"store i64 {sizes.value(size)}, ptr {target}, align 8")
    call_step(writer, program.entry, sizes.value)


def _tell(writer: Emitter, program: OpenCProgram) -> None:
    """Store shapes and bytes where the caller asks for them."""
    sizes, total = _checked(writer, program)
    shapes = [(f"%d{n}", shape) for n, shape in enumerate(program.shapes)]
    stored = [(place, 8 * axis, size) for place, shape in shapes for axis, size in enumerate(shape)]
    values = [(place, offset, sizes.value(size)) for place, offset, size in stored]
    for place, offset, value in (*values, ("%bytes", 0, total)):
        asked, done = writer.label(), writer.label()
        writer.branch_if(writer.value(f"icmp eq ptr {place}, null"), done, asked)
        writer.start(asked)
        writer.line(f"store i64 {value}, ptr {address(writer, Place(place, offset))}, align 8")
        writer.branch(done)
        writer.start(done)


def _checked(writer: Emitter, program: OpenCProgram) -> tuple[SizeValues, str]:
    """Refuse sizes that the program does not take. Returns sizes, and the bytes of the workspace."""
    symbols: dict[str, str] = {}
    follow: list[tuple[str, Size]] = []
    for number, axis in enumerate(program.axes):
        given = f"%s{number}"
        if not isinstance(axis, Size):
            return_if(writer, writer.value(f"icmp ne i64 {given}, {axis}"), OTHER_SIZES)
            continue
        if (form := linear(axis)) is None:
            follow.append((given, axis))
            continue
        name, factor, more = form
        found = writer.value(f"sub i64 {given}, {more}") if more else given
        if factor > 1:
            rest = writer.value(f"srem i64 {found}, {factor}")
            return_if(writer, writer.value(f"icmp ne i64 {rest}, 0"), OTHER_SIZES)
            found = writer.value(f"sdiv i64 {found}, {factor}")
        if name in symbols:
            return_if(writer, writer.value(f"icmp ne i64 {found}, {symbols[name]}"), SIZES_DISAGREE)
        else:
            symbols[name] = found
            if more > 0:
                return_if(writer, writer.value(f"icmp slt i64 {found}, 0"), OTHER_SIZES)
    sizes = SizeValues(writer, symbols)
    for given, axis in follow:
        return_if(writer, writer.value(f"icmp ne i64 {given}, {sizes.value(axis)}"), SIZES_DISAGREE)
    for size, relation in program.guards:
        wrong = writer.value(f"icmp {CONDITION[relation]} i64 {sizes.value(size)}, 0")
        return_if(writer, wrong, SIZES_DISAGREE if relation == "==" else OTHER_SIZES)
    for block in program.blocks:
        sizes.value(block)
    total = sizes.sum(sizes.value(program.arena), str(program.arena_at + ALIGNMENT - 1))
    for size in (*program.numbers, *(n for shape in program.shapes for n in shape)):
        sizes.value(size)
    if sizes.overflow is not None:
        return_if(writer, sizes.overflow, TOO_LARGE)
    return sizes, total


class SizeValues:
    """Code that computes sizes. `overflow` is a truth value: if one did not fit into 64 bits so far."""

    def __init__(self, writer: Emitter, symbols: dict[str, str]) -> None:
        self._writer, self._symbols = writer, symbols
        self._values: dict[Size, str] = {}
        self.overflow: str | None = None

    def value(self, size: AnySize) -> str:
        """A size as an operand."""
        if not isinstance(size, Size):
            return str(size)
        if size not in self._values:
            total = "0"
            for monomial, factor in size.terms.items():
                part = str(factor)
                for atom in monomial:
                    part = self._checked("smul", part, self._atom(atom)) if part != "1" else self._atom(atom)
                total = self.sum(total, part)
            self._values[size] = total
        return self._values[size]

    def sum(self, a: str, b: str) -> str:
        """The sum of two operands."""
        return b if a == "0" else a if b == "0" else self._checked("sadd", a, b)

    def _atom(self, atom: Atom) -> str:
        writer = self._writer
        match atom:
            case Quotient():
                dividend, divisor = self.value(atom.dividend), atom.divisor
                whole = writer.value(f"sdiv i64 {dividend}, {divisor}")
                rest = writer.value(f"srem i64 {dividend}, {divisor}")
                below = writer.value(f"icmp slt i64 {rest}, 0")
                return writer.value(f"sub i64 {whole}, {writer.value(f'zext i1 {below} to i64')}")
            case AtLeastOne():
                return writer.call("i64", "llvm.smax.i64", ("i64", self.value(atom.size)), ("i64", "1"))
            case AtMost():
                most = str(atom.most)
                return writer.call("i64", "llvm.smin.i64", ("i64", self.value(atom.size)), ("i64", most))
        return self._symbols[atom]

    def _checked(self, operation: str, a: str, b: str) -> str:
        writer = self._writer
        name = f"llvm.{operation}.with.overflow.i64"
        both = writer.call("{ i64, i1 }", name, ("i64", a), ("i64", b))
        beyond = writer.value(f"extractvalue {{ i64, i1 }} {both}, 1")
        self.overflow = beyond if self.overflow is None else writer.value(f"or i1 {self.overflow}, {beyond}")
        return writer.value(f"extractvalue {{ i64, i1 }} {both}, 0")
