"""Regions: operations that are carried out as a part of another one, such as the body of a loop.

They are operations of the graph like all others, with names and lines, but for the region that they belong
to. They may use tensors of their own region and of those around it; nothing outside may use theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from staticgraph.compiler.graph.tensor import Operation, Tensor


def may_use(region: Region | None, other: Region | None) -> bool:
    """Return True if operations of `region` may use tensors of `other`.

    None stands for the part of a graph outside of all regions.
    """
    return other is None or other is region or (region is not None and other in region.around)


class Region:
    """A part of a graph: `params` -> `results`.

    Params are outputs of `region_parameter` operations; a branch has none. `owner` is the operation that the
    region is a part of, known when that is made. `hosted` tells whether there is something in it that only
    Python does, once that was asked.
    """

    __slots__ = ("parent", "params", "results", "owner", "hosted")

    def __init__(self, parent: Region | None) -> None:
        self.parent = parent
        self.params: tuple[Tensor, ...] = ()
        self.results: tuple[Tensor, ...] = ()
        self.owner: Operation | None = None
        self.hosted: bool | None = None

    @property
    def around(self) -> list[Region]:
        """The region itself, and those that it lies in, innermost first."""
        found: list[Region] = []
        region: Region | None = self
        while region is not None:
            found.append(region)
            region = region.parent
        return found

    def operations(self, roots: tuple[Operation, ...] = (), results: bool = True) -> list[Operation]:
        """Return the operations of this region, not of those inside it, that its results and `roots` need;
        without `results`, that only `roots` need.
        """
        return sorted(self._walk(roots, results)[0], key=lambda op: op.id)

    def captures(self) -> tuple[list[Tensor], list[Operation]]:
        """Return what the results need from outside: tensors, and operations that must run before."""
        inside, tensors, controls = self._walk(())
        outer = [t for t in self.results if t.op not in inside]
        return list(dict.fromkeys([*tensors, *outer])), controls

    def _walk(
        self, roots: tuple[Operation, ...], results: bool = True
    ) -> tuple[set[Operation], list[Tensor], list[Operation]]:
        given = (t.op for t in self.results) if results else ()
        stack = [op for op in (*given, *roots) if op.region is self]
        inside: set[Operation] = set()
        tensors: dict[Tensor, None] = {}
        controls: dict[Operation, None] = {}
        while stack:
            op = stack.pop()
            if op in inside:
                continue
            inside.add(op)
            for tensor in op.all_inputs:
                if tensor.op.region is self:
                    stack.append(tensor.op)
                else:
                    tensors[tensor] = None
            for control in op.control_inputs:
                if control.region is self:
                    stack.append(control)
                else:
                    controls[control] = None
        return inside, list(tensors), list(controls)
