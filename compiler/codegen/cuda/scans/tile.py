"""Pieces of rows in order: by a block in shared memory, as a network of exchanges.

    size 2:  01 23 45 67     each pair in order
    size 4:  03 12 47 56     two rising runs face each other,
             01 23 45 67     and then each half for itself
    size 8:  07 16 25 34 ...

Of keys that are equal, the column decides, so that no two are.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, index_type
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.codegen.cuda.limits import WARP
from staticgraph.compiler.codegen.cuda.scans.ranking import Ranking
from staticgraph.compiler.graph.dtypes import int32, uint32, uint64
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

_SHARED = 32 << 10  # bytes of a block's pairs: several blocks fit a multiprocessor
_LEAST = 512  # pairs of a block, where rows are short
_THREADS = 512  # of a block at most


def largest(ranking: Ranking) -> int:
    """Return the maximum number of pairs that a block can sort."""
    return _SHARED // (16 if ranking.wide else 8)


@dataclass(frozen=True, slots=True)
class TileStage:
    """Of each row, `length` pairs: `count` of them from each piece go on, to be brought in order as well.

    `number` 0 takes the row itself, others take the pairs that the one before left in scratch memory.
    """

    number: int
    length: int
    piece: int
    count: int

    @property
    def pieces(self) -> int:
        """Number of pieces of a row."""
        return -(-self.length // self.piece)

    @property
    def is_last(self) -> bool:
        """True if this stage leaves the whole row sorted."""
        return self.pieces == 1


def stages(ranking: Ranking) -> list[TileStage]:
    """Return the stages that sort the best items of each row."""
    found: list[TileStage] = []
    length, count, most = ranking.length, ranking.selection.count, largest(ranking)
    while not found or not found[-1].is_last:
        piece = min(1 << max(1, (length - 1).bit_length()), most)
        found.append(TileStage(len(found), length, piece, count))
        length = found[-1].pieces * count
    return found


def names(number: int) -> tuple[str, str]:
    """The scratch memory between one stage and the next: keys, and columns."""
    return f"best_keys{number % 2}", f"best_columns{number % 2}"


def scratch(ranking: Ranking, stage: TileStage) -> dict[str, Buffer]:
    """Return the buffers with the pairs that a stage leaves to the next one."""
    size = ranking.selection.rows * stage.pieces * stage.count
    keys, columns = names(stage.number)
    kind = uint64 if ranking.wide else uint32
    return {keys: Buffer(kind, (size,), written=True), columns: Buffer(int32, (size,), written=True)}


def sorted_pieces(ranking: Ranking, stage: TileStage) -> FunctionCall:
    """The best pairs of each piece in order; those of the last stage are the result."""
    selection, piece = ranking.selection, stage.piece
    together = max(1, _LEAST // piece) if stage.is_last else 1  # rows of a block
    pairs = together * piece
    threads = min(_THREADS, pairs // 2)
    buffers = dict(ranking.buffers)
    if stage.number:
        buffers |= {n: Buffer(b.dtype, b.shape) for n, b in _before(ranking, stage).items()}
    if not stage.is_last:
        buffers |= scratch(ranking, stage)
    writer = CudaWriter(buffers)
    _declare(writer, ranking, pairs)
    kind = index_type(Index("", selection.rows + together))
    if together > 1:
        writer.line(f"const {kind} base = {kind}(blockIdx.x) * {together};")
    else:
        writer.line(f"const {kind} row = blockIdx.x / {stage.pieces};")
        writer.line(f"const int first = (blockIdx.x - row * {stage.pieces}) * {piece};")
        writer.bind_index(ranking.row, "row")
    _load(writer, ranking, stage, together, threads)
    _network(writer, ranking, piece, pairs, threads)
    _store(writer, ranking, stage, together, threads)
    written = (selection.values, selection.places) if stage.is_last else names(stage.number)
    grid = -(-selection.rows // together) * stage.pieces
    return ranking.call("sort", writer, written, grid, threads)


def _before(ranking: Ranking, stage: TileStage) -> dict[str, Buffer]:
    keys, columns = names(stage.number - 1)
    size = (ranking.selection.rows * stage.length,)
    return {keys: Buffer(uint64 if ranking.wide else uint32, size), columns: Buffer(int32, size)}


def _declare(writer: CudaWriter, ranking: Ranking, pairs: int) -> None:
    writer.line(f"SG_SHARED(uint64_t, keys, {pairs});")
    if ranking.wide:
        writer.line(f"SG_SHARED(int, columns, {pairs});")


def _load(writer: CudaWriter, ranking: Ranking, stage: TileStage, together: int, threads: int) -> None:
    """Bring pairs to shared memory; what is beyond the end is worse than all others."""
    with writer.block(_each(together * stage.piece, threads)):
        writer.line("uint64_t key = ~uint64_t(0);\nint column = 0x7fffffff;")
        if together > 1:
            _rows(writer, ranking, stage)
            writer.line(f"const int at = i % {stage.piece};")
            inside = f"row < {ranking.selection.rows} && at < {stage.length}"
        else:
            writer.line("const int at = first + i;")
            inside = f"at < {stage.length}"
        with writer.block(f"if ({inside})"):
            if stage.number:
                keys, columns = names(stage.number - 1)
                place = f"int64_t(row) * {stage.length} + at"
                writer.line(f"key = {keys}[{place}];\ncolumn = {columns}[{place}];")
            else:
                writer.line(f"key = {ranking.key(writer, 'at')};\ncolumn = at;")
            if not ranking.wide:
                writer.line("key = key << 32 | uint32_t(column);")
        writer.line("keys[i] = key;")
        if ranking.wide:
            writer.line("columns[i] = column;")


def _network(writer: CudaWriter, ranking: Ranking, piece: int, pairs: int, threads: int) -> None:
    """Exchange pairs. Neighbouring 64 of them, which steps of up to 32 stay in, always have the same warp."""
    writer.line("__syncthreads();")
    rounds = writer.block(f"for (int size = 2; size <= {piece}; size *= 2)")
    with rounds, writer.block("for (int step = size / 2; step > 0; step /= 2)"):
        writer.line(f"if (step >= {WARP}) __syncthreads();\nelse __syncwarp();")
        with writer.block(f"for (int t = threadIdx.x; t < {pairs // 2}; t += {threads})"):
            writer.line("const int low = 2 * t - (t & (step - 1));")
            writer.line("const int high = step == size / 2 ? low ^ (size - 1) : low + step;")
            writer.line("const uint64_t a = keys[low], b = keys[high];")
            if ranking.wide:
                writer.line("const int p = columns[low], q = columns[high];")
            with writer.block("if (a > b || (a == b && p > q))" if ranking.wide else "if (a > b)"):
                writer.line("keys[low] = b;\nkeys[high] = a;")
                if ranking.wide:
                    writer.line("columns[low] = q;\ncolumns[high] = p;")
    writer.line("__syncthreads();")


def _store(writer: CudaWriter, ranking: Ranking, stage: TileStage, together: int, threads: int) -> None:
    end = (together - 1) * stage.piece + min(stage.count, stage.piece)
    with writer.block(_each(end, threads)):
        column = "columns[i]" if ranking.wide else "int(uint32_t(keys[i]))"
        if not stage.is_last:
            keys, columns = names(stage.number)
            writer.line(f"const int64_t to = int64_t(blockIdx.x) * {stage.count} + i;")
            writer.line(f"{keys}[to] = {'keys[i]' if ranking.wide else 'uint32_t(keys[i] >> 32)'};")
            writer.line(f"{columns}[to] = {column};")
            return
        writer.line(f"const int rank = i % {stage.piece};" if together > 1 else "const int rank = i;")
        if together > 1:
            _rows(writer, ranking, stage)
            writer.line(f"if (row >= {ranking.selection.rows} || rank >= {stage.count}) continue;")
        writer.line(f"const int column = {column};")
        ranking.store(writer, "rank", "column")


def _each(count: int, threads: int) -> str:
    return f"for (int i = threadIdx.x; i < {count}; i += {threads})"


def _rows(writer: CudaWriter, ranking: Ranking, stage: TileStage) -> None:
    """The row that a pair belongs to, where a block has several."""
    kind = index_type(Index("", ranking.selection.rows + _LEAST))
    writer.line(f"const {kind} row = base + i / {stage.piece};")
    writer.bind_index(ranking.row, "row")
