"""Check of the versions of a GraphDef that is imported."""

from __future__ import annotations

from staticgraph.compiler.graph.graph import Graph
from staticgraph.formats.tf.graph_def.export import PRODUCER, VERSION
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.messages.graph import GraphDef


def take_versions(graph: Graph, graph_def: GraphDef) -> None:
    """Note the versions of a GraphDef that is imported into a graph. A producer of 0 says nothing.

    Raises:
        GraphDefError: Programs of this version do not understand the GraphDef.
    """
    versions = graph_def.versions
    if versions.producer < 0:
        text = f"GraphDef producer version {versions.producer} below min producer 0 supported"
        raise GraphDefError(f"{text} by TensorFlow 1.15.  Please regenerate your graph.")
    if versions.min_consumer > PRODUCER:
        text = f"GraphDef min consumer version {versions.min_consumer} above current version {PRODUCER}"
        raise GraphDefError(f"{text} for TensorFlow 1.15.  Please upgrade TensorFlow.")
    if versions.producer:
        graph.attached[VERSION] = min(graph.attached.get(VERSION, PRODUCER), versions.producer)
