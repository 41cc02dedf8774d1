"""Graphs as TensorFlow's `GraphDef` messages: what it wrote runs here, and what is made here runs there."""

from typing import TYPE_CHECKING

from staticgraph.compiler.support.lazy_names import lazy_names

# For type checkers. A program imports what it uses, by the table below.
if TYPE_CHECKING:
    from staticgraph.formats.tf.graph_def.export import as_graph_def, own_nodes
    from staticgraph.formats.tf.graph_def.files import as_meta_graph_def, write_graph
    from staticgraph.formats.tf.graph_def.importing import import_graph_def, supported_types
    from staticgraph.formats.tf.graph_def.nodes import GraphDefError

__all__ = [
    "GraphDefError",
    "as_graph_def",
    "as_meta_graph_def",
    "import_graph_def",
    "own_nodes",
    "supported_types",
    "write_graph",
]

lazy_names(
    __name__,
    {
        "staticgraph.formats.tf.graph_def.export": "as_graph_def own_nodes",
        "staticgraph.formats.tf.graph_def.files": "as_meta_graph_def write_graph",
        "staticgraph.formats.tf.graph_def.importing": "import_graph_def supported_types",
        "staticgraph.formats.tf.graph_def.nodes": "GraphDefError",
    },
)
