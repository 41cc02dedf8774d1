"""`import_graph_def`: the nodes of a GraphDef, as TensorFlow 1 writes them, become operations of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.dtypes import bool_
from staticgraph.compiler.graph.errors import InvalidFileError, headline, layout, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import OPS, Effect
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.recording.calls import as_tensor
from staticgraph.compiler.graph.scopes import check_op_name
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.support.gc_pause import collector_paused
from staticgraph.compiler.support.nearest import nearest_name
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.formats.tf.graph_def.attributes import plain_value
from staticgraph.formats.tf.graph_def.correspondence import GRADIENT, OWN, by_type
from staticgraph.formats.tf.graph_def.dataflow import (
    DATAFLOW,
    IDENTITIES,
    SWITCHES,
    Branch,
    Loop,
    Step,
    markers,
    structured,
)
from staticgraph.formats.tf.graph_def.functions import Library
from staticgraph.formats.tf.graph_def.gradient_arrays import no_flow
from staticgraph.formats.tf.graph_def.nodes import READERS, GraphDefError, Node, UnknownOpError
from staticgraph.formats.tf.graph_def.ordering import Edge, dependents, edge, in_order, nodes_by_name
from staticgraph.formats.tf.graph_def.own import region_number, region_reader, restore_own
from staticgraph.formats.tf.graph_def.read.calls import CALLS, add_call
from staticgraph.formats.tf.graph_def.read.control_flow import add_branch, add_loop
from staticgraph.formats.tf.graph_def.read.foreign import Foreign
from staticgraph.formats.tf.graph_def.read.regular import attrs_of, check_dtypes, regular
from staticgraph.formats.tf.graph_def.read.stacks import Kept
from staticgraph.formats.tf.graph_def.read.versions import take_versions
from staticgraph.formats.tf.graph_def.signatures import signature
from staticgraph.formats.tf.graph_def.stacks import KEEPING
from staticgraph.formats.tf.messages.graph import GraphDef, NameAttrList, NodeDef

_DEEPEST = 30  # functions that call one another

# The nodes with which TensorFlow saves variables. A Saver is an object here: they and what needs them are
# left out.
SAVER_TYPES = frozenset(
    {
        "SaveV2",
        "RestoreV2",
        "Save",
        "SaveSlices",
        "Restore",
        "RestoreSlice",
        "MergeV2Checkpoints",
        "ShardedFilename",
    }
)

_STRUCTURE = DATAFLOW | KEEPING | {*CALLS, "ControlTrigger"}  # what is no operation by itself


def supported_types() -> list[str]:
    """The op types of TensorFlow that can be imported."""
    return sorted({*by_type(), *READERS, *_STRUCTURE})


_INPUT_MAP = "input_map must be a dictionary mapping strings to Tensor objects."


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[Any, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of a `GraphDef` to the default graph, their names below the scope `name`, `import` by
    default.

    `input_map`: tensors to take in place of those that the GraphDef calls so (`x`, `x:0`; `^x` for a control
    dependency). `return_elements`: names of operations (`y`) and tensors (`y:0`) to return. The nodes that
    save variables are left out. `op_dict` and `producer_op_list` change nothing.

    TypeError if `graph_def` is none; UnknownOpError, a NotFoundError, for a node of a type that is not
    supported; GraphDefError, a ValueError, for other nodes that cannot be imported, and for names in
    `input_map` or `return_elements` that the GraphDef does not have.

    >>> import staticgraph as sg
    >>> with sg.Graph().as_default() as graph:
    ...     y = sg.multiply(sg.placeholder(sg.float32, [2], name="x"), 2.0, name="y")
    >>> with sg.Graph().as_default():
    ...     sg.import_graph_def(graph.as_graph_def(), {"x": sg.constant([1.0, 2.0])}, ["y:0"])
    [<sg.Tensor 'import/y:0' shape=(2,) dtype=float32>]
    """
    if not isinstance(graph_def, GraphDef):
        if hasattr(graph_def, "SerializeToString"):
            graph_def = GraphDef.FromString(graph_def.SerializeToString())
        else:
            hint = "GraphDef.FromString(contents) reads the bytes of a file"
            raise misuse(TypeError, "graph_def must be a GraphDef proto.", hint)
    if not isinstance(input_map, Mapping | None):
        raise misuse(TypeError, _INPUT_MAP)
    graph = get_default_graph()
    try:
        with graph.as_default(), collector_paused():
            take_versions(graph, graph_def)
            prefix = _prefix(graph, name)
            return _Import(graph, graph_def, input_map or {}, prefix).run(return_elements)
    except (GraphDefError, InvalidFileError) as error:
        text, unknown = str(error), isinstance(error, UnknownOpError)
    raise (UnknownOpError if unknown else GraphDefError)(layout(text, user_frame()))


def _prefix(graph: Graph, name: str | None) -> str:
    if name == "":
        return f"{graph.get_name_scope()}/".lstrip("/")
    with graph.name_scope("import" if name is None else name) as scope:
        return scope


class _Import:
    """One GraphDef on its way into a graph."""

    def __init__(self, graph: Graph, graph_def: GraphDef, input_map: Mapping[Any, Any], prefix: str) -> None:
        self.graph = graph
        self.prefix = prefix
        self.nodes = nodes_by_name(graph_def.node)
        self.mapped = {_key(key): value for key, value in input_map.items()}
        self.used: set[Edge] = set()
        self.outputs: dict[str, tuple[Any, ...]] = {}
        self.operations: dict[str, Operation] = {}
        self.regions = region_reader(self.nodes.values())
        self.library = Library(graph_def)
        self.markers: set[str] = set()
        self.kept = Kept(self)
        self.foreign = Foreign()
        self.attempts = 0  # to find the shapes of what loops carry
        self.calls = 0  # that are being read, one inside the other

    def run(self, return_elements: Sequence[str] | None) -> list[Any] | None:
        saving = dependents(self.nodes, {n for n, node in self.nodes.items() if node.op in SAVER_TYPES})
        ordered = in_order(self.nodes, self.mapped, self._inside())
        self._add_nodes([node for node in ordered if node.name not in saving])
        self.regions.finish()
        unused = [key for key in self.mapped if key not in self.used]
        if unused:
            names = ", ".join(sorted(map(str, unused)))
            raise GraphDefError(f"Attempted to map inputs that were not found in graph_def: [{names}]")
        return None if return_elements is None else [self._element(each) for each in return_elements]

    def _inside(self) -> dict[str, list[str]]:
        """The nodes in the loop or the branches of a node: they come before it."""
        inside: dict[int | None, list[str]] = {}
        for name, node in self.nodes.items():
            inside.setdefault(region_number(node), []).append(name)
        return {
            name: [each for number in node.attr["regions"].list.i for each in inside.get(number, ())]
            for name, node in self.nodes.items()
            if node.op.startswith(OWN) and "regions" in node.attr
        }

    def _add_nodes(self, ordered: Sequence[NodeDef]) -> None:
        for node in ordered:
            if not (_is_supported(node) or node.op in self.library or self.foreign.knows(node.op)):
                raise _refuse(node)
        self.kept.uses.add(ordered)
        self.markers |= markers(ordered)
        self.add_all(structured(ordered))

    def add_all(self, steps: Sequence[Step]) -> None:
        """Add nodes, loops and branches."""
        with self.kept.part(steps):
            for step in steps:
                if isinstance(step, NodeDef):
                    self._add(step)
                else:
                    with _names_the(step):
                        self.kept.prepare(step)
                    self.add_structure(step)

    def add_structure(self, step: Loop | Branch) -> None:
        """Add a loop or a branch."""
        with _names_the(step):
            if isinstance(step, Loop):
                add_loop(self, step)
            else:
                add_branch(self, step)

    def call(self, called: NameAttrList, scope: str, given: Sequence[Any]) -> list[Any]:
        """Add what a function does to the graph, below `scope`; its results."""
        body = self.library.body(called, scope)
        if len(given) != len(body.params):
            raise GraphDefError(f"{called.name!r} takes {len(body.params)} values, and gets {len(given)}")
        if self.calls == _DEEPEST:
            raise GraphDefError("its functions call one another too deeply")
        self.calls += 1
        for param, value in zip(body.params, given, strict=True):
            self.provide(param, (value,))
        params = {Edge(param, 0): None for param in body.params}
        self._add_nodes(in_order(nodes_by_name(body.nodes), params, {}))
        self.calls -= 1
        return [self.value(each) for each in body.results]

    def _add(self, node: NodeDef) -> None:
        full = self._name(node.name)
        try:
            check_op_name(node.name)
            inputs, controls = self._inputs(node)
            if node.name in self.markers:
                self.provide(node.name, tuple(inputs))
                return
            if node.op in SWITCHES:
                self._let_in(node, inputs)
                return
            if node.op == "ControlTrigger":  # only says what comes first, which their inputs tell all others
                self.provide(node.name, ())
                return
            if node.op in KEEPING:
                self.provide(node.name, self.kept.read(node, inputs), full)
                return
            region = self.regions.around(region_number(node), node.name)
            with (
                self._in(region),
                self.graph.control_dependencies(controls),
                self._device(node.device),
                self.graph.gradient_override_map(_gradients(node)),
            ):
                made = self._made(node, full, inputs, controls)
        except Exception as error:  # type rules rely on the kinds of attributes, which a file may get wrong
            text = headline(error)
            raise GraphDefError(f"node {node.name!r} ({node.op}) cannot be imported: {text}") from None
        outputs = (
            made.outputs if isinstance(made, Operation) else made if isinstance(made, tuple) else (made,)
        )
        self.provide(node.name, outputs, full)

    def _let_in(self, node: NodeDef, inputs: Sequence[Any]) -> None:
        """Take what goes into a side of a branch, or an array whose handle does, for what it is outside."""
        given, pred = inputs
        if not isinstance(pred, Tensor) or pred.dtype is not bool_:
            raise GraphDefError(f"its condition is {getattr(pred, 'type', pred)}, and must be bool")
        self.provide(node.name, (given, given))

    def _made(self, node: NodeDef, full: str, inputs: list[Any], controls: list[Operation]) -> Any:
        if node.op in CALLS or node.op in self.library:
            return add_call(self, node, inputs)
        if not _is_supported(node) or self.foreign.takes(inputs):
            return self.foreign.add(node, full, inputs)
        if node.op.startswith(OWN):
            return restore_own(self.graph, node, full, inputs, controls, self.regions, self._named)
        if not node.op.startswith("TensorArray") and node.op not in IDENTITIES:
            inputs = [no_flow() if isinstance(each, TensorArray) else each for each in inputs]
        told = signature(node.op)
        assert told is not None
        attrs = attrs_of(node)
        read = Node(self.graph, full, told, tuple(inputs), attrs)
        check_dtypes(read)
        if node.op in READERS:
            with self.graph.name_scope(f"{full}/"):
                return READERS[node.op](read)
        return regular(read)

    def _inputs(self, node: NodeDef) -> tuple[list[Any], list[Operation]]:
        inputs: list[Any] = []
        controls: list[Operation] = []
        for each in map(edge, node.input):
            if each in self.mapped:
                self.used.add(each)
                given = self.mapped[each]
                if each.is_control:
                    controls.append(given.op if isinstance(given, Tensor) else given)
                else:
                    inputs.append(self._tensor(given))
            elif each.is_control:
                controls += self._control(each.node)
            else:
                inputs.append(self._output(each))
        return inputs, controls

    def value(self, each: Edge) -> Any:
        """Return the value at an edge, which is that of `input_map` if it has the edge."""
        if each not in self.mapped:
            return self._output(each)
        self.used.add(each)
        return self._tensor(self.mapped[each])

    def _output(self, each: Edge) -> Any:
        if each.node not in self.outputs:
            raise GraphDefError(f"it needs {each.node!r}, which is in a loop or a branch that it is not in")
        outputs = self.outputs[each.node]
        if each.index >= len(outputs):
            text = f"it needs output {each.index} of {each.node!r}, which has {len(outputs)} here"
            raise GraphDefError(text)
        return outputs[each.index]

    def controls(self, texts: Sequence[str]) -> list[Operation]:
        """The operations that these inputs wait for."""
        return [op for each in map(edge, texts) if each.is_control for op in self._control(each.node)]

    def provide(self, node: str, outputs: tuple[Any, ...], full: str | None = None) -> None:
        """Take these for the outputs of a node. `full`: its name, if that is another one than usual."""
        full = self.full_name(node) if full is None else full
        self.outputs[node] = outputs
        self.kept.see(outputs)
        self.operations.pop(node, None)
        if self.graph.has_operation(full):
            named = self.graph.get_operation_by_name(full)
            if named.region is self.graph.region:  # not one of the same node on another side of a branch
                self.operations[node] = named

    def full_name(self, node: str) -> str:
        """The name that a node gets."""
        return f"{self.prefix}{node}"

    def _control(self, name: str) -> list[Operation]:
        """The operations that stand for a node, where it is carried out at all."""
        found = self.operations.get(name)
        if found is None:
            tensors = [o.flow if isinstance(o, TensorArray) else o for o in self.outputs.get(name, ())]
            return [each.op for each in tensors if isinstance(each, Tensor)]
        return [found]

    def _named(self, name: str) -> Tensor:
        """A tensor by its name in the GraphDef."""
        each = edge(name)
        outputs = self.outputs.get(each.node, ())
        if each.is_control or each.index >= len(outputs):
            raise GraphDefError(f"there is no tensor {name!r}")
        return outputs[each.index]

    def _tensor(self, given: Any) -> Tensor:
        """Return an entry of `input_map` as a tensor. A plain value becomes a constant."""
        given = given.to_tensor() if hasattr(given, "to_tensor") else given
        return given if isinstance(given, Tensor) else as_tensor(self.graph, given)

    def _name(self, name: str) -> str:
        full = f"{self.prefix}{name}"
        if self.graph.has_operation(full):
            with self.graph.name_scope(None):
                full = self.graph.unique_name(full)
        return full

    def _in(self, region: Region | None) -> AbstractContextManager[None]:
        return nullcontext() if region is None else self.graph.inside(region)

    @contextmanager
    def _device(self, device: str) -> Iterator[None]:
        if device:
            with self.graph.device(device):
                yield
        else:
            yield

    def _element(self, name: str) -> Any:
        if not isinstance(name, str):
            raise misuse(TypeError, "return_elements must be a list of strings.")
        each = edge(name)
        if ":" in name:
            outputs = self.outputs.get(each.node, ())
            if each.index < len(outputs) and isinstance(outputs[each.index], Tensor):
                return outputs[each.index]
        elif each.node in self.operations:
            return self.operations[each.node]
        close = nearest_name(each.node, self.outputs)
        more = f"; did you mean {close!r}?" if close else ""
        raise GraphDefError(f"Requested return_element {name!r} not found in graph_def{more}")


@contextmanager
def _names_the(step: Loop | Branch) -> Iterator[None]:
    """Context in which any error is one of the loop or the branch."""
    try:
        yield
    except GraphDefError:
        raise
    except Exception as error:
        merge = step.carried[0].merge if isinstance(step, Loop) else step.merges[0][0]
        what = "loop" if isinstance(step, Loop) else "branch"
        text = headline(error)
        raise GraphDefError(f"the {what} of node {merge.name!r} cannot be imported: {text}") from None


def _key(key: Any) -> Edge:
    text = key.decode() if isinstance(key, bytes) else getattr(key, "name", key)
    if not isinstance(text, str):
        raise misuse(TypeError, _INPUT_MAP)
    return edge(text)


def _gradients(node: NodeDef) -> dict[str, str]:
    """Return the name of the registered gradient that a node has, by its type."""
    return {node.op: plain_value("string", node.attr[GRADIENT])} if GRADIENT in node.attr else {}


def _is_supported(node: NodeDef) -> bool:
    """Return True if nodes of its type can be read."""
    if node.op.startswith(OWN):
        op = OPS.get(node.op.removeprefix(OWN))
        return op is not None and op.effect not in (Effect.HOST, Effect.EFFECT)
    return node.op in READERS or node.op in by_type() or node.op in _STRUCTURE


def _refuse(node: NodeDef) -> UnknownOpError:
    close = nearest_name(node.op, supported_types())
    what = f"there is no op of this type here{f'; the nearest is {close}' if close else ''}"
    return UnknownOpError(f"node {node.name!r} is of type {node.op!r}: {what}")
