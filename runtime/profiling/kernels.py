"""The kernels of a program, as a person thinks of them: a name, the user's lines, the work of a launch."""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.codegen.abi import Listing
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.graph.function import Node
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.lower.flop_count import WorkCount, effort
from staticgraph.compiler.lower.program import HostCall, Launch, LoopInstruction, lines_of
from staticgraph.compiler.support.dataclass import dataclass

_NAMED = 3  # ops in a name
_QUIET = ("constant", "parameter", "unset")
_LINES = 3  # that are shown
_HEAVY = (Kind.CONTRACTION, Kind.REDUCTION)


@dataclass(frozen=True, slots=True)
class KernelView:
    """One kernel of a program, or a call into NumPy.

    `name` is unique in the program. `effort`: floating operations and bytes of one launch, `nanoseconds`: the
    compiler's guess of its time on one core; both None for a call into NumPy, and no guess for a GPU.
    `listings`: its functions. `inside` says where it is: "", "loop", or "branch".
    """

    name: str
    ops: tuple[str, ...]
    lines: tuple[Provenance, ...]
    effort: WorkCount | None
    nanoseconds: float | None
    listings: tuple[Listing, ...]
    inside: str
    instruction: Launch | HostCall
    nodes: tuple[Node, ...]

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of its functions."""
        return tuple(each.name for each in self.listings)

    @property
    def places(self) -> str:
        """The lines, to be shown: `net.py:12, 14`."""
        found: dict[str, list[str]] = {}
        for line in self.lines:
            file, _, number = line.short.rpartition(":")
            found.setdefault(file, []).append(number)
        shown = [f"{file}:{', '.join(numbers[:_LINES])}" for file, numbers in found.items()]
        return "; ".join(shown[:_LINES]) + (" ..." if sum(map(len, found.values())) > _LINES else "")


def kernels_of(compiled: CompiledStep) -> list[KernelView]:
    """The kernels of a program in the order in which they run, those of a loop where it stands."""
    found: list[KernelView] = []
    for instruction, code, outer in compiled.walk():
        if not isinstance(instruction, Launch | HostCall):
            continue
        nodes = instruction.nodes if isinstance(instruction, Launch) else (instruction.node,)
        amount = effort(instruction.work) if isinstance(instruction, Launch) else None
        inside = "" if outer is None else "loop" if isinstance(outer, LoopInstruction) else "branch"
        found.append(
            KernelView(
                f"{len(found) + 1}_{_name(nodes)}",
                tuple(n.op.name for n in nodes if n.op.name not in _QUIET),
                lines_of(nodes, None if outer is None else outer.node),
                amount,
                None if code is None else code.cost,
                () if code is None else code.listings,
                inside,
                instruction,
                nodes,
            )
        )
    return found


def _name(nodes: Iterable[Node]) -> str:
    """The ops with the most work in them, and what is made of them at last."""
    shown = [n for n in nodes if n.op.name not in _QUIET]
    heavy = [n.op.name for n in shown if n.op.kind in _HEAVY]
    names = dict.fromkeys([*heavy[: _NAMED - 1], shown[-1].op.name] if shown else ["copy"])
    return "_".join(names)
