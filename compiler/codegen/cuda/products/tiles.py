"""Functions for products by tiles in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.codegen.cuda.places import split_count
from staticgraph.compiler.codegen.cuda.products.copied import Copied
from staticgraph.compiler.codegen.cuda.products.epilogue import indented, product_call
from staticgraph.compiler.codegen.cuda.products.inner import InnerLoop, inner
from staticgraph.compiler.codegen.cuda.products.operand import Operand
from staticgraph.compiler.codegen.cuda.products.staged import Staged
from staticgraph.compiler.kernel.schedule_gpu.products.operand import CopiedTile, OperandTile
from staticgraph.compiler.kernel.schedule_gpu.products.tiles import TileSchedule


def printable(tile: OperandTile) -> Operand:
    """The text of an operand."""
    kind = Copied if isinstance(tile, CopiedTile) else Staged
    return kind(*(getattr(tile, field.name) for field in fields(tile)))


def tiles(made: TileSchedule) -> FunctionCall:
    """The function of a schedule."""
    c, along, shape, slices = made.product, made.along, made.cut.shape, made.slices
    values = made.blocks.values
    left, right = map(printable, made.tiles)
    first, last, part = "0", f"{along.sum.extent}", []
    if slices is not None:
        first, last, end = "first", "last", f"first + {made.cut.products}"
        part = [
            f"const int32_t first = {values[slices]} * {made.cut.products};",
            f"const int32_t last = {end} < {along.sum.extent} ? {end} : {along.sum.extent};",
        ]
    work = inner(along, left, right)
    lines = [
        f"SG_SHARED({left.kind}, left_kept, {made.stages * left.elements});",
        f"SG_SHARED({right.kind}, right_kept, {made.stages * right.elements});",
        *split_count(made.blocks, "blockIdx.x"),
        f"const int32_t first_row = {values[made.rows]} * {shape.rows};",
        f"const int32_t first_column = {values[made.columns]} * {shape.columns};",
        *part,
        *left.start("first_row", values),
        *right.start("first_column", values),
        *work.before,
        *steps([left, right], work, shape.depth, first, last, made.stages),
        *work.after(c, along, shape, values),
    ]
    return product_call(made, lines)


def steps(
    operands: Sequence[Operand], work: InnerLoop, depth: int, first: str, last: str, stages: int = 2
) -> list[str]:
    """Print the sums of products, in steps.

    One barrier a step is enough: before it, threads have multiplied what was there a step ago, and what is
    asked for after it takes that place. Some threads may still read shared memory at the end.

    Args:
        operands: They are brought to shared memory.
        work: The inner loop.
        depth: Products of a step.
        first: The number of the first product.
        last: That after the last product.
        stages: Steps that shared memory has room for.
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
            again = indented([*split_count(outer, "outer"), *turns])
            turn += [f"if (inner == 0 || from == {first}) {{", *again, "}"]
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
