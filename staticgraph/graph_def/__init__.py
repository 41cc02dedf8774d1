"""Graphs as TensorFlow's `GraphDef` messages: what it wrote runs here, and what is made here runs there."""

from staticgraph.graph_def import (
    exceptions,
    read_arrays,
    read_gradients,
    read_optimizers,
    read_state,
    read_tensor_arrays,
    write_tensor_arrays,
)
from staticgraph.graph_def.export import as_graph_def, own_nodes
from staticgraph.graph_def.files import as_meta_graph_def, write_graph
from staticgraph.graph_def.importing import import_graph_def, supported_types
from staticgraph.graph_def.nodes import GraphDefError
