"""Tiles of an operand in shared memory, each for some steps of the sum: who brings which elements there.

An element of an operand lies wherever the steps of its indices lead, so convolutions are products too.
Elements of a window beyond an edge are 0.
"""

from __future__ import annotations

from staticgraph.compiler.graph.sizes import content
from staticgraph.compiler.kernel.contraction import Access, Contraction, Limit
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axis, in_packs, is_line, is_wide
from staticgraph.compiler.kernel.schedule_gpu.products.shape import Shape
from staticgraph.compiler.kernel.schedule_gpu.target import VECTOR_BYTES
from staticgraph.compiler.support.dataclass import dataclass

_NEIGHBOURS = 8  # along the sum, which threads next to each other copy
INT16 = 2**15


@dataclass(frozen=True, slots=True)
class OperandTile:
    """One operand, by `name`, and its tiles of `extent` rows or columns: what is the same however threads
    bring them to shared memory.
    """

    contraction: Contraction
    shape: Shape
    name: str
    access: Access
    axis: Axis  # rows or columns
    sum: Axis
    extent: int
    limits: tuple[Limit, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of an element in shared memory."""
        return self.contraction.dtype.size

    @property
    def is_turned(self) -> bool:
        """True if a line in shared memory is a row or column, with all elements of a step.

        Tensor cores prefer this if threads read along the sum. Otherwise, a line holds the elements of all
        rows or columns for one product.
        """
        return self.shape.tensor and self.along_sum

    @property
    def pitch(self) -> int:
        """Elements from a line in shared memory to the next, so that they lie in different banks."""
        if self.is_turned:
            return self.shape.depth + 4
        return self.extent + (8 if self.shape.tensor else self.most)

    @property
    def elements(self) -> int:
        """Elements of a tile in shared memory, which has room for several tiles."""
        return self.pitch * (self.extent if self.is_turned else self.shape.depth)

    @property
    def most(self) -> int:
        """Elements of 16 bytes."""
        return VECTOR_BYTES // self.size

    @property
    def along_sum(self) -> bool:
        """True if neighbouring threads read neighbouring elements along the sum."""
        last, k = self.axis.last, self.sum.last
        if last is None or k is None:
            return last is None
        here, there = abs(self.access.step(last)), abs(self.access.step(k))
        return 0 < there < here

    def width(self, fastest: Index | None, most: int) -> int:
        """Elements of a pack along the fastest index, of which a tile has `most`."""
        width = min(self.most, most)
        return width if in_packs(self.access, fastest, width, self.limits) else 1

    @property
    def wide(self) -> bool:
        """True if positions need 64 bits."""
        return is_wide(self.contraction, self.access)


@dataclass(frozen=True, slots=True)
class StagedTile(OperandTile):
    """An operand that goes through registers.

    Threads read packs of 16 bytes where elements lie side by side, along the sum or along rows or columns.
    """

    @property
    def of_pack(self) -> int:
        """Elements of a pack."""
        if self.along_sum:
            return self.width(self.sum.last, self.shape.depth)
        return self.width(self.axis.last, self.extent)

    @property
    def packs(self) -> int:
        """Packs of a tile."""
        return self.extent * self.shape.depth // self.of_pack

    @property
    def reads(self) -> int:
        """Packs that a thread reads."""
        return -(-self.packs // self.shape.threads)


@dataclass(frozen=True, slots=True)
class CopiedTile(OperandTile):
    """An operand whose elements are in shared memory as they are in memory; the GPU itself copies them.

    A thread copies packs of some `lines`, which are rows or columns, for some `parts` of a step, which are
    further on in the sum. Along the sum, elements come one by one, so that they lie in shared memory as all
    others do: by a warp at once 8 neighbours of 4 rows, which are in different banks there, and in whole
    sectors of memory.
    """

    @property
    def outer(self) -> Axis:
        """The indices of the sum whose values are the same in all of a step."""
        return Axis(self.sum.name, self.sum.indices[:-1])

    @property
    def is_whole(self) -> bool:
        """True if the tiles end with the last row or column, so that no tile reaches beyond it."""
        return content(self.axis.extent) % self.extent == 0

    @property
    def are_pairs(self) -> bool:
        """True if two distances from edges share a register, which saves many if there are many lines."""
        far = (abs(x.offset) + abs(x.place_step) * (x.place.extent if x.place else 0) for x in self.limits)
        return self.is_even and len(self.limits) == 2 and max(far) < INT16

    @property
    def line_place(self) -> int:
        """The distance in memory from line to line, if it is always the same; else 0."""
        if not is_line(self.access, self.axis) or not (self.is_even or self.is_line):
            return 0
        if self.limits and not self.is_whole:
            return 0
        return self.line_step * self.access.step(self.axis.last)

    @property
    def is_line(self) -> bool:
        """True if all elements along the sum are at equal distances."""
        return is_line(self.access, self.sum)

    @property
    def is_even(self) -> bool:
        """True if the last index of the sum has a whole number of steps, and the sum has other indices."""
        indices = self.sum.indices
        return len(indices) > 1 and content(indices[-1].extent) % self.shape.depth == 0

    @property
    def of_pack(self) -> int:
        """Elements that are copied at once."""
        return 1 if self.along_sum else self.width(self.axis.last, self.extent)

    @property
    def packs(self) -> int:
        """Packs of a tile, or elements if each is copied alone."""
        return self.extent * self.shape.depth // self.of_pack

    @property
    def lanes(self) -> int:
        """Threads next to each other that copy neighbours along the sum."""
        return min(_NEIGHBOURS, self.shape.depth)

    @property
    def before(self) -> int:
        """Threads before the sum goes on."""
        return self.extent * self.lanes if self.along_sum else self.extent // self.of_pack

    @property
    def lines(self) -> int:
        return max(1, self.before // self.shape.threads)

    @property
    def line_step(self) -> int:
        return self.shape.threads // self.lanes if self.along_sum else self.shape.threads * self.of_pack

    @property
    def parts(self) -> int:
        return max(1, self.packs // (self.shape.threads * self.lines))

    @property
    def part_step(self) -> int:
        further = max(1, self.shape.threads // self.before)
        return further * self.lanes if self.along_sum else further
