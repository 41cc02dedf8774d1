"""The drawing of what the compiler makes of a graph: the Function after its passes, whole or in kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import count, takewhile

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import Fusion, is_alias, is_control
from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.opdef import Role as ParamRole
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Box, Drawing, Flow, Link, Path, Region, Role
from staticgraph.draw.parts import Part, main_node, parts_of, region, rounds_text
from staticgraph.draw.recorded import gradient_scopes, without_plain_references
from staticgraph.draw.wording import (
    attribute_lines,
    is_short,
    lines_of,
    place_lines,
    place_of,
    shorten,
    type_text,
    value_text,
)

_PARAMETER_ROLES = {"feed": Role.INPUT, "variable": Role.VARIABLE, "random": Role.RANDOM}
MANY_KERNELS = 12  # with more of them, a variable that only one kernel reads is drawn in it


@dataclass(slots=True)
class _Ends:
    """Destinations of a step's results, by value: the names of fetches and of updated variables."""

    fetched: dict[Value, list[str]] = field(default_factory=dict)
    assigned: dict[Value, list[str]] = field(default_factory=dict)
    in_place: set[Value] = field(default_factory=set)


@dataclass(slots=True)
class Scopes:
    """The scopes of a user's graph, for the compiler's nodes.

    Nodes keep the very `Provenance` of the operation that they come from, through all passes. Those of
    derivatives that the compiler took have one of their own.
    """

    by_place: dict[int, Path]  # by the identity of the operation's `where`
    derivatives: Path

    def of(self, node: Node) -> Path:
        """Return the scope of what a node computes."""
        found = self.by_place.get(id(node.where))
        return found if found is not None else () if node.where is None else self.derivatives


def scopes_of(graph: Graph) -> Scopes:
    """Return the scopes of the operations of a graph."""
    operations = graph.get_operations()
    by_place = {id(op.where): tuple(op.name.split("/")[:-1]) for op in operations if op.where is not None}
    return Scopes(by_place, min(gradient_scopes(operations), default=("gradients",)))


def optimized(step: Step, function: Function, fetches: Sequence[str], scopes: Scopes) -> Drawing:
    """The nodes of `function`, which the passes made of `step.function`."""
    ends = _ends(step, function, fetches, frozenset())
    layout = _Layout(False, scopes, ends)
    return _Compiled(layout, layout.nodes(function), ends).drawing()


def fused(step: Step, fusion: Fusion, fetches: Sequence[str], scopes: Scopes) -> Drawing:
    """The nodes of a fused Function, each in the kernels that compute it (some do so again)."""
    program = lower(fusion, step.fetches, step.updates)
    ends = _ends(step, fusion.function, fetches, program.in_place)
    layout = _Layout(True, scopes, ends)
    return _Compiled(layout, layout.kernels(fusion, ()), ends).drawing()


@dataclass(slots=True)
class _Placed:
    """A Function with nodes in the order in which they run, each with where it is drawn. `homes`: where a
    value that is computed in several places is read by the others.
    """

    function: Function
    nodes: list[tuple[Node, Path]]
    homes: dict[Value, Path]


class _Layout:
    """Layout of the nodes of Functions: the place and the order of each in the drawing, in kernels or not.

    The scopes of the user's graph are around both.
    """

    def __init__(self, kernels: bool, scopes: Scopes, ends: _Ends) -> None:
        self.in_kernels = kernels
        self.scopes, self.ends = scopes, ends
        self.regions: dict[Path, Region] = {}
        self.turns = count()
        self._numbers = count(1)

    def place(self, function: Function, around: Path, owner: Node) -> _Placed:
        """The Function of a loop or branch `owner`."""
        base = self.scopes.of(owner)
        return (
            self.kernels(fuse(function), around, base)
            if self.in_kernels
            else self.nodes(function, around, base)
        )

    def nodes(self, function: Function, around: Path = (), base: Path = ()) -> _Placed:
        placed = [(node, (*around, *self._scope(node, base))) for node in function.nodes]
        return _Placed(function, placed, {})

    def _scope(self, node: Node, base: Path) -> Path:
        """The scope of a node below `base`, that of the loop or branch that it is in.

        A loop or branch itself has the scope around it, for it is drawn as an area of its own; one of
        derivatives has no such scope, and stays with the other derivatives.
        """
        scope = self.scopes.of(node)
        shared = sum(1 for _ in takewhile(lambda names: names[0] == names[1], zip(scope, base, strict=False)))
        own = is_control(node) and scope != self.scopes.derivatives
        return scope[shared : len(scope) - own]

    def kernels(self, fusion: Fusion, around: Path, base: Path = ()) -> _Placed:
        made = _Placed(fusion.function, [], {})
        for group in fusion.groups:
            path = (*around, *self._scope(main_node(group, self.ends.fetched, self.ends.assigned), base))
            # An alias is a buffer read by another shape: no kernel. What loops run are kernels inside.
            if not is_alias(group.root) and not is_control(group.root):
                name = f"kernel {next(self._numbers)}"
                path = (*path, name)
                self.regions[path] = region(group, name)
            made.nodes += [(node, path) for node in group.nodes]
            made.homes.update(dict.fromkeys(group.outputs, path))
        return made


def _ends(step: Step, function: Function, fetches: Sequence[str], in_place: frozenset[int]) -> _Ends:
    ends, updates = _Ends(), step.updates
    for i, value in enumerate(function.results):
        if i < step.fetches:
            ends.fetched.setdefault(value, []).append(fetches[i])
        elif i - step.fetches < len(step.writes):  # after them come states of random ops
            ends.assigned.setdefault(value, []).append(step.writes[i - step.fetches].name)
            if updates.get(i) in in_place:
                ends.in_place.add(value)
    return ends


class _Compiled:
    """The nodes of a Function as boxes, and of those inside its loops and branches.

    `part` is what it is of the loop or branch in the drawing `outer`, and is drawn in the area `around`.
    """

    def __init__(
        self,
        layout: _Layout,
        placed: _Placed,
        ends: _Ends,
        around: Path = (),
        outer: _Compiled | None = None,
        part: Part | None = None,
    ) -> None:
        self.layout = layout
        self.function = function = placed.function
        self.ends = ends
        self.homes = placed.homes
        self.around, self.outer, self.part = around, outer, part
        self.captures = part.captures if part is not None else {}
        self.starts = part.starts if part is not None else {}
        self.inlined = {v for node in function.nodes for v in node.outputs if self._is_inlined(v)}
        running = [
            (node, path) for node, path in placed.nodes if node.op.name not in ("parameter", "constant")
        ]
        self.paths: dict[Node, list[Path]] = {}
        self.order: dict[tuple[Node, Path], int] = {}
        self.inner: dict[Node, list[_Compiled]] = {}
        users: dict[Node, list[tuple[int, Path]]] = {}  # of params and constants
        first = next(layout.turns)
        for node, path in running:
            turn = next(layout.turns)
            for value in node.inputs:
                users.setdefault(value.node, []).append((2 * turn, path))
            self.inner[node] = self._inner(node, path)
            self.paths.setdefault(node, []).append(path)
            self.order[node, path] = 2 * next(layout.turns) + 1
        many = len({path for _, path in running}) > MANY_KERNELS
        for node in function.nodes:
            if node not in self.paths:
                turn = users.get(node, [(2 * first, around)])[0][0]
                self.paths[node] = [self._near(node, [path for _, path in users.get(node, ())], many)]
                path = self.paths[node][0]
                self.order[node, path] = turn

    def _near(self, node: Node, users: Sequence[Path], many: bool) -> Path:
        """The place of a parameter or constant: near its only users, or in the scope of its name."""
        if any(value.is_fed for value in node.outputs) or not users:
            return self.around
        common = tuple(names[0] for names in takewhile(lambda ns: len({*ns}) == 1, zip(*users, strict=False)))
        if not many and common in self.layout.regions:
            common = common[:-1]  # few kernels: a variable stands beside the one that reads it
        name = node.attrs["name"].partition(" ")[2] if node.op.name == "parameter" else ""
        named = (*self.around, *name.split("/")[:-1])
        return common if len(common) > len(self.around) else named

    def _inner(self, node: Node, path: Path) -> list[_Compiled]:
        made = []
        for part in parts_of(node, self.layout.in_kernels):
            around = (*path, f"{part.region.title} of {node.serial}")
            self.layout.regions[around] = part.region
            placed = self.layout.place(part.function, around, node)
            made.append(_Compiled(self.layout, placed, _Ends(), around, self, part))
        return made

    def _is_inlined(self, value: Value) -> bool:
        array = value.constant
        short = array is not None and is_short(array) and value not in self.function.results
        return short or value.op.name == "unset"

    def drawing(self) -> Drawing:
        boxes: list[Box] = []
        links: list[Link] = []
        self._add(boxes, links)
        return Drawing((), (), regions=self.layout.regions).with_parts(boxes, without_plain_references(links))

    def _add(self, boxes: list[Box], links: list[Link]) -> None:
        for node in self.function.nodes:
            if not self.inlined.isdisjoint(node.outputs) or not self.captures.keys().isdisjoint(node.outputs):
                continue
            for path in self.paths[node]:
                boxes.append(self._box(node, path))
                links += self._links(node, path)
            for part in self.inner.get(node, ()):
                part._add(boxes, links)
                links += part._gives(_key(node, self.paths[node][0]))

    def _gives(self, target: str) -> list[Link]:
        """Return the links from the inside of a loop or branch to its box, and to the next iteration."""
        if self.part is None:
            return []
        out = [self._link(v, self.around, target, text=text) for v, text in self.part.gives]
        for value, param in self.part.again:
            if param.node in self.paths:
                out.append(self._link(value, self.around, self._key_of(param, self.around), Flow.NEXT))
        return [link for link in out if link is not None and link.source != link.target]

    def _box(self, node: Node, path: Path) -> Box:
        carried = node.op.name == "parameter" and node.outputs[0] in self.starts
        role = Role.CARRIED if carried else _role(node, self.ends)
        title = self.starts[node.outputs[0]].name if carried else _title(node)
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
            _key(node, path),
            path,
            title,
            role,
            self.order[node, path],
            tuple(lines),
            _tooltip(node, fetched, assigned),
            *place_of(node.where),
            _kind(node),
            bool(fetched),
            in_place,
            of=node,
        )

    def _lines(self, node: Node) -> tuple[str, ...]:
        if node.op.name in ("parameter", "constant"):
            start = self.starts.get(node.outputs[0])
            array = start.value.constant if start is not None else None
            known = [f"from {value_text(array)}"] if array is not None and is_short(array) else []
            return (type_text(node.outputs[0].type), *known)
        constants = []
        names = [p.name for p in node.op.params if p.role is ParamRole.TENSOR]
        if len(names) == len(node.inputs):
            for name, value in zip(names, node.inputs, strict=True):
                if value in self.inlined:
                    array = value.node.attrs["value"].array
                    constants.append(f"{name} = {value_text(array)}")
        return lines_of([*constants, *rounds_text(node), *attribute_lines(node.op, node.attrs)])

    def _updates(self, node: Node, value: Value) -> bool:
        """Return True if `node` computes the new value of the variable whose old value is `value`."""
        assigned = [name for v in node.outputs for name in self.ends.assigned.get(v, ())]
        return value.op.name == "parameter" and value.node.attrs["name"].removeprefix("variable ") in assigned

    def _links(self, node: Node, path: Path) -> list[Link]:
        out = []
        target = _key(node, path)
        inputs = list(node.inputs[:1] if self.inner.get(node) else node.inputs)  # others go to what is inside
        if node.outputs[:1] and (start := self.starts.get(node.outputs[0])) is not None and self.outer:
            out.append(self.outer._link(start.value, self.around[:-1], target))
        for value in inputs:
            text = "condition" if self.inner.get(node) else ""
            flow = Flow.REFERENCE if self._updates(node, value) else Flow.DATA
            out.append(self._link(value, path, target, flow, text))
        return [link for link in out if link is not None]

    def _link(
        self, value: Value, path: Path, target: str, flow: Flow = Flow.DATA, text: str = ""
    ) -> Link | None:
        """The arrow from `value`, as it is read at `path`; None if it is in the label of its user."""
        if value in self.captures and self.outer is not None:
            return self.outer._link(self.captures[value], self.around[:-1], target, flow, text)
        if value in self.inlined:
            return None
        name = f"{value.node.op.name} #{value.node.serial}:{value.index}"
        text = text or (type_text(value.type) if flow is Flow.DATA else "")
        return Link(self._key_of(value, path), target, name, text, f"{name} {value.type}", flow)

    def _key_of(self, value: Value, path: Path) -> str:
        places = self.paths[value.node]
        return _key(value.node, path if path in places else self.homes.get(value, places[0]))


def _key(node: Node, path: Path) -> str:
    return f"{node.serial} {'/'.join(path)}"


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
    return node.attrs["operation"].name if node.op.name == "effect" else node.op.name


def _tooltip(node: Node, fetched: list[str], assigned: list[str]) -> str:
    head = node.attrs["name"] if node.op.name == "parameter" else f"{node.op.name} #{node.serial}"
    lines = [head, *(f"output {v.index}: {v.type}" for v in node.outputs[:6])]
    lines += [f"fetched: {name}" for name in fetched] + [f"the new value of {name}" for name in assigned]
    return "\n".join(lines + place_lines(node.where))
