"""Reader of meta graphs: the graph of a `MetaGraphDef` or a `.meta` file, and a Saver for its variables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import GraphKeys, get_default_graph
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import InvalidFileError, headline, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.formats.tf.graph_def.importing import import_graph_def
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.ordering import edge, nodes_by_name
from staticgraph.formats.tf.graph_def.saver_nodes import SavedNode, saved_nodes
from staticgraph.formats.tf.messages import text_format
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.formats.tf.meta_graph.collections import read_collections
from staticgraph.runtime.files.plain_file import read_plain
from staticgraph.runtime.files.values import Part, Parts, Saved


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Add the graph of a `MetaGraphDef`, or of a `.meta` file, to the default graph, with its collections.

    A Saver for its variables, whose values `restore` brings; None if it has none. `clear_devices` forgets
    the devices that its nodes ask for; with `import_scope` all names lie in that scope. `input_map` is that
    of `import_graph_def`. OSError if there is no such file, InvalidFileError for another file,
    GraphDefError for nodes that cannot be imported and for two variables of one name.

    >>> import os, tempfile
    >>> import staticgraph as sg
    >>> with sg.Graph().as_default(), sg.Session() as sess:
    ...     w = sg.Variable([1.0, 2.0], name="w")
    ...     _ = sess.run(w.initializer)
    ...     path = sg.train.Saver().save(sess, os.path.join(tempfile.mkdtemp(), "model"))
    >>> with sg.Graph().as_default(), sg.Session() as sess:
    ...     sg.train.import_meta_graph(f"{path}.meta").restore(sess, path)
    ...     sess.run("w:0")
    array([1., 2.], dtype=float32)
    """
    given = meta_graph_or_file
    if isinstance(given, MetaGraphDef):
        meta = MetaGraphDef.FromString(given.SerializeToString())  # what is read here may be changed
    else:
        meta = read_meta_graph_file(given)
    saved, _ = _import_scoped(meta, clear_devices, import_scope, **kwargs)
    told = meta.saver_def if meta.HasField("saver_def") else None
    if not saved and not get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
        return None
    try:
        entries = {key: each if isinstance(each, Parts) else each.outputs[0] for key, each in saved.items()}
        return Saver(entries or None, saver_def=told)
    except ValueError as error:
        raise misuse(GraphDefError, headline(error)) from None


def read_meta_graph_file(filename: Any) -> MetaGraphDef:
    """The message in a file of bytes or text. OSError if there is no file, InvalidFileError for another
    file.
    """
    path = path_of(filename, "meta_graph_or_file")
    if not os.path.isfile(path):
        raise misuse(OSError, f"File {path} does not exist.")
    data = read_plain(path, "MetaGraphDef")
    try:
        return MetaGraphDef.FromString(data)
    except DecodeError:
        pass
    try:
        made: MetaGraphDef = text_format.Merge(data, MetaGraphDef())
        return made
    except ValueError:
        text = f"Cannot parse file {path}: it is no MetaGraphDef, neither as bytes nor as text"
    raise misuse(InvalidFileError, text)


def _import_scoped(
    meta: MetaGraphDef, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> tuple[dict[str, Saved], list[Any] | None]:
    """Add a meta graph to the default graph: its nodes and collections.

    The variables that its saver saves, by their names in checkpoints, and what `return_elements` asks for.
    """
    graph_def = meta.graph_def
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    graph = get_default_graph()
    with graph.name_scope(import_scope) as opened:
        scope = opened
    input_map, wanted = kwargs.pop("input_map", None), kwargs.pop("return_elements", None)
    try:
        by_name = nodes_by_name(graph_def.node)
        with graph.name_scope(None):
            found = import_graph_def(graph_def, input_map, wanted, name=scope)
        nodes = saved_nodes(by_name, meta.saver_def) if meta.HasField("saver_def") else []
        read_collections(
            meta.collection_def, graph, scope, lambda name: graph.has_operation(f"{scope}{edge(name).node}")
        )
    except (GraphDefError, DecodeError, KeyError) as error:
        raise misuse(GraphDefError, headline(error)) from None
    return _saved(graph, scope, nodes), found


def _saved(graph: Graph, scope: str, nodes: Sequence[SavedNode]) -> dict[str, Saved]:
    """Return the variables among these nodes by their names in checkpoints; tables are left out."""
    saved: dict[str, Saved] = {}
    parts: dict[str, list[tuple[Operation, Part]]] = {}
    for key, spec, node in nodes:
        op = graph.get_operation_by_name(f"{scope}{node}")
        if op.definition.name != "variable":
            continue
        part = Part.read(spec)
        if part is None:
            saved[key] = op
        else:
            parts.setdefault(key, []).append((op, part))
    for key, pieces in parts.items():
        saved[key] = whole = Parts(tuple(op for op, _ in pieces), tuple(part for _, part in pieces))
        if not whole.is_whole:
            raise misuse(GraphDefError, f"the parts of {key!r} do not make up a variable")
    return saved
