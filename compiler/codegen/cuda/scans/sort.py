"""Functions that bring pieces of rows in order: a block in shared memory, as a network of exchanges.

    size 2:  01 23 45 67     each pair in order
    size 4:  03 12 47 56     two rising runs face each other,
             01 23 45 67     and then each half for itself
    size 8:  07 16 25 34 ...

Of keys that are equal, the column decides, so that no two are.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.scans.items import key, store_item
from staticgraph.compiler.kernel.schedule_gpu.scans.sort import LEAST, SortSchedule
from staticgraph.compiler.kernel.schedule_gpu.target import WARP


def sort(made: SortSchedule) -> FunctionCall:
    """The best pairs of each piece in order; those of the last stage are the result."""
    ranking, piece, together = made.ranking, made.piece, made.together
    writer = CudaWriter(made.buffers)
    _declare(writer, made)
    kind = counter(ranking.selection.rows + together)
    if together > 1:
        writer.line(f"const {kind} base = {kind}(blockIdx.x) * {together};")
    else:
        writer.line(f"const {kind} row = blockIdx.x / {made.pieces};")
        writer.line(f"const int first = (blockIdx.x - row * {made.pieces}) * {piece};")
        writer.bind_index(ranking.row, "row")
    _load(writer, made)
    _network(writer, made)
    _store(writer, made)
    return call_of(made, parameters(writer.buffers, {*made.results}, writer.text), writer.text)


def _declare(writer: CudaWriter, made: SortSchedule) -> None:
    writer.line(f"SG_SHARED(uint64_t, keys, {made.pairs});")
    if made.ranking.wide:
        writer.line(f"SG_SHARED(int, columns, {made.pairs});")


def _load(writer: CudaWriter, made: SortSchedule) -> None:
    """Bring pairs to shared memory; what is beyond the end is worse than all others."""
    with writer.block(_each(made.pairs, made.threads)):
        writer.line("uint64_t key = ~uint64_t(0);\nint column = 0x7fffffff;")
        if made.together > 1:
            _rows(writer, made)
            writer.line(f"const int at = i % {made.piece};")
            inside = f"row < {made.ranking.selection.rows} && at < {made.length}"
        else:
            writer.line("const int at = first + i;")
            inside = f"at < {made.length}"
        with writer.block(f"if ({inside})"):
            if made.number:
                keys, columns = made.names_before
                place = f"int64_t(row) * {made.length} + at"
                writer.line(f"key = {keys}[{place}];\ncolumn = {columns}[{place}];")
            else:
                writer.line(f"key = {key(writer, made.ranking)};\ncolumn = at;")
            if not made.ranking.wide:
                writer.line("key = key << 32 | uint32_t(column);")
        writer.line("keys[i] = key;")
        if made.ranking.wide:
            writer.line("columns[i] = column;")


def _network(writer: CudaWriter, made: SortSchedule) -> None:
    """Exchange pairs. Neighbouring 64 of them, which steps of up to 32 stay in, always have the same warp."""
    writer.line("__syncthreads();")
    rounds = writer.block(f"for (int size = 2; size <= {made.piece}; size *= 2)")
    with rounds, writer.block("for (int step = size / 2; step > 0; step /= 2)"):
        writer.line(f"if (step >= {WARP}) __syncthreads();\nelse __syncwarp();")
        with writer.block(f"for (int t = threadIdx.x; t < {made.pairs // 2}; t += {made.threads})"):
            writer.line("const int low = 2 * t - (t & (step - 1));")
            writer.line("const int high = step == size / 2 ? low ^ (size - 1) : low + step;")
            writer.line("const uint64_t a = keys[low], b = keys[high];")
            if made.ranking.wide:
                writer.line("const int p = columns[low], q = columns[high];")
            with writer.block("if (a > b || (a == b && p > q))" if made.ranking.wide else "if (a > b)"):
                writer.line("keys[low] = b;\nkeys[high] = a;")
                if made.ranking.wide:
                    writer.line("columns[low] = q;\ncolumns[high] = p;")
    writer.line("__syncthreads();")


def _store(writer: CudaWriter, made: SortSchedule) -> None:
    end = (made.together - 1) * made.piece + min(made.count, made.piece)
    with writer.block(_each(end, made.threads)):
        column = "columns[i]" if made.ranking.wide else "int(uint32_t(keys[i]))"
        if not made.is_last:
            keys, columns = made.names
            writer.line(f"const int64_t to = int64_t(blockIdx.x) * {made.count} + i;")
            writer.line(f"{keys}[to] = {'keys[i]' if made.ranking.wide else 'uint32_t(keys[i] >> 32)'};")
            writer.line(f"{columns}[to] = {column};")
            return
        writer.line(f"const int rank = i % {made.piece};" if made.together > 1 else "const int rank = i;")
        if made.together > 1:
            _rows(writer, made)
            writer.line(f"if (row >= {made.ranking.selection.rows} || rank >= {made.count}) continue;")
        writer.line(f"const int column = {column};")
        store_item(writer, made.ranking, "rank")


def _each(count: int, threads: int) -> str:
    return f"for (int i = threadIdx.x; i < {count}; i += {threads})"


def _rows(writer: CudaWriter, made: SortSchedule) -> None:
    """The row that a pair belongs to, where a block has several."""
    kind = counter(made.ranking.selection.rows + LEAST)
    writer.line(f"const {kind} row = base + i / {made.piece};")
    writer.bind_index(made.ranking.row, "row")
