"""A graph in another format: what a file holds, written as another kind of file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from staticgraph.compiler.graph.errors import InvalidArgumentError, SaveError, misuse
from staticgraph.formats.functions import Opened
from staticgraph.formats.onnx.export import export
from staticgraph.formats.tf.graph_def.files import write_graph
from staticgraph.formats.tf.graph_util import convert_variables_to_constants
from staticgraph.formats.tf.saved_model.builder import SavedModelBuilder
from staticgraph.formats.tf.saved_model.signature_def_utils import build_signature_def
from staticgraph.formats.tf.saved_model.utils import build_tensor_info
from staticgraph.runtime.files.signature import Signature
from staticgraph.saving import save

ENDINGS = (".sg", ".onnx", ".pb", ".pbtxt", "")


def write_converted(functions: Sequence[Opened], out: Path) -> list[str]:
    """Write functions that were opened from one file to another one.

    Args:
        functions: The functions, at least one; all of one session.
        out: The file. Its ending says the format: .sg, .onnx, .pb, .pbtxt, or none for a SavedModel's folder.

    Returns:
        The names of the functions that were written. ONNX and frozen graphs have room for the first one, and
        only .sg for training steps.

    Raises:
        InvalidArgumentError: If the ending says no format.
        SaveError: If the file cannot be written, or there is nothing to write.
    """
    if not functions:
        raise misuse(SaveError, f"{out} is not written: there is no function to convert")
    first = functions[0]
    match out.suffix.lower():
        case ".sg":
            made = {f.name: Signature(dict(f.outputs) or None, dict(f.inputs), f.step) for f in functions}
            save(out, signatures=made, session=first.session)
            return [f.name for f in functions]
        case ".onnx":
            export(dict(first.outputs), out, session=first.session)
        case ".pb" | ".pbtxt":
            names = [tensor.op.name for tensor in first.outputs.values()]
            frozen = convert_variables_to_constants(first.session, first.session.graph.as_graph_def(), names)
            write_graph(frozen, out.parent, out.name, as_text=out.suffix.lower() == ".pbtxt")
        case "":
            return _saved_model([f for f in functions if f.outputs], out)
        case other:
            text = f"{out} does not end with a format that a graph can be converted to: {other}"
            raise misuse(InvalidArgumentError, text, f"use {', '.join(e for e in ENDINGS if e)} or a folder")
    return [first.name]


def _saved_model(functions: Sequence[Opened], folder: Path) -> list[str]:
    session = functions[0].session
    described = {
        "serving_default" if len(functions) == 1 else f.name: build_signature_def(
            {name: build_tensor_info(tensor) for name, tensor in f.inputs.items()},
            {name: build_tensor_info(tensor) for name, tensor in f.outputs.items()},
            "tensorflow/serving/predict",
        )
        for f in functions
    }
    with session.graph.as_default():
        builder = SavedModelBuilder(os.fspath(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], described)
        builder.save()
    return [f.name for f in functions]
