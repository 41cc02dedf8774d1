"""Graphs as TensorFlow's `GraphDef` messages: what it wrote runs here, and what is made here runs there."""

from staticgraph.formats.tf.graph_def import exceptions
from staticgraph.formats.tf.graph_def.export import as_graph_def, own_nodes
from staticgraph.formats.tf.graph_def.files import as_meta_graph_def, write_graph
from staticgraph.formats.tf.graph_def.importing import import_graph_def, supported_types
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.write import tensor_arrays as write_tensor_arrays
