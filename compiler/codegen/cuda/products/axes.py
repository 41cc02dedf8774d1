"""The indices of a contraction as threads count them: by which operand they move, each kind as one count.

The text of a kernel splits such a count into the values of its indices by divisions that the compiler turns
into multiplications, as all extents are known, and makes the place of an element from these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise

from staticgraph.compiler.kernel.contraction import Access, Contraction, Limit
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.support.dataclass import dataclass

Values = Mapping[Index, str]  # the text of the value that an index has
_INT32 = 2**31


@dataclass(frozen=True, slots=True)
class Axis:
    """Indices as one count, the last one the fastest. In the text, their values are `name`0, `name`1, ..."""

    name: str
    indices: tuple[Index, ...]

    @property
    def extent(self) -> int:
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

    def split(self, count: str) -> list[str]:
        """Statements that define the values from the text of a count, which is not negative."""
        lines, faster, kind = [], 1, "uint32_t" if self.extent < _INT32 else "uint64_t"
        for n in reversed(range(len(self.indices))):
            value = f"{kind}({count})" if faster == 1 else f"{kind}({count}) / {faster}u"
            if n > 0:
                value = f"{value} % {self.indices[n].extent}u"
            lines.append(f"const int32_t {self.name}{n} = int32_t({value});")
            faster *= self.indices[n].extent
        return lines


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


def place(access: Access, values: Values, wide: bool, start: str = "") -> str:
    """The text of where an element lies: `start`, or else the offset of the access, and the steps of
    `values`.
    """
    parts = [start or str(access.offset)]
    for index, value in values.items():
        if step := access.step(index):
            value = f"int64_t({value})" if wide else value
            parts.append(value if step == 1 else f"{value} * {step}")
    return " + ".join(p for p in parts if p != "0") or "0"


def is_wide(c: Contraction, access: Access) -> bool:
    """True if positions in the buffer of an access need 64 bits.

    Positions beyond the edges of the buffer count too, since they are computed as well.
    """
    return c.size(access) >= _INT32 // 2


def integer(wide: bool) -> str:
    """The type of a place."""
    return "int64_t" if wide else "int32_t"


def in_packs(access: Access, fastest: Index | None, width: int, limits: Iterable[Limit] = ()) -> bool:
    """True if the elements along an index can be accessed in packs of `width`.

    The elements of a pack are contiguous, begin at a multiple of `width`, and exist together or not at all.
    """
    if fastest is None or access.step(fastest) != 1 or fastest.extent % width:
        return False
    if any(fastest in (x.k, x.place) for x in limits):
        return False
    others = [step for index, step in access.steps.items() if index is not fastest]
    return all(n % width == 0 for n in (access.offset, *others))


def is_line(access: Access, axis: Axis) -> bool:
    """True if all elements along an axis are at equal distances."""
    return all(access.step(i) == access.step(j) * j.extent for i, j in pairwise(axis.indices))
