"""Schedule of a product by tiles: each block makes one tile of the results, each thread a part of it.

Operands of some steps of the sum wait in shared memory, or are on their way there: while the threads multiply
those of a step, those of the next ones arrive.
"""

from __future__ import annotations

from staticgraph.compiler.graph.sizes import at_least
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.schedule_gpu.function import Grid
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axes, Axis
from staticgraph.compiler.kernel.schedule_gpu.products.operand import CopiedTile, OperandTile, StagedTile
from staticgraph.compiler.kernel.schedule_gpu.products.results import ProductSchedule, operations
from staticgraph.compiler.kernel.schedule_gpu.products.shape import Cut, Shape
from staticgraph.compiler.support.dataclass import dataclass

# Additions, as many as a function is, and arrays of an epilogue that needs more registers than the sums do.
_HEAVY, _MANY = 12, 3


@dataclass(frozen=True, slots=True, eq=False)
class TileSchedule(ProductSchedule):
    """One function. With `slices`, each block has a slice of the sum, and the result an index for them."""

    along: Axes
    cut: Cut
    slices: Index | None = None

    kind = "tiles"
    takes_sizes = True

    @property
    def about(self) -> str:
        """The tile of a block, and of a thread."""
        s, slices = self.cut.shape, self.cut.slices
        each = f"{s.high} x {s.wide} for each {'warp' if s.tensor else 'thread'}"
        more = f", {s.parts} parts of a step" * (s.parts > 1) + f", {slices} slices" * (slices > 1)
        return f"tiles of {s.rows} x {s.columns}, {each}, {self.stages} stages of {s.depth} products{more}"

    @property
    def tiles(self) -> tuple[OperandTile, OperandTile]:
        """The operands in shared memory."""
        return operand_tiles(self.product, self.along, self.cut.shape)

    @property
    def stages(self) -> int:
        """Steps of the sum in shared memory."""
        copied = all(isinstance(tile, CopiedTile) for tile in self.tiles)
        return self.cut.shape.stages(self.product.dtype.size) if copied else 2

    @property
    def rows(self) -> Index:
        """The number of a tile among those below each other."""
        return _count(self.along.rows, self.cut.shape.rows)

    @property
    def columns(self) -> Index:
        """The number of a tile among those side by side."""
        return _count(self.along.columns, self.cut.shape.columns)

    @property
    def blocks(self) -> Axis:
        """The number of a block."""
        slices = [] if self.slices is None else [self.slices]
        return Axis("block", (*self.along.batch.indices, *slices, self.rows, self.columns))

    @property
    def grid(self) -> Grid:
        return at_least(self.blocks.extent, 1), 1, 1

    @property
    def threads(self) -> int:
        return self.cut.shape.threads

    @property
    def blocks_per_core(self) -> int | None:
        """Fewer for an epilogue that needs many registers: 1 if it has many operations, and three quarters if
        it uses many arrays.
        """
        c, room = self.product, self.cut.shape.room
        if operations(c) >= _HEAVY:
            return 1
        if room is None or len(c.loads) + len(c.targets) < _MANY:
            return room
        return -(-room * 3 // 4)


def operand_tiles(c: Contraction, along: Axes, shape: Shape) -> tuple[OperandTile, OperandTile]:
    """Return both operands of a product, with the way in which threads bring them to shared memory."""
    left = _kind(c, c.a, shape)(c, shape, "left", c.a, along.rows, along.sum, shape.rows, c.limits)
    right = _kind(c, c.b, shape)(c, shape, "right", c.b, along.columns, along.sum, shape.columns)
    return left, right


def _kind(c: Contraction, x: Access, shape: Shape) -> type[OperandTile]:
    """Elements that change on the way go through registers."""
    return CopiedTile if x.dtype is c.dtype and not shape.tensor else StagedTile


def _count(axis: Axis, extent: int) -> Index:
    return Index(f"tiles of {axis.name}", -(-axis.extent // extent))
