"""The indices of a contraction as threads count them: by which operand they move, each kind as one count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise

from staticgraph.compiler.graph.sizes import AnySize, content
from staticgraph.compiler.kernel.contraction import Access, Contraction, Limit
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.support.dataclass import dataclass

Values = Mapping[Index, str]  # the text of the value that an index has
INT32 = 2**31


@dataclass(frozen=True, slots=True)
class Axis:
    """Indices as one count, the last one the fastest. In the text, their values are `name`0, `name`1, ..."""

    name: str
    indices: tuple[Index, ...]

    @property
    def extent(self) -> AnySize:
        """Number of values of the count; 1 if there are no indices."""
        return math.prod(i.extent for i in self.indices)

    @property
    def last(self) -> Index | None:
        """The fastest index."""
        return self.indices[-1] if self.indices else None

    @property
    def values(self) -> dict[Index, str]:
        """The names of the values."""
        return {index: f"{self.name}{n}" for n, index in enumerate(self.indices)}


@dataclass(frozen=True, slots=True)
class Axes:
    """The rows and the columns of a product, what it is done for each of, and the sum."""

    rows: Axis  # move a alone
    columns: Axis  # move b alone
    batch: Axis  # move both, or neither
    sum: Axis


def axes(c: Contraction) -> Axes:
    """The indices by what they move, those that are nearest in the first result, or in the operands, last."""
    target = c.targets[0]
    outside = [i for i in (*c.outer, c.rows, c.lanes) if i is not None]
    outside.sort(key=lambda i: -abs(target.step(i)))
    moved = {i: (bool(c.a.step(i)), bool(c.b.step(i))) for i in outside}
    return Axes(
        Axis("m", tuple(i for i in outside if moved[i] == (True, False))),
        Axis("n", tuple(i for i in outside if moved[i] == (False, True))),
        Axis("z", tuple(i for i in outside if moved[i][0] == moved[i][1])),
        Axis("k", c.k),
    )


def is_wide(c: Contraction, access: Access) -> bool:
    """True if positions in the buffer of an access need 64 bits.

    Positions beyond the edges of the buffer count too, since they are computed as well.
    """
    return c.size(access) >= INT32 // 2


def in_packs(access: Access, fastest: Index | None, width: int, limits: Iterable[Limit] = ()) -> bool:
    """True if the elements along an index can be accessed in packs of `width`.

    The elements of a pack are contiguous, begin at a multiple of `width`, and exist together or not at all.
    """
    if fastest is None or access.step(fastest) != 1 or content(fastest.extent) % width:
        return False
    if any(fastest in (x.k, x.place) for x in limits):
        return False
    others = [step for index, step in access.steps.items() if index is not fastest]
    return all(n % width == 0 for n in (access.offset, *others))


def is_line(access: Access, axis: Axis) -> bool:
    """True if all elements along an axis are at equal distances."""
    return all(access.step(i) == access.step(j) * j.extent for i, j in pairwise(axis.indices))


def pack_width(fastest: Index | None, most: int) -> int:
    """Number of results in a pack along the fastest index: `most` if all packs are whole then, else 1."""
    return most if fastest is not None and content(fastest.extent) % most == 0 else 1
