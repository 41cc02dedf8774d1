"""Inner loops of a product by tiles in shared memory: each thread computes some of the results."""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.cuda.places import split_count
from staticgraph.compiler.codegen.cuda.products.epilogue import epilogue, indented
from staticgraph.compiler.codegen.cuda.products.operand import Side
from staticgraph.compiler.graph.sizes import content
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axes, Values, pack_width
from staticgraph.compiler.kernel.schedule_gpu.products.shape import Shape
from staticgraph.compiler.support.dataclass import dataclass

_LINE = 8  # rows or columns that a warp's lanes have at once, and products of the sum


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """Statements of a thread: which results it has, and a step of their sums; and where these are.

    A step reads the `stage` of shared memory that is filled.
    """

    before: list[str]
    step: list[str]
    packs: Packs
    gather: Sequence[str] = ()  # what makes whole sums of those of a thread

    def after(self, c: Contraction, along: Axes, shape: Shape, values: Values) -> list[str]:
        """The epilogue of all results of a thread."""
        packs = self.packs
        values = {**values, **along.rows.values, **along.columns.values}
        pack = [
            *split_count(along.columns, "at_column"),
            *epilogue(c, values, along.columns.last, packs.width, packs.acc),
        ]
        if content(along.columns.extent) % shape.columns:
            pack = [f"if (at_column < {along.columns.extent}) {{", *indented(pack), "}"]
        row = [
            *split_count(along.rows, "at_row"),
            "#pragma unroll",
            f"for (int g = 0; g < {packs.count}; g++) {{",
            f"  const int32_t at_column = first_column + {packs.column};",
            *indented(pack),
            "}",
        ]
        if content(along.rows.extent) % shape.rows:
            row = [f"if (at_row < {along.rows.extent}) {{", *indented(row), "}"]
        return [
            *self.gather,
            "#pragma unroll",
            f"for (int i = 0; i < {packs.rows}; i++) {{",
            f"  const int32_t at_row = first_row + {packs.row};",
            *indented(row),
            "}",
        ]


@dataclass(frozen=True, slots=True)
class Packs:
    """Results of a thread, in rows of packs.

    Attributes:
        width: Results of a pack.
        rows: The number of rows.
        count: Packs in each row.
        row: Text of the number of row `i` of the thread.
        column: Text of the column at which pack `g` begins.
        acc: Text of the sum of result `j`.
    """

    width: int
    rows: int
    count: int
    row: str
    column: str
    acc: str


def inner(along: Axes, left: Side, right: Side) -> InnerLoop:
    """Return the inner loop over two operands: `by_warps` if tensor cores multiply, else `by_threads`."""
    return (by_warps if left.shape.tensor else by_threads)(along, left, right)


def by_threads(along: Axes, left: Side, right: Side) -> InnerLoop:
    """Inner loop of threads on their own, which have groups of `high` rows and `wide` columns.

    A warp is 4 threads high and 8 wide, and neighbours have the same columns: shared memory then gives four
    numbers to each in half as many turns as it has halves of warps.
    """
    shape, most = left.shape, 16 // left.size
    high, wide = min(shape.high, most), min(shape.wide, most)
    across, rows, columns = shape.columns // shape.wide, shape.high // high, shape.wide // wide
    before = [
        f"const int32_t warp = int32_t(threadIdx.x) % {shape.of_part} / 32;",
        "const int32_t lane = int32_t(threadIdx.x) % 32;",
        f"const int32_t row = (warp / {across // 8} * 4 + lane / 16 * 2 + lane % 2) * {high};",
        f"const int32_t column = (warp % {across // 8} * 8 + lane / 2 % 8) * {wide};",
        f"{left.kind} sums[{shape.high}][{shape.wide}] = {{}};",
    ]
    part, depth = f"int32_t(threadIdx.x) / {shape.of_part}", shape.depth // shape.parts
    of_row = f"row + i / {high} * {shape.rows // rows} + i % {high}"
    lines, read = [], []
    for side, groups, width, at in ((left, rows, high, "row"), (right, columns, wide, "column")):
        if side.is_turned:
            continue
        group = f"Vector<{side.kind}, {width}>"
        element = side.kept(f"{at} + g * {side.extent // groups}", "first_k + k" if shape.parts > 1 else "k")
        read += [
            f"{group} {side.name}[{groups}];",
            "#pragma unroll",
            f"for (int g = 0; g < {groups}; g++)",
            f"  {side.name}[g] = *reinterpret_cast<const {group}*>({element});",
        ]
    factor = f"left[i / {high}].at[i % {high}]"
    if left.is_turned:  # a few products of a row at once
        factor, group = f"lines[i].at[k % {most}]", f"Vector<{left.kind}, {most}>"
        lines = [
            f"if (k % {most} == 0) {{",
            "  #pragma unroll",
            f"  for (int i = 0; i < {shape.high}; i++)",
            f"    lines[i] = *reinterpret_cast<const {group}*>({left.kept(of_row, 'k')});",
            "}",
        ]
    factors = f"{factor} * right[j / {wide}].at[j % {wide}]"
    step = [
        *([f"{group} lines[{shape.high}];"] if left.is_turned else []),
        *([f"const int32_t first_k = {part} * {depth};"] if shape.parts > 1 else []),
        "#pragma unroll",
        f"for (int k = 0; k < {depth}; k++) {{",
        *indented(lines + read),
        "  #pragma unroll",
        f"  for (int i = 0; i < {shape.high}; i++)",
        "    #pragma unroll",
        f"    for (int j = 0; j < {shape.wide}; j++) sums[i][j] += {factors};",
        "}",
    ]
    width = pack_width(along.columns.last, wide)
    at_column = f"column + g * {width} / {wide} * {shape.columns // columns} + g * {width} % {wide}"
    packs = Packs(width, shape.high, shape.wide // width, of_row, at_column, f"sums[i][g * {width} + j]")
    return InnerLoop(before, step, packs, _added(left) if shape.parts > 1 else [])


def _added(left: Side) -> list[str]:
    """Statements that add the sums of all parts of a block, in their order, for the threads of the first one;
    the others are done.
    """
    shape = left.shape
    place = f"of_parts[((part - 1) * {shape.results} + i * {shape.wide} + j) * {shape.of_part} + thread]"

    def each(statement: str) -> list[str]:
        return [
            "#pragma unroll",
            f"for (int i = 0; i < {shape.high}; i++)",
            "  #pragma unroll",
            f"  for (int j = 0; j < {shape.wide}; j++) {statement};",
        ]

    return [
        f"SG_SHARED({left.kind}, of_parts, {shape.partial});",
        f"const int32_t thread = int32_t(threadIdx.x) % {shape.of_part};",
        f"if (const int32_t part = int32_t(threadIdx.x) / {shape.of_part}) {{",
        *indented(each(f"{place} = sums[i][j]")),
        "}",
        "__syncthreads();",
        f"if (threadIdx.x >= {shape.of_part}) return;",
        "#pragma unroll",
        f"for (int part = 1; part < {shape.parts}; part++) {{",
        *indented(each(f"sums[i][j] += {place}")),
        "}",
    ]


def by_warps(along: Axes, left: Side, right: Side) -> InnerLoop:
    """Inner loop of warps with tensor cores, which have `high` x `wide` results in pieces of 16 x 8.

    Of each piece, lane 4 g + t has the results of rows g and g + 8, and of columns 2 t and 2 t + 1.
    """
    shape = left.shape
    across, rows, columns = shape.columns // shape.wide, shape.high // (2 * _LINE), shape.wide // _LINE
    before = [
        "const int32_t warp = int32_t(threadIdx.x) / 32, lane = int32_t(threadIdx.x) % 32;",
        f"const int32_t row = warp / {across} * {shape.high} + lane / 4;",
        f"const int32_t column = warp % {across} * {shape.wide};",
        f"float sums[{rows}][{columns}][4] = {{}};",
    ]
    of_left = left.element(f"row + i * {2 * _LINE} + e % 2 * {_LINE}", "k + lane % 4 + e / 2 * 4")
    of_right = right.element(f"column + i * {_LINE} + lane / 4", "k + lane % 4 + e * 4")
    read = []
    for name, pieces, parts, element in (("left", rows, 4, of_left), ("right", columns, 2, of_right)):
        read += [
            f"float {name}[{pieces}][{parts}];",
            "#pragma unroll",
            f"for (int i = 0; i < {pieces}; i++)",
            "  #pragma unroll",
            f"  for (int e = 0; e < {parts}; e++) {name}[i][e] = {element};",
        ]
    step = [
        "#pragma unroll",
        f"for (int k = 0; k < {shape.depth}; k += {_LINE}) {{",
        *indented(read),
        "  #pragma unroll",
        f"  for (int i = 0; i < {rows}; i++)",
        "    #pragma unroll",
        f"    for (int j = 0; j < {columns}; j++) multiply_in_warp(sums[i][j], left[i], right[j]);",
        "}",
    ]
    width = pack_width(along.columns.last, 2)
    pieces = 2 // width  # packs that a lane has of a piece, in one row
    at_row = f"row + i * {_LINE}"
    at_column = f"column + g / {pieces} * {_LINE} + lane % 4 * 2 + g % {pieces}"
    acc = f"sums[i / 2][g / {pieces}][i % 2 * 2 + g % {pieces} + j]"
    return InnerLoop(before, step, Packs(width, 2 * rows, columns * pieces, at_row, at_column, acc))
