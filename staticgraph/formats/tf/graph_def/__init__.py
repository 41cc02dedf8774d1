"""Graphs as TensorFlow's `GraphDef` messages: what it wrote runs here, and what is made here runs there."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.formats.tf.graph_def.export": "as_graph_def own_nodes",
        "staticgraph.formats.tf.graph_def.files": "as_meta_graph_def write_graph",
        "staticgraph.formats.tf.graph_def.importing": "import_graph_def supported_types",
        "staticgraph.formats.tf.graph_def.nodes": "GraphDefError",
    },
)
