"""Uses of the stacks and arrays in which TensorFlow's derivatives of loops store values.

Finds the steps that push on stacks, pop from them, and add to arrays of derivatives:

    forward    StackV2 -> Enter -> StackPushV2(., value)
    backward              Enter -> StackPopV2(.)

Such a node changes an object, and only control edges tell when. Here, values flow instead. So this module
finds the loops and branches that have to carry these values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.dataflow import ENTERS, IDENTITIES, PUSHES, SWITCHES, Branch, Loop, Step
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.ordering import edge, origin
from staticgraph.formats.tf.messages.graph import NodeDef

STACKS = frozenset({"Stack", "StackV2"})
POPS = frozenset({"StackPop", "StackPopV2"})
SLOPES = frozenset({"TensorArrayGradV3"})
KEEPING = STACKS | PUSHES | POPS | SLOPES
_LEADING = ENTERS | SWITCHES | IDENTITIES  # on to a node, or into a loop
_ADDS = frozenset({"TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3"})

Slope = tuple[str, str]  # the array whose derivative it is, and the name of the derivative
Path = tuple[str, ...]  # the loops around a node, outermost first


@dataclass(frozen=True, slots=True)
class Touched:
    """Effects of steps on stacks and on arrays of derivatives.

    Attributes:
        pushed: The stacks that are pushed on, each with those loops inside the step that are around the push.
        popped: The stacks that are popped from, likewise.
        slopes: The arrays of derivatives that are used, each with a node that gives the handle of the array
            whose derivative it is.
        added: The arrays of derivatives that are added to, each with the node that adds.
        handles: The nodes that give handles.
    """

    pushed: Mapping[str, Path] = field(default_factory=dict)
    popped: Mapping[str, Path] = field(default_factory=dict)
    slopes: Mapping[Slope, str] = field(default_factory=dict)
    added: tuple[tuple[Slope, str], ...] = ()
    handles: frozenset[str] = frozenset()


_NOTHING = Touched()


class Uses:
    """Finder of the effects that steps have on stacks and on arrays of derivatives."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeDef] = {}
        self._pushes: dict[str, NodeDef] = {}  # by stack
        self._known: dict[int, tuple[Step, Touched]] = {}  # with the step, whose id nothing else gets then

    def add(self, nodes: Iterable[NodeDef]) -> None:
        """Take note of nodes, before the steps that they are in."""
        new = {node.name: node for node in nodes}
        self._nodes |= new
        self._pushes |= {self.stack(node): node for node in new.values() if node.op in PUSHES}

    def of(self, step: Step) -> Touched:
        """Return the effects of a step, with those of all steps in it."""
        if isinstance(step, NodeDef):
            return self._of_node(step)
        if id(step) not in self._known:
            self._known[id(step)] = step, self._inside(step)
        return self._known[id(step)][1]

    def of_all(self, steps: Iterable[Step]) -> Touched:
        """Return the effects of several steps together."""
        found = [told for told in map(self.of, steps) if told is not _NOTHING]
        if len(found) < 2:
            return found[0] if found else _NOTHING
        return Touched(
            {name: path for told in found for name, path in told.pushed.items()},
            {name: path for told in found for name, path in told.popped.items()},
            {slope: name for told in found for slope, name in told.slopes.items()},
            tuple(each for told in found for each in told.added),
            frozenset(name for told in found for name in told.handles),
        )

    def node(self, name: str) -> NodeDef:
        """A node by its name."""
        return self._nodes[name]

    def stack(self, node: NodeDef) -> str:
        """The stack that a node pushes on or pops from."""
        return self.origin(node).name

    def slope(self, node: NodeDef) -> Slope:
        """Return the derivative for a node: of an array, also where its handle was pushed and popped."""
        found, seen = self.origin(node), set[str]()
        while found.op in POPS and found.name not in seen:
            seen.add(found.name)
            found = self.pushed(self.stack(found))
        return found.name, node.attr["source"].s.decode(errors="replace")

    def pushed(self, stack: str) -> NodeDef:
        """The node that made what is pushed on a stack."""
        if stack not in self._pushes:
            raise GraphDefError(f"nothing is pushed on {stack!r}")
        return self.origin(self._pushes[stack], 1)

    def origin(self, node: NodeDef, at: int = 0) -> NodeDef:
        """The node that made what an input is, wherever it was led."""
        found = self._led(node, at)
        if found is None:
            raise GraphDefError(f"node {node.name!r} ({node.op}) has no handle that can be followed")
        return found

    def _led(self, node: NodeDef, at: int = 0) -> NodeDef | None:
        if at >= len(node.input):
            return None
        found = self._nodes.get(origin(self._nodes, edge(node.input[at]), _LEADING).node)
        return None if found is None or found.op in _LEADING else found  # such a one leads nothing on

    def _inside(self, step: Loop | Branch) -> Touched:
        if isinstance(step, Branch):
            return self.of_all([*step.sides[0], *step.sides[1]])
        told, name = self.of_all([*step.cond, *step.body]), loop_name(step)
        pushed, popped = ({s: (name, *path) for s, path in at.items()} for at in (told.pushed, told.popped))
        return told if told is _NOTHING else replace(told, pushed=pushed, popped=popped)

    def _of_node(self, node: NodeDef) -> Touched:
        if node.op in PUSHES:
            return Touched(pushed={self.stack(node): ()})
        if node.op in POPS:
            return Touched(popped={self.stack(node): ()}, handles=frozenset({node.name}))
        if node.op in SLOPES:
            return Touched(slopes={self.slope(node): self.origin(node).name})
        if node.op in _ADDS and (found := self._led(node)) is not None and found.op in SLOPES:
            slope = self.slope(found)  # which a node outside of this part may have asked for
            return Touched(slopes={slope: self.origin(found).name}, added=((slope, node.name),))
        return Touched(handles=frozenset({node.name})) if node.op == "TensorArrayV3" else _NOTHING


def loop_name(loop: Loop) -> str:
    """Return a name for a loop, which is that of its first Merge."""
    return loop.carried[0].merge.name
