"""The graph in event files, which a summary writer was given."""

from __future__ import annotations

from staticgraph.compiler.graph.errors import InvalidFileError, misuse
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.formats.functions import event_files
from staticgraph.formats.tf.messages.graph import GraphDef
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef
from staticgraph.tf1.summary.event_file import summary_iterator


@extension("graph_of_events")
def graph_of_events(path: str) -> GraphDef:
    """Return the last graph in a file of events or in those of a folder. InvalidFileError if none has one."""
    for file in reversed(event_files(path)):
        found = None
        for event in summary_iterator(file):
            if event.graph_def:
                found = GraphDef.FromString(event.graph_def)
            elif event.meta_graph_def and found is None:
                found = MetaGraphDef.FromString(event.meta_graph_def).graph_def
        if found is not None:
            return found
    text, hint = f"no graph is in the events of {path}", "FileWriter(folder, graph) writes one"
    raise misuse(InvalidFileError, text, hint)
