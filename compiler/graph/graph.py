"""The user's graph: append-only, every operation named and tied to the line that made it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.graph import opdef
from staticgraph.compiler.graph.checks.arguments import key_of, keys_of
from staticgraph.compiler.graph.elements import Elements
from staticgraph.compiler.graph.errors import (
    FinalizedError,
    OtherGraphError,
    RegionError,
    RuleError,
    layout,
    misuse,
    require,
    shown,
)
from staticgraph.compiler.graph.opdef import Effect, OpDef, recording
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.recording.calls import RecordedCall, bind_call
from staticgraph.compiler.graph.recording.op_count import op_count
from staticgraph.compiler.graph.scopes import (
    ControlDependencies,
    Names,
    OperationProperties,
    Scoped,
    check_op_name,
    device_text,
    placed_by,
)
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, may_use
from staticgraph.compiler.support.forks import brief
from staticgraph.compiler.support.lazy_names import EXTENSIONS

if TYPE_CHECKING:
    import networkx as nx


class Graph(Elements):
    """Operations in the order in which they were made.

    >>> import staticgraph as sg
    >>> graph = sg.Graph()
    >>> with graph.as_default():
    ...     y = sg.constant(2.0) + 3.0
    >>> y.name, [op.name for op in graph.get_operations()]
    ('add:0', ['Const', 'add/y', 'add'])
    """

    def __init__(self) -> None:
        self.names = Names()
        self.seed: int | None = None
        self.finalized = False
        self.variables: dict[str, Any] = {}  # Variable objects by the name of their operation
        self.colocated: dict[Operation, list[bytes]] = {}  # groups of those that are not in their own
        self.attached: dict[Any, Any] = {}  # what others keep with the graph, for as long as it is there
        self._operations: list[Operation] = []
        self.recorded: Sequence[Operation] = self._operations  # to be read: the same list at any time
        self._by_name: dict[str, Operation] = {}
        self._collections: dict[str, list[Any]] = {}
        self._scoped = Scoped([])
        self._lock = brief(threading.RLock())

    # Recording

    def record(self, op: OpDef, values: dict[str, Any], name: str | None = None) -> Any:
        """Add an operation; returns its output, its tuple of outputs, or itself where it has none."""
        with self._lock, recording(self):
            self._check_open()
            where = user_frame()
            mark, names = len(self._operations), self.names.mark
            try:
                full_name = self._op_name(name or op.tf if name is None or isinstance(name, str) else name)
                call = bind_call(self, op, values, full_name)
                gradient = self._scoped.gradients.get(op.tf)
                wrapper = self._wrapper(op, gradient)
                if wrapper is not None:
                    made = self._append(op, call, f"{full_name}/{op.tf}", where)
                    with self._gradients({}):
                        return EXTENSIONS["with_registered_gradient"](made, wrapper, full_name)
                made = self._append(op, call, full_name, where, gradient)
            except RuleError as error:
                from staticgraph.compiler.graph.recording.calls import call_text, tensors_of

                self._rollback(mark, names)
                call_made = call_text(op, values)
                made_by = [(n, t.op.where) for n, t in tensors_of(values)]
                raise error.kind(layout(f"{call_made}: {error.what}", where, made_by, error.hint)) from None
            except BaseException:
                self._rollback(mark, names)
                raise
        if len(made.outputs) == 1:
            return made.outputs[0]
        return made.outputs or made

    def _wrapper(self, op: OpDef, gradient: str | None) -> str | None:
        """Return the registered gradient that an operation in a body must be wrapped in: the compiler, which
        differentiates bodies, finds it there.
        """
        if self._scoped.region is None or op.effect is Effect.SOURCE:
            return None
        return gradient or (op.tf if op.tf in default_derivatives else None)

    def _append(
        self, op: OpDef, call: RecordedCall, name: str, where: Any, gradient: str | None = None
    ) -> Operation:
        region, controls = self._scoped.region, self.control_inputs
        for used in (*[t.op for t in (*call.inputs, *call.operands.values())], *controls):
            if used.region is not None and not may_use(region, used.region):
                what = f"{used.name} is part of a loop or branch that this operation is not in"
                hint = "return its tensor from the function of the loop or branch, and use what that gives"
                require(False, what, hint, RegionError)
        operation = Operation(
            self,
            op,
            name,
            call.inputs,
            call.operands,
            call.attrs,
            call.infer(),
            controls,
            self._scoped.device,
            where,
            len(self._operations),
            region,
            gradient,
        )
        if self._scoped.placement is not None:
            self._scoped.placement(operation)
        for other in self._scoped.colocated:
            self.colocated[operation] = sorted(
                {*self.colocated.get(operation, ()), *other.colocation_groups()}
            )
            operation.device = other.device or operation.device
        self.adopt(operation)
        return operation

    def adopt(self, operation: Operation) -> None:
        """Append an operation made for this graph, by `record`
        or by `restore`; its name and its id are the next.
        """
        self._operations.append(operation)
        self._by_name[operation.name] = operation

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Context whose operations are no part of the graph in the end: those of a function that is run by
        itself, such as one that maps the elements of a dataset.

        They may use tensors of the graph, and are kept by whoever keeps their tensors.
        """
        with self._lock, self.inside(None), self.names.open(None):
            mark, names = len(self._operations), self.names.mark
            collections = {key: list(items) for key, items in self._collections.items()}
            try:
                yield
            finally:
                self._rollback(mark, names)
                for key, items in self._collections.items():
                    items[:] = collections.get(key, [])

    @contextmanager
    def attempt(self) -> Iterator[Callable[[], None]]:
        """Context whose operations are forgotten if it is left by an exception, or by a call of its value."""
        with self._lock:
            mark, names = len(self._operations), self.names.mark
            try:
                yield lambda: self._rollback(mark, names)
            except BaseException:
                self._rollback(mark, names)
                raise

    def _op_name(self, name: str) -> str:
        if not isinstance(name, str):
            text = f"the name of an operation is a string, not {shown(name)}"
            raise misuse(TypeError, text, "there may be one argument too many: the name comes last")
        if name.endswith("/"):  # a scope's own name: used as it is
            name = name[:-1]
            if name in self._by_name:
                return self.names.unique(name.removeprefix(f"{self.names.scope}/"))
            self.names.take(name)
            return name
        check_op_name(name) if not self.names.scope else None
        return self.names.unique(name)

    def _rollback(self, mark: int, names: int) -> None:
        for operation in self._operations[mark:]:
            del self._by_name[operation.name]
            self.colocated.pop(operation, None)
        del self._operations[mark:]
        self.names.rollback(names)

    def _check_open(self) -> None:
        if self.finalized:
            raise misuse(
                FinalizedError,
                "Graph is finalized and cannot be modified.",
                "build all operations before finalize() (a MonitoredSession finalizes its graph)",
            )

    # What is in it

    @property
    def version(self) -> int:
        """The number of operations."""
        return len(self._operations)

    _last_id = property(op_count)  # TF1's name for the number of operations, of which default seeds are made

    def get_operations(self) -> list[Operation]:
        return list(self._operations)

    def to_networkx(self) -> nx.MultiDiGraph:
        """A networkx graph: one node per operation name with `op` as data, one edge per input with `tensor`
        as data, and one per control dependency with `tensor=None`.
        """
        import networkx as nx  # takes longer to import than all the rest, and few programs need it

        out = nx.MultiDiGraph()
        for op in self._operations:
            out.add_node(op.name, op=op)
            for tensor in op.all_inputs:
                out.add_edge(tensor.op.name, op.name, tensor=tensor)
            for control in op.controls:
                out.add_edge(control.name, op.name, tensor=None)
        return out

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """This graph as TF1's message, a `GraphDef`, without the operations before `from_version`."""
        return EXTENSIONS["as_graph_def"](self, from_version, add_shapes)

    @property
    def graph_def_versions(self) -> Any:
        """The versions that `as_graph_def` writes, a `VersionDef`."""
        return EXTENSIONS["graph_def_versions"](self)

    def finalize(self) -> None:
        """Refuse all further changes."""
        self.finalized = True

    # Scopes

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Context in which ops without tensor arguments go into this graph."""
        with recording(self):
            yield self

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Context that prefixes names with `name/`; yields the prefix."""
        return self.names.open(name)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        return self.names.unique(name, mark_as_used)

    def get_name_scope(self) -> str:
        return self.names.scope

    def control_dependencies(self, control_inputs: Sequence[Any] | None) -> AbstractContextManager[None]:
        """Context in which new operations run after
        `control_inputs`; None forgets those of outer contexts.
        """
        controls = None
        if control_inputs is not None:
            if not isinstance(control_inputs, Iterable) or isinstance(control_inputs, Tensor):
                what = f"control_dependencies: {shown(control_inputs)} is no list"
                raise misuse(TypeError, what, "write control_dependencies([x])")
            ops = [self.as_graph_element(getattr(c, "control_op", c)) for c in control_inputs]
            controls = tuple(o.op if isinstance(o, Tensor) else o for o in ops)
        return ControlDependencies(self._scoped, controls)

    @property
    def region(self) -> Region | None:
        """The body of a loop or the branch that new operations are a part of."""
        return self._scoped.region

    @contextmanager
    def inside(self, region: Region | None) -> Iterator[None]:
        """Context in which new operations are a part of `region`, or of none.

        Control dependencies of outer contexts are those of the operation that the region is a part of.
        """
        before = self._scoped.region, self._scoped.controls
        self._scoped.region, self._scoped.controls = region, ()
        try:
            yield
        finally:
            self._scoped.region, self._scoped.controls = before

    @property
    def control_inputs(self) -> tuple[Operation, ...]:
        """The control dependencies of new operations."""
        return tuple(dict.fromkeys(self._scoped.controls))

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Context whose operations are colocated with `op`: in its groups, and asking for its device.

        A session has one device, so results do not change.

        Args:
            op: An operation, or a tensor or a variable of one; None only together with `ignore_existing`.
            ignore_existing: If True, forget the colocations of outer contexts.

        Raises:
            ValueError: `op` is None, and `ignore_existing` is False.
        """
        if op is None and not ignore_existing:
            raise misuse(ValueError, "colocate_with: op is None, and ignore_existing is not True")
        scoped = self._scoped
        outer = scoped.colocated, scoped.device, scoped.placement
        added = () if op is None else (self.as_graph_element(op if isinstance(op, Operation) else op.op),)
        scoped.colocated = (() if ignore_existing else outer[0]) + added
        scoped.device, scoped.placement = "", None
        try:
            yield
        finally:
            scoped.colocated, scoped.device, scoped.placement = outer

    @contextmanager
    def device(self, device_name_or_function: str | Callable[..., str | None] | None) -> Iterator[None]:
        """Context that asks for a device, such as `/gpu:0`, for
        new operations; None forgets that of outer contexts.

        A function is called with each new operation, whose device is the one that contexts inside of this one
        ask for, and returns the device that the operation gets.
        """
        outer, further = self._scoped.device, self._scoped.placement
        asked = device_name_or_function
        if callable(asked):
            self._scoped.device, self._scoped.placement = "", placed_by(asked, outer, further)
        elif asked is None:
            self._scoped.device, self._scoped.placement = "", None
        else:
            self._scoped.device = device_text(asked) or outer
        try:
            yield
        finally:
            self._scoped.device, self._scoped.placement = outer, further

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Context in which new operations of some types have other gradients than their own: those that are
        registered, by `RegisterGradient`, under the names that the map gives to the types. A type is such a
        name, too: `{"Round": "Identity"}` passes derivatives straight through.

        The name is looked up when `gradients` gets to the operation.
        """
        if not isinstance(op_type_map, dict) or not all(
            isinstance(text, str) for pair in op_type_map.items() for text in pair
        ):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        with self._gradients({**self._scoped.gradients, **op_type_map}):
            yield

    @contextmanager
    def _gradients(self, given: dict[str, str]) -> Iterator[None]:
        outer, self._scoped.gradients = self._scoped.gradients, given
        try:
            yield
        finally:
            self._scoped.gradients = outer

    def place(self) -> OperationProperties:
        """Return the device, control dependencies, region and gradients in force in this thread."""
        return self._scoped.place

    @contextmanager
    def at(self, place: OperationProperties) -> Iterator[None]:
        """Context, in any thread, in which what is in force is that of `place`."""
        outer, self._scoped.place = self._scoped.place, place
        try:
            yield
        finally:
            self._scoped.place = outer

    def switch_to_thread_local(self) -> None:
        """Let other threads begin with the device and the control dependencies that are in force here.

        What a thread enters afterwards is always its own. The first call decides.
        """
        self._scoped.give_to_others()

    # Collections

    def add_to_collection(self, name: str, value: Any) -> None:
        self._check_open()
        self._collections.setdefault(key_of(name, "a collection"), []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        for name in dict.fromkeys(keys_of(names, "collections")):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> list[Any]:
        """The list itself."""
        return self._collections.setdefault(key_of(name, "a collection"), [])

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """A copy of the list; with `scope`, only items whose
        name that regular expression matches at its beginning.
        """
        import re

        items = self._collections.get(key_of(name, "a collection"), [])
        if scope is None or (isinstance(scope, str) and not scope):
            return list(items)
        try:
            pattern = re.compile(scope)
        except (TypeError, re.error):
            raise misuse(TypeError, f"scope is {shown(scope)}, and must be a regular expression") from None
        return [i for i in items if hasattr(i, "name") and pattern.match(i.name)]

    @property
    def collections(self) -> list[Any]:
        """The names of all collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        return [k for k in self._collections if isinstance(k, str)]

    def clear_collection(self, name: str) -> None:
        self._check_open()
        self._collections.pop(name, None)

    def session_for(self, session: Any) -> Any:
        """`session`, or the default session of this thread;
        ValueError if there is none, or it is another graph's.
        """
        if session is None:
            session = default_sessions[-1] if (default_sessions := _sessions.stack) else None
            if session is None:
                hint = "use `with sg.Session():`, or pass session="
                raise misuse(ValueError, "there is no default session", hint)
        if session.graph is not self:
            raise misuse(OtherGraphError, "the session runs another graph", "make it with Session(graph=...)")
        return session

    def __repr__(self) -> str:
        return f"<sg.Graph of {len(self._operations)} operations>"


default_derivatives: set[str] = set()  # types of operations that have a registered gradient


class _Sessions(threading.local):
    def __init__(self) -> None:
        self.stack: list[Any] = []


_sessions = _Sessions()


def session_stack() -> list[Any]:
    """The default sessions of this thread, innermost last."""
    return _sessions.stack


_default_graph = Graph()


def get_default_graph() -> Graph:
    """The innermost graph of `as_default`, or the one that every program starts with."""
    for recorder in reversed(opdef.recorders()):
        if isinstance(recorder, Graph):
            return recorder
    return _default_graph


def reset_default_graph() -> None:
    """Begin with a new default graph. AssertionError inside `as_default`."""
    global _default_graph
    if any(isinstance(r, Graph) for r in opdef.recorders()):
        raise AssertionError("reset_default_graph() inside `with graph.as_default():`: do it outside")
    _default_graph = Graph()


opdef._default.append(get_default_graph)


def graph_or_default(graph: Graph | None) -> Graph:
    """Return what a user gave as a graph, or the default graph for None. TypeError for anything else."""
    if graph is not None and not isinstance(graph, Graph):
        text = f"graph is {shown(graph)}, and must be a Graph"
        raise misuse(TypeError, text, "make one with Graph(), or leave it out")
    return graph if graph is not None else get_default_graph()
