"""Schedule of pieces of rows brought in order: each by a block in shared memory, as a network of exchanges.

The best items of each piece go on, to be brought in order as well, until one piece has all of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule, GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.scans.ranking import Ranking
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

_SHARED = 32 << 10  # bytes of a block's pairs: several blocks fit a multiprocessor
LEAST = 512  # pairs of a block, where rows are short
_THREADS = 512  # of a block at most


def largest(ranking: Ranking) -> int:
    """Return the maximum number of pairs that a block can sort."""
    return _SHARED // (16 if ranking.wide else 8)


@dataclass(frozen=True, slots=True, eq=False)
class SortSchedule(FunctionSchedule):
    """Selection among `length` pairs of each row: `count` of them from each piece go on.

    `number` 0 takes the row itself, others take the pairs that the one before left in scratch memory.
    """

    ranking: Ranking
    number: int
    length: int
    piece: int
    count: int

    kind = "sort"

    @property
    def about(self) -> str:
        """The pieces."""
        return f"pieces of {self.piece}, {self.count} of each go on, {self.together} rows a block"

    @property
    def pieces(self) -> int:
        """Number of pieces of a row."""
        return -(-self.length // self.piece)

    @property
    def is_last(self) -> bool:
        """True if this stage leaves the whole row sorted."""
        return self.pieces == 1

    @property
    def together(self) -> int:
        """Rows of a block."""
        return max(1, LEAST // self.piece) if self.is_last else 1

    @property
    def pairs(self) -> int:
        """Pairs of a block."""
        return self.together * self.piece

    @property
    def threads(self) -> int:
        return min(_THREADS, self.pairs // 2)

    @property
    def grid(self) -> Extents:
        return -(-self.ranking.selection.rows // self.together) * self.pieces, 1, 1

    @property
    def names(self) -> tuple[str, str]:
        """The scratch memory that it leaves to the next one: keys, and columns."""
        return f"best_keys{self.number % 2}", f"best_columns{self.number % 2}"

    @property
    def names_before(self) -> tuple[str, str]:
        """The scratch memory of the one before."""
        return replace(self, number=self.number - 1).names

    @property
    def results(self) -> tuple[str, str]:
        """The buffers that it writes."""
        return self.ranking.results if self.is_last else self.names

    @property
    def kept(self) -> dict[str, Buffer]:
        """The buffers with the pairs that it leaves to the next one."""
        return _pairs(self.ranking, self.names, self.pieces * self.count, True) if not self.is_last else {}

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """All buffers that it may use."""
        before = _pairs(self.ranking, self.names_before, self.length, False) if self.number else {}
        return {**self.ranking.buffers, **before, **self.kept}


def sort(ranking: Ranking) -> GpuSchedule:
    """Return the functions that sort the best items of each row."""
    found: list[SortSchedule] = []
    length, count = ranking.length, ranking.selection.count
    sizes: dict[str, int] = {}
    while not found or not found[-1].is_last:
        piece = min(1 << max(1, (length - 1).bit_length()), largest(ranking))
        found.append(SortSchedule(ranking, len(found), length, piece, count))
        length = found[-1].pieces * count
        for name, buffer in found[-1].kept.items():
            sizes[name] = max(buffer.size * buffer.dtype.size, sizes.get(name, 0))
    return GpuSchedule(tuple(found), tuple(sizes.items()))


def _pairs(ranking: Ranking, names: tuple[str, str], length: int, written: bool) -> dict[str, Buffer]:
    """Buffers for pairs, so many of each row."""
    keys, columns = names
    size = (ranking.selection.rows * length,)
    return {keys: Buffer(ranking.word, size, written=written), columns: Buffer(int32, size, written=written)}
