"""Functions that run after the sums of a contraction: they add slices in order, and compute the results."""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.codegen.cuda.places import split_count
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.products.epilogue import epilogue, indented, product_call
from staticgraph.compiler.kernel.schedule_gpu.limits import THREADS, WARP
from staticgraph.compiler.kernel.schedule_gpu.products.results import ResultSchedule


def results(made: ResultSchedule) -> FunctionCall:
    """The function of a schedule."""
    c, outputs, width = made.product, made.outputs, made.width
    number = "uint64_t" if outputs.extent >= 2**31 - THREADS * 8 else "uint32_t"
    first = f"({number}(blockIdx.x) * {THREADS} + threadIdx.x) * {width}"
    if made.by_warp:
        first = f"{number}(blockIdx.x) * {made.per_block} + threadIdx.x / {WARP}"
    lines = [f"const {number} result = {first};"]
    if outputs.extent % made.per_block:
        lines.append(f"if (result >= {outputs.extent}u) return;")
    acc = "no sum"
    if made.sums is not None:
        acc = "sum" if made.by_warp else "sum.at[j]"
        lines += _by_warp(made, made.sums.buffer) if made.by_warp else _by_thread(made, made.sums.buffer)
    fastest = None if made.by_warp else outputs.last
    finish = [*split_count(outputs, "result"), *epilogue(c, outputs.values, fastest, width, acc)]
    if made.by_warp:
        finish = [f"if (threadIdx.x % {WARP} == 0) {{", *indented(finish), "}"]
    return product_call(made, lines + finish)


def _by_thread(made: ResultSchedule, sums: str) -> list[str]:
    """Statements that add the slices of a pack."""
    width, pack = made.width, f"Vector<{register_type(made.product.dtype)}, {made.width}>"
    return [
        f"{pack} sum = *reinterpret_cast<const {pack}*>({sums} + result);",
        "#pragma unroll 4",
        f"for (int32_t slice = 1; slice < {made.slices}; slice++) {{",
        f"  const int64_t at = result + int64_t(slice) * {made.outputs.extent};",
        f"  const {pack} next = *reinterpret_cast<const {pack}*>({sums} + at);",
        "  #pragma unroll",
        f"  for (int j = 0; j < {width}; j++) sum.at[j] += next.at[j];",
        "}",
    ]


def _by_warp(made: ResultSchedule, sums: str) -> list[str]:
    """Statements by which a warp adds many slices of one sum."""
    dtype = made.product.dtype
    return [
        f"{register_type(dtype)} sum = 0;",
        "#pragma unroll 4",
        f"for (int32_t slice = threadIdx.x % {WARP}; slice < {made.slices}; slice += {WARP})",
        f"  sum += {sums}[result + int64_t(slice) * {made.outputs.extent}];",
        f"sum = warp_reduce<{combiner('add', dtype)}>(sum);",
    ]
