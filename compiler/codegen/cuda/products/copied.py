"""Operands that the card itself copies to shared memory, while threads multiply what came before.

It copies 16 bytes at once where elements lie side by side along rows or columns. Along the sum, they come
one by one, so that they lie in shared memory as all others do: by a warp at once 8 neighbours of 4 rows,
which are in different banks there, and in whole sectors of memory.

A step of the sum has the same value of all indices but the last where that has a whole number of steps, as
a convolution has the same tap where there are many channels. Then a block counts these together, and a thread
looks at edges once for many steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.codegen.cuda.function import C_TYPES
from staticgraph.compiler.codegen.cuda.products.axes import Axis, Values, integer, is_line, place
from staticgraph.compiler.codegen.cuda.products.epilogue import indented
from staticgraph.compiler.codegen.cuda.products.operand import Operand
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.support.dataclass import dataclass

NEIGHBOURS = 8  # along the sum, which threads next to each other copy
_INT16 = 2**15


@dataclass(frozen=True, slots=True)
class Copied(Operand):
    """An operand whose elements are in shared memory as they are in memory.

    A thread copies packs of some `lines`, which are rows or columns, for some `parts` of a step, which are
    further on in the sum.
    """

    @property
    def outer(self) -> Axis:
        """The indices of the sum whose values are the same in all of a step."""
        return Axis(self.sum.name, self.sum.indices[:-1])

    @property
    def turns(self) -> list[str]:
        """Statements for when the values of `outer` indices change: where elements are from now on, and which
        exist.
        """
        if not self._is_even:
            return []
        name, lines = self.name, []
        if not self._is_line:
            lines.append(f"{name}_turn = {place(self.access, self.outer.values, self._wide, '0')};")
        if tests := self._tests(self.sum.indices[:-1]):
            lines += [
                f"{name}_in = 0;",
                "#pragma unroll",
                f"for (int line = 0; line < {self._lines}; line++)",
                f"  {name}_in |= uint32_t({' && '.join(tests)}) << line;",
            ]
        return lines

    def start(self, first: str, values: Values) -> list[str]:
        x, wide, name = self.access, self._wide, self.name
        starts = {"across": f"thread % {self._before} * {self._of_pack}", "along": f"thread / {self._before}"}
        if self._along_sum:
            starts["across"] = f"thread / {self._lanes} % {self.extent}"
            starts["along"] = f"thread % {self._lanes} + thread / {self._before} * {self._lanes}"
        at = place(x, self.axis.values, wide, f"{name}_start")
        if self._is_even or self._is_line:
            along = place(x, dict.fromkeys(self.sum.indices[-1:], f"{name}_along"), wide, "0")
            at += f" + {along}" if along != "0" else ""
        inside = "across"
        body = [f"const int32_t across = {first} + {name}_across + line * {self._line_step};"]
        if self._line_place and not self._is_whole:
            body.append(f"{name}_in |= uint32_t(across < {self.axis.extent}) << line;")
        elif not self._is_whole:
            body.append(f"const int32_t inside = across < {self.axis.extent} ? across : 0;")
            inside = "inside"
        body += self.axis.split(inside)
        body.append(f"{'if (line == 0) ' * bool(self._line_place)}{name}_at[line] = {at};")
        edges = [self._edge(limit, values) for limit in self.limits]
        if self._are_pairs:
            low, high = edges
            edges = [f"({high}) * {2 * _INT16} + (({low}) & {2 * _INT16 - 1})"]
        body += [f"{name}_edge{n}[line] = {edge};" for n, edge in enumerate(edges)]
        lines = 1 if self._line_place else self._lines
        return [
            f"const {integer(wide)} {name}_start = {place(x, values, wide)};",
            *(
                f"const int32_t {name}_{way} = {text.replace('thread', 'int32_t(threadIdx.x)')};"
                for way, text in starts.items()
            ),
            f"{integer(wide)} {name}_at[{lines}], {name}_turn = 0;",
            f"uint32_t {name}_in = 0;",
            *(f"int32_t {name}_edge{n}[{self._lines}];" for n in range(len(edges))),
            "#pragma unroll",
            f"for (int line = 0; line < {self._lines}; line++) {{",
            *indented(body),
            "}",
        ]

    def fetch(self, last: str) -> list[str]:
        name, step, inner = self.name, self.access.step(self.sum.last), self.sum.indices[-1:]
        number = integer(self._wide)
        here, at = self.access.buffer, f"{name}_at[line]"
        if self._line_place:
            at = f"{name}_at[0] + line * {self._line_place}"
        if self._is_line:
            here += f" + from * {number}({step})"
        elif self._is_even:
            here += f" + ({name}_turn + inner * {number}({step}))"
        if self._is_line or self._is_even:
            at += f" + further * {step}"
        else:
            at = place(self.access, self.sum.values, self._wide, at)
        tests = [f"from + along < {last}"] if self.sum.extent % self.shape.depth else []
        if self._is_even:
            among = bool(self._tests(self.outer.indices))
            tests += self._tests(inner, dict.fromkeys(inner, "(inner + along)"))
        else:
            among = False
            tests += self._tests(self.sum.indices)
        if among or (self._line_place and not self._is_whole):
            tests.append(f"({name}_in >> line & 1)")
        splits = not self._is_even and (not self._is_line or self.limits)
        to = self.kept(f"{name}_across + line * {self._line_step}", "along")
        kind = C_TYPES[self.access.dtype.name]
        pack = kind if self._of_pack == 1 else f"Vector<{kind}, {self._of_pack}>"
        places = f"reinterpret_cast<{pack}*>({to}), reinterpret_cast<const {pack}*>({name}_here + ({at}))"
        lines = [
            f"const {kind}* const {name}_here = settled({here});",
            "#pragma unroll",
            f"for (int part = 0; part < {self._parts}; part++) {{",
            f"  const int32_t further = part * {self._part_step};",
            f"  const int32_t along = {name}_along + further;",
            *(indented(self.sum.split("from + along")) if splits else []),
            "  #pragma unroll",
            f"  for (int line = 0; line < {self._lines}; line++)",
            f"    copy_later({', '.join([places, *([' && '.join(tests)] if tests else [])])});",
            "}",
        ]
        if self._packs < self.shape.threads:
            return [f"if (threadIdx.x < {self._packs}) {{", *indented(lines), "}"]
        return lines

    def keep(self) -> list[str]:
        return []

    def _tests(self, indices: Sequence[Index], values: Values | None = None) -> list[str]:
        """The texts of whether these indices of the sum are between the edges."""
        values = values or self.sum.values
        found = []
        for number, limit in enumerate(self.limits):
            if limit.k in indices:
                edge = f"{self.name}_edge{number}[line]"
                if self._are_pairs:
                    edge = [f"int16_t({self.name}_edge0[line])", f"({self.name}_edge0[line] >> 16)"][number]
                found.append(f"uint32_t({edge} + {values[limit.k]} * {limit.step}) < {limit.extent}u")
        return found

    @property
    def _is_whole(self) -> bool:
        """True if the tiles end with the last row or column, so that no tile reaches beyond it."""
        return self.axis.extent % self.extent == 0

    @property
    def _are_pairs(self) -> bool:
        """True if two distances from edges share a register, which saves many if there are many lines."""
        far = (abs(x.offset) + abs(x.place_step) * (x.place.extent if x.place else 0) for x in self.limits)
        return self._is_even and len(self.limits) == 2 and max(far) < _INT16

    @property
    def _line_place(self) -> int:
        """The distance in memory from line to line, if it is always the same; else 0."""
        if not is_line(self.access, self.axis) or not (self._is_even or self._is_line):
            return 0
        if self.limits and not self._is_whole:
            return 0
        return self._line_step * self.access.step(self.axis.last)

    @property
    def _is_line(self) -> bool:
        """True if all elements along the sum are at equal distances."""
        return is_line(self.access, self.sum)

    @property
    def _is_even(self) -> bool:
        """True if the last index of the sum has a whole number of steps, and the sum has other indices."""
        indices = self.sum.indices
        return len(indices) > 1 and indices[-1].extent % self.shape.depth == 0

    @property
    def _of_pack(self) -> int:
        """Elements that are copied at once."""
        return 1 if self._along_sum else self._width(self.axis.last, self.extent)

    @property
    def _packs(self) -> int:
        """Of a tile: packs, or elements that are copied alone."""
        return self.extent * self.shape.depth // self._of_pack

    @property
    def _lanes(self) -> int:
        """Threads next to each other that copy neighbours along the sum."""
        return min(NEIGHBOURS, self.shape.depth)

    @property
    def _before(self) -> int:
        """Threads before the sum goes on."""
        return self.extent * self._lanes if self._along_sum else self.extent // self._of_pack

    @property
    def _lines(self) -> int:
        return max(1, self._before // self.shape.threads)

    @property
    def _line_step(self) -> int:
        return self.shape.threads // self._lanes if self._along_sum else self.shape.threads * self._of_pack

    @property
    def _parts(self) -> int:
        return max(1, self._packs // (self.shape.threads * self._lines))

    @property
    def _part_step(self) -> int:
        further = max(1, self.shape.threads // self._before)
        return further * self._lanes if self._along_sum else further
