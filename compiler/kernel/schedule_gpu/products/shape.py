"""Tiles of a product, and slices of its sum: what takes the least time by estimate.

The estimate counts clock cycles of a multiprocessor. It gives an instruction to each of four warps in every
cycle if it has enough of them, and some numbers from shared memory; and no step of a tile is shorter than the
wait for operands, shared by the steps that are on their way at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel.schedule_gpu.target import REGISTERS, SHARED_BYTES
from staticgraph.compiler.machine import H200, GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

_STAGES = 4  # steps of the sum in shared memory at most
_REGISTERS = 128  # of a thread with many results, so that there are two blocks side by side
_MANY = 64  # results
_IDLE = 2.0  # warps, as many more as would be needed to hide all waiting
_MOST_SUMS = 256  # bytes that the sums of a thread may have
_STEP, _COPY = 45, 2  # instructions of a step besides its products, and of each copy to shared memory
_SLICES = (1, *sorted(n * 2**e for n in (2, 3) for e in range(9)))  # numbers of them to choose from
_MOST_SCRATCH = 64 * 2**20  # bytes for their sums
_SHALLOW = 64  # products: shorter slices cost more to add than they gain
_WRITTEN_OUT = 2048  # instructions of the epilogue of a thread


@dataclass(frozen=True, slots=True)
class Shape:
    """A tile of `rows` x `columns` results, in steps of `depth` products. Each thread has `high` x `wide` of
    them, or each warp, where `tensor` cores multiply. In small tiles several `parts` of the threads share the
    products of a step, and add their sums in the end.
    """

    rows: int
    columns: int
    depth: int
    high: int
    wide: int
    tensor: bool = False
    parts: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.of_part * self.parts * (32 if self.tensor else 1)

    @property
    def of_part(self) -> int:
        """Threads, or warps, that have all results of the tile."""
        return self.rows // self.high * (self.columns // self.wide)

    @property
    def results(self) -> int:
        """Results of a thread."""
        return self.high * self.wide // (32 if self.tensor else 1)

    def shared(self, size: int) -> int:
        """Bytes of shared memory at most, for elements of so many bytes: all stages of both operands, and the
        sums of parts.
        """
        return self.stages(size) * self._of_step(size) + self.partial * size

    def stages(self, size: int) -> int:
        """Steps of the sum that shared memory has room for: those that threads multiply, and those that are
        on their way.
        """
        if self.tensor:
            return 2
        return max(2, min(_STAGES, (SHARED_BYTES - self.partial * size) // self._of_step(size)))

    @property
    def partial(self) -> int:
        """Sums that all parts but the first one have."""
        return (self.parts - 1) * self.rows * self.columns

    def _of_step(self, size: int) -> int:
        if self.tensor:
            return (self.rows + self.columns) * (self.depth + 4) * size
        return self.depth * (self.rows + self.columns + 2 * (16 // size)) * size

    def suits(self, size: int) -> bool:
        """True if tiles with elements of `size` bytes fit in shared memory and registers."""
        return self.shared(size) <= SHARED_BYTES and self.results * size <= _MOST_SUMS

    @property
    def registers(self) -> int:
        """Estimated registers of a thread."""
        return min(_REGISTERS, 56 + self.results * 3 // 2)

    @property
    def room(self) -> int | None:
        """Minimum number of blocks that a multiprocessor should have room for.

        None leaves the number to the compiler. More blocks leave fewer registers to each. A thread with few
        results gets all the registers that it wants. For tensor cores, the compiler decides.
        """
        if self.results < _MANY:
            return 1
        return None if self.tensor else REGISTERS // (_REGISTERS * self.threads)

    def cycles(self, size: int, machine: GpuMachine) -> float:
        """Cycles of a multiprocessor for one step of a block that has enough warps."""
        if self.tensor:
            multiply, read = self.high // 16 * (self.wide // 8), self.high // 4 + self.wide // 4
            products = self.rows * self.columns * self.depth
            return products * (multiply + read) / (multiply * machine.tensor_products) * (size / 4)
        packs = -(-self.high * size // 16) + -(-self.wide * size // 16)
        copies = (self.rows + self.columns) * self.depth / (2 * self.threads)
        products = self.high * self.wide * (2 if size == 8 else 1)
        issued = self.depth // self.parts * (products + packs) + _STEP + _COPY * copies
        turns = sum(max(1.0, n * size / 8) for n in (self.high, self.wide))  # of shared memory
        return self.threads / 32 * max(issued / machine.issued, self.depth // self.parts * turns)


SHAPES = (
    Shape(128, 128, 8, 8, 8),
    Shape(128, 64, 16, 8, 4),
    Shape(64, 128, 16, 4, 8),
    Shape(64, 64, 16, 4, 4),
    Shape(128, 64, 8, 8, 8),
    Shape(64, 128, 8, 8, 8),
    Shape(64, 64, 16, 8, 4),
    Shape(128, 32, 16, 4, 4),
    Shape(32, 128, 16, 4, 4),
    Shape(64, 32, 16, 4, 2),
    Shape(32, 64, 16, 2, 4),
    Shape(32, 32, 16, 2, 2),
    Shape(128, 16, 16, 4, 2),
    Shape(16, 128, 16, 2, 4),
    Shape(16, 16, 32, 1, 2),
    Shape(128, 8, 16, 4, 1),
    Shape(8, 128, 16, 1, 4),
    Shape(32, 32, 32, 4, 4, parts=4),
    Shape(16, 16, 64, 2, 2, parts=4),
)
TENSOR_SHAPES = (
    Shape(128, 128, 16, 64, 32, True),
    Shape(128, 64, 16, 32, 32, True),
    Shape(64, 128, 16, 32, 32, True),
    Shape(64, 64, 32, 32, 32, True),
    Shape(64, 32, 32, 32, 16, True),
    Shape(32, 64, 32, 16, 32, True),
    Shape(32, 32, 32, 16, 16, True),
    Shape(128, 16, 16, 32, 16, True),
)


@dataclass(frozen=True, slots=True)
class Cut:
    """Tiles of a shape, and slices of the sum, each of so many `products` but for the last."""

    shape: Shape
    slices: int
    products: AnySize


def choose(
    rows: int,
    columns: int,
    depth: int,
    times: int,
    size: int,
    heavy: float = 0,
    tensor: bool = False,
    machine: GpuMachine = H200,
) -> Cut:
    """Choose how to cut `times` products of matrices, by the least estimated time.

    `size`: bytes of an element. `heavy`: operations of the epilogue, whose text is written for every result
    of a thread. `tensor`: tensor cores may multiply.
    """
    shapes = [s for s in (TENSOR_SHAPES if tensor else SHAPES) if s.suits(size)]
    light = [s for s in shapes if s.results * heavy <= _WRITTEN_OUT] or [min(shapes, key=lambda s: s.results)]
    most = max(1, min(depth // _SHALLOW, _MOST_SCRATCH // (rows * columns * times * size)))
    cuts = (cut for shape in light for cut in _cuts(shape, depth, most))
    return min(cuts, key=lambda cut: _cycles(cut, rows, columns, times, size, machine))


def _cuts(shape: Shape, depth: int, most: int) -> Iterator[Cut]:
    """Yield the cuts of a sum into at most `most` slices."""
    steps = -(-depth // shape.depth)
    for count in (n for n in _SLICES if n <= min(most, steps)):
        products = -(-steps // count) * shape.depth
        yield Cut(shape, -(-depth // products), products)


def _cycles(cut: Cut, rows: int, columns: int, times: int, size: int, machine: GpuMachine) -> float:
    """The estimated time."""
    shape = cut.shape
    blocks = times * cut.slices * -(-rows // shape.rows) * -(-columns // shape.columns)
    registers = REGISTERS // (shape.threads * shape.registers)
    room = max(
        1, min(machine.threads // shape.threads, machine.shared_bytes // shape.shared(size), registers)
    )
    step = shape.cycles(size, machine)
    step += (shape.rows + shape.columns) * shape.depth * size / machine.core_bytes
    wait = machine.memory_wait / (shape.stages(size) - 1)
    steps = -(-cut.products // shape.depth)

    def together(resident: int) -> float:
        """The time of so many blocks side by side."""
        warps = resident * shape.threads / 32
        return steps * max(wait, resident * step * (warps + _IDLE) / warps) + machine.block_ends

    rounds, rest = divmod(blocks, machine.multiprocessors * room)
    time = rounds * together(room) + (together(-(-rest // machine.multiprocessors)) if rest else 0.0)
    if cut.slices > 1:
        time += machine.launch + (2 * cut.slices + 1) * rows * columns * times * size / machine.memory_bytes
    return time
