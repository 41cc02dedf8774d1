"""Summary of a file in any of the formats that are read here: `staticgraph.inspect`."""

from __future__ import annotations

import os

from staticgraph.compiler.support.lazy_names import extension
from staticgraph.formats.contents.arrays import arrays, checkpoint, is_checkpoint
from staticgraph.formats.contents.failures import failed_run
from staticgraph.formats.contents.graph_defs import frozen_graph, meta_graph_file, saved_model
from staticgraph.formats.contents.onnx_model import onnx_model
from staticgraph.formats.tf.checkpoints.checkpoint_state import latest_checkpoint
from staticgraph.formats.tf.saved_model.loader import maybe_saved_model_directory
from staticgraph.runtime.debug.crash_file import is_failure
from staticgraph.runtime.files.summary import Summary, summary

__all__ = ["contents"]

_BY_SUFFIX = {
    ".onnx": onnx_model,
    ".pb": frozen_graph,
    ".pbtxt": frozen_graph,
    ".meta": meta_graph_file,
    ".npz": arrays,
    ".safetensors": arrays,
}


@extension("contents")
def contents(path: str | os.PathLike[str]) -> Summary:
    """Summarise a file or a folder; see `staticgraph.inspect`."""
    name = os.fspath(path)
    if os.path.isdir(name):
        latest = None if maybe_saved_model_directory(name) else latest_checkpoint(name)
        return saved_model(name) if latest is None else checkpoint(latest)
    folder, last = os.path.split(name)
    if last in ("saved_model.pb", "saved_model.pbtxt"):
        return saved_model(folder or os.curdir)
    read = _BY_SUFFIX.get(os.path.splitext(last)[1].lower())
    if read is not None and os.path.isfile(name):
        return read(name)
    prefix = name.removesuffix(".index")
    if is_checkpoint(prefix):
        return checkpoint(prefix)
    return failed_run(name) if is_failure(name) else summary(name)
