"""Places of elements by several indices: text that splits a count into their values, and adds up their steps.

A count is split by divisions, which NVIDIA's compiler turns into multiplications, as all extents are known.
"""

from __future__ import annotations

from staticgraph.compiler.kernel.contraction import Access
from staticgraph.compiler.kernel.schedule_gpu.products.axes import INT32, Axis, Values


def split_count(axis: Axis, count: str) -> list[str]:
    """Statements that define the values of an axis from the text of a count, which is not negative."""
    lines, faster, kind = [], 1, "uint32_t" if axis.extent < INT32 else "uint64_t"
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
        if step := access.step(index):
            value = f"int64_t({value})" if wide else value
            parts.append(value if step == 1 else f"{value} * {step}")
    return " + ".join(p for p in parts if p != "0") or "0"


def integer(wide: bool) -> str:
    """The type of a place."""
    return "int64_t" if wide else "int32_t"
