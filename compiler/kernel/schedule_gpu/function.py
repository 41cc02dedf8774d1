"""Schedule of a kernel as a value: its functions, their blocks and threads, and the memory between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import ge

from staticgraph.compiler.graph.sizes import AnySize, Size, proven, several
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS
from staticgraph.compiler.support.dataclass import dataclass

Extents = tuple[int, int, int]
Grid = tuple[AnySize, AnySize, AnySize]
Scratch = tuple[tuple[str, AnySize], ...]  # memory of a kernel by name, in bytes


class FunctionSchedule:
    """Division of one function's loops among blocks, threads and vectors, in a class of each family."""

    __slots__ = ()
    takes_sizes = False  # whether its sizes may be open: then they are arguments, as far as the text has them

    @property
    def kind(self) -> str:
        """The word that its name begins with."""
        raise NotImplementedError

    @property
    def about(self) -> str:
        """The division in a few words."""
        raise NotImplementedError

    @property
    def grid(self) -> Grid:
        """Numbers of blocks."""
        raise NotImplementedError

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return THREADS

    @property
    def meets(self) -> bool:
        """True if threads wait for each other, at barriers or in shuffles."""
        return True

    @property
    def blocks_per_core(self) -> int | None:
        """Blocks that a multiprocessor should have room for at least; None leaves it to NVIDIA's compiler.

        More of them leave fewer registers to each thread.
        """
        return None


@dataclass(frozen=True, slots=True)
class GpuSchedule:
    """Schedule of a kernel: `functions`, and calls of libraries, that run one after the other.

    `scratch` is memory that lives from the first to the last of them. Printed, it is a line for each.
    """

    functions: tuple[FunctionSchedule | Product | Convolution, ...]
    scratch: Scratch = ()

    def __str__(self) -> str:
        lines = [_described(each) for each in self.functions]
        return "\n".join([*lines, *(f"scratch {name}: {size} bytes" for name, size in self.scratch)])


def joined(schedules: Sequence[GpuSchedule], scratch: Iterable[tuple[str, AnySize]] = ()) -> GpuSchedule:
    """Schedules one after the other. Scratch memory of the same name is used by one after the other."""
    sizes: dict[str, AnySize] = {}
    for name, size in (*scratch, *(s for each in schedules for s in each.scratch)):
        sizes[name] = _room(size, sizes.get(name, 0))
    return GpuSchedule(tuple(f for each in schedules for f in each.functions), tuple(sizes.items()))


def _room(one: AnySize, other: AnySize) -> AnySize:
    """As many bytes as either of two pieces of memory needs."""
    if not isinstance(one, Size) and not isinstance(other, Size):
        return max(one, other)
    return one if proven(ge, one, other) else other if proven(ge, other, one) else one + other


def _described(each: FunctionSchedule | Product | Convolution) -> str:
    if isinstance(each, Product | Convolution):
        return each.text.rstrip().replace("\n", "\n  ")
    blocks = " x ".join(str(n) for n in each.grid if several(n)) or "1"
    barriers = " that meet at barriers" if each.meets else ""
    return f"{each.kind}: {blocks} blocks of {each.threads} threads{barriers}; {each.about}"
