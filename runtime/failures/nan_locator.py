"""NaN locator: repeats a step by NumPy, op by op, to find the origin of a value that is not finite.

A *source* is an argument of the step that is not finite, or an op that makes elements that are not finite
from elements that are. A source is not always to blame: `log(x)` may be NaN for elements that
`where(x > 0, log(x), 0)` does not take. The step is therefore tried for each source in the order of time. A
trial replaces what the other sources make that is not finite with ones. The first source whose NaN reaches
the end is the culprit.

Infinite constants are intended by the program. Infinity that results from them is no source, but NaN is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

import numpy as np

from staticgraph.compiler.capture.nan_guard import may_be_infinite
from staticgraph.compiler.graph.errors import OpError, RuleError
from staticgraph.compiler.graph.function import Function, Node, Value, as_outputs
from staticgraph.compiler.graph.opdef import Kind, Role
from staticgraph.compiler.ops.control.control_flow import taken
from staticgraph.compiler.support.dataclass import dataclass

TRIALS = 64  # sources that are tried: if it is none of these, the first one is blamed

STATE = "state"  # how the first input of a random op is called

Rounds = tuple[tuple[Node, int], ...]  # where a run is: the loops around it, outermost first, with rounds
Key = tuple[Node, bool]
Order = list[tuple[Node, list[Value]]]  # nodes to perform, each with the values that nothing needs after it


class Sort(Enum):
    """Classification of a value by its elements."""

    FINE = "finite"
    INFINITE = "infinite because the program says so"
    BAD = "not finite because of a source"


@dataclass(frozen=True, slots=True)
class Item:
    """A value in the middle of a trial."""

    array: np.ndarray
    sort: Sort


@dataclass(frozen=True, slots=True)
class Finding:
    """A source, when it first made something that is not finite. A node is two sources if it makes NaN at one
    time, and only infinite numbers at another.

    `index`: the first such element. `operands`: the inputs of the op, their names and their values there, or,
    where the op is not one of single elements, the least and the greatest of all.
    """

    node: Node
    output: int
    rounds: Rounds
    nans: int
    infinities: int
    index: tuple[int, ...]
    operands: tuple[tuple[Value, str, tuple[Any, ...]], ...]

    @property
    def key(self) -> Key:
        """The identity of a source: its node, and True if it made NaN."""
        return self.node, self.nans > 0


def culprit(function: Function, arguments: Sequence[np.ndarray], tick: Callable[[], None]) -> Finding | None:
    """The source that makes the last result of `function` False; None if it is True after all.

    `tick` is called after each op.
    """
    search = _Search(tick)
    first = _Trial(search)
    if first.run(function, arguments):
        return None
    sources = list(first.sources.values())
    if len(sources) > 1:
        for source in sources[:TRIALS]:
            if not _Trial(search, source.key).run(function, arguments):
                return source
    return sources[0] if sources else None


@dataclass(frozen=True, slots=True)
class _Search:
    """State shared by all trials of a search.

    `rounds`: the largest trip count of each loop so far. Trials with repaired numbers stop there, as their
    loops may never end.
    """

    tick: Callable[[], None]
    orders: dict[Function, Order] = field(default_factory=dict)
    rounds: dict[Node, int] = field(default_factory=dict)

    def order(self, function: Function) -> Order:
        found = self.orders.get(function)
        if found is None:
            found = self.orders[function] = _order(function)
        return found


class _Trial:
    """One run. With `keep`, what other sources than this one make is repaired."""

    def __init__(self, search: _Search, keep: Key | None = None) -> None:
        self.sources: dict[Key, Finding] = {}
        self._search = search
        self._keep = keep

    def run(self, function: Function, arguments: Sequence[np.ndarray]) -> bool:
        """The last result of `function`."""
        with np.errstate(all="ignore"):
            given = [
                self._judged(param.node, 0, np.asarray(array), (), ())
                for param, array in zip(function.params, arguments, strict=True)
            ]
            return bool(self._results(function, given, ())[-1].array)

    def _results(self, function: Function, given: Iterable[Item], rounds: Rounds) -> list[Item]:
        values = dict(zip(function.params, given, strict=True))
        for node, done in self._search.order(function):
            inputs = [values[v] for v in node.inputs]
            values.update(zip(node.outputs, self._performed(node, inputs, rounds), strict=True))
            self._search.tick()
            for value in done:
                del values[value]
        return [values[r] for r in function.results]

    def _performed(self, node: Node, inputs: Sequence[Item], rounds: Rounds) -> list[Item]:
        match node.op.name:
            case "loop":
                return self._rounds(node, inputs, rounds)
            case "branch":
                chosen = taken(node.attrs["branches"], int(inputs[0].array))
                return self._results(chosen, inputs[1:], rounds)
            case "effect":  # it was done already, and the user saw it
                return [Item(inputs[0].array + 1, Sort.FINE)]
        assert node.op.meaning is not None, node
        try:
            made = as_outputs(node.op.meaning(*(each.array for each in inputs), **node.attrs))
        except (ArithmeticError, LookupError, OpError, RuleError, ValueError):  # such as a singular matrix
            return [_refused(output) for output in node.outputs]
        return [
            self._judged(node, i, output.dtype.round(array), inputs, rounds)
            for i, (output, array) in enumerate(zip(node.outputs, made, strict=True))
        ]

    def _rounds(self, node: Node, inputs: Sequence[Item], rounds: Rounds) -> list[Item]:
        body, carried = node.attrs["body"], node.attrs["carried"]
        state, captures = list(inputs[: 1 + carried]), inputs[1 + carried :]
        most = None if self._keep is None else self._search.rounds.get(node, 0)
        number = 0
        while state[0].array and number != most:
            number += 1
            state = self._results(body, (*state[1:], *captures), (*rounds, (node, number)))
        if self._keep is None:
            self._search.rounds[node] = max(number, self._search.rounds.get(node, 0))
        return state[1:]

    def _judged(
        self, node: Node, output: int, array: np.ndarray, inputs: Sequence[Item], rounds: Rounds
    ) -> Item:
        """A value that a node made of `inputs`. Notes a source, and repairs it if it is not to be kept."""
        if array.dtype.kind not in "fc" or (finite := np.isfinite(array)).all():
            return Item(array, Sort.FINE)
        sort = _inherited(node, inputs)
        made = _made_here(node, array, finite, sort, [each.array for each in inputs])
        if not made.any():
            return Item(array, sort)
        found = _finding(node, output, rounds, np.isnan(array) & made, np.isinf(array) & made, inputs)
        self.sources.setdefault(found.key, found)
        if self._keep is None or found.key == self._keep:
            return Item(array, Sort.BAD)
        mended = np.where(made, np.ones((), array.dtype), array)
        return Item(mended, Sort.FINE if (finite | made).all() else sort)


def _refused(value: Value) -> Item:
    """Return a substitute for the output of an op that failed: NaN if it is floating or complex, else 0."""
    floats = value.dtype.is_floating or value.dtype.is_complex
    array = np.full(value.shape, np.nan if floats else 0, value.dtype.numpy)
    return Item(array, Sort.BAD if floats else Sort.FINE)


def _order(function: Function) -> Order:
    given, results = set(function.params), set(function.results)
    nodes = [n for n in function.nodes if n.outputs and n.outputs[0] not in given]
    last: dict[Value, Node] = {}
    for node in nodes:
        last.update(dict.fromkeys((*node.outputs, *node.inputs), node))
    ends: dict[Node, list[Value]] = {}
    for value, node in last.items():
        if value not in results:
            ends.setdefault(node, []).append(value)
    return [(node, ends.get(node, [])) for node in nodes]


def _inherited(node: Node, inputs: Sequence[Item]) -> Sort:
    """Classify the elements of a node that are not finite because elements of its inputs are not."""
    sorts = {each.sort for each in inputs}
    if may_be_infinite(node):
        sorts.add(Sort.INFINITE)
    return Sort.BAD if Sort.BAD in sorts else Sort.INFINITE if Sort.INFINITE in sorts else Sort.FINE


def _made_here(
    node: Node, array: np.ndarray, finite: np.ndarray, sort: Sort, inputs: Sequence[np.ndarray]
) -> np.ndarray:
    """Find the elements of `array` that the node itself is the source of."""
    made = ~finite
    if node.op.kind is Kind.ELEMENTWISE:  # each element has its own
        good = [np.isfinite(each) for each in inputs if each.dtype.kind in "fc"]
        made = made & np.logical_and.reduce(np.broadcast_arrays(finite | True, *good))
    elif sort is not Sort.FINE:
        made = np.zeros_like(made)
    return made | np.isnan(array) if sort is Sort.INFINITE else made


def _finding(
    node: Node, output: int, rounds: Rounds, nans: np.ndarray, infinities: np.ndarray, inputs: Sequence[Item]
) -> Finding:
    found = nans | infinities
    index = tuple(int(i) for i in np.unravel_index(np.argmax(found), found.shape))
    shown = (_shown(node, each.array, index) for each in inputs)
    operands = zip(node.inputs, _names(node), shown, strict=True)
    return Finding(node, output, rounds, int(nans.sum()), int(infinities.sum()), index, tuple(operands))


def _names(node: Node) -> list[str]:
    """The names of the inputs of a node."""
    params = [p for p in node.op.params if p.role in (Role.TENSOR, Role.TENSORS)]
    more = len(node.inputs) - len(params)
    names: list[str] = []
    for param in params:
        several = param.role is Role.TENSORS
        names += [f"{param.name}[{i}]" for i in range(more + 1)] if several else [param.name]
    return names if len(names) == len(node.inputs) else [STATE, *names]  # random ops begin with theirs


def _shown(node: Node, array: np.ndarray, index: tuple[int, ...]) -> tuple[Any, ...]:
    """The element of an input that the one at `index` is made of, or the least and the greatest of all."""
    if node.op.kind is Kind.ELEMENTWISE and array.ndim <= len(index):
        mine = index[len(index) - array.ndim :]
        return (array[tuple(0 if n == 1 else i for i, n in zip(mine, array.shape, strict=True))].item(),)
    if not array.size or array.dtype.kind not in "biuf":
        return ()
    return tuple(dict.fromkeys((array.min().item(), array.max().item())))
