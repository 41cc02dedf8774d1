"""Schedule of long rows in order of keys: digit after digit of the key, from the lowest, in a stable way.

Each block counts how often each digit is in its tile. A scan over the counts, of all tiles for each digit,
tells where the items of a tile belong.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.kernel.expr import Index, Load, Local
from staticgraph.compiler.kernel.form import Scan
from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule, GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.scans.line import Line
from staticgraph.compiler.kernel.schedule_gpu.scans.ranking import Ranking
from staticgraph.compiler.kernel.schedule_gpu.scans.scan import ScanSchedule, Team
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

BITS = 8  # of a digit
DIGITS = 1 << BITS
ITEMS = 16  # of a thread
TILE = ITEMS * THREADS  # items of a block
COUNTS, STARTS = "digit_counts", "digit_starts"


@dataclass(frozen=True, slots=True, eq=False)
class RadixSchedule(FunctionSchedule):
    """The `number`-th digit of so many: it decides over the order that those before have made.

    `places`: the function brings items to their places; otherwise it counts digits.
    """

    ranking: Ranking
    number: int
    passes: int
    places: bool = False

    @property
    def kind(self) -> str:
        return "radix" if self.places else "radix_count"

    @property
    def about(self) -> str:
        """The digit."""
        return f"digit {self.number} of {self.passes}, {self.tiles} tiles of a row"

    @property
    def grid(self) -> Extents:
        return self.ranking.selection.rows * self.tiles, 1, 1

    @property
    def tiles(self) -> int:
        """The number of tiles of a row."""
        return -(-self.ranking.length // TILE)

    @property
    def shift(self) -> int:
        """The number of the digit's lowest bit."""
        return self.number * BITS

    @property
    def is_last(self) -> bool:
        """True if the row is sorted by this digit."""
        return self.number == self.passes - 1

    @property
    def before(self) -> tuple[str, str]:
        """The buffers with the keys and columns that the digit before has left."""
        return _names(self.number - 1)

    @property
    def results(self) -> tuple[str, ...]:
        """The buffers that it writes."""
        if not self.places:
            return (COUNTS,)
        return self.ranking.results if self.is_last else _names(self.number)

    @property
    def scratch(self) -> dict[str, Buffer]:
        """Scratch memory of all passes."""
        rows, length = self.ranking.selection.rows, self.ranking.length
        counts = Buffer(int32, (rows * DIGITS, self.tiles), written=True)
        own = {COUNTS: counts, STARTS: counts}
        for side in range(min(2, self.passes - 1)):
            keys, columns = _names(side)
            own[keys] = Buffer(self.ranking.word, (rows * length,), written=True)
            own[columns] = Buffer(int32, (rows * length,), written=True)
        return own

    @property
    def buffers(self) -> dict[str, Buffer]:
        """All memory."""
        return {**self.ranking.buffers, **self.scratch}

    @property
    def starts(self) -> ScanSchedule:
        """The function that counts the items of a row, by digit, up to the end of each tile."""
        digits, tiles = self.scratch[COUNTS].shape
        at = Index("digit", digits), Index("tile", tiles)
        left, right = Local("left", int32), Local("right", int32)
        sums = Scan(STARTS, at, 1, Load(COUNTS, at, int32), left, right, left + right)
        return ScanSchedule(Line(sums, self.buffers), Team.WARP)


def radix(ranking: Ranking) -> GpuSchedule:
    """Return the functions that bring whole rows in order."""
    passes = -(-ranking.selection.key_bits // BITS)
    functions: list[FunctionSchedule] = []
    for number in range(passes):
        count = RadixSchedule(ranking, number, passes)
        functions += [count, count.starts, RadixSchedule(ranking, number, passes, places=True)]
    scratch = RadixSchedule(ranking, 0, passes).scratch
    return GpuSchedule(tuple(functions), tuple((n, b.size * b.dtype.size) for n, b in scratch.items()))


def _names(side: int) -> tuple[str, str]:
    """Return the names of the buffers that hold keys and columns between two passes."""
    return f"radix_keys{side % 2}", f"radix_columns{side % 2}"
