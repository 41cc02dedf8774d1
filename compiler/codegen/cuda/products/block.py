"""A product by tiles: each block of threads makes one tile of the results, each thread a part of it.

The operands of a step of the sum wait in shared memory; those of the next step are on their way meanwhile,
first to registers, then to the other half of shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.cuda.function import Call, call
from staticgraph.compiler.codegen.cuda.products.axes import Axes, Axis
from staticgraph.compiler.codegen.cuda.products.epilogue import indented, parameters
from staticgraph.compiler.codegen.cuda.products.inner import Inner, inner
from staticgraph.compiler.codegen.cuda.products.operand import Operand
from staticgraph.compiler.codegen.cuda.products.shape import Cut
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.expr import Index


def tiles(c: Contraction, along: Axes, cut: Cut, slices: Index | None = None) -> Call:
    """The call. With `slices`, each block has a slice of the sum, and the result an index for them."""
    shape = cut.shape
    left = Operand(c, shape, "left", c.a, along.rows, along.sum, shape.rows, c.limits)
    right = Operand(c, shape, "right", c.b, along.columns, along.sum, shape.columns)
    rows, columns = (
        Index(f"tiles of {side.axis.name}", -(-side.axis.extent // side.extent)) for side in (left, right)
    )
    blocks = Axis("block", (*along.batch.indices, *([slices] if slices else []), rows, columns))
    values = blocks.values
    first, last, part = "0", str(c.depth), []
    if slices is not None:
        first, last, end = "first", "last", f"first + {cut.products}"
        part = [
            f"const int32_t first = {values[slices]} * {cut.products};",
            f"const int32_t last = {end} < {c.depth} ? {end} : {c.depth};",
        ]
    work = inner(along, left, right)
    lines = [
        f"SG_SHARED({left.kind}, left_kept, {2 * left.half});",
        f"SG_SHARED({right.kind}, right_kept, {2 * right.half});",
        *blocks.split("blockIdx.x"),
        f"const int32_t first_row = {values[rows]} * {shape.rows};",
        f"const int32_t first_column = {values[columns]} * {shape.columns};",
        *part,
        *left.start("first_row", values),
        *right.start("first_column", values),
        *work.before,
        *steps([left, right], work, shape.depth, first, last),
        *work.after(c, along, shape, values),
    ]
    # The compiler would save registers to have more blocks side by side; what it has left hides more.
    room = 1 if shape.results < 64 else None
    return call(
        "tiles", parameters(c, c.a, c.b), "\n".join(lines), (blocks.extent, 1, 1), (shape.threads, 1, 1),
        meets=True, blocks_per_core=room,
    )  # fmt: skip


def steps(operands: Sequence[Operand], work: Inner, depth: int, first: str, last: str) -> list[str]:
    """The sums, from the `first` product to before the `last` one, in steps of `depth` of them. `operands`
    are brought to shared memory; when all is done, nobody reads there.
    """
    return [
        "auto fetch = [&](int32_t from) {",
        *indented(line for operand in operands for line in operand.fetch(last)),
        "};",
        "auto keep = [&](int32_t half) {",
        *indented(line for operand in operands for line in operand.keep()),
        "};",
        f"fetch({first});",
        "keep(0);",
        "__syncthreads();",
        f"for (int32_t from = {first}, half = 0; from < {last}; from += {depth}, half ^= 1) {{",
        f"  const bool more = from + {depth} < {last};",
        f"  if (more) fetch(from + {depth});",
        *indented(work.step),
        "  if (more) keep(half ^ 1);",
        "  __syncthreads();",
        "}",
    ]
