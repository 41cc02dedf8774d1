"""Predicate of work on a GPU: it does nothing if the loop that it belongs to has ended by then, or if the
branch that it belongs to is not taken.

Functions are asked for in their predicated form, and copies as functions. Libraries do not know of it: what
they do is done in any case, which does no harm if it goes to memory that is of no use afterwards.
Rows that an iteration works on are at addresses that the GPU finds; until then, they have false ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from math import gcd

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.codegen.cuda.predicated import ROWS, copy, predicated
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.stmt import padded
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.graphs.merging import RecordedWork
from staticgraph.runtime.gpu.graphs.order import Span

_FALSE, _APART = 1 << 60, 1 << 40  # addresses of rows: above all that there are, and each far from the others
WORD = 8  # bytes of a number of a state
_MOST_OFFSET = (1 << 31) - 1
_MOST_PIECES = 1 << 12  # more of them are not worth looking at


def state_bytes(rows: int) -> int:
    """Bytes from one state to the next, by the number of rows of the loop."""
    return padded(WORD * (ROWS + rows))


class NotPredicable(Exception):
    """Work that cannot be left undone."""


@dataclass(slots=True)
class Predicated:
    """Work that was asked for: pieces, and multiplications in those that are products."""

    pieces: int = 0
    multiplications: int = 0


@dataclass(slots=True, eq=False)
class Predicate:
    """The loop or branch that work belongs to.

    Args:
        state: The address of its state, as `codegen/cuda/predicated.py` describes it.
        rows: For each row of an iteration, the memory that it may be in.
        private: Memory that is of no use after an iteration, or after the branch.
        branches: For each branch instruction inside, by its id, the address of the states of its branches.
        work: What it was asked about.
    """

    state: int
    rows: Sequence[Sequence[Span]]
    private: Span
    branches: Mapping[int, int]
    work: Predicated = field(default_factory=Predicated)

    def of_branch(self, number: int, states: int, private: Span) -> Predicate:
        """Return the predicate of a branch inside, by the address of the states of its instruction."""
        state = states + number * state_bytes(len(self.rows))
        return Predicate(state, self.rows, private, self.branches, self.work)

    @property
    def span(self) -> Span:
        """The bytes of its state."""
        return self.state, self.state + WORD * (ROWS + len(self.rows))

    def row(self, number: int) -> int:
        """The false address of a row."""
        return _FALSE + number * _APART

    def piece(self, piece: RecordedWork) -> RecordedWork:
        """Return a piece that reads and writes what this one does, by true addresses. NotPredicable if a
        library does it and it must not be done after the end.
        """
        self.work.pieces += 1
        if self.work.pieces > _MOST_PIECES:
            raise NotPredicable
        writes = self._true(piece.writes)
        if piece.call is None:
            self.harmless(writes)
            if any(start >= _FALSE for start, _ in piece.reads):
                raise NotPredicable
        return RecordedWork(
            [*self._true(piece.reads), self.span], writes, piece.action, piece.call, piece.given
        )

    def harmless(self, writes: Iterable[Span]) -> None:
        """NotPredicable unless these bytes are of no use afterwards."""
        start, end = self.private
        if not all(start <= first and last <= end for first, last in writes):
            raise NotPredicable

    def multiplies(self, product: Product) -> None:
        """Count the multiplications of a product, which is done in any case. NotPredicable if it reads where
        its matrices are, which an iteration that there is not does not find out.
        """
        if product.pointers:
            raise NotPredicable
        self.work.multiplications += product.batch * product.m * product.n * product.k

    def call(
        self, function: CudaFunction, addresses: Sequence[int], sizes: Sequence[int]
    ) -> tuple[CudaFunction, list[int], list[int]]:
        """Return the predicated form of a function, and its arguments."""
        in_rows = tuple(address >= _FALSE for address in addresses)
        given = [address for address in addresses if address < _FALSE]
        where = [n for each in addresses if each >= _FALSE for n in divmod(each - _FALSE, _APART)]
        if max(where, default=0) > _MOST_OFFSET:
            raise NotPredicable
        return predicated(function, in_rows), [*given, self.state], [*sizes, *where]

    def copy(self, target: int, source: int, size: int) -> RecordedWork:
        """The piece of work that copies bytes."""
        if size > _MOST_OFFSET:
            raise NotPredicable
        reads, writes = [(source, source + size)], [(target, target + size)]
        return self.piece(
            RecordedWork(reads, writes, None, copy(size, gcd(target, source)), [*reads, *writes])
        )

    def _true(self, spans: Iterable[Span]) -> list[Span]:
        """The bytes that may be meant."""
        found: list[Span] = []
        for start, end in spans:
            found += [(start, end)] if start < _FALSE else self.rows[(start - _FALSE) // _APART]
        return found
