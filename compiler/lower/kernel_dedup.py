"""The kernel of groups that do the same, as those of the layers of a deep net do, is built once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType

from staticgraph.compiler import stages
from staticgraph.compiler.fusion.group import Group
from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.lower.kernels import GroupKernel, build_kernel, counted
from staticgraph.compiler.lower.program import Loops

_NOTHING: Mapping[Value, Value] = MappingProxyType({})


class KernelTable:
    """Kernels that `build_kernel` makes of groups, one for all structurally equal groups."""

    def __init__(self) -> None:
        self._known: dict[Group, tuple[int, dict[Value, int]]] = {}  # the number of its structure, its values
        self._structures: dict[Hashable, int] = {}
        self._built: dict[Hashable, tuple[Loops | Kernel, tuple[int, ...]]] = {}

    def of(self, group: Group, in_place: Mapping[Value, Value] = _NOTHING) -> GroupKernel:
        """The kernel of `group`. `in_place`: for a stored value, the value whose buffer it overwrites."""
        if group not in self._known:
            made = _Numbers(group)
            structure = self._structures.setdefault(made.structure, len(self._structures))
            self._known[group] = structure, made.values
        structure, values = self._known[group]
        changes = [(values[new], values.setdefault(old, len(values))) for new, old in in_place.items()]
        key = structure, *changes
        if key not in self._built:
            built = build_kernel(group, in_place)
            stages.report("build_kernel", group, built.work)
            self._built[key] = built.work, tuple(values[v] for v in built.values)
            return built
        work, order = self._built[key]
        numbered = [*values]
        return GroupKernel(work, tuple(numbered[n] for n in order))


class _Numbers:
    """Numbers instead of nodes and values, in the order in which they are met."""

    def __init__(self, group: Group) -> None:
        self.values: dict[Value, int] = {}
        self.nodes: dict[Node, int] = {}
        nodes = tuple(map(self.node, group.nodes))
        self.structure: Hashable = nodes, self.part(group)  # all that the kernel of `group` depends on

    def node(self, node: Node) -> Hashable:
        self.nodes[node] = len(self.nodes)
        return node.op, (*node.attrs.items(),), *map(self.value, (*node.inputs, *node.outputs))

    def value(self, value: Value) -> Hashable:
        """The number of a value; when it is met first, what is to be known of it."""
        if value in self.values:
            return self.values[value]
        self.values[value] = len(self.values)
        constant = number(value)
        if constant is not None:
            return value.type, repr(constant)
        return value.type, counted(value, (Index("i", value.shape[0]),)) if value.rank == 1 else None

    def part(self, group: Group) -> Hashable:
        """A group among the numbered nodes."""
        return (
            self.nodes[group.root],
            frozenset(map(self.nodes.__getitem__, group.members)),
            None if group.assembly is None else self.nodes[group.assembly],
            tuple(map(self.nodes.__getitem__, group.stored)),
            frozenset(map(self.values.__getitem__, group.local)),
            group.domain, group.rows, tuple(group.summed),
            tuple(map(self.part, group.nests)), tuple(map(self.part, group.sums)),
        )  # fmt: skip
