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
from staticgraph.saved.saving import save

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
        SaveError: If the file cannot be written, or no function has a result that the format could hold.
    """
    suffix = out.suffix.lower()
    if suffix not in ENDINGS:
        text = f"{out} does not end with a format that a graph can be converted to: {suffix}"
        raise misuse(InvalidArgumentError, text, f"use {', '.join(e for e in ENDINGS if e)} or a folder")
    if suffix == ".sg":
        made = {f.name: Signature(dict(f.outputs) or None, dict(f.inputs), f.step) for f in functions}
        save(out, signatures=made, session=functions[0].session)
        return [f.name for f in functions]
    functions = [f for f in functions if f.outputs]
    if not functions:
        text = (
            f"{out} is not written: none of the functions has a result, and only .sg has room for steps alone"
        )
        raise misuse(SaveError, text)
    first = functions[0]
    match suffix:
        case ".onnx":
            export(dict(first.outputs), out, session=first.session)
        case ".pb" | ".pbtxt":
            names = [tensor.op.name for tensor in first.outputs.values()]
            frozen = convert_variables_to_constants(first.session, first.session.graph.as_graph_def(), names)
            write_graph(frozen, out.parent, out.name, as_text=suffix == ".pbtxt")
        case "":
            _write_saved_model(functions, out)
            return [f.name for f in functions]
    return [first.name]


def _write_saved_model(functions: Sequence[Opened], folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        text = f"{folder} is there already: a SavedModel gets a folder of its own"
        raise misuse(SaveError, text, "choose another name, or an ending: .sg, .onnx, .pb")
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
