"""Graphs as files: `.pb` with bytes, `.pbtxt` with text."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from staticgraph.compiler.graph.errors import InvalidFileError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.formats.tf.graph_def.export import as_graph_def
from staticgraph.formats.tf.messages import text_format
from staticgraph.formats.tf.messages.graph import GraphDef
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.plain_file import read_plain


def write_graph(graph_or_graph_def: Graph | GraphDef, logdir: Any, name: str, as_text: bool = True) -> str:
    """Write a graph to the file `name` in a folder, which is made where needed; the path of the file.

    The file is text, as in `.pbtxt` files, or else bytes.

    >>> import tempfile
    >>> import staticgraph as sg
    >>> with sg.Graph().as_default() as graph:
    ...     x = sg.constant(1.0)
    >>> with open(write_graph(graph, tempfile.mkdtemp(), "graph.pbtxt")) as file:
    ...     file.readline().strip()
    'node {'
    """
    given = graph_or_graph_def
    graph_def = as_graph_def(given) if isinstance(given, Graph) else given
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    text = text_format.MessageToString(graph_def).encode() if as_text else graph_def.SerializeToString()
    write_file(path, [text])
    return path


def read_graph(path: Any) -> GraphDef:
    """The graph in a file of bytes or text. NotFoundError if there is no file, InvalidFileError if
    there is no graph in it.
    """
    data, made = read_plain(path, "graph"), GraphDef()
    try:
        made = GraphDef.FromString(data)
    except DecodeError:
        with contextlib.suppress(ValueError):
            made = text_format.Merge(data, GraphDef())
    if made.node:
        return made
    text = f"{os.fspath(path)} is not a usable graph file: it is no GraphDef, neither as bytes nor as text"
    raise misuse(InvalidFileError, text)


def as_meta_graph_def(graph: Graph | GraphDef) -> MetaGraphDef:
    """The message of a graph, within that which may hold its collections and signatures."""
    graph_def = as_graph_def(graph, add_shapes=True) if isinstance(graph, Graph) else graph
    made = MetaGraphDef(graph_def=graph_def)
    made.meta_info_def.tensorflow_version = "1.15.5"
    return made
