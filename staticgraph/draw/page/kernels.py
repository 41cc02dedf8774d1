"""Facts about each kernel for the page: what it computes, its code, its cost, and why it is separate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.fusion.group import Group
from staticgraph.compiler.fusion.neighbours import neighbours
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.function import Node
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.schedule_cpu.row_schedule import place_rows
from staticgraph.compiler.lower.program import HostCall, Launch, Loops
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.nearest import nearest_name
from staticgraph.draw.model import Drawing, Path
from staticgraph.runtime.profiling.kernels import KernelView, kernels_of

_Key = tuple[tuple[str, int], ...]  # the nodes of a kernel: those in a loop are made anew where it is drawn


@dataclass(slots=True)
class KernelFacts:
    """One kernel. `seconds` per run were measured, if a profile is given; `apart` names its neighbours, and
    why they are not in it.
    """

    view: KernelView
    ir: str
    seconds: float | None = None
    apart: list[tuple[str, str]] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """Return the facts that the page needs, as data for JSON."""
        effort = self.view.effort
        return {
            "name": self.view.name,
            "inside": self.view.inside,
            "ops": self.view.ops,
            "lines": [[where.short, where.text] for where in self.view.lines],
            "flops": None if effort is None else effort.flops,
            "bytes": None if effort is None else effort.bytes,
            "estimate": None if self.view.nanoseconds is None else self.view.nanoseconds * 1e-9,
            "seconds": self.seconds,
            "symbols": self.view.symbols,
            "functions": [each.how for each in self.view.listings if each.how],
            "apart": self.apart,
            "ir": self.ir,
        }


def kernel_facts(compiled: CompiledStep, profile: Mapping[str, float]) -> list[KernelFacts]:
    """The kernels of a program in the order in which they run. `profile`: seconds per run by name."""
    loops: dict[tuple[str, ...], str] = {}  # by the code made of them
    found = []
    for view in kernels_of(compiled):
        code = view.symbols or (view.name,)
        if code not in loops:
            loops[code] = _ir(view.instruction)
        found.append(KernelFacts(view, loops[code]))
    names = {_key(kernel.view.nodes): kernel.view.name for kernel in found}
    by_name = {kernel.view.name: kernel for kernel in found}
    for pair in neighbours(compiled.fusion):
        maker, reader = (names.get(_key(group.nodes)) for group in (pair.maker, pair.reader))
        if maker and reader:
            by_name[reader].apart.append((maker, pair.reason))
            by_name[maker].apart.append((reader, pair.reason))
    # A program of open sizes has these kernels, too, but arithmetic and its name may be in another one.
    numbers = {_number(name): kernel for name, kernel in by_name.items()}
    agree = numbers.keys() == {*map(_number, profile)} and not by_name.keys().isdisjoint(profile)
    for name, seconds in profile.items():
        if name not in by_name and not agree:
            raise _unknown(name, by_name)
        (numbers[_number(name)] if agree else by_name[name]).seconds = seconds
    return found


def _number(name: str) -> str:
    """The place of a kernel in the order in which a program runs them."""
    return name.partition("_")[0]


def named(drawing: Drawing, kernels: Iterable[KernelFacts]) -> tuple[Drawing, dict[Path, str]]:
    """The drawing of the fused stage, its kernels called by their names, and the names by the paths."""
    names = {_key(kernel.view.nodes): kernel.view.name for kernel in kernels}
    regions, paths = dict(drawing.regions), {}
    for path, region in drawing.regions.items():
        if isinstance(region.of, Group) and (name := names.get(_key(region.of.nodes))):
            regions[path] = replace(region, title=name)
            paths[path] = name
    return replace(drawing, regions=regions), paths


def _key(nodes: Iterable[Node]) -> _Key:
    return tuple((node.op.name, node.serial) for node in nodes)


def _ir(instruction: Launch | HostCall) -> str:
    """The kernel as loops, before any decision about threads."""
    if isinstance(instruction, HostCall):
        return ""
    work = instruction.work
    if isinstance(work, Loops):
        work = place_rows("loops", dict(work.buffers), work.rows, work.nests, work.sums)
    return kernel_text(work)


def _unknown(name: str, known: Mapping[str, KernelFacts]) -> ValueError:
    close = nearest_name(name, known)
    text = f"show: the profile tells of {name!r}, and no kernel has this name"
    return misuse(ValueError, text, f"did you mean {close!r}?" if close else None)
