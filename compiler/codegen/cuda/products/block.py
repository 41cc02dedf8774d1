"""A product by tiles: each block of threads makes one tile of the results, each thread a part of it.

Operands of some steps of the sum wait in shared memory, or are on their way there: while the threads multiply
those of a step, those of the next ones arrive.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.cuda.function import FunctionCall, call
from staticgraph.compiler.codegen.cuda.products.axes import Axes, Axis
from staticgraph.compiler.codegen.cuda.products.copied import Copied
from staticgraph.compiler.codegen.cuda.products.epilogue import indented, operations, parameters
from staticgraph.compiler.codegen.cuda.products.inner import InnerLoop, inner
from staticgraph.compiler.codegen.cuda.products.operand import Operand
from staticgraph.compiler.codegen.cuda.products.shape import Cut, Shape
from staticgraph.compiler.codegen.cuda.products.staged import Staged
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.expr import Index

# Additions, as many as a function is, and arrays of an epilogue that needs more registers than the sums do.
_HEAVY, _MANY = 12, 3


def operands(c: Contraction, along: Axes, shape: Shape) -> tuple[Operand, Operand]:
    """Return both operands of a product, with the way in which threads bring them to shared memory."""
    left = _kind(c, c.a, shape)(c, shape, "left", c.a, along.rows, along.sum, shape.rows, c.limits)
    right = _kind(c, c.b, shape)(c, shape, "right", c.b, along.columns, along.sum, shape.columns)
    return left, right


def _kind(c: Contraction, x: Access, shape: Shape) -> type[Operand]:
    """Elements that change on the way go through registers."""
    return Copied if x.dtype is c.dtype and not shape.tensor else Staged


def tiles(c: Contraction, along: Axes, cut: Cut, slices: Index | None = None) -> FunctionCall:
    """The call. With `slices`, each block has a slice of the sum, and the result an index for them."""
    shape = cut.shape
    left, right = operands(c, along, shape)
    stages = shape.stages(c.dtype.size) if isinstance(left, Copied) and isinstance(right, Copied) else 2
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
        f"SG_SHARED({left.kind}, left_kept, {stages * left.elements});",
        f"SG_SHARED({right.kind}, right_kept, {stages * right.elements});",
        *blocks.split("blockIdx.x"),
        f"const int32_t first_row = {values[rows]} * {shape.rows};",
        f"const int32_t first_column = {values[columns]} * {shape.columns};",
        *part,
        *left.start("first_row", values),
        *right.start("first_column", values),
        *work.before,
        *steps([left, right], work, shape.depth, first, last, stages),
        *work.after(c, along, shape, values),
    ]
    return call(
        "tiles", parameters(c, c.a, c.b), "\n".join(lines), (blocks.extent, 1, 1), (shape.threads, 1, 1),
        meets=True, blocks_per_core=_room(c, shape),
    )  # fmt: skip


def _room(c: Contraction, shape: Shape) -> int | None:
    """Return the number of blocks that a multiprocessor should have room for; None leaves it to the compiler.

    An epilogue that needs many registers lowers the number: to 1 if it has many operations, and to three
    quarters if it uses many arrays.
    """
    if operations(c) >= _HEAVY:
        return 1
    if shape.room is None or len(c.loads) + len(c.targets) < _MANY:
        return shape.room
    return -(-shape.room * 3 // 4)


def steps(
    operands: Sequence[Operand], work: InnerLoop, depth: int, first: str, last: str, stages: int = 2
) -> list[str]:
    """The sums, from the `first` product to before the `last` one, in steps of `depth` of them. `operands`
    are brought to shared memory, which has room for so many `stages`; some may still read there at the end.

    One barrier a step is enough: before it, threads have multiplied what was there a step ago, and what is
    asked for after it takes that place.
    """
    copied = [operand for operand in operands if isinstance(operand, Copied)]
    keep = [line for operand in operands for line in operand.keep()]
    turns = [line for operand in copied for line in operand.turns]
    fetch = [line for operand in operands for line in operand.fetch(last)]
    before = []
    if any("inner" in line for line in fetch):
        outer, extent = copied[0].outer, copied[0].sum.indices[-1].extent
        before = [f"int32_t inner = {first} % {extent}, outer = {first} / {extent};"]
        turn = [f"if (inner == {extent}) inner = 0, outer++;"]
        if turns:
            turn += [
                f"if (inner == 0 || from == {first}) {{",
                *indented([*outer.split("outer"), *turns]),
                "}",
            ]
        fetch = [*turn, *fetch, f"inner += {depth};"]
    close, arrived = (["close_copies();"], [f"await_copies<{stages - 2}>();"]) if copied else ([], [])
    kept = ["if (more) keep(next);"] if keep else []
    return [
        *before,
        "auto fetch = [&](int32_t from, int32_t stage) {",
        *indented(fetch),
        "};",
        *(["auto keep = [&](int32_t stage) {", *indented(keep), "};"] if keep else []),
        "#pragma unroll",
        f"for (int32_t next = 0; next < {stages - 1}; next++) {{",
        f"  const int32_t ahead = {first} + next * {depth};",
        f"  const bool more = ahead < {last};",
        "  if (more) fetch(ahead, next);",
        *indented(kept + close),
        "}",
        "#pragma unroll 1",
        f"for (int32_t from = {first}, stage = 0; from < {last}; from += {depth}) {{",
        *indented(arrived),
        "  __syncthreads();",
        f"  const int32_t next = stage > 0 ? stage - 1 : {stages - 1};",
        f"  const int32_t ahead = from + {(stages - 1) * depth};",
        f"  const bool more = ahead < {last};",
        "  if (more) fetch(ahead, next);",
        *indented(close),
        *indented(work.step),
        *indented(kept),
        f"  stage = stage < {stages - 1} ? stage + 1 : 0;",
        "}",
    ]
