"""Parts of graphs as messages: what some nodes need, with variables frozen, without what only training
needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.formats.tf.graph_def.export import node_def
from staticgraph.formats.tf.graph_def.importing import import_graph_def
from staticgraph.formats.tf.graph_def.ordering import edge
from staticgraph.formats.tf.messages.graph import GraphDef, NodeDef
from staticgraph.formats.tf.messages.tensors import make_tensor_proto
from staticgraph.formats.tf.messages.types import DataType, data_type, dtype_of

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
# What hands on the handle of a variable: in the graph that is frozen, its value.
_HANDING_ON = ("Enter", "RefEnter", "Switch", "RefSwitch", "Identity", "RefIdentity")
_ON_VARIABLES = (
    "Assign",
    "AssignAdd",
    "AssignSub",
    "Queue",
    "ScatterAdd",
    "ScatterSub",
    "ScatterUpdate",
    "TruncatedNormal",
    "Variable",
    "VariableV2",
)


def extract_sub_graph(graph_def: GraphDef, dest_nodes: Sequence[str]) -> GraphDef:
    """The nodes that `dest_nodes`, a list of names, need, and these themselves, in the order of `graph_def`.

    TypeError for arguments of other types, AssertionError for a name that the graph does not have.

    >>> import staticgraph as sg
    >>> with sg.Graph().as_default() as graph:
    ...     x = sg.constant(1.0, name="x")
    ...     y = sg.exp(x, name="y") + sg.sin(x, name="z")
    >>> [node.name for node in extract_sub_graph(graph.as_graph_def(), ["z"]).node]
    ['x', 'z']
    """
    if not isinstance(graph_def, GraphDef):
        raise misuse(TypeError, "graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise misuse(TypeError, "dest_nodes must be a list.")
    by_name = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in by_name:
            raise misuse(AssertionError, f"{name} is not in graph")
    kept, stack = set[str](), list(dest_nodes)
    while stack:
        name = stack.pop()
        if name not in kept and name in by_name:
            kept.add(name)
            stack += [edge(text).node for text in by_name[name].input]
    made = GraphDef(library=graph_def.library, versions=graph_def.versions)
    made.node.extend(node for node in graph_def.node if node.name in kept)
    return made


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: GraphDef,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> GraphDef:
    """Return the part of a graph that some nodes need, with the values of variables as constants.

    Args:
        sess: The session that holds the values of the variables.
        input_graph_def: The graph.
        output_node_names: The names of the nodes that are kept, with all nodes that they need.
        variable_names_whitelist: The names of the variables to replace by constants; all by default.
        variable_names_blacklist: The names of variables that stay variables; none by default.

    Returns:
        A new GraphDef.

    Raises:
        UninitializedError: If a variable to replace has no value in `sess`.

    >>> import staticgraph as sg
    >>> with sg.Graph().as_default() as graph, sg.Session() as sess:
    ...     w = sg.Variable([2.0], name="w")
    ...     y = sg.multiply(w, 3.0, name="y")
    ...     _ = sess.run(w.initializer)
    ...     frozen = convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
    >>> [(node.name, node.op) for node in frozen.node]
    [('w', 'Const'), ('w/read', 'Identity'), ('y/y', 'Const'), ('y', 'Mul')]
    """
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    names = [
        node.name
        for node in graph_def.node
        if node.op in _VARIABLES
        and (variable_names_whitelist is None or node.name in variable_names_whitelist)
        and (variable_names_blacklist is None or node.name not in variable_names_blacklist)
    ]
    values = dict(zip(names, sess.run([f"{name}:0" for name in names]) if names else (), strict=True))
    frozen = _reached(graph_def, values)
    made = GraphDef(library=graph_def.library)
    for node in graph_def.node:
        made.node.extend(_frozen(node, values, frozen))
    return made


def _reached(graph_def: GraphDef, values: Mapping[str, Any]) -> dict[str, Any]:
    """The dtypes of the variables in `values`, by the nodes that hand them on: into loops and branches."""
    by_name = {node.name: node for node in graph_def.node}
    found = {name: dtype_of(by_name[name].attr["dtype"].type) for name in values}
    users: dict[str, list[NodeDef]] = {}
    for node in graph_def.node:
        if node.op in _HANDING_ON:
            users.setdefault(edge(node.input[0]).node, []).append(node)
    stack = list(found)
    while stack:
        name = stack.pop()
        for node in users.get(name, ()):
            if node.name not in found:
                found[node.name] = found[name]
                stack.append(node.name)
    return found


def _frozen(node: NodeDef, values: Mapping[str, Any], frozen: Mapping[str, Any]) -> list[NodeDef]:
    """A node, where it is a variable, reads one or hands one on: in terms of constants."""
    if node.name in values:
        return [_constant(node.name, values[node.name], frozen[node.name])]
    if node.name in frozen:
        made = NodeDef.FromString(node.SerializeToString())
        made.op = node.op.removeprefix("Ref")
        made.attr["T"].type = data_type(frozen[node.name])
        return [made]
    first = edge(node.input[0]).node if node.input else ""
    if node.op == "ReadVariableOp" and first in frozen:
        return [node_def("Identity", node.name, node.input, {"T": frozen[first]}, node.device)]
    if node.op == "ResourceGather" and first in frozen:
        index = dtype_of(node.attr["Tindices"].type)
        axis = _constant(f"{node.name}/axis", 0, index)
        types = {"Tparams": frozen[first], "Tindices": index, "Taxis": index}
        inputs = [*node.input[:2], axis.name, *node.input[2:]]
        return [axis, node_def("GatherV2", node.name, inputs, types, node.device)]
    return [node]


def _constant(name: str, value: Any, dtype: Any) -> NodeDef:
    return node_def("Const", name, (), {"value": make_tensor_proto(value, dtype), "dtype": dtype})


def remove_training_nodes(input_graph: GraphDef, protected_nodes: Collection[str] | None = None) -> GraphDef:
    """A graph without CheckNumerics nodes and without Identity nodes that no control dependency involves:
    what uses them uses their inputs. Nodes in `protected_nodes` stay.
    """
    kept = set(protected_nodes or ())
    edges = {node.name: [edge(text) for text in node.input] for node in input_graph.node}
    held = {each.node for found in edges.values() for each in found if each.is_control}
    held |= {name for name, found in edges.items() if any(each.is_control for each in found)}
    passed = {
        node.name: node.input[0]
        for node in input_graph.node
        if node.name not in kept
        and (node.op == "CheckNumerics" or (node.op == "Identity" and node.name not in held))
    }
    made = GraphDef(library=input_graph.library, versions=input_graph.versions)
    for node in input_graph.node:
        if node.name not in passed:
            copy = made.node.add()
            copy.CopyFrom(node)
            copy.input[:] = [_beyond(text, passed) for text in node.input]
    return made


def _beyond(text: str, passed: Mapping[str, str]) -> str:
    """An input, past the nodes that are left out."""
    control = text.startswith("^")
    while (name := edge(text).node) in passed:
        text = passed[name]
    return f"^{edge(text).node}" if control else text


def must_run_on_cpu(node: Operation | NodeDef, pin_variables_on_cpu: bool = False) -> bool:
    """Return True if TensorFlow runs a node on the CPU, whatever device it is asked for.

    These nodes are constants of strings and int32, casts from int32, and dynamic stitches of int32.

    Args:
        node: The operation, or its NodeDef.
        pin_variables_on_cpu: If True, variables count too, and operations on them such as Assign.
    """
    told = node
    if isinstance(told, Operation):
        [told] = [each for each in told.graph.as_graph_def().node if each.name == node.name]
    small = DataType.Value("DT_INT32")
    match told.op:
        case "Const":
            return told.attr["dtype"].type in (DataType.Value("DT_STRING"), small)
        case "DynamicStitch" | "ParallelDynamicStitch":
            return bool(told.attr["T"].type == small)
        case "Cast":
            return bool(told.attr["SrcT"].type == small)
    return pin_variables_on_cpu and told.op in _ON_VARIABLES


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """The static shape of the tensor that a node's input names: `x`, or `x:1`."""
    return graph.get_tensor_by_name(input_name if ":" in input_name else f"{input_name}:0").shape


show_public_names(__name__)
