"""Functions before and after products: addresses of matrices; sums of slices in order, and results."""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import counter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call_of
from staticgraph.compiler.codegen.cuda.places import split_count
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.products.epilogue import epilogue, indented, product_call
from staticgraph.compiler.graph.dtypes import uint64
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.schedule_gpu.products.library import PointerSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.results import ResultSchedule
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, WARP


def results(made: ResultSchedule) -> FunctionCall:
    """The function of a schedule."""
    c, outputs, width = made.product, made.outputs, made.width
    number = "uint32_t" if counter(outputs.extent + THREADS * 8) == "int" else "uint64_t"
    first = f"({number}(blockIdx.x) * {THREADS} + threadIdx.x) * {width}"
    if made.by_warp:
        first = f"{number}(blockIdx.x) * {made.per_block} + threadIdx.x / {WARP}"
    lines = [f"const {number} result = {first};"]
    if isinstance(outputs.extent, Size) or outputs.extent % made.per_block:
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


def pointers(made: PointerSchedule) -> FunctionCall:
    """The function of a schedule."""
    product, axis = made.product, made.points
    lines = [
        f"const uint32_t point = blockIdx.x * {THREADS} + threadIdx.x;",
        f"if (point >= {axis.extent}u) return;",
        *split_count(axis, "point"),
    ]
    for number, matrix in enumerate((product.a, product.b, product.out)):
        steps = zip(axis.values.values(), (*matrix.steps, matrix.batch_stride), strict=True)
        terms = [f"int64_t({value}) * {step}" for value, step in steps if step]
        at = " + ".join([matrix.buffer, *([str(matrix.offset)] if matrix.offset else []), *terms])
        place = f"point + {number * axis.extent}" if number else "point"
        lines.append(f"{product.pointers}[{place}] = reinterpret_cast<uint64_t>({at});")
    operands = dict.fromkeys((product.a.buffer, product.b.buffer, product.out.buffer))
    arguments = [Parameter(name, product.dtype) for name in operands]
    arguments.append(Parameter(product.pointers, uint64, written=True))
    return call_of(made, arguments, "\n".join(lines))
