"""Places of elements by several indices: text that splits a count into their values, and adds up their steps.

A count is split by divisions, which NVIDIA's compiler turns into multiplications, as all extents are known.
"""

from __future__ import annotations

from staticgraph.compiler.graph.sizes import Size, same
from staticgraph.compiler.kernel.contraction import Access
from staticgraph.compiler.kernel.schedule_gpu.products.axes import INT32, Axis, Values


def split_count(axis: Axis, count: str) -> list[str]:
    """Statements that define the values of an axis from the text of a count, which is not negative."""
    is_long = isinstance(axis.extent, int) and axis.extent >= INT32
    lines, faster, kind = [], 1, "uint64_t" if is_long else "uint32_t"
    for n in reversed(range(len(axis.indices))):
        value = f"{kind}({count})" if faster == 1 else f"{kind}({count}) / {faster}u"
        if n > 0:
            value = f"{value} % {axis.indices[n].extent}u"
        lines.append(f"const int32_t {axis.name}{n} = int32_t({value});")
        faster *= axis.indices[n].extent
    return lines


def place(access: Access, values: Values, wide: bool, start: str = "") -> str:
    """The text of where an element lies: `start`, or else the offset of the access, and the steps of
    `values`.
    """
    parts = [start or str(access.offset)]
    for index, value in values.items():
        stride = access.stride(index)
        if isinstance(stride, Size) or stride:
            value = f"int64_t({value})" if wide else value
            parts.append(value if same(stride, 1) else f"{value} * {stride}")
    return " + ".join(p for p in parts if p != "0") or "0"


def integer(wide: bool) -> str:
    """The type of a place."""
    return "int64_t" if wide else "int32_t"
