"""Common parts of both forms of attention.

A block computes scores into shared memory, and multiplies the weights from there.
"""

from __future__ import annotations

from collections.abc import Set

from staticgraph.compiler.codegen.cuda.function import FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.places import split_count
from staticgraph.compiler.codegen.cuda.products.epilogue import indented
from staticgraph.compiler.codegen.cuda.products.inner import InnerLoop, inner
from staticgraph.compiler.codegen.cuda.products.operand import Operand
from staticgraph.compiler.codegen.cuda.products.tiles import printable, steps
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.schedule_gpu.attention.attention import IN_SHARED, AttentionSchedule
from staticgraph.compiler.kernel.schedule_gpu.attention.form import SCORES
from staticgraph.compiler.kernel.schedule_gpu.attention.tile import operands
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Values
from staticgraph.compiler.kernel.schedule_gpu.products.shape import Shape
from staticgraph.compiler.support.dataclass import dataclass

Lines = list[str]


@dataclass(frozen=True, slots=True)
class KeptTile:
    """Left operand of weights, whose rows wait in shared memory, from that of the key `first` on."""

    shape: Shape
    pitch: int
    rounds: bool  # for tensor cores, which do not take all bits
    first: str = "0"

    name = "left"
    kind = "float"
    size = 4
    is_turned = True

    @property
    def extent(self) -> int:
        """Number of rows of the tile."""
        return self.shape.rows

    def kept(self, across: str, along: str) -> str:
        """The text of the address of a weight: `from` is the key that the step begins with."""
        origin = "from" if self.first == "0" else f"(from - {self.first})"
        return f"{SCORES} + ({across}) * {self.pitch} + {origin} + {along}"

    def element(self, across: str, along: str) -> str:
        """The text of a weight."""
        element = f"*({self.kept(across, along)})"
        return f"to_tensor({element})" if self.rounds else element


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of threads of a schedule."""

    made: AttentionSchedule

    @property
    def values(self) -> Values:
        """The texts of the place in the batch, and of the number of the tile."""
        return self.made.blocks.values

    @property
    def batch(self) -> str:
        """The text of the number of the present place in the batch."""
        text = "0"
        for index in self.made.form.batch.indices:
            value = self.values[index]
            text = value if text == "0" else f"({text} * {index.extent} + {value})"
        return text

    def function(self, lines: Lines, written: Set[str] = frozenset()) -> FunctionCall:
        """The call of a function that does `lines` in each block, by which rows have `written` buffers."""
        made, form, tile = self.made, self.made.form, self.made.tile
        begin = [
            f"SG_SHARED(float, {SCORES}, {tile.scores});",
            f"SG_SHARED(float, pool, {tile.pool});",
            *split_count(made.blocks, "blockIdx.x"),
            f"const int32_t first_row = {self.values[made.tiles]} * {tile.queries};",
        ]
        text = "\n".join([*begin, *lines])
        if form.second is not None:
            written |= {x.buffer for x in form.second.targets}
        buffers = {name: b for name, b in form.buffers.items() if name not in IN_SHARED}
        return call_of(made, parameters(buffers, written, text), text)

    def scores(self, origin: str) -> Lines:
        """Statements for the scores of the keys from `first_column` on, as many as a tile has. That of the
        key `origin` comes first in shared memory.
        """
        form, tile = self.made.form, self.made.tile
        shape, keys = tile.first, form.keys.extent
        left, right = map(printable, operands(form, form.first, shape))
        work = inner(form.along(form.first), left, right)
        packs, values = work.packs, self.values
        put = [
            "#pragma unroll",
            f"for (int j = 0; j < {packs.width}; j++)",
            f"  {SCORES}[({packs.row}) * {tile.pitch} + at_column - {origin} + j] = {packs.acc};",
        ]
        if keys % shape.columns:
            put = [f"if (at_column < {keys}) {{", *indented(put), "}"]
        return [
            "float* left_kept = pool;",
            f"float* right_kept = pool + {2 * left.elements};",
            *left.start("first_row", values),
            *right.start("first_column", values),
            *work.before,
            *steps([left, right], work, shape.depth, "0", str(form.first.depth)),
            "__syncthreads();",
            *each_pack(work, [f"const int32_t at_column = first_column + {packs.column};", *put]),
        ]

    def second(self, rounded: bool, first: str = "0") -> tuple[Contraction, Shape, Operand, InnerLoop]:
        """Return the second product, its shape, its right operand, and its inner loop.

        Args:
            rounded: True if weights have no more bits than tensor cores take.
            first: The key whose weight comes first in shared memory.
        """
        form, tile = self.made.form, self.made.tile
        assert form.second is not None and tile.second is not None
        right = printable(operands(form, form.second, tile.second)[1])
        left = KeptTile(tile.second, tile.pitch, tile.second.tensor and not rounded, first)
        return form.second, tile.second, right, inner(form.along(form.second), left, right)


def each_pack(work: InnerLoop, body: Lines) -> Lines:
    """`body` for every pack of the results of a thread."""
    return [
        "#pragma unroll",
        f"for (int i = 0; i < {work.packs.rows}; i++) {{",
        "  #pragma unroll",
        f"  for (int g = 0; g < {work.packs.count}; g++) {{",
        *indented(indented(body)),
        "  }",
        "}",
    ]


def for_columns(count: int, at_once: int, body: Lines) -> Lines:
    """`body` for every tile of columns."""
    head = f"for (int32_t first_column = 0; first_column < {count}; first_column += {at_once}) {{"
    return ["#pragma unroll 1", head, *indented(body), "}"]
