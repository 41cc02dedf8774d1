"""Files that training writes beside its checkpoints: event files, which TensorBoard shows, and the graph."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.graph import Graph
from staticgraph.formats.tf.graph_def import as_graph_def, as_meta_graph_def, write_graph
from staticgraph.formats.tf.messages import SessionLog, Summary


def scalar_summary(tag: str, value: float) -> Summary:
    """A summary of one number."""
    return Summary(value=[Summary.Value(tag=tag, simple_value=value)])


def session_log(status: str, checkpoint_path: str = "") -> SessionLog:
    """Return the log entry of a session's status.

    Args:
        status: "START", "STOP" or "CHECKPOINT".
        checkpoint_path: The checkpoint that was written.
    """
    return SessionLog(status=getattr(SessionLog, status), checkpoint_path=checkpoint_path)


def write_graph_files(graph: Graph, folder: str, writer: Any) -> None:
    """Write the graph as text, as `graph.pbtxt`, and to an event file."""
    graph_def = as_graph_def(graph, add_shapes=True)
    write_graph(graph_def, folder, "graph.pbtxt")
    writer.add_graph(graph)
    writer.add_meta_graph(as_meta_graph_def(graph_def))
