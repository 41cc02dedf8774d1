"""The end of a micro-kernel: what becomes of the finished sums, vector by vector.

Short formulas are written out for every vector of the tile, straight from the registers. Long ones, such as a
gelu, are written once per vector of a row, in a loop over the rows: the text stays small. What is the same
for all elements, such as the rate of a step of Adam, is computed before the first micro-kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from staticgraph.compiler.codegen.gemm.loops import Cursor, open_sizes
from staticgraph.compiler.codegen.gemm.micro_kernel import Finish, Sums, read_lanes
from staticgraph.compiler.codegen.gemm.register_tile import Later, Stream, Tile
from staticgraph.compiler.codegen.gemm.tiles import TilePiece
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.expr import ExprPrinter, LlvmValue
from staticgraph.compiler.codegen.llvm.text import memory_type, register_type
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import AnySize, Size, same
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Local, Lookup, Scalar, substitute, walk
from staticgraph.compiler.kernel.lower_expressions import approximate
from staticgraph.compiler.machine import CPU

_WRITTEN_OUT = 160  # operations of a tile
_HELD = 28  # vectors: more do not stay in registers
DEEP = 256  # products of an element: a tile with so many does not notice a detour of its sums through memory


def with_formulas(contraction: Contraction, target: CpuTarget) -> Contraction:
    """Its functions replaced by formulas, as far as the target wants them."""
    stores = (
        replace(s, value=approximate(s.value, target.fast_math, target.table)) for s in contraction.stores
    )
    return replace(contraction, stores=tuple(stores))


class Epilogue:
    """The epilogue of a contraction whose values are formulas already.

    Every distinct access has a pointer inside the micro-kernels.
    """

    def __init__(self, contraction: Contraction) -> None:
        self._contraction = contraction
        values = [store.value for store in contraction.stores]
        self._constants = _constants(values, contraction)
        self._values = [substitute(value, {**self._constants}) for value in values]
        read = set(walk(*self._values))
        self._extents = [x for x in read if isinstance(x, Extent)]  # in arithmetic on integers
        loads = {local: access for local, access in contraction.loads.items() if local in read}
        for n, (expr, local) in enumerate(self._constants.items()):
            loads[local] = Access("", expr.dtype, n, {})
        self.accesses: list[Access] = []
        for access in (*contraction.targets, *loads.values()):
            if not any(access.same(x) for x in self.accesses):
                self.accesses.append(access)
        self._row_steps = [access.stride(contraction.rows) for access in self.accesses]
        self._lane_steps = [access.stride(contraction.lanes) for access in self.accesses]
        self._targets = [self._number(x) for x in contraction.targets]
        self._loads = {local: self._number(x) for local, x in loads.items()}

    def _number(self, access: Access) -> int:
        return next(n for n, x in enumerate(self.accesses) if x.same(access))

    @property
    def pointers(self) -> tuple[str, ...]:
        """Their names, in the order of `accesses`."""
        return tuple([f"%e{n}" for n in range(len(self.accesses))])

    @property
    def begins(self) -> bool:
        """True if something is computed in front of all loops."""
        return bool(self._constants)

    def begin(self, w: GemmWriter, cursor: Cursor) -> Cursor:
        """Compute what is the same for all elements, in front of all loops: where it lies from there on."""
        c = self._contraction
        read = set(walk(*self._constants))
        sizes = zip(c.sizes, open_sizes(c).values(), strict=True)
        known: dict[Expr, str] = {Extent(size): name for size, name in sizes}
        for local, access in c.loads.items():
            if local in read:
                place = Cursor.at_start(w, c, {"": access}).at[""]
                known[local] = w.load(place, access.dtype, 1, 1)
        values = evaluate(w, list(self._constants), known, 1)
        for value, local in zip(values, self._constants.values(), strict=True):
            place = w.value(f"alloca {memory_type(local.dtype)}")
            w.store(value, place, local.dtype, 1, 1)
            cursor = cursor.changed(self.pointers[self._loads[local]], place)
        return cursor

    def later(self, rows: int, columns: int) -> tuple[Later, ...]:
        """Return the rows of large arrays that a tile will read.

        Such arrays are, for example, the weights and the averages of an optimizer.
        """
        c, out = self._contraction, []
        for n in sorted(set(self._loads.values())):
            access, row = self.accesses[n], self._row_steps[n]
            if isinstance(row, Size) or not row or access.step(c.lanes) != 1:
                continue
            if c.size(access) * access.dtype.size >= CPU.near_bytes:
                out.append(Later(self.pointers[n], access.dtype, rows, row, columns))
        return tuple(out)

    def finish(self, tile: Tile) -> Finish:
        """Return the epilogue of a micro-kernel, a function that writes code for the finished sums."""
        operations = len([e for e in walk(*self._values) if isinstance(e, (Scalar, Lookup))])
        if self._loads and self._contraction.depth >= DEEP:
            operations += len(self._loads)
        most = _WRITTEN_OUT if len(tile.places) <= _HELD else _WRITTEN_OUT // 4
        long = tile.rows > 1 and operations * len(tile.places) > most
        return partial(self._looped if long else self._written_out, tile)

    def _written_out(self, tile: Tile, w: GemmWriter, sums: Sums) -> None:
        loaded: dict[tuple[int, int, int], str] = {}
        for (i, j), value in sums.items():
            known = self._at_hand(w, value, tile.pieces[j].width)
            for local, n in self._loads.items():
                key = (n, 0 if same(self._row_steps[n], 0) else i, j)
                if key not in loaded:
                    loaded[key] = self._load(w, n, self.pointers[n], i, tile.pieces[j])
                known[local] = loaded[key]
            self._store(w, known, self.pointers, i, tile.pieces[j])

    def _looped(self, tile: Tile, w: GemmWriter, sums: Sums) -> None:
        width, dtype = sum(p.width for p in tile.pieces), tile.dtype
        kept = w.reserve()
        w.scopes[0].lines.insert(
            0, f"  {kept} = alloca [{width * tile.rows} x {memory_type(dtype)}], align 64"
        )
        for (i, j), value in sums.items():
            piece = tile.pieces[j]
            w.store(value, w.address(kept, i * width + piece.start, dtype), dtype, piece.width, piece.width)

        def row(r: Number) -> None:
            bases = tuple(
                w.address(pointer, w.mul(r, self._row_steps[n]), self.accesses[n].dtype)
                for n, pointer in enumerate(self.pointers)
            )
            line = w.address(kept, w.mul(r, width), dtype)
            for piece in tile.pieces:
                value = w.load(w.address(line, piece.start, dtype), dtype, piece.width, piece.width)
                known = self._at_hand(w, value, piece.width)
                for local, n in self._loads.items():
                    known[local] = self._load(w, n, bases[n], 0, piece)
                self._store(w, known, bases, 0, piece)

        w.each(0, tile.rows, 1, row)

    def _at_hand(self, w: GemmWriter, sums: str, width: int) -> dict[Expr, str]:
        """Return what is known before anything is loaded: the sums of one vector, and open sizes."""
        sizes: dict[Expr, str] = {e: w.spread(str(w.number(e.size)), "i64", width) for e in self._extents}
        return {self._contraction.acc: sums, **sizes}

    def _place(
        self, w: GemmWriter, n: int, base: str, row: int, piece: TilePiece
    ) -> tuple[str, DType, AnySize]:
        """Return the address of one vector of the tile, its dtype, and the distance between its elements."""
        step, dtype = self._lane_steps[n], self.accesses[n].dtype
        place = w.add(w.mul(row, self._row_steps[n]), w.mul(piece.start, step))
        return w.address(base, place, dtype), dtype, step

    def _load(self, w: GemmWriter, n: int, base: str, row: int, piece: TilePiece) -> str:
        """The elements of one vector of the tile, as values in registers."""
        pointer, dtype, step = self._place(w, n, base, row, piece)
        if same(step, 0):
            return w.spread(w.load(pointer, dtype, 1, 1), register_type(dtype), piece.width)
        return read_lanes(w, pointer, Stream(dtype, 0, step), piece)

    def _store(
        self, w: GemmWriter, known: dict[Expr, str], bases: Sequence[str], row: int, piece: TilePiece
    ) -> None:
        """Evaluate all stores of one vector, then write."""
        values = evaluate(w, self._values, known, piece.width)
        for value, n in zip(values, self._targets, strict=True):
            pointer, dtype, step = self._place(w, n, bases[n], row, piece)
            if same(step, 1) or piece.width == 1:
                w.store(value, pointer, dtype, piece.width, piece.valid)
            else:
                w.scatter(value, pointer, dtype, step, piece.width, piece.valid)


def _constants(values: Sequence[Expr], c: Contraction) -> dict[Expr, Local]:
    """Name the floating-point values that are computed from constants, open sizes and shared loads alone.

    A load is shared if all elements read the same number.
    """
    nodes = walk(*values)
    same: set[Expr] = {local for local, access in c.loads.items() if not access.steps}
    for node in nodes:
        if isinstance(node, (Scalar, Lookup)) and all(
            isinstance(x, (Const, Extent)) or x in same for x in node.children
        ):
            same.add(node)
    needed = {*values, *(x for node in nodes if node not in same for x in node.children)} & same
    computed = [node for node in nodes if node in needed and isinstance(node, (Scalar, Lookup))]
    floating = [node for node in computed if node.dtype.is_floating]
    return {node: Local(f"same {n}", node.dtype) for n, node in enumerate(floating)}


def evaluate(w: GemmWriter, roots: Sequence[Expr], known: Mapping[Expr, str], width: int) -> list[str]:
    """The values of expressions made of constants, primitives and what is `known`, in vectors."""
    printer = ExprPrinter(w, width)
    for expr, text in known.items():
        printer.bind(expr, LlvmValue(text, width, w.level))
    return [printer.vector(root) for root in roots]
