"""Operands that threads bring to shared memory themselves: those whose numbers change on the way, to a wider
type, or to what tensor cores take.

Threads read packs of 16 bytes where elements lie side by side, along the sum or along rows or columns. They
first read the packs of a step, and keep them in shared memory later, when they have multiplied those of the
step before.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.function import C_TYPES
from staticgraph.compiler.codegen.cuda.places import integer, place, split_count
from staticgraph.compiler.codegen.cuda.products.epilogue import indented
from staticgraph.compiler.codegen.cuda.products.operand import Operand
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.sizes import content
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Values
from staticgraph.compiler.kernel.schedule_gpu.products.operand import StagedTile
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Staged(StagedTile, Operand):
    """Text for an operand that goes through registers."""

    @property
    def _starts(self) -> tuple[str, str]:
        """Texts of the start of a pack in a tile: along rows or columns, and along the sum."""
        count = (self.shape.depth if self.along_sum else self.extent) // self.of_pack
        fast, slow = f"pack % {count}", f"pack / {count}"
        fast = fast if self.of_pack == 1 else f"({fast}) * {self.of_pack}"
        return (slow, fast) if self.along_sum else (fast, slow)

    def start(self, first: str, values: Values) -> list[str]:
        """Return statements that compute what all steps share: starts of packs, distances from edges."""
        x, wide, name, turns = self.access, self.wide, self.name, self.reads
        across, _ = self._starts
        lines = [
            f"const {integer(wide)} {name}_start = {place(x, values, wide)};",
            f"{integer(wide)} {name}_at[{turns}];",
            f"Vector<{self.kind}, {self.of_pack}> {name}_next[{turns}];",
        ]
        body, inside = [f"const int32_t across = {first} + {across};"], "across"
        if content(self.axis.extent) % self.extent:
            body.append(f"const int32_t inside = across < {self.axis.extent} ? across : 0;")
            inside = "inside"
        body += split_count(self.axis, inside)
        body.append(f"{name}_at[turn] = {place(x, self.axis.values, wide, f'{name}_start')};")
        for n, limit in enumerate(self.limits):
            lines.append(f"int32_t {name}_edge{n}[{turns}];")
            body.append(f"{name}_edge{n}[turn] = {self._edge(limit, values)};")
        return lines + self._each(body)

    def fetch(self, last: str) -> list[str]:
        """Read the packs of the step that begins at `from`, of a sum that ends at `last`."""
        _, along = self._starts
        body = [f"const int32_t at_sum = from + {along};", *split_count(self.sum, "at_sum")]
        tests = [f"at_sum < {last}"] if content(self.sum.extent) % self.shape.depth else []
        for n, limit in enumerate(self.limits):
            edge = f"{self.name}_edge{n}[turn] + {self.sum.values[limit.k]} * {limit.step}"
            tests.append(f"uint32_t({edge}) < {limit.extent}u")
        start = place(self.access, self.sum.values, self.wide, f"{self.name}_at[turn]")
        read = [f"const {integer(self.wide)} at = {start};", *self._read()]
        if tests:
            zero = self._fill("0")
            read = [f"if ({' && '.join(tests)}) {{", *indented(read), "} else {", *indented(zero), "}"]
        return self._each(body + read)

    def keep(self) -> list[str]:
        """Put the packs that were read into shared memory."""
        across, along = self._starts
        n, pack = self.of_pack, f"{self.name}_next[turn]"
        at = self.kept(across, along)
        if n == 1:
            body = [f"*({at}) = {pack}.at[0];"]
        elif self.along_sum == self.is_turned:
            body = [f"*reinterpret_cast<Vector<{self.kind}, {n}>*>({at}) = {pack};"]
        else:
            line = f"({at})[j * {self.pitch}] = {pack}.at[j];"
            body = ["#pragma unroll", f"for (int j = 0; j < {n}; j++) {line}"]
        return self._each(body)

    def _read(self) -> list[str]:
        """Statements that read the pack which begins `at`."""
        x, n = self.access, self.of_pack
        memory = C_TYPES[x.dtype.name]
        pack = f"Vector<{memory}, {n}>"
        rounds = self.shape.tensor and x.dtype is float32
        return [
            f"{pack} raw = *reinterpret_cast<const {pack}*>({x.buffer} + at);",
            "#pragma unroll",
            f"for (int j = 0; j < {n}; j++) read_now(raw.at[j]);",
            *self._fill(_rounded("to_register(raw.at[j])", rounds)),
        ]

    def _fill(self, value: str) -> list[str]:
        """Statements that set the elements of a pack, number `j` to this value."""
        return [
            "#pragma unroll",
            f"for (int j = 0; j < {self.of_pack}; j++) {self.name}_next[turn].at[j] = {value};",
        ]

    def _each(self, body: list[str]) -> list[str]:
        """`body` for each pack of a thread, number `turn`, which is the `pack`-th of the tile."""
        if self.packs < self.shape.threads:
            body = [f"if (pack < {self.packs}) {{", *indented(body), "}"]
        return [
            "#pragma unroll",
            f"for (int turn = 0; turn < {self.reads}; turn++) {{",
            f"  const int32_t pack = int32_t(threadIdx.x) + turn * {self.shape.threads};",
            *indented(body),
            "}",
        ]


def _rounded(value: str, rounds: bool) -> str:
    return f"to_tensor({value})" if rounds else value
