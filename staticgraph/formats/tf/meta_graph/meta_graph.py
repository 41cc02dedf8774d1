"""Meta graphs: a graph with its collections and how it is saved, in one message or one `.meta` file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.errors import InvalidFileError, headline, layout
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.formats.tf.graph_def.export import as_graph_def
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.ordering import edge, nodes_by_name
from staticgraph.formats.tf.graph_def.saver_nodes import add_saver_nodes, saved_names
from staticgraph.formats.tf.graph_def.stripping import strip_defaults
from staticgraph.formats.tf.graph_util import import_graph_def
from staticgraph.formats.tf.messages import text_format
from staticgraph.formats.tf.messages.graph import GraphDef
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef, SaverDef
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.formats.tf.meta_graph.collections import fill_collections, read_collections
from staticgraph.runtime.disk.atomic import write_file

__all__ = [
    "export_meta_graph",
    "import_scoped_meta_graph",
    "meta_graph",
    "read_meta_graph_file",
    "write_meta_graph_file",
]

_VERSION = "1.15.5"


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: GraphDef | None = None,
    saver_def: SaverDef | None = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> MetaGraphDef:
    """A graph, by default the default graph, as a message with its collections; written to `filename` too.

    `collection_list`: the keys of the collections to keep, all by default. `as_text`: the file is text.
    `clear_devices` forgets the devices that were asked for, `strip_default_attrs` leaves out attributes that
    are TensorFlow's defaults. `clear_extraneous_savers` and `save_debug_info` change nothing: no Saver is
    part of a graph here. NotImplementedError with `export_scope`.

    >>> import staticgraph as sg
    >>> with sg.Graph().as_default():
    ...     sg.add_to_collection("loss", sg.constant(1.0, name="loss"))
    ...     made = sg.train.export_meta_graph()
    >>> made.collection_def["loss"].node_list.value
    ['loss:0']
    """
    if export_scope is not None:
        raise NotImplementedError(layout("export_meta_graph: export_scope is not supported", user_frame()))
    made = meta_graph(
        graph or get_default_graph(),
        graph_def,
        saver_def,
        None,
        collection_list,
        clear_devices,
        strip_default_attrs,
    )
    if meta_info_def is not None:
        made.meta_info_def.MergeFrom(meta_info_def)
    if filename:
        write_meta_graph_file(filename, made, as_text)
    return made


def meta_graph(
    graph: Graph,
    graph_def: GraphDef | None = None,
    saver_def: SaverDef | None = None,
    variables: Mapping[str, Operation] | None = None,
    collection_list: Sequence[str] | None = None,
    clear_devices: bool = False,
    strip_default_attrs: bool = False,
) -> MetaGraphDef:
    """The message of a graph. With `variables`, by their keys, it has the nodes that save them."""
    made = MetaGraphDef(
        graph_def=graph_def if graph_def is not None else as_graph_def(graph, add_shapes=True)
    )
    made.meta_info_def.tensorflow_version = _VERSION
    if saver_def is not None:
        made.saver_def.CopyFrom(saver_def)
    if variables:
        add_saver_nodes(made.graph_def, variables, made.saver_def)
    if clear_devices:
        for node in made.graph_def.node:
            node.device = ""
    if strip_default_attrs:
        strip_defaults(made.graph_def)
        made.meta_info_def.stripped_default_attrs = True
    fill_collections(made.collection_def, graph, collection_list)
    return made


def write_meta_graph_file(filename: str, made: MetaGraphDef, as_text: bool = False) -> None:
    """Write a message to a file."""
    write_file(filename, [str(made).encode() if as_text else made.SerializeToString()])


def read_meta_graph_file(filename: Any) -> MetaGraphDef:
    """The message in a file of bytes or text. OSError where there is no file, InvalidFileError for another
    file.
    """
    path = os.fspath(filename)
    if not os.path.isfile(path):
        raise OSError(layout(f"File {path} does not exist.", user_frame()))
    with open(path, "rb") as file:
        data = file.read()
    try:
        return MetaGraphDef.FromString(data)
    except DecodeError:
        pass
    try:
        made: MetaGraphDef = text_format.Merge(data, MetaGraphDef())
        return made
    except ValueError:
        text = f"Cannot parse file {path}: it is no MetaGraphDef, neither as bytes nor as text"
    raise InvalidFileError(layout(text, user_frame()))


def import_scoped_meta_graph(
    meta: MetaGraphDef, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> tuple[dict[str, Operation], list[Any] | None]:
    """Add a meta graph to the default graph: its nodes and collections.

    The variables that its saver saves, by their names in checkpoints, and what `return_elements` asks for.
    """
    graph_def = GraphDef.FromString(meta.graph_def.SerializeToString())
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
        names = saved_names(by_name, meta.saver_def) if meta.HasField("saver_def") else {}
        read_collections(
            meta.collection_def, graph, scope, lambda name: graph.has_operation(f"{scope}{edge(name).node}")
        )
    except (GraphDefError, DecodeError, KeyError) as error:
        text = headline(error)
        raise GraphDefError(layout(text, user_frame())) from None
    saved = {key: graph.get_operation_by_name(f"{scope}{name}") for key, name in names.items()}
    variables = {key: op for key, op in saved.items() if op.definition.name == "variable"}  # and no tables
    return variables, found
