"""Attention by a softmax over long rows: a block of threads does a few queries, with some keys after others.

It keeps the greatest number of each row so far, the sum of the powers, and the results that these weights
give. Keys that bring a greater number scale down what is there. In the end, results are divided by the sum.

    for the next keys:  x = what becomes of their scores;  greatest' = max(greatest, max(x))
                        scale = exp(greatest - greatest');  total = total * scale + sum(exp(x - greatest'))
                        results = results * scale + exp(x - greatest') @ values
"""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.attention.parts import Blocks, Lines, each_pack
from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.codegen.cuda.products.epilogue import indented
from staticgraph.compiler.codegen.cuda.products.tiles import steps
from staticgraph.compiler.codegen.cuda.scalar import constant
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.expr import Load, identity
from staticgraph.compiler.kernel.schedule_gpu.attention.attention import OnlineAttention
from staticgraph.compiler.kernel.schedule_gpu.attention.form import SCORES
from staticgraph.compiler.kernel.schedule_gpu.target import WARP

_LEAST = constant(identity("maximum", float32).value, float32)


def online(made: OnlineAttention) -> FunctionCall:
    """The function of a schedule."""
    blocks, form, tile = Blocks(made), made.form, made.tile
    product, shape, right, work = blocks.second(rounded=False, first="first_key")
    values, packs, queries, keys = blocks.values, work.packs, tile.queries, form.keys.extent
    along = form.along(product)
    scaled = f"for (int j = 0; j < {packs.width}; j++) {packs.acc}"
    multiply = [
        "float* right_kept = pool;",
        f"const int32_t end = first_key + {tile.first.columns};",
        f"const int32_t last_key = end < {keys} ? end : {keys};",
        *each_pack(work, ["#pragma unroll", f"{scaled} *= scale[{packs.row}];"]),
        *right.start("first_column", values),
        *steps([right], work, shape.depth, "first_key", "last_key"),
        "__syncthreads();",
    ]
    lines = [
        *(f"SG_SHARED(float, {name}, {queries});" for name in ("greatest", "total", "scale")),
        f"for (int i = threadIdx.x; i < {queries}; i += {tile.first.threads}) {{",
        f"  greatest[i] = {_LEAST};",
        "  total[i] = 0.0f;",
        "}",
        *work.before,
        "#pragma unroll 1",
        f"for (int32_t first_key = 0; first_key < {keys}; first_key += {tile.first.columns}) {{",
        *_scope("const int32_t first_column = first_key;", *blocks.scores("first_key")),
        "  __syncthreads();",
        *_scope(*_rows(made)),
        "  __syncthreads();",
        *_scope("const int32_t first_column = 0;", *multiply),
        "}",
        "const int32_t first_column = 0;",
        *each_pack(work, ["#pragma unroll", f"{scaled} /= total[{packs.row}];"]),
        *work.after(product, along, shape, values),
    ]
    return blocks.function(lines)


def _scope(*lines: str) -> Lines:
    return ["  {", *indented(indented(lines)), "  }"]


def _rows(made: OnlineAttention) -> Lines:
    """Statements that make weights of the scores in shared memory, and scales for what is there already; a
    warp does a row.
    """
    form, tile, softmax = made.form, made.tile, made.softmax
    columns, queries, keys = tile.first.columns, form.query.extent, form.keys.extent
    count = columns // WARP

    def score(writer: CudaWriter, load: Load) -> str | None:
        if load.buffer != SCORES:
            return None
        name = writer.name("score")
        writer.line(f"const float {name} = {SCORES}[at];")
        return name

    writer = CudaWriter(form.buffers, score)
    for index in form.batch.indices:
        writer.bind_index(index, made.blocks.values[index])
    writer.line(f"const int lane = threadIdx.x % {WARP};")
    writer.line("#pragma unroll 1")
    step = tile.first.threads // WARP
    with writer.block(f"for (int line = threadIdx.x / {WARP}; line < {tile.queries}; line += {step})"):
        writer.line("const int query = first_row + line;")
        if queries % tile.queries:
            writer.line(f"if (query >= {queries}) break;")
        writer.bind_index(form.query, "query")
        writer.line(f"float x[{count}];\nfloat most = greatest[line], sum = 0.0f;\n#pragma unroll")
        every = f"for (int k = 0; k < {count}; ++k)"
        place = f"const int key = first_key + k * {WARP} + lane, at = line * {tile.pitch} + key - first_key;"
        inside = f"if (key < {keys})" if keys % columns else ""
        with writer.block(every):
            writer.line(f"{place}\nx[k] = {_LEAST};")
            with writer.block(inside):
                writer.bind_index(form.keys, "key")
                writer.line(f"x[k] = {writer.wide(softmax.x)};")
            writer.line("most = maximum(most, x[k]);")
        writer.line("most = warp_reduce<Maximum<float>>(most);")
        # Where all are minus infinity so far, the difference would be no number.
        writer.line(f"const float base = most == {_LEAST} ? 0.0f : most;\n#pragma unroll")
        with writer.block(every):
            writer.line(f"{place}\nconst float part = expf(exact_sub(x[k], base));")
            writer.line("sum += part;\nfloat weight = 0.0f;")
            with writer.block(inside):
                writer.bind_index(form.keys, "key")
                writer.bind(softmax.part, "part")
                writer.line(f"weight = {writer.wide(softmax.weight)};")
            writer.line(f"{SCORES}[at] = weight;")
        writer.line("sum = warp_reduce<Add<float>>(sum);")
        writer.line("__syncwarp();  // all have read the greatest one so far: a shuffle orders no memory")
        with writer.block("if (lane == 0)"):
            writer.line("scale[line] = expf(greatest[line] - base);")
            writer.line("total[line] = total[line] * scale[line] + sum;\ngreatest[line] = most;")
    return writer.text.split("\n")
