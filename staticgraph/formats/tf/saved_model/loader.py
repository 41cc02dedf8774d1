"""Reading a SavedModel: one of its graphs into a session, with the values of its variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import InvalidFileError, headline, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.formats.tf.checkpoints.checkpoint_state import checkpoint_exists
from staticgraph.formats.tf.checkpoints.imported_meta_graph import import_meta_graph
from staticgraph.formats.tf.messages import text_format
from staticgraph.formats.tf.messages.meta_graph import AssetFileDef, MetaGraphDef, SavedModel
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.formats.tf.saved_model import constants
from staticgraph.formats.tf.saved_model.builder import variables_prefix
from staticgraph.runtime.files.plain_file import read_plain
from staticgraph.runtime.session import Session

__all__ = ["load", "maybe_saved_model_directory"]


def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Return True if a folder has the message of a SavedModel."""
    return any(os.path.isfile(path) for path in _files(path_of(export_dir, "export_dir")))


def load(
    sess: Session, tags: Iterable[str], export_dir: Any, import_scope: str | None = None, **saver_kwargs: Any
) -> MetaGraphDef:
    """Add the graph that has just these tags to the graph of `sess`, restore its variables, and run the
    operation that it is to be begun with; the message of the graph.

    OSError if the folder has no SavedModel, RuntimeError if it has no graph with the tags,
    InvalidFileError for damaged files. `import_scope` is a scope for all names.
    """
    folder = path_of(export_dir, "export_dir")
    found = _tagged(read_saved_model(folder), set(tags))
    graph = sess.graph
    before = graph.version
    with graph.as_default():
        saver = import_meta_graph(found, import_scope=import_scope)
        if saver is not None and checkpoint_exists(variables_prefix(folder)):
            saver.restore(sess, variables_prefix(folder))
        prefix = f"{import_scope}/" if import_scope else ""
        feeds = _assets(found, graph, folder, prefix)
        _check_files(graph, before, feeds)
        for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
            if key in found.collection_def:
                for name in found.collection_def[key].node_list.value:
                    sess.run(_element(graph, f"{prefix}{name}"), feeds)
    return found


def _files(folder: str) -> list[str]:
    names = (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT)
    return [os.path.join(folder, name) for name in names]


def read_saved_model(folder: str) -> SavedModel:
    """The message of a SavedModel. OSError if the folder has none, InvalidFileError for a damaged one."""
    for path in _files(folder):
        if os.path.isfile(path):
            data = read_plain(path, "SavedModel")
            try:
                if path.endswith(".pb"):
                    return SavedModel.FromString(data)
                made: SavedModel = text_format.Merge(data, SavedModel())
                return made
            except (DecodeError, ValueError) as error:
                text = f"Cannot parse file {path}: {headline(error)}"
            raise misuse(InvalidFileError, text)
    names = "|".join((constants.SAVED_MODEL_FILENAME_PBTXT, constants.SAVED_MODEL_FILENAME_PB))
    raise misuse(OSError, f"SavedModel file does not exist at: {folder}/{{{names}}}")


def _tagged(model: SavedModel, tags: set[str]) -> MetaGraphDef:
    for meta in model.meta_graphs:
        if set(meta.meta_info_def.tags) == tags:
            return meta
    wanted = ", ".join(sorted(tags))
    known = "; ".join(", ".join(meta.meta_info_def.tags) or "none" for meta in model.meta_graphs)
    text = f"MetaGraphDef associated with tags {wanted!r} could not be found in SavedModel"
    raise misuse(RuntimeError, text, f"its graphs have the tags: {known}")


def _assets(meta: MetaGraphDef, graph: Graph, folder: str, prefix: str) -> dict[Any, str]:
    """Return the current paths of the files that the graph reads, as feeds for the tensors that name them."""
    feeds = {}
    for asset in _asset_files(meta):
        if asset.filename in ("", ".", "..") or {"/", "\\", "\0"} & set(asset.filename):
            raise misuse(InvalidFileError, f"the asset {asset.filename!r} is no name of a file")
        path = os.path.join(folder, constants.ASSETS_DIRECTORY, asset.filename)
        if not Path(path).resolve().is_relative_to(Path(folder).resolve()):
            text = f"the asset {asset.filename!r} is a link to a file outside of the folder of the SavedModel"
            raise misuse(InvalidFileError, text, "put a copy of the file into its folder assets/")
        feeds[_element(graph, prefix + asset.tensor_info.name)] = path
    return feeds


def _check_files(graph: Graph, before: int, assets: Mapping[Any, str]) -> None:
    """Refuse operations from number `before` on that read other files than the assets: they could give away
    whatever the user may read.
    """
    for op in graph.get_operations()[before:]:
        if op.type == "InitializeTableFromTextFileV2" and op.tensors[0] not in assets:
            text = f"{op.name} reads a file that is none of the assets of the SavedModel"
            hint = "a vocabulary belongs into its folder assets/"
            raise misuse(InvalidFileError, text, hint)


def _element(graph: Graph, name: str) -> Any:
    """The tensor or operation of a name in the message."""
    try:
        return graph.as_graph_element(name)
    except (KeyError, ValueError) as error:
        why = headline(error)
    raise misuse(InvalidFileError, f"the SavedModel names what it does not have: {why}")


def _asset_files(meta: MetaGraphDef) -> list[AssetFileDef]:
    """The files of a graph: TensorFlow 1 puts them into a collection."""
    if meta.asset_file_def or constants.ASSETS_KEY not in meta.collection_def:
        return list(meta.asset_file_def)
    try:
        held = meta.collection_def[constants.ASSETS_KEY].any_list.value
        return [AssetFileDef.FromString(each.value) for each in held]
    except DecodeError:
        text = "the files of the graph cannot be read"
    raise misuse(InvalidFileError, text)
