"""A program: kernels in order over numbered memory, with every address known up to the bases of a few slots.

A run has one table of pointers. The first slots are the arena (everything that lives only during the
run), scratch memory of kernels (what all threads share, and what belongs to one), and the pool of constants;
then come the arguments, then the fetched results, then the new values of variables, then what the host lends:
its function for host calls, and the thread pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.place import Nest
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Buffer, Kernel

ARENA, SHARED, PRIVATE, CONSTANTS, ARGUMENTS = range(5)


@dataclass(frozen=True, slots=True)
class Ref:
    """Memory: `offset` bytes after the base of a slot."""

    slot: int
    offset: int = 0


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
    size: int


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call of an op's NumPy meaning, from inside the program."""

    function: Callable[..., Any]
    attrs: dict[str, Any]
    inputs: tuple[tuple[Ref, TensorType], ...]
    outputs: tuple[tuple[Ref, TensorType], ...]
    node: Node


Instruction = Launch | Copy | HostCall


@dataclass(frozen=True, slots=True)
class Program:
    """What a device runs for one step."""

    instructions: tuple[Instruction, ...]
    arguments: tuple[TensorType, ...]
    results: tuple[TensorType, ...]  # fetches, then new values
    fetches: int
    in_place: frozenset[int]  # arguments that their new value overwrites
    arena: int  # bytes
    constants: bytes
    fullest: tuple[Value, ...]  # what lies in the arena when most of it is in use

    @property
    def first_result(self) -> int:
        """The slot of the first result."""
        return ARGUMENTS + len(self.arguments)

    @property
    def host_slot(self) -> int:
        """The slot of the function that makes host calls."""
        return self.first_result + len(self.results)

    @property
    def pool_slot(self) -> int:
        """The slot of the thread pool."""
        return self.host_slot + 1

    @property
    def slots(self) -> int:
        """The length of the table."""
        return self.pool_slot + 1

    @property
    def host_calls(self) -> list[HostCall]:
        """Where the native code calls back into Python."""
        return [i for i in self.instructions if isinstance(i, HostCall)]


def padded(size: int) -> int:
    """`size` bytes rounded up to the alignment of buffers."""
    return -(-size // ALIGNMENT) * ALIGNMENT
