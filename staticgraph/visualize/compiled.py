"""The drawing of what the compiler makes of a graph: the Function after its passes, whole or in kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.opdef import Effect, Kind
from staticgraph.compiler.graph.opdef import Role as ParamRole
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.passes.group import Fusion, Group, is_alias, is_host
from staticgraph.compiler.passes.specialise import Step
from staticgraph.visualize.model import Box, Drawing, Flow, Link, Path, Region, Role, Work
from staticgraph.visualize.recorded import without_plain_references
from staticgraph.visualize.wording import (
    attribute_lines,
    is_short,
    lines_of,
    place_lines,
    place_of,
    shorten,
    type_text,
    value_text,
)

_PARAMETER_ROLES = {"feed": Role.INPUT, "variable": Role.VARIABLE, "counter": Role.RANDOM}
MANY_KERNELS = 12  # with more of them, a variable that only one kernel reads is drawn in it


@dataclass(slots=True)
class _Ends:
    """Where the results of a step go: by value, what is fetched and which variables get it."""

    fetched: dict[Value, list[str]] = field(default_factory=dict)
    assigned: dict[Value, list[str]] = field(default_factory=dict)
    in_place: set[Value] = field(default_factory=set)


def optimized(step: Step, function: Function, fetches: Sequence[str]) -> Drawing:
    """The nodes of `function`, which the passes made of `step.function`."""
    ends = _ends(step, function, fetches, frozenset())
    return _Compiled(function, ends, [(node, ()) for node in function.nodes], {}).drawing({})


def fused(step: Step, fusion: Fusion, fetches: Sequence[str]) -> Drawing:
    """The nodes of a fused Function, each in the kernels that compute it (some do so again)."""
    program = lower(fusion, step.fetches, step.updates)
    ends = _ends(step, fusion.function, fetches, program.in_place)
    placed: list[tuple[Node, Path]] = []
    regions: dict[Path, Region] = {}
    homes: dict[Value, Path] = {}
    for group in fusion.groups:
        path: Path = ()
        if not is_alias(group.root):  # an alias is a buffer read by another shape: no kernel
            path = (f"kernel {len(regions) + 1}",)
            regions[path] = _region(group, path[0])
        placed += [(node, path) for node in group.nodes]
        homes.update(dict.fromkeys(group.outputs, path))
    return _Compiled(fusion.function, ends, placed, homes).drawing(regions)


def work_of(group: Group) -> Work:
    """What kind of kernel computes a group."""
    if is_host(group.root):
        return Work.HOST
    kinds = {node.op.kind for node in group.nodes}
    if Kind.CONTRACTION in kinds:
        return Work.PRODUCT
    return Work.REDUCTION if group.reduces or Kind.REDUCTION in kinds else Work.LOOPS


def _region(group: Group, name: str) -> Region:
    work = work_of(group)
    title = f"{name}: {work.value.partition(': ')[2] or work.value}"
    return Region(title, work, "\n".join([title, *place_lines(group.root.where)]))


def _ends(step: Step, function: Function, fetches: Sequence[str], in_place: frozenset[int]) -> _Ends:
    ends, updates = _Ends(), step.updates
    for i, value in enumerate(function.results):
        if i < step.fetches:
            ends.fetched.setdefault(value, []).append(fetches[i])
        else:
            ends.assigned.setdefault(value, []).append(step.writes[i - step.fetches].name)
            if updates.get(i) in in_place:
                ends.in_place.add(value)
    return ends


class _Compiled:
    """The nodes of a Function as boxes.

    `placed`: nodes in the order in which they run, each with where it is drawn. `homes`: where a value that
    is computed in several places is read by the others.
    """

    def __init__(
        self,
        function: Function,
        ends: _Ends,
        placed: Sequence[tuple[Node, Path]],
        homes: Mapping[Value, Path],
    ) -> None:
        self.function = function
        self.ends = ends
        self.homes = homes
        self.inlined = {v for node in function.nodes for v in node.outputs if self._is_inlined(v)}
        running = [(node, path) for node, path in placed if node.op.name not in ("parameter", "constant")]
        self.paths: dict[Node, list[Path]] = {}
        self.order: dict[tuple[Node, Path], int] = {}
        users: dict[Node, list[tuple[int, Path]]] = {}  # of params and constants
        for turn, (node, path) in enumerate(running):
            self.paths.setdefault(node, []).append(path)
            self.order[node, path] = 2 * turn + 1
            for value in node.inputs:
                users.setdefault(value.node, []).append((2 * turn, path))
        kernels = {path for _, path in running}
        for node in function.nodes:
            if node not in self.paths:
                turn, path = users.get(node, [(0, ())])[0]
                alone = all(p == path for _, p in users.get(node, ())) and not _is_fed(node)
                path = path if alone and len(kernels) > MANY_KERNELS else ()
                self.paths[node] = [path]
                self.order[node, path] = turn

    def _is_inlined(self, value: Value) -> bool:
        array = value.constant
        return array is not None and is_short(array) and value not in self.function.results

    def drawing(self, regions: dict[Path, Region]) -> Drawing:
        boxes: list[Box] = []
        links: list[Link] = []
        for node in self.function.nodes:
            if not self.inlined.isdisjoint(node.outputs):
                continue
            for path in self.paths[node]:
                boxes.append(self._box(node, path))
                links += self._links(node, path)
        return Drawing((), (), regions=regions).with_parts(boxes, without_plain_references(links))

    def _box(self, node: Node, path: Path) -> Box:
        role = _role(node, self.ends)
        fetched = [f for v in node.outputs for f in self.ends.fetched.get(v, ())]
        assigned = [a for v in node.outputs for a in self.ends.assigned.get(v, ())]
        in_place = any(v in self.ends.in_place for v in node.outputs)
        if path and path != self.homes.get(node.outputs[0], path):
            fetched, assigned, in_place = [], [], False  # a copy computed again for its kernel's own use
        lines = [*self._lines(node)]
        lines += [f"fetched: {shorten(name, 22)}" for name in fetched[:1]]
        lines += [f"→ {shorten(name, 26)}" for name in assigned[:1]]
        if in_place:
            lines.append("in place")
        return Box(
            _key(node, path), path, _title(node), role, self.order[node, path], tuple(lines),
            _tooltip(node, fetched, assigned),
            *place_of(node.where), _kind(node), bool(fetched), in_place,
        )  # fmt: skip

    def _lines(self, node: Node) -> tuple[str, ...]:
        if node.op.name in ("parameter", "constant"):
            return (type_text(node.outputs[0].type),)
        constants = []
        names = [p.name for p in node.op.params if p.role is ParamRole.TENSOR]
        if len(names) == len(node.inputs):
            for name, value in zip(names, node.inputs, strict=True):
                if value in self.inlined:
                    array = value.node.attrs["value"].array
                    constants.append(f"{name} = {value_text(array)}")
        return lines_of([*constants, *attribute_lines(node.op, node.attrs)])

    def _updates(self, node: Node, value: Value) -> bool:
        """Whether `node` computes the new value of the variable whose old value is `value`."""
        assigned = [name for v in node.outputs for name in self.ends.assigned.get(v, ())]
        return value.op.name == "parameter" and value.node.attrs["name"].removeprefix("variable ") in assigned

    def _links(self, node: Node, path: Path) -> list[Link]:
        out = []
        for value in node.inputs:
            if value in self.inlined:
                continue
            places = self.paths[value.node]
            source = path if path in places else self.homes.get(value, places[0])
            name = f"{value.node.op.name} #{value.node.serial}:{value.index}"
            text, flow = (type_text(value.type), Flow.DATA)
            if self._updates(node, value):
                text, flow = "", Flow.REFERENCE
            tip = f"{name} {value.type}"
            out.append(Link(_key(value.node, source), _key(node, path), name, text, tip, flow))
        return out


def _key(node: Node, path: Path) -> str:
    return f"{node.serial} {'/'.join(path)}"


def _is_fed(node: Node) -> bool:
    return node.op.name == "parameter" and node.attrs["name"].startswith("feed ")


def _kind(node: Node) -> str:
    return node.attrs["name"].partition(" ")[0] if node.op.name == "parameter" else node.op.name


def _role(node: Node, ends: _Ends) -> Role:
    if node.op.name == "parameter":
        return _PARAMETER_ROLES.get(node.attrs["name"].partition(" ")[0], Role.INPUT)
    if node.op.name == "constant":
        return Role.CONSTANT
    if any(v in ends.assigned for v in node.outputs):
        return Role.ASSIGN
    return Role.RANDOM if node.op.effect is Effect.RANDOM else Role.OP


def _title(node: Node) -> str:
    if node.op.name == "parameter":
        kind, _, name = node.attrs["name"].partition(" ")
        name = name.removesuffix(":0")
        return name if kind in ("feed", "variable") else f"{kind} {name}"
    return node.op.name


def _tooltip(node: Node, fetched: list[str], assigned: list[str]) -> str:
    head = node.attrs["name"] if node.op.name == "parameter" else f"{node.op.name} #{node.serial}"
    lines = [head, *(f"output {v.index}: {v.type}" for v in node.outputs[:6])]
    lines += [f"fetched: {name}" for name in fetched] + [f"the new value of {name}" for name in assigned]
    return "\n".join(lines + place_lines(node.where))
