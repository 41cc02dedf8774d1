"""Writer of meta graphs: a graph with its collections and how it is saved, in one message or `.meta` file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.formats.tf.graph_def.export import as_graph_def
from staticgraph.formats.tf.graph_def.saver_nodes import add_saver_nodes
from staticgraph.formats.tf.messages.graph import GraphDef
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef, SaverDef
from staticgraph.formats.tf.meta_graph.collections import fill_collections
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.values import Saved

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
        raise misuse(NotImplementedError, "export_meta_graph: export_scope is not supported")
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
    variables: Mapping[str, Saved] | None = None,
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
        add_saver_nodes(graph, made.graph_def, variables, made.saver_def)
    if clear_devices:
        for node in made.graph_def.node:
            node.device = ""
    if strip_default_attrs:
        from staticgraph.formats.tf.graph_def.stripping import strip_defaults  # few ask for this

        strip_defaults(made.graph_def)
        made.meta_info_def.stripped_default_attrs = True
    fill_collections(made.collection_def, graph, collection_list)
    return made


def write_meta_graph_file(filename: str, made: MetaGraphDef, as_text: bool = False) -> None:
    """Write a message to a file."""
    write_file(filename, [str(made).encode() if as_text else made.SerializeToString()])
