"""`tensorflow.python.tools`: GraphDefs that keep only what an inference needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.graph_util import extract_sub_graph, remove_training_nodes
from staticgraph.formats.tf.messages.graph import GraphDef, NodeDef


def strip_unused(
    input_graph_def: GraphDef,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
) -> GraphDef:
    """Return the part of a graph between its inputs and its outputs.

    Args:
        input_graph_def: The graph.
        input_node_names: Nodes that placeholders of the same names take the place of.
        output_node_names: Nodes that are computed.
        placeholder_type_enum: `as_datatype_enum` of the placeholders, or one for each of them.

    Raises:
        KeyError: The graph has no node of such a name.
    """
    present = {node.name for node in input_graph_def.node}
    for name in [*input_node_names, *output_node_names]:
        if name not in present:
            raise misuse(KeyError, f"strip_unused: node {name!r} is not in graph")
    several = isinstance(placeholder_type_enum, list | tuple)
    types = placeholder_type_enum if several else [placeholder_type_enum] * len(input_node_names)
    placeholders = dict(zip(input_node_names, types, strict=True))
    made = GraphDef(library=input_graph_def.library, versions=input_graph_def.versions)
    for node in input_graph_def.node:
        made.node.add().CopyFrom(
            _placeholder(node, placeholders[node.name]) if node.name in placeholders else node
        )
    return extract_sub_graph(made, output_node_names)


def _placeholder(node: NodeDef, dtype: int) -> NodeDef:
    made = NodeDef(name=node.name, op="Placeholder")
    made.attr["dtype"].type = dtype
    for kept in ("shape", "_output_shapes"):
        if kept in node.attr and (node.op == "Placeholder" or kept != "shape"):
            made.attr[kept].CopyFrom(node.attr[kept])
    return made


def optimize_for_inference(
    input_graph_def: GraphDef,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
) -> GraphDef:
    """Return the part of a graph between its inputs and its outputs, without nodes that only training needs.

    TensorFlow also writes batch normalizations into weights. Here they stay: the compiler folds constants
    when the graph runs.

    Args:
        input_graph_def: The graph, with constants for variables.
        input_node_names: Nodes that placeholders of the same names take the place of.
        output_node_names: Nodes that are computed.
        placeholder_type_enum: `as_datatype_enum` of the placeholders, or one for each of them.
        toco_compatible: Not used.

    >>> import staticgraph.compat.tf1 as tf
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [2], name="x")
    ...     y = tf.exp(tf.check_numerics(x, "bad"), name="y")
    ...     loss = tf.reduce_sum(y)
    >>> made = optimize_for_inference(graph.as_graph_def(), ["x"], ["y"], tf.float32.as_datatype_enum)
    >>> [(node.name, node.op) for node in made.node]
    [('x', 'Placeholder'), ('y', 'Exp')]
    """
    stripped = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    return remove_training_nodes(stripped, output_node_names)
