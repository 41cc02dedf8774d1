"""A program: kernels in order over numbered memory, with every address known up to the bases of a few slots.

A run has one table of pointers. The first slots are the arena (everything that lives only during the
run), scratch memory of kernels (what all threads share, and what belongs to one), and the pool of constants;
then come the arguments, then the fetched results, then the new values of variables, then what the host lends:
its function for host calls, the thread pool, and the watch that tells loops to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.fusion.group import is_collective
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.open_sizes import attribute_at
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, evaluate
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, padded
from staticgraph.compiler.support.dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class Constants:
    r"""`size` bytes, most of them in `pieces`: each with the offset of its first byte. All others are zero.

    >>> pool = ConstantPool()
    >>> [pool.keep(Constants.of(data)) for data in (b"some", b"more")]
    [0, 64]
    >>> bytes(pool.constants())[60:70]
    b'\x00\x00\x00\x00more\x00\x00'
    """

    pieces: tuple[tuple[int, memoryview], ...] = ()
    size: int = 0

    @staticmethod
    def of(data: bytes | memoryview) -> Constants:
        """One piece."""
        piece = memoryview(data)
        return Constants(((0, piece),), len(piece))

    def __len__(self) -> int:
        return self.size

    def __bytes__(self) -> bytes:
        memory = np.empty(self.size, np.uint8)
        self.write(memory)
        return memory.tobytes()

    def write(self, memory: np.ndarray) -> None:
        """Fill `memory`, of `size` bytes."""
        end = 0
        for offset, piece in self.pieces:
            memory[end:offset] = 0
            end = offset + len(piece)
            memory[offset:end] = np.frombuffer(piece, np.uint8)
        memory[end:] = 0


class ConstantPool:
    """Constants that are being collected."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, memoryview]] = []
        self._size = 0

    def keep(self, constants: Constants) -> int:
        """The offset at which they will be, at an aligned address. They are not copied."""
        start = self._size
        self._pieces += [(start + offset, piece) for offset, piece in constants.pieces]
        self._size += padded(max(len(constants), 1))
        return start

    def constants(self) -> Constants:
        """All that was kept."""
        return Constants(tuple(self._pieces), self._size)


ARENA, SHARED, PRIVATE, CONSTANTS, ARGUMENTS = range(5)


@dataclass(frozen=True, slots=True)
class Ref:
    """Memory: `offset` bytes after the base of a slot."""

    slot: int
    offset: AnySize = 0


@dataclass(frozen=True, slots=True)
class Loops:
    """A kernel as its stores, before any decision about loops: what both the loop and the product generator
    take. `nests` are done one after the other for each point of `rows`; `sums` reduce over `rows`.
    """

    nests: tuple[Nest, ...]
    buffers: tuple[tuple[str, Buffer], ...]
    rows: tuple[Index, ...] = ()
    sums: tuple[Nest, ...] = ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """A buffer of a kernel that holds nothing before it runs, and nothing that counts after that."""

    name: str
    buffer: Buffer

    @property
    def bytes(self) -> AnySize:
        """Its size in memory."""
        return self.buffer.size * self.buffer.dtype.size


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel over its buffers. `nodes` are the graph nodes that it computes."""

    work: Loops | Kernel
    args: tuple[Ref, ...]
    nodes: tuple[Node, ...]
    reads: tuple[Ref, ...]
    writes: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """`size` bytes from one place to another."""

    target: Ref
    source: Ref
    size: AnySize


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call of an op's NumPy meaning, from inside the program."""

    function: Callable[..., Any]
    attrs: dict[str, Any]
    inputs: tuple[tuple[Ref, TensorType], ...]
    outputs: tuple[tuple[Ref, TensorType], ...]
    node: Node

    @property
    def is_collective(self) -> bool:
        """True if a processor calls MPI for it, without Python."""
        return bool(self.attrs) and is_collective(self.node)

    def at(self, values: Mapping[str, int]) -> HostCall:
        """Return the call for values of the open sizes."""
        inputs, outputs = (
            tuple((Ref(ref.slot, evaluate(ref.offset, values)), type.at(values)) for ref, type in some)
            for some in (self.inputs, self.outputs)
        )
        attrs = {name: attribute_at(value, values) for name, value in self.attrs.items()}
        return replace(self, attrs=attrs, inputs=inputs, outputs=outputs)


@dataclass(frozen=True, slots=True)
class Begin:
    """Begin a collective, the one of this number in the program."""

    call: HostCall
    number: int


@dataclass(frozen=True, slots=True)
class Complete:
    """Wait until a collective is complete."""

    begin: Begin


@dataclass(frozen=True, slots=True)
class Inner:
    """A program that runs inside another one, and its memory there."""

    program: Program
    table: Ref
    arena: Ref
    constants: Ref
    pred: Ref  # where the body of a loop puts the condition of the next round


@dataclass(frozen=True, slots=True)
class Carried:
    """Carried value of a loop: its place at first, if it has a value by then, and its place in the end.

    Iterations overwrite it in `final`, or write it to `final` and `other` by turns. `counts` is the first
    value and the step of each iteration, if the value is a number for which both are known.
    """

    init: Ref | None
    final: Ref
    other: Ref | None
    size: AnySize
    counts: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class RowAt:
    """The row of a tensor that a round works on: row 0 begins at `base`, there are `rows` of `size` bytes.

    Its number is that in the carried value number `counter`, of so many bytes, plus `offset`.
    """

    base: Ref
    counter: int
    counter_bytes: int
    offset: int
    rows: AnySize
    size: AnySize


@dataclass(frozen=True, slots=True)
class LoopInstruction:
    """A loop over `body` while a truth value holds: first that in `pred`, then what the body gives first.

    Its arguments are what is carried, then the captures, then rows to read; its results are the condition,
    what is carried, and rows to write. `whole` are the tensors that rows are written to. For rows that do not
    exist, `spare` has memory of `row` bytes.
    """

    pred: Ref
    carried: tuple[Carried, ...]
    captures: tuple[Ref, ...]
    whole: tuple[Carried, ...]
    reads: tuple[RowAt, ...]
    writes: tuple[RowAt, ...]
    spare: Ref
    row: AnySize
    body: Inner
    node: Node


@dataclass(frozen=True, slots=True)
class Branch:
    """One of several programs, by the number in `index`. All have the same arguments and results."""

    index: Ref
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]
    branches: tuple[Inner, ...]
    node: Node


@dataclass(frozen=True, slots=True)
class Require:
    """End the run here, as one that failed, unless the truth value in `flag` holds. No variable has been
    overwritten before.
    """

    flag: Ref


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """Memory in the arena whose offset depends on open sizes.

    It lies `start` units after `base` and has `stop - start` units. Places that have the same unit share no
    memory if these numbers do not overlap, and others share none.
    """

    base: AnySize
    unit: AnySize
    start: int
    stop: int

    @property
    def offset(self) -> AnySize:
        """Bytes from the begin of the arena."""
        return self.base + self.unit * self.start


Instruction = Launch | Copy | HostCall | LoopInstruction | Branch | Require


@dataclass(frozen=True, slots=True)
class Program:
    """Program that a device runs for one step."""

    instructions: tuple[Instruction, ...]
    arguments: tuple[TensorType, ...]
    results: tuple[TensorType, ...]  # fetches, then new values
    fetches: int
    in_place: frozenset[int]  # arguments that their new value overwrites
    arena: AnySize  # bytes
    constants: Constants
    fullest: tuple[Value, ...]  # what lies in the arena when most of it is in use
    watched: bool = False  # it takes so long that it looks at the watch meanwhile
    places: tuple[OpenPlace, ...] = ()  # in the arena, beside those with known offsets
    opens: bool = False  # its code asks for open sizes

    @property
    def first_result(self) -> int:
        """The slot of the first result."""
        return ARGUMENTS + len(self.arguments)

    @property
    def host_slot(self) -> int:
        """The slot of the function that makes host calls."""
        return ARGUMENTS + len(self.arguments) + len(self.results)

    @property
    def pool_slot(self) -> int:
        """The slot of the thread pool."""
        return self.host_slot + 1

    @property
    def watch_slot(self) -> int:
        """The slot of what tells loops to stop."""
        return self.host_slot + 2

    @property
    def numbers_slot(self) -> int:
        """The slot of the open sizes that the code asks for, if it does."""
        return self.host_slot + 3

    @property
    def slots(self) -> int:
        """The length of the table."""
        return self.numbers_slot + self.opens

    @property
    def inner(self) -> list[Program]:
        """The programs of its loops and branches, in order."""
        return [each.program for i in self.instructions for each in inner_programs(i)]

    @property
    def host_calls(self) -> list[HostCall]:
        """Calls from native code back into Python. The number of an instruction is its index in this list."""
        found = [i for i in self.instructions if isinstance(i, HostCall)]
        for program in self.inner:
            found += program.host_calls
        return found

    @property
    def may_stop(self) -> bool:
        """True if a run can end before it is done: a host call may fail, loops and long work be stopped."""
        return self.watched or any(map(_stops, self.instructions))

    def at(self, values: Mapping[str, int]) -> Program:
        """Return the program for values of the open sizes, as far as its caller sees it."""
        return replace(
            self,
            arguments=tuple(type.at(values) for type in self.arguments),
            results=tuple(type.at(values) for type in self.results),
            arena=evaluate(self.arena, values),
        )

    def again(self) -> Program:
        """Copy the program with its instructions, so that reports of both are told apart."""
        return replace(self, instructions=tuple(map(_again, self.instructions)))


def _stops(instruction: Instruction) -> bool:
    match instruction:
        case HostCall():
            return True
        case LoopInstruction() | Branch():
            return may_stop(instruction.node, (inner.program for inner in inner_programs(instruction)))
    return False


def _again(instruction: Instruction) -> Instruction:
    match instruction:
        case LoopInstruction(body=body):
            return replace(instruction, body=replace(body, program=body.program.again()))
        case Branch(branches=branches):
            own = tuple(replace(each, program=each.program.again()) for each in branches)
            return replace(instruction, branches=own)
    return replace(instruction)


def may_stop(node: Node, programs: Iterable[Program]) -> bool:
    """Return True if a run can end in one of these programs of a loop or branch, or between iterations."""
    between = node.op.name == "loop" and not node.attrs["brief"]
    return between or any(program.may_stop for program in programs)


def inner_programs(instruction: Instruction) -> tuple[Inner, ...]:
    """The programs that an instruction runs."""
    match instruction:
        case LoopInstruction(body=body):
            return (body,)
        case Branch(branches=branches):
            return branches
    return ()


def buffers_of(work: Loops | Kernel) -> dict[str, Buffer]:
    """Return the buffers of a kernel by name."""
    return dict(work.buffers)


def walk(
    program: Program, outer: LoopInstruction | Branch | None = None
) -> Iterator[tuple[Instruction, LoopInstruction | Branch | None]]:
    """Every instruction of a program, those of loops and branches after these; and the loop or branch that it
    is in.
    """
    for instruction in program.instructions:
        yield instruction, outer
        if isinstance(instruction, (LoopInstruction, Branch)):
            for each in inner_programs(instruction):
                yield from walk(each.program, instruction)


def lines_of(nodes: Iterable[Node], outer: Node | None) -> tuple[Provenance, ...]:
    """Return the lines of the user's program that the nodes come from, each once.

    Nodes in a loop that the compiler made have no lines of their own, but that of `outer`, the loop.
    """
    found = {node.where.short: node.where for node in nodes if node.where is not None}
    if not found and outer is not None:
        return lines_of([outer], None)
    return tuple(sorted(found.values(), key=lambda where: (where.file, where.line)))
