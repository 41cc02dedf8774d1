"""The kernel of groups that do the same, as those of the layers of a deep net do, is built once.

Groups that differ in numbers alone share a kernel too, if they are many: it loads what otherwise is a part of
its code. The same instructions compute the same bits.

    x * 0.1, x * 0.2, x * 0.3, x * 0.4    ->  x * parameter, launched four times
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from types import MappingProxyType

from staticgraph.compiler import stages
from staticgraph.compiler.fusion.group import Group
from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.graph.function import Node, Value
from staticgraph.compiler.kernel.contraction import analyse
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.stmt import Kernel
from staticgraph.compiler.lower.kernels import GroupKernel, build_kernel, counted
from staticgraph.compiler.lower.program import Loops
from staticgraph.compiler.support.dataclass import dataclass

_NOTHING: Mapping[Value, Value] = MappingProxyType({})
_MANY = 4  # kernels that differ in numbers: fewer are compiled one by one, each with its numbers in its code


@dataclass(frozen=True, slots=True)
class _Known:
    """A group: the number of its structure without numbers, these numbers, and those of its values."""

    structure: int
    numbers: tuple[str, ...]
    values: dict[Value, int]


class KernelTable:
    """Kernels that `build_kernel` makes of groups, one for all structurally equal groups.

    Args:
        parameters: If kernels may have parameters, as those for a processor may.
    """

    def __init__(self, parameters: bool = False) -> None:
        self._parameters = parameters
        self._known: dict[Group, _Known] = {}
        self._structures: dict[Hashable, int] = {}
        self._alike: dict[int, set[tuple[str, ...]]] = {}  # the numbers that groups of a structure have
        self._built: dict[Hashable, tuple[Loops | Kernel, tuple[int, ...]]] = {}
        self._refused: set[int] = set()  # structures whose kernels keep their numbers

    def expect(self, groups: Iterable[Group]) -> None:
        """Look at groups whose kernels will be asked for, to see which are alike."""
        if self._parameters:
            for group in groups:
                if group.is_loops:
                    known = self._look(group)
                    self._alike.setdefault(known.structure, set()).add(known.numbers)

    def of(self, group: Group, in_place: Mapping[Value, Value] = _NOTHING) -> GroupKernel:
        """The kernel of `group`. `in_place`: for a stored value, the value whose buffer it overwrites."""
        known = self._look(group)
        if len(self._alike.get(known.structure, ())) >= _MANY and known.structure not in self._refused:
            shared = self._kernel(group, known, in_place, {v for v in known.values if is_parameter(v)})
            if not _is_product(shared.work):
                return shared
            self._refused.add(known.structure)  # a product is computed in tiles, by code of another kind
        return self._kernel(group, known, in_place, ())

    def _look(self, group: Group) -> _Known:
        if group not in self._known:
            made = _Numbers(group)
            structure = self._structures.setdefault(made.structure, len(self._structures))
            self._known[group] = _Known(structure, tuple(made.constants), made.values)
        return self._known[group]

    def _kernel(
        self, group: Group, known: _Known, in_place: Mapping[Value, Value], parameters: Collection[Value]
    ) -> GroupKernel:
        values = known.values
        changes = [(values[new], values.setdefault(old, len(values))) for new, old in in_place.items()]
        key = known.structure, () if parameters else known.numbers, bool(parameters), *changes
        if key not in self._built:
            built = build_kernel(group, in_place, parameters)
            stages.report("build_kernel", group, built.work)
            self._built[key] = built.work, tuple(values[v] for v in built.values)
            return built
        work, order = self._built[key]
        numbered = [*values]
        return GroupKernel(work, tuple(numbered[n] for n in order))


def is_parameter(value: Value) -> bool:
    """Return True for a constant that may be a parameter of a kernel: a number that no rule looks at."""
    if value.node.op.name != "constant" or value.rank or value.dtype not in (float32, float64):
        return False
    found = number(value)
    return found is not None and math.isfinite(found) and abs(found) not in (0.0, 1.0)


def _is_product(work: Loops | Kernel) -> bool:
    if isinstance(work, Kernel) or work.rows:
        return False
    return analyse(work.nests[0].domain, work.nests[0].stores, dict(work.buffers)) is not None


class _Numbers:
    """Numbers instead of nodes and values, in the order in which they are met."""

    def __init__(self, group: Group) -> None:
        self.values: dict[Value, int] = {}
        self.nodes: dict[Node, int] = {}
        self.constants: list[str] = []  # those that may be parameters
        nodes = tuple(map(self.node, group.nodes))
        self.structure: Hashable = nodes, self.part(group)  # all else that the kernel of `group` depends on

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
            if is_parameter(value):
                self.constants.append(repr(constant))
                return value.type, "number"
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
