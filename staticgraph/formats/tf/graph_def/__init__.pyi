"""Graphs as TensorFlow's `GraphDef` messages: what it wrote runs here, and what is made here runs there. Made by tools/type_stubs.py."""

from staticgraph.formats.tf.graph_def.export import (
    as_graph_def as as_graph_def,
    own_nodes as own_nodes,
)
from staticgraph.formats.tf.graph_def.files import (
    as_meta_graph_def as as_meta_graph_def,
    write_graph as write_graph,
)
from staticgraph.formats.tf.graph_def.importing import (
    import_graph_def as import_graph_def,
    supported_types as supported_types,
)
from staticgraph.formats.tf.graph_def.nodes import (
    GraphDefError as GraphDefError,
)
