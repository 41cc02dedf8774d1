"""Loops and branches that TensorFlow 1 took apart into nodes, found again.

    loop:    x -> Enter -> Merge -> Switch(., LoopCond) -> :1 body -> NextIteration -> Merge
                                                        -> :0 Exit -> what comes after
    branch:  x -> Switch(., pred) -> :1 one side, :0 the other -> Merge(false, true)

Which loops a node is in follows from the Enters and Exits before it. Under which conditions it is carried out
follows from the Switches: a Merge of two opposite ones is the end of a branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.ordering import MERGES, NEXT, Edge, edge, origin, sorted_by_needs
from staticgraph.formats.tf.messages.graph import NodeDef

ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
SWITCHES = frozenset({"Switch", "RefSwitch"})
DATAFLOW = frozenset({*ENTERS, *EXITS, *SWITCHES, *MERGES, *NEXT, "LoopCond"})

IDENTITIES = frozenset({"Identity", "RefIdentity"})
PUSHES = frozenset({"StackPush", "StackPushV2"})  # what they are for is no input of another node

_DEEPEST = 30  # loops around a node
_READY = frozenset({"IsVariableInitialized", "VarIsInitializedOp"})

Literal = tuple[Edge, int]  # a condition, and which output of its Switches


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that a loop carries: where it comes in and goes out. `param`: what the body calls it."""

    merge: NodeDef
    given: Edge
    switch: str
    param: str
    next: Edge
    exit: NodeDef | None


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop. `constants`: the nodes that let in what is the same in all rounds."""

    constants: tuple[NodeDef, ...]
    carried: tuple[Carried, ...]
    pred: Edge
    cond: list[Step]
    body: list[Step]


@dataclass(frozen=True, slots=True)
class Branch:
    """Two sides, one of which is carried out, and the Merges with what each of them gives: false, true."""

    pred: Edge
    merges: tuple[tuple[NodeDef, tuple[Edge, Edge]], ...]
    sides: tuple[list[Step], list[Step]]


Step = NodeDef | Loop | Branch


def structured(ordered: Sequence[NodeDef]) -> list[Step]:
    """The nodes, each after its inputs, with those of loops and branches put together."""
    if not any(node.op in DATAFLOW for node in ordered):
        return list(ordered)
    for node in ordered:
        given = [text for text in node.input if not text.startswith("^")]
        wanted = 2 if node.op in SWITCHES or node.op in MERGES else 1 if node.op in DATAFLOW else len(given)
        if len(given) != wanted or node.input[: len(given)] != given:
            raise GraphDefError(f"node {node.name!r} ({node.op}) has {len(given)} inputs, and not {wanted}")
    by_name = {node.name: node for node in ordered}
    return _Level(by_name, _frames(ordered)).steps(list(by_name))


def markers(ordered: Iterable[NodeDef]) -> set[str]:
    """The nodes that only say which side of a branch others are on: nothing uses their values."""
    nodes = list(ordered)
    pivots = {node.name for node in nodes if node.op in SWITCHES and node.input[:1] == node.input[1:2]}
    asked = {edge(node.input[1]).node for node in nodes if node.op in SWITCHES and len(node.input) > 1}
    used: set[str] = set()
    for node in nodes:
        edges = [edge(text) for text in node.input]
        if node.op in SWITCHES:
            edges = [] if node.name in pivots else edges[:1]
        used.update(each.node for each in edges if not each.is_control)
    return {
        node.name
        for node in nodes
        if node.op == "Identity"
        and len(node.input) == 1
        and node.name not in used
        and (node.name in asked or edge(node.input[0]).node in pivots)
    }


def _frames(ordered: Sequence[NodeDef]) -> dict[str, tuple[str, ...]]:
    """The loops that each node is in, outermost first."""
    found: dict[str, tuple[str, ...]] = {}
    for node in ordered:
        around: tuple[str, ...] = ()
        for each in map(edge, node.input):
            other = found.get(each.node, ())
            short, long = sorted((around, other), key=len)
            if long[: len(short)] != short:
                raise GraphDefError(f"node {node.name!r} has inputs in different loops")
            around = long
        if node.op in ENTERS:
            around = (*around, node.attr["frame_name"].s.decode(errors="replace"))
        if node.op in EXITS:
            if not around:
                raise GraphDefError(f"node {node.name!r} is an Exit and in no loop")
            around = around[:-1]
        if len(around) > _DEEPEST:
            raise GraphDefError("its loops are nested too deeply")
        found[node.name] = around
    return found


class _Level:
    """The nodes of a graph, or of a part of a loop: those of further loops inside it are one unit each."""

    def __init__(
        self,
        by_name: Mapping[str, NodeDef],
        frames: Mapping[str, tuple[str, ...]],
        depth: int = 0,
        held: frozenset[Literal] = frozenset(),
    ) -> None:
        self.by_name = by_name
        self.frames = frames
        self.depth = depth
        self.held = held  # the conditions of the loops around

    def steps(self, names: Sequence[str]) -> list[Step]:
        """Return the steps in the order in which they run. `names` are in order except for the loops."""
        self.units: dict[str, list[str]] = {}  # nodes by the first of the loop, or one node alone
        self.unit_of: dict[str, str] = {}
        first: dict[str, str] = {}
        for name in names:
            frame = self._frame(name)
            unit = name if frame is None else first.setdefault(frame, name)
            self.units.setdefault(unit, []).append(name)
            self.unit_of[name] = unit
        self.loops = set(first.values())
        self.count = 0  # of steps: what several branches need is done in each
        needs = {unit: self._needs(self._inputs(unit)) for unit in self.units}
        order = sorted_by_needs(needs)
        self._find_conditions(order)
        return self._under(frozenset(), order)

    def _frame(self, name: str) -> str | None:
        """The loop of this level that a node is in."""
        around = self.frames[name]
        if self.by_name[name].op in EXITS:
            around = self.frames.get(edge(self.by_name[name].input[0]).node, ())
        return around[self.depth] if len(around) > self.depth else None

    def _inputs(self, unit: str) -> list[Edge]:
        """Return the edges by which a unit takes values from others, or waits for them."""
        inside = set(self.units[unit])
        found = (edge(text) for name in self.units[unit] for text in self.by_name[name].input)
        return [each for each in found if each.node not in inside]

    def _needs(self, edges: Iterable[Edge]) -> set[str]:
        return {self.unit_of[each.node] for each in edges if each.node in self.unit_of}

    # Conditions

    def _find_conditions(self, order: Sequence[str]) -> None:
        """Under which conditions each unit is carried out, what each Merge joins, and how many Merges of the
        same condition come before another.
        """
        self.conditions: dict[str, frozenset[Literal]] = {}
        self.joins: dict[str, tuple[Edge, tuple[Edge, Edge]]] = {}
        self.groups: dict[tuple[Edge, int], list[str]] = {}
        self.pushes: dict[tuple[Edge, int], list[str]] = {}  # before the Merges of such a group
        after: dict[str, dict[Edge, int]] = {}
        for unit in order:
            inputs = self._inputs(unit)
            merged: dict[Edge, int] = {}
            for need in self._needs(inputs):
                for pred, count in after[need].items():
                    merged[pred] = max(merged.get(pred, 0), count)
            after[unit] = merged
            if self._is_merge(unit):
                self.conditions[unit] = self._join(unit)
                pred = self.joins[unit][0]
                merged[pred] = merged.get(pred, 0) + 1
                self.groups.setdefault((pred, merged[pred]), []).append(unit)
            elif self.by_name[unit].op == "ControlTrigger":  # carried out on either side
                self.conditions[unit] = frozenset()
            else:
                self.conditions[unit] = frozenset[Literal]().union(*map(self._literals, inputs))
                if self.by_name[unit].op in PUSHES:
                    for pred, _ in self.conditions[unit]:
                        self.pushes.setdefault((pred, merged.get(pred, 0) + 1), []).append(unit)

    def _literals(self, each: Edge) -> frozenset[Literal]:
        """The conditions under which there is a value."""
        unit = self.unit_of.get(each.node)
        if unit is None:
            return frozenset()
        known = self.conditions[unit]
        node = self.by_name[each.node]
        if node.op not in SWITCHES or unit in self.loops or each.is_control or self._asks(node):
            return known
        literal = self._condition(node), each.index
        return known if self._holds(*literal) else known | {literal}

    def _condition(self, switch: NodeDef) -> Edge:
        """The condition of a Switch. TensorFlow's `cond` has a name of its own for it, so that two branches
        on one condition are told apart; only the first Switch of a branch does not use it.
        """
        pivot = f"{switch.name.rpartition('/')[0]}/pred_id"
        first = switch.input[0] == switch.input[1] and pivot in self.by_name
        return Edge(pivot, 0) if first else edge(switch.input[1])

    def _asks(self, switch: NodeDef) -> bool:
        """Return True if a Switch only tests if a variable has a value. That is read in another way."""
        node = self.by_name.get(origin(self.by_name, edge(switch.input[1]), IDENTITIES).node)
        return node is not None and node.op in _READY

    def _holds(self, pred: Edge, at: int) -> bool:
        """Return True if this loop runs only if a condition from outside holds."""
        return (origin(self.by_name, pred, ENTERS), at) in self.held

    def _is_merge(self, unit: str) -> bool:
        node = self.by_name[unit]
        if node.op not in MERGES or unit in self.loops:
            return False
        return any(self._literals(edge(text)) for text in node.input if not text.startswith("^"))

    def _join(self, unit: str) -> frozenset[Literal]:
        """The conditions that hold on both sides of a Merge."""
        node = self.by_name[unit]
        sides = [edge(text) for text in node.input[:2]]
        known = [self._literals(each) for each in sides]
        only = [known[0] - known[1], known[1] - known[0]]
        if len(only[0]) == len(only[1]) == 1:
            [(pred, at)], [(other, at_other)] = only
            if pred == other and {at, at_other} == {0, 1}:
                self.joins[unit] = pred, (sides[at], sides[1 - at])
                return known[0] & known[1]
        raise GraphDefError(f"node {unit!r} joins what are not the two sides of one branch")

    # Steps

    def _under(self, held: frozenset[Literal], units: Sequence[str]) -> list[Step]:
        """The steps of the units that are carried out under just these conditions."""
        if len(held) > _DEEPEST:
            raise GraphDefError("its branches are nested too deeply")
        mine = dict.fromkeys(unit for unit in units if self.conditions[unit] == held)
        needs: dict[str, set[str]] = {}
        made: dict[str, Branch] = {}
        stands_for: dict[str, str] = {}
        for (pred, number), members in self.groups.items():
            merges = [unit for unit in members if unit in mine]
            if not merges:
                continue
            sides = []
            for at in (0, 1):
                under = held | {(pred, at)}
                pushed = [u for u in self.pushes.get((pred, number), ()) if under <= self.conditions[u]]
                sides.append(self._side(under, [*(self.joins[m][1][at].node for m in merges), *pushed]))
            joined = tuple((self.by_name[m], self.joins[m][1]) for m in merges)
            steps = [self._under(held | {(pred, at)}, sides[at][0]) for at in (0, 1)]
            made[merges[0]] = Branch(pred, joined, (steps[0], steps[1]))
            stands_for |= dict.fromkeys(merges, merges[0])
            controls = [each for m in merges for each in map(edge, self.by_name[m].input) if each.is_control]
            needs[merges[0]] = sides[0][1] | sides[1][1] | self._needs([pred, *controls])
        for unit in mine:
            if unit not in stands_for:
                needs[unit] = self._needs(self._inputs(unit))
        needs = {  # in the order of the file, so that what nothing else orders keeps its place
            unit: {stands_for.get(each, each) for each in needs[unit]} & needs.keys()
            for unit in mine
            if unit in needs
        }
        self.count += len(needs)
        if self.count > 4 * len(self.units) + 1000:
            raise GraphDefError("its branches share too many of their nodes")
        return [made.get(unit) or self._step(unit) for unit in sorted_by_needs(needs)]

    def _side(self, held: frozenset[Literal], ends: Sequence[str]) -> tuple[list[str], set[str]]:
        """The units of a side of a branch, in order, and those outside that they need."""
        inside, outside = set[str](), set[str]()
        stack = [self.unit_of[each] for each in ends if each in self.unit_of]
        while stack:
            unit = stack.pop()
            if unit in inside or unit in outside:
                continue
            if held <= self.conditions[unit]:
                inside.add(unit)
                stack += self._needs(self._inputs(unit))
            else:
                outside.add(unit)
        return [unit for unit in self.conditions if unit in inside], outside

    def _step(self, unit: str) -> Step:
        return self._loop(self.units[unit]) if unit in self.loops else self.by_name[unit]

    def _loop(self, names: Sequence[str]) -> Loop:
        mine = [self.by_name[name] for name in names if len(self.frames[name]) == self.depth + 1]
        enters = {node.name: node for node in mine if node.op in ENTERS}
        tests = [node for node in mine if node.op == "LoopCond"]
        if len(tests) != 1:
            raise GraphDefError(f"the loop of node {names[0]!r} has {len(tests)} conditions, and not one")
        exits = {
            origin(self.by_name, edge(self.by_name[name].input[0]), IDENTITIES): self.by_name[name]
            for name in names
            if self.by_name[name].op in EXITS and len(self.frames[name]) == self.depth
        }
        switches = {
            edge(node.input[0]): node.name
            for node in mine
            if node.op in SWITCHES and edge(node.input[1]).node == tests[0].name
        }
        params = {node.input[0]: node.name for node in mine if node.op == "Identity" and len(node.input) == 1}
        carried = []
        for node in mine:
            if node.op in MERGES and any(self._is_back(text) for text in node.input):
                carried.append(self._carried(node, enters, switches, exits, params))
        if not carried:
            raise GraphDefError(f"the loop of node {names[0]!r} carries nothing")
        used = {edge(each.merge.input[0]).node for each in carried}
        special = {
            *enters,
            *switches.values(),
            *(each.merge.name for each in carried),
            tests[0].name,
            *(each.param for each in carried),
            *(node.name for node in exits.values()),
            *(node.name for node in mine if node.op in NEXT),
        }
        rest = [name for name in names if name not in special]
        pred, held = edge(tests[0].input[0]), self.held | self.conditions[self.unit_of[names[0]]]
        asked = self._ancestors([pred, *map(edge, tests[0].input[1:])], set(rest))
        inner = [
            _Level(self.by_name, self.frames, self.depth + 1, held).steps(part)
            for part in ([n for n in rest if n in asked], [n for n in rest if n not in asked])
        ]
        constants = tuple(node for name, node in enters.items() if name not in used)
        return Loop(constants, tuple(carried), pred, inner[0], inner[1])

    def _is_back(self, text: str) -> bool:
        node = self.by_name.get(edge(text).node)
        return node is not None and node.op in NEXT

    def _carried(
        self,
        merge: NodeDef,
        enters: Mapping[str, NodeDef],
        switches: Mapping[Edge, str],
        exits: Mapping[Edge, NodeDef],
        params: Mapping[str, str],
    ) -> Carried:
        first, back = (edge(text) for text in merge.input[:2])
        if first.node not in enters or not self._is_back(merge.input[1]):
            raise GraphDefError(f"node {merge.name!r} does not join the beginning and the round of a loop")
        switch = switches.get(Edge(merge.name, 0), "")
        given, next = (edge(self.by_name[each.node].input[0]) for each in (first, back))
        return Carried(merge, given, switch, params.get(f"{switch}:1", ""), next, exits.get(Edge(switch, 0)))

    def _ancestors(self, edges: Iterable[Edge], among: set[str]) -> set[str]:
        found: set[str] = set()
        stack = [each.node for each in edges]
        while stack:
            name = stack.pop()
            if name in among and name not in found:
                found.add(name)
                stack += [edge(text).node for text in self.by_name[name].input]
        return found
