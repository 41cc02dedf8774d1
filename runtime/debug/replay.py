"""A failed run once more, one op after the other, by NumPy: what each op made, and which one fails."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import OpError
from staticgraph.compiler.graph.function import Function, Node
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.control.control_flow import functions
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cached_run import CachedRun
from staticgraph.runtime.debug.crash_file import Failure
from staticgraph.runtime.feeds import in_order
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.interpreter import Interpreter, InterpreterBackend, Performed
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.step_compiler import StepCompiler
from staticgraph.runtime.switches import Settings

_QUIET = ("constant", "parameter", "unset", "watch", "override", "reads_of")


@dataclass(frozen=True, slots=True)
class Numbers:
    """Statistics of an array: least, mean and greatest finite element, and the counts of NaN and infinity.

    The first three are None if no element is finite.
    """

    least: float | None
    mean: float | None
    greatest: float | None
    nans: int
    infinities: int

    @property
    def finite(self) -> bool:
        return not (self.nans or self.infinities)


def numbers(array: np.ndarray) -> Numbers | None:
    """Return the statistics of `array`; None if it is empty, or holds strings or complex numbers."""
    if array.dtype.kind in "OSUc" or not array.size:
        return None
    values = array.astype(np.float64, copy=False).reshape(-1)
    fine = values if array.dtype.kind in "biu" else values[np.isfinite(values)]
    nans = int(np.isnan(values).sum())
    infinities = values.size - fine.size - nans
    if not fine.size:
        return Numbers(None, None, None, nans, infinities)
    with np.errstate(over="ignore"):
        return Numbers(float(fine.min()), float(fine.mean()), float(fine.max()), nans, infinities)


@dataclass(eq=False, slots=True)
class Row:
    """One op of the run. Inside of loops it is what the op did last, and `times` says how often it did.

    `name`: of the user's operation, empty where that is not clear, as in derivatives. `round`: of the loops
    around it, outermost first. `outputs` is empty where the op failed.
    """

    op: str
    name: str
    where: Provenance | None
    input_names: tuple[str, ...]
    inputs: tuple[np.ndarray, ...] = ()
    outputs: tuple[np.ndarray, ...] = ()
    round: tuple[int, ...] = ()
    times: int = 0

    @property
    def label(self) -> str:
        """The name of the operation, or what it does."""
        return self.name or self.op

    def matches(self, text: str) -> bool:
        """Return True if `text` is the name, the kind or the line of this op; case is ignored."""
        line = self.where.short if self.where is not None else ""
        return text.lower() in (self.name.lower(), self.op.lower(), line.lower())


@dataclass(slots=True)
class Replay:
    """Record of a replayed run.

    Attributes:
        failure: The failed run that was replayed.
        rows: One row for each op, in the order in which they first ran.
        error: The exception that ended the run; None if it came to its end.
        failed: The row of the op that failed.
        source: The first op that made NaN or infinity from finite numbers.
        stopped: True if the run was stopped at an op, as requested.
    """

    failure: Failure
    rows: list[Row] = field(default_factory=list)
    error: Exception | None = None
    failed: Row | None = None
    source: Row | None = None
    stopped: bool = False

    @property
    def reproduced(self) -> bool:
        """True if the same op failed with the same class of error.

        If the error names no op, the first lines of both messages must be equal.
        """
        op = getattr(self.error, "op", None)
        name = op.name if isinstance(op, Operation) else None
        same = (type(self.error).__name__, name) == (self.failure.error, self.failure.operation)
        return same and (name is not None or _headline(str(self.error)) == _headline(self.failure.message))


class _Stop(Exception):
    """The run has come to where it was to stop."""


def replay(failure: Failure, to: str | None = None) -> Replay:
    """Do the run again. With `to`, only until an op of that name, of that kind or from that line is done."""
    made = Replay(failure)
    record = _Recorder(made, to)
    switches = failure.switches
    settings = Settings(
        check_nan=switches.get("check_nan") == "True", check_bounds=switches.get("check_bounds") != "False"
    )
    compiler = StepCompiler(InterpreterBackend(record.execute), settings)
    compiler.host_observers.append(record.called)
    given, graph = failure.run, failure.session.graph
    fetches = Fetches(graph, [*given.fetches, *given.targets])
    feeds = in_order(given.feeds)
    try:
        with failure.session.variables as store:
            again = CachedRun(ProgramCache(graph, fetches, feeds, compiler, store))
            again.run([given.feeds[t] for t in feeds])
    except _Stop:
        made.stopped = True
    except Exception as error:
        made.error = error
        made.failed = made.failed or record.at_fault(error)
    return made


class _Recorder:
    """Writes down what the ops of a run do."""

    def __init__(self, made: Replay, to: str | None) -> None:
        self._made = made
        self._to = to
        self._rows: dict[Node | Operation, Row] = {}
        self._operations = _by_line(made.failure.session.graph)
        self._names: dict[Node, str] = {}
        self._guarding: set[Node] = set()
        self._outer: dict[Node, Node] = {}  # what the params of loops and branches begin as

    def execute(self, step: Step, fetches: Fetches, arguments: list[np.ndarray]) -> list[np.ndarray]:
        """Interpret a step."""
        self._names |= self._named(step)
        if step.checked:
            self._guarding |= _guarding(step.function)
        for param, array in zip(step.function.params, arguments, strict=True):
            name = param.node.attrs["name"].removesuffix(":0")
            self._names.setdefault(param.node, name)
            if not name.startswith("random state"):
                row = self._row(param.node)
                row.outputs = (array,)
                self._look(row)
        return Interpreter(self.performed).results(step.function, arguments)

    def performed(self, done: Performed) -> None:
        """Write down what a node did."""
        node = done.node
        quiet = node.op.name in _QUIET or node in self._guarding
        if quiet or (functions(node.attrs) and not done.outputs):
            return
        row = self._row(node)
        row.inputs, row.outputs = done.inputs[_first(node) :], done.outputs
        row.round = tuple(number for _, number in done.rounds)
        self._done(row, failed=not done.outputs)

    def called(self, op: Operation, value: Callable[[Tensor], Any], made: Sequence[Any] | None) -> None:
        """Write down what an op did that is called in Python; None: it failed."""
        if op.definition.name in ("variable", "read_variable"):
            return
        row = self._rows.get(op)
        if row is None:
            names = tuple(t.name.removesuffix(":0") for t in op.all_inputs)
            row = self._rows[op] = Row(op.definition.name, op.name, op.where, names)
            self._made.rows.append(row)
        row.inputs = tuple(_known(value, t) for t in op.all_inputs)
        row.outputs = tuple(map(np.asarray, made or ()))
        self._done(row, failed=made is None)

    def at_fault(self, error: Exception) -> Row | None:
        """The row of the operation that an error names."""
        op = error.op if isinstance(error, OpError) else None
        if not isinstance(op, Operation):
            return None
        return next((row for row in reversed(self._made.rows) if row.name == op.name), None)

    def _done(self, row: Row, failed: bool) -> None:
        row.times += 1
        if failed:
            self._made.failed = self._made.failed or row  # a loop fails because of what is in it
            return
        self._look(row)
        if self._to is not None and row.matches(self._to):
            raise _Stop

    def _look(self, row: Row) -> None:
        """Note where NaN begins."""
        if self._made.source is None and not _finite(row.outputs) and _finite(row.inputs):
            self._made.source = row

    def _row(self, node: Node) -> Row:
        row = self._rows.get(node)
        if row is None:
            names = tuple(self._label(v.node) for v in node.inputs[_first(node) :])
            row = self._rows[node] = Row(_kind(node), self._names.get(node, ""), node.where, names)
            self._made.rows.append(row)
        return row

    def _label(self, node: Node) -> str:
        seen: set[Node] = set()
        while node not in seen:
            seen.add(node)
            if node.op.name in ("watch", "override"):
                node = node.inputs[-1].node
            node = self._outer.get(node, node)
        return self._names.get(node, node.op.name)

    def _named(self, step: Step) -> dict[Node, str]:
        """The user's operations that the nodes of a step were made for. Those of derivatives come from the
        same line later, and have no name; where there are too few, nobody knows which is which.
        """
        named: dict[Node, str] = {}
        found: dict[Any, list[Node]] = defaultdict(list)
        for node in _all_nodes(step.function):
            for inner in functions(node.attrs):
                self._outer |= _params(node, inner)
            if node.op.name == "effect":
                named[node] = node.attrs["operation"].name
            elif node.where is not None:
                found[node.where, node.op.name].append(node)
        for key, nodes in found.items():
            operations = self._operations.get(key, [])
            if len(operations) <= len(nodes):
                named |= {node: op.name for node, op in zip(nodes, operations, strict=False)}
        return named


def _headline(text: str) -> str:
    return text.partition("\n")[0]


def _by_line(graph: Graph) -> Mapping[Any, list[Operation]]:
    found: dict[Any, list[Operation]] = defaultdict(list)
    for op in graph.recorded:
        found[op.where, op.definition.name].append(op)
    return found


def _all_nodes(function: Function) -> Iterator[Node]:
    for node in function.nodes:
        yield node
        for inner in functions(node.attrs):
            yield from _all_nodes(inner)


def _guarding(function: Function) -> set[Node]:
    """Return the nodes that the checks of a step have added: only the last result needs them."""
    others = set(function.with_results(function.results[:-1]).nodes)
    own = {node for node in function.nodes if node not in others}
    return {node for node in own if node.where is None or node.op.violation is not None}


def _params(node: Node, inner: Function) -> dict[Node, Node]:
    """The params of a loop's or a branch's Function, and what they begin as outside."""
    given = node.inputs[1:]
    return {p.node: v.node for p, v in zip(inner.params, given, strict=False)}


def _first(node: Node) -> int:
    """The first input that a user knows of: that of an effect orders it after others."""
    return int(node.op.name == "effect")


def _kind(node: Node) -> str:
    """Return the kind of a node, in the user's words."""
    match node.op.name:
        case "parameter":
            return "given"
        case "effect":
            name: str = node.attrs["operation"].definition.name
            return name
    return node.op.name


def _known(value: Callable[[Tensor], Any], tensor: Tensor) -> np.ndarray:
    try:
        return np.asarray(value(tensor))
    except Exception:  # of an op that failed because it had no such value
        return np.empty(0)


def _finite(arrays: Iterable[np.ndarray]) -> bool:
    return all(found is None or found.finite for found in map(numbers, arrays))
