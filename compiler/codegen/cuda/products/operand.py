"""How blocks of threads bring tiles of an operand to shared memory.

An element of an operand lies wherever the steps of its indices lead, so that convolutions are products as
well; what a window sees beyond an edge is 0. Threads read packs of 16 bytes where elements lie side by side,
along the sum or along rows or columns. They first read the packs of a step, and keep them in shared memory
later, when they have multiplied those of the step before.
"""

from __future__ import annotations

from typing import Protocol

from staticgraph.compiler.codegen.cuda.function import C_TYPES
from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.codegen.cuda.products.axes import Axis, Values, in_packs, integer, is_wide, place
from staticgraph.compiler.codegen.cuda.products.epilogue import indented
from staticgraph.compiler.codegen.cuda.products.shape import Shape
from staticgraph.compiler.dataclass import dataclass
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.contraction import Access, Contraction, Limit


class Side(Protocol):
    """An operand in shared memory, `name` in the text, with elements of `size` bytes: what the threads that
    multiply need to know of it.
    """

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def extent(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def is_turned(self) -> bool: ...
    def kept(self, across: str, along: str) -> str: ...
    def element(self, across: str, along: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand, by `name`, and its tiles of `extent` rows or columns."""

    contraction: Contraction
    shape: Shape
    name: str
    access: Access
    axis: Axis  # rows or columns
    sum: Axis
    extent: int
    limits: tuple[Limit, ...] = ()

    @property
    def kind(self) -> str:
        """The type of elements in shared memory."""
        return register_type(self.contraction.dtype)

    @property
    def size(self) -> int:
        """Bytes of an element in shared memory."""
        return self.contraction.dtype.size

    @property
    def is_turned(self) -> bool:
        """Whether a line in shared memory is a row or column, with all of a step: so tensor cores like it
        where threads read along the sum. Otherwise, it has the elements of all rows or columns for a product.
        """
        return self.shape.tensor and self._along_sum

    @property
    def _pitch(self) -> int:
        """Elements from a line in shared memory to the next, so that they lie in different banks."""
        if self.is_turned:
            return self.shape.depth + 4
        return self.extent + (8 if self.shape.tensor else self._most)

    @property
    def half(self) -> int:
        """Elements of a tile in shared memory, which has room for two."""
        return self._pitch * (self.extent if self.is_turned else self.shape.depth)

    @property
    def _most(self) -> int:
        """Elements of 16 bytes."""
        return 16 // self.size

    @property
    def _along_sum(self) -> bool:
        """Whether neighbouring threads read neighbours of the sum."""
        last, k = self.axis.last, self.sum.last
        if last is None or k is None:
            return last is None
        here, there = abs(self.access.step(last)), abs(self.access.step(k))
        return 0 < there < here

    @property
    def _width(self) -> int:
        """Elements of a pack."""
        fastest, most = self.axis.last, self.extent
        if self._along_sum:
            fastest, most = self.sum.last, self.shape.depth
        width = min(self._most, most)
        return width if in_packs(self.access, fastest, width, self.limits) else 1

    @property
    def _packs(self) -> int:
        """Packs of a tile."""
        return self.extent * self.shape.depth // self._width

    @property
    def _turns(self) -> int:
        """Packs that a thread reads."""
        return -(-self._packs // self.shape.threads)

    @property
    def _starts(self) -> tuple[str, str]:
        """Where a pack begins in a tile: along rows or columns, and along the sum."""
        count = (self.shape.depth if self._along_sum else self.extent) // self._width
        fast, slow = f"pack % {count}", f"pack / {count}"
        fast = fast if self._width == 1 else f"({fast}) * {self._width}"
        return (slow, fast) if self._along_sum else (fast, slow)

    @property
    def _wide(self) -> bool:
        return is_wide(self.contraction, self.access)

    def kept(self, across: str, along: str) -> str:
        """The text of the address of an element in shared memory, by its row or column and by its place in
        the step. In the text, `half` says in which of the two tiles.
        """
        line, at = (across, along) if self.is_turned else (along, across)
        return f"{self.name}_kept + half * {self.half} + ({line}) * {self._pitch} + {at}"

    def element(self, across: str, along: str) -> str:
        """The text of an element in shared memory."""
        return f"*({self.kept(across, along)})"

    def start(self, first: str, values: Values) -> list[str]:
        """What does not change from step to step: where packs begin, and how far from the edges."""
        x, wide, name, turns = self.access, self._wide, self.name, self._turns
        across, _ = self._starts
        lines = [
            f"const {integer(wide)} {name}_start = {place(x, values, wide)};",
            f"{integer(wide)} {name}_at[{turns}];",
            f"Vector<{self.kind}, {self._width}> {name}_next[{turns}];",
        ]
        body, inside = [f"const int32_t across = {first} + {across};"], "across"
        if self.axis.extent % self.extent:
            body.append(f"const int32_t inside = across < {self.axis.extent} ? across : 0;")
            inside = "inside"
        body += self.axis.split(inside)
        body.append(f"{name}_at[turn] = {place(x, self.axis.values, wide, f'{name}_start')};")
        for n, limit in enumerate(self.limits):
            lines.append(f"int32_t {name}_edge{n}[{turns}];")
            edge = str(limit.offset)
            if limit.place is not None:
                edge += f" + {({**values, **self.axis.values})[limit.place]} * {limit.place_step}"
            body.append(f"{name}_edge{n}[turn] = {edge};")
        return lines + self._each(body)

    def fetch(self, last: str) -> list[str]:
        """Read the packs of the step that begins at `from`, of a sum that ends at `last`."""
        _, along = self._starts
        body = [f"const int32_t at_sum = from + {along};", *self.sum.split("at_sum")]
        tests = [f"at_sum < {last}"] if self.sum.extent % self.shape.depth else []
        for n, limit in enumerate(self.limits):
            edge = f"{self.name}_edge{n}[turn] + {self.sum.values[limit.k]} * {limit.step}"
            tests.append(f"uint32_t({edge}) < {limit.extent}u")
        start = place(self.access, self.sum.values, self._wide, f"{self.name}_at[turn]")
        read = [f"const {integer(self._wide)} at = {start};", *self._read()]
        if tests:
            zero = self._fill("0")
            read = [f"if ({' && '.join(tests)}) {{", *indented(read), "} else {", *indented(zero), "}"]
        return self._each(body + read)

    def keep(self) -> list[str]:
        """Put the packs that were read into shared memory."""
        across, along = self._starts
        n, pack = self._width, f"{self.name}_next[turn]"
        at = self.kept(across, along)
        if n == 1:
            body = [f"*({at}) = {pack}.at[0];"]
        elif self._along_sum == self.is_turned:
            body = [f"*reinterpret_cast<Vector<{self.kind}, {n}>*>({at}) = {pack};"]
        else:
            line = f"({at})[j * {self._pitch}] = {pack}.at[j];"
            body = ["#pragma unroll", f"for (int j = 0; j < {n}; j++) {line}"]
        return self._each(body)

    def _read(self) -> list[str]:
        """Statements that read the pack which begins `at`."""
        x, n = self.access, self._width
        memory = C_TYPES[x.dtype.name]
        pack = f"Vector<{memory}, {n}>"
        rounds = self.shape.tensor and x.dtype is float32
        if n == 1:
            return self._fill(_rounded(f"to_register({x.buffer}[at])", rounds))
        if memory == self.kind and not rounds:
            return [f"{self.name}_next[turn] = *reinterpret_cast<const {pack}*>({x.buffer} + at);"]
        return [
            f"const {pack} raw = *reinterpret_cast<const {pack}*>({x.buffer} + at);",
            *self._fill(_rounded("to_register(raw.at[j])", rounds)),
        ]

    def _fill(self, value: str) -> list[str]:
        """Statements that set the elements of a pack, number `j` to this value."""
        return [
            "#pragma unroll",
            f"for (int j = 0; j < {self._width}; j++) {self.name}_next[turn].at[j] = {value};",
        ]

    def _each(self, body: list[str]) -> list[str]:
        """`body` for each pack of a thread, number `turn`, which is the `pack`-th of the tile."""
        if self._packs < self.shape.threads:
            body = [f"if (pack < {self._packs}) {{", *indented(body), "}"]
        return [
            "#pragma unroll",
            f"for (int turn = 0; turn < {self._turns}; turn++) {{",
            f"  const int32_t pack = int32_t(threadIdx.x) + turn * {self.shape.threads};",
            *indented(body),
            "}",
        ]


def _rounded(value: str, rounds: bool) -> str:
    return f"to_tensor({value})" if rounds else value
