"""Which tiles a product is cut into, and into how many slices its sum: what takes the least time by estimate.

The estimate counts clock cycles of a multiprocessor. It multiplies and adds as fast as its threads are fed
from shared memory, and no step of a tile is shorter than the wait for the operands of the next one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from staticgraph.compiler.codegen.cuda.card import CORES
from staticgraph.compiler.dataclass import dataclass

STAGES = 4
_LANES, _TENSOR = 128, 1024  # products per cycle of a multiprocessor, and of its tensor cores
_WARPS = 8  # that keep it busy
_THREADS, _SHARED = 2048, 160 * 1024  # that it has room for; bytes of shared memory
_MOST_SHARED, _MOST_SUMS = 48 * 1024, 256  # bytes that a block and the sums of a thread may have
_WAIT = 700.0  # cycles until an operand arrives from memory
_LAUNCH = 2500.0  # cycles that one more function takes
_BYTES = 2500.0  # per cycle, of memory
_SLICES = (1, *sorted(n * 2**e for n in (2, 3) for e in range(9)))  # numbers of them to choose from
_MOST_SCRATCH = 64 * 2**20  # bytes for their sums
_SHALLOW = 64  # products: shorter slices cost more to add than they gain
_WRITTEN_OUT = 2048  # instructions of the epilogue of a thread


@dataclass(frozen=True, slots=True)
class Shape:
    """A tile of `rows` x `columns` results, in steps of `depth` products. Each thread has `high` x `wide` of
    them, or each warp, where `tensor` cores multiply.
    """

    rows: int
    columns: int
    depth: int
    high: int
    wide: int
    tensor: bool = False

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.rows // self.high * (self.columns // self.wide) * (32 if self.tensor else 1)

    @property
    def results(self) -> int:
        """Of a thread."""
        return self.high * self.wide // (32 if self.tensor else 1)

    def shared(self, size: int) -> int:
        """Bytes of shared memory at most, for elements of so many bytes: all stages of both operands."""
        return self.stages(size) * self._of_step(size)

    def stages(self, size: int) -> int:
        """Steps of the sum that shared memory has room for: those that threads multiply, and those that are
        on their way.
        """
        if self.tensor:
            return 2
        return max(2, min(STAGES, _MOST_SHARED // self._of_step(size)))

    def _of_step(self, size: int) -> int:
        if self.tensor:
            return (self.rows + self.columns) * (self.depth + 4) * size
        return self.depth * (self.rows + self.columns + 2 * (16 // size)) * size

    def suits(self, size: int) -> bool:
        """Whether elements of so many bytes fit shared memory and registers."""
        return self.shared(size) <= _MOST_SHARED and self.results * size <= _MOST_SUMS

    @property
    def speed(self) -> float:
        """Products per cycle of a multiprocessor that has enough warps, as these also read shared memory."""
        if self.tensor:
            multiply, read = self.high // 16 * (self.wide // 8), self.high // 4 + self.wide // 4
            return _TENSOR * multiply / (multiply + read)
        multiply, read = self.high * self.wide, self.high + self.wide
        return _LANES * multiply / (multiply + read)


SHAPES = (
    Shape(128, 128, 8, 8, 8), Shape(128, 64, 16, 8, 4), Shape(64, 128, 16, 4, 8), Shape(64, 64, 16, 4, 4),
    Shape(128, 32, 16, 4, 4), Shape(32, 128, 16, 4, 4), Shape(64, 32, 16, 4, 2), Shape(32, 64, 16, 2, 4),
    Shape(32, 32, 16, 2, 2), Shape(128, 16, 16, 4, 2), Shape(16, 128, 16, 2, 4), Shape(16, 16, 32, 1, 2),
    Shape(128, 8, 16, 4, 1), Shape(8, 128, 16, 1, 4),
)  # fmt: skip
TENSOR_SHAPES = (
    Shape(128, 128, 16, 64, 32, True), Shape(128, 64, 16, 32, 32, True), Shape(64, 128, 16, 32, 32, True),
    Shape(64, 64, 32, 32, 32, True), Shape(64, 32, 32, 32, 16, True), Shape(32, 64, 32, 16, 32, True),
    Shape(32, 32, 32, 16, 16, True), Shape(128, 16, 16, 32, 16, True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cut:
    """Tiles of a shape, and slices of the sum, each of so many `products` but for the last."""

    shape: Shape
    slices: int
    products: int


def choose(
    rows: int, columns: int, depth: int, times: int, size: int, heavy: int = 0, tensor: bool = False
) -> Cut:
    """How to cut `times` products of matrices with elements of so many bytes.

    `heavy`: operations of the epilogue, whose text is written for every result of a thread. `tensor`: whether
    tensor cores may multiply.
    """
    shapes = [s for s in (TENSOR_SHAPES if tensor else SHAPES) if s.suits(size)]
    light = [s for s in shapes if s.results * heavy <= _WRITTEN_OUT] or [min(shapes, key=lambda s: s.results)]
    most = max(1, min(depth // _SHALLOW, _MOST_SCRATCH // (rows * columns * times * size)))
    cuts = (cut for shape in light for cut in _cuts(shape, depth, most))
    return min(cuts, key=lambda cut: _cycles(cut, rows, columns, depth, times, size))


def _cuts(shape: Shape, depth: int, most: int) -> Iterator[Cut]:
    """With so many slices at most."""
    steps = -(-depth // shape.depth)
    for count in (n for n in _SLICES if n <= min(most, steps)):
        products = -(-steps // count) * shape.depth
        yield Cut(shape, -(-depth // products), products)


def _cycles(cut: Cut, rows: int, columns: int, depth: int, times: int, size: int) -> float:
    """The estimated time."""
    shape = cut.shape
    blocks = times * cut.slices * -(-rows // shape.rows) * -(-columns // shape.columns)
    registers = 65536 // (shape.threads * 128)
    room = max(1, min(_THREADS // shape.threads, _SHARED // shape.shared(size), registers))
    resident = min(room, -(-blocks // CORES))
    warps = resident * shape.threads / 32
    speed = shape.speed * min(1.0, warps / _WARPS) * (4 / size)
    step = max(_WAIT, resident * shape.rows * shape.columns * shape.depth / speed)
    rounds = max(1.0, blocks / (CORES * resident))
    whole = math.ceil(rounds) if rounds < 4 else rounds
    time = whole * (step * -(-cut.products // shape.depth) + 2 * _WAIT)
    if cut.slices > 1:
        time += _LAUNCH + (2 * cut.slices) * rows * columns * times * size / _BYTES
    return time
