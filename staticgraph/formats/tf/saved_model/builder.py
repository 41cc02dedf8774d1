"""Writing a SavedModel: a folder with graphs, their signatures, and variables that they share.

saved_model.pb                            all graphs, in one message
variables/variables.index, .data-...      the values, as a checkpoint of TensorFlow's
assets/                                   files that graphs read
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.formats.tf.checkpoints.saver import Saver
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef, SavedModel, SignatureDef
from staticgraph.formats.tf.meta_graph.meta_graph import meta_graph
from staticgraph.formats.tf.saved_model import constants
from staticgraph.formats.tf.saved_model.utils import build_tensor_info
from staticgraph.formats.tf.tensor_bundle import write_bundle
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.values import collect
from staticgraph.runtime.session import Session

__all__ = ["SavedModelBuilder"]


class SavedModelBuilder:
    """Builds a SavedModel in the folder `export_dir`, which must be new or empty. AssertionError otherwise.

    >>> import os, tempfile
    >>> import staticgraph as sg
    >>> folder = os.path.join(tempfile.mkdtemp(), "model")
    >>> with sg.Graph().as_default(), sg.Session() as sess:
    ...     w = sg.Variable([1.0, 2.0], name="w")
    ...     _ = sess.run(w.initializer)
    ...     builder = sg.saved_model.builder.SavedModelBuilder(folder)
    ...     builder.add_meta_graph_and_variables(sess, [sg.saved_model.tag_constants.SERVING])
    ...     os.path.basename(builder.save())
    'saved_model.pb'
    """

    def __init__(self, export_dir: Any) -> None:
        self._folder = path_of(export_dir, "export_dir")
        self._model = SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._has_variables = False
        if os.path.isdir(self._folder) and os.listdir(self._folder):
            text = f"Export directory already exists, and isn't empty: {self._folder}"
            raise misuse(AssertionError, text, "choose another folder, or empty this one")

    def add_meta_graph_and_variables(
        self,
        sess: Session,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the graph of a session, and write the values of its variables.

        `tags` say what the graph is for, and `signature_def_map` what it takes and gives. `main_op`, or
        `legacy_init_op`, is run when the graph is loaded. `assets_collection`: constants that are the paths
        of files; these are copied. `saver` chooses the variables, all by default. AssertionError the second
        time.
        """
        if self._has_variables:
            text = "the variables have been saved already: use add_meta_graph() for further graphs"
            raise misuse(AssertionError, text)
        with sess.graph.as_default():
            saver = saver or Saver(sharded=True, allow_empty=True)
            made = self._message(
                sess.graph,
                tags,
                signature_def_map,
                assets_collection,
                legacy_init_op or main_op,
                clear_devices,
                strip_default_attrs,
                saver,
                legacy_init_op is not None,
            )
        variables = saver.variables
        os.makedirs(os.path.join(self._folder, constants.VARIABLES_DIRECTORY), exist_ok=True)
        if variables:
            with sess.held() as store:
                write_bundle(variables_prefix(self._folder), collect(variables, store))
        self._model.meta_graphs.read([made])
        self._has_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph, which shares the variables that were written. AssertionError before that."""
        if not self._has_variables:
            text = "the variables have not been saved yet: use add_meta_graph_and_variables() first"
            raise misuse(AssertionError, text)
        graph = get_default_graph()
        saver = saver or Saver(sharded=True, allow_empty=True)
        made = self._message(
            graph,
            tags,
            signature_def_map,
            assets_collection,
            legacy_init_op or main_op,
            clear_devices,
            strip_default_attrs,
            saver,
            legacy_init_op is not None,
        )
        self._model.meta_graphs.read([made])

    def save(self, as_text: bool = False) -> str:
        """Write the message of all graphs; the path of its file."""
        os.makedirs(self._folder, exist_ok=True)
        name = constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        path = os.path.join(self._folder, name)
        write_file(path, [str(self._model).encode() if as_text else self._model.SerializeToString()])
        return path

    def _message(
        self,
        graph: Graph,
        tags: Iterable[str],
        signatures: Mapping[str, SignatureDef] | None,
        assets: Sequence[Tensor] | None,
        first: Any,
        clear_devices: bool,
        strip_default_attrs: bool,
        saver: Saver,
        legacy: bool,
    ) -> MetaGraphDef:
        _check_signatures(signatures or {})
        if first is not None:
            if not isinstance(first, Operation):
                raise misuse(TypeError, f"main_op needs to be an Operation: {first!r}")
            key = constants.LEGACY_INIT_OP_KEY if legacy else constants.MAIN_OP_KEY
            graph.add_to_collection(key, first)
        made = meta_graph(
            graph, None, saver.as_saver_def(), saver.variables, None, clear_devices, strip_default_attrs
        )
        made.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            made.signature_def[key].CopyFrom(signature)
        self._copy_assets(made, assets or ())
        return made

    def _copy_assets(self, made: MetaGraphDef, assets: Sequence[Tensor]) -> None:
        for tensor in assets:
            value = static_value(tensor)
            if not isinstance(value, bytes):
                text = f"an asset must be a constant string, the path of a file, and {tensor.name} is none"
                raise misuse(TypeError, text)
            source = value.decode()
            name = os.path.basename(source)
            folder = os.path.join(self._folder, constants.ASSETS_DIRECTORY)
            os.makedirs(folder, exist_ok=True)
            with open(source, "rb") as file:
                write_file(os.path.join(folder, name), [file.read()])
            made.asset_file_def.add(tensor_info=build_tensor_info(tensor), filename=name)


def variables_prefix(folder: str) -> str:
    """The prefix of the checkpoint in a SavedModel."""
    return os.path.join(folder, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)


def _check_signatures(signatures: Mapping[str, SignatureDef]) -> None:
    for key, signature in signatures.items():
        for infos in (signature.inputs, signature.outputs):
            for name, info in infos.items():
                if info.WhichOneof("encoding") is None or not info.dtype:
                    text = f"{name!r} of the signature {key!r} names no tensor, or has no dtype"
                    raise misuse(AssertionError, text, "make it with build_tensor_info")
