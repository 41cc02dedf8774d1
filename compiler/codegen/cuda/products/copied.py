"""Operands that the GPU itself copies to shared memory, while threads multiply what came before.

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
from staticgraph.compiler.codegen.cuda.places import integer, place, split_count
from staticgraph.compiler.codegen.cuda.products.epilogue import indented
from staticgraph.compiler.codegen.cuda.products.operand import Operand
from staticgraph.compiler.graph.sizes import content
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Values
from staticgraph.compiler.kernel.schedule_gpu.products.operand import INT16, CopiedTile
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Copied(CopiedTile, Operand):
    """An operand whose elements are in shared memory as they are in memory.

    A thread copies packs of some `lines`, which are rows or columns, for some `parts` of a step, which are
    further on in the sum.
    """

    @property
    def turns(self) -> list[str]:
        """Statements for when the values of `outer` indices change: where elements are from now on, and which
        exist.
        """
        if not self.is_even:
            return []
        name, lines = self.name, []
        if not self.is_line:
            lines.append(f"{name}_turn = {place(self.access, self.outer.values, self.wide, '0')};")
        if tests := self._tests(self.sum.indices[:-1]):
            lines += [
                f"{name}_in = 0;",
                "#pragma unroll",
                f"for (int line = 0; line < {self.lines}; line++)",
                f"  {name}_in |= uint32_t({' && '.join(tests)}) << line;",
            ]
        return lines

    def start(self, first: str, values: Values) -> list[str]:
        x, wide, name = self.access, self.wide, self.name
        starts = {"across": f"thread % {self.before} * {self.of_pack}", "along": f"thread / {self.before}"}
        if self.along_sum:
            starts["across"] = f"thread / {self.lanes} % {self.extent}"
            starts["along"] = f"thread % {self.lanes} + thread / {self.before} * {self.lanes}"
        at = place(x, self.axis.values, wide, f"{name}_start")
        if self.is_even or self.is_line:
            along = place(x, dict.fromkeys(self.sum.indices[-1:], f"{name}_along"), wide, "0")
            at += f" + {along}" if along != "0" else ""
        inside = "across"
        body = [f"const int32_t across = {first} + {name}_across + line * {self.line_step};"]
        if self.line_place and not self.is_whole:
            body.append(f"{name}_in |= uint32_t(across < {self.axis.extent}) << line;")
        elif not self.is_whole:
            body.append(f"const int32_t inside = across < {self.axis.extent} ? across : 0;")
            inside = "inside"
        body += split_count(self.axis, inside)
        body.append(f"{'if (line == 0) ' * bool(self.line_place)}{name}_at[line] = {at};")
        edges = [self._edge(limit, values) for limit in self.limits]
        if self.are_pairs:
            low, high = edges
            edges = [f"({high}) * {2 * INT16} + (({low}) & {2 * INT16 - 1})"]
        body += [f"{name}_edge{n}[line] = {edge};" for n, edge in enumerate(edges)]
        lines = 1 if self.line_place else self.lines
        return [
            f"const {integer(wide)} {name}_start = {place(x, values, wide)};",
            *(
                f"const int32_t {name}_{way} = {text.replace('thread', 'int32_t(threadIdx.x)')};"
                for way, text in starts.items()
            ),
            f"{integer(wide)} {name}_at[{lines}], {name}_turn = 0;",
            f"uint32_t {name}_in = 0;",
            *(f"int32_t {name}_edge{n}[{self.lines}];" for n in range(len(edges))),
            "#pragma unroll",
            f"for (int line = 0; line < {self.lines}; line++) {{",
            *indented(body),
            "}",
        ]

    def fetch(self, last: str) -> list[str]:
        name, step, inner = self.name, self.access.step(self.sum.last), self.sum.indices[-1:]
        number = integer(self.wide)
        here, at = self.access.buffer, f"{name}_at[line]"
        if self.line_place:
            at = f"{name}_at[0] + line * {self.line_place}"
        if self.is_line:
            here += f" + from * {number}({step})"
        elif self.is_even:
            here += f" + ({name}_turn + inner * {number}({step}))"
        if self.is_line or self.is_even:
            at += f" + further * {step}"
        else:
            at = place(self.access, self.sum.values, self.wide, at)
        tests = [f"from + along < {last}"] if content(self.sum.extent) % self.shape.depth else []
        if self.is_even:
            among = bool(self._tests(self.outer.indices))
            tests += self._tests(inner, dict.fromkeys(inner, "(inner + along)"))
        else:
            among = False
            tests += self._tests(self.sum.indices)
        if among or (self.line_place and not self.is_whole):
            tests.append(f"({name}_in >> line & 1)")
        splits = not self.is_even and (not self.is_line or self.limits)
        to = self.kept(f"{name}_across + line * {self.line_step}", "along")
        kind = C_TYPES[self.access.dtype.name]
        pack = kind if self.of_pack == 1 else f"Vector<{kind}, {self.of_pack}>"
        places = f"reinterpret_cast<{pack}*>({to}), reinterpret_cast<const {pack}*>({name}_here + ({at}))"
        lines = [
            f"const {kind}* const {name}_here = settled({here});",
            "#pragma unroll",
            f"for (int part = 0; part < {self.parts}; part++) {{",
            f"  const int32_t further = part * {self.part_step};",
            f"  const int32_t along = {name}_along + further;",
            *(indented(split_count(self.sum, "from + along")) if splits else []),
            "  #pragma unroll",
            f"  for (int line = 0; line < {self.lines}; line++)",
            f"    copy_later({', '.join([places, *([' && '.join(tests)] if tests else [])])});",
            "}",
        ]
        if self.packs < self.shape.threads:
            return [f"if (threadIdx.x < {self.packs}) {{", *indented(lines), "}"]
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
                if self.are_pairs:
                    edge = [f"int16_t({self.name}_edge0[line])", f"({self.name}_edge0[line] >> 16)"][number]
                found.append(f"uint32_t({edge} + {values[limit.k]} * {limit.step}) < {limit.extent}u")
        return found
