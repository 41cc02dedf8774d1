"""Summaries of files that hold arrays by name: checkpoints, NumPy's `.npz` and safetensors."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping

from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.formats.tf.tensor_bundle import Bundle, is_bundle
from staticgraph.formats.tf.tensor_bundle.first_format import SliceFiles, is_slice_file
from staticgraph.runtime.files.arrays.weights import types_of
from staticgraph.runtime.files.checkpoint import checkpoint_file
from staticgraph.runtime.files.summary import Summary, VariableSummary, summary

_KINDS = {".npz": "NumPy arrays", ".safetensors": "safetensors"}


def arrays(path: str) -> Summary:
    """Summarise an `.npz` or `.safetensors` file. The whole file is checked."""
    kind = _KINDS[os.path.splitext(path)[1].lower()]
    return Summary(path, kind, None, "", os.path.getsize(path), variables=variables(types_of(path)))


def is_checkpoint(prefix: str) -> bool:
    """Return True if files with this prefix are a checkpoint, ours or TensorFlow's."""
    return os.path.isfile(checkpoint_file(prefix)) or is_slice_file(prefix)


def checkpoint(prefix: str) -> Summary:
    """Summarise a checkpoint. The values in a checkpoint of TensorFlow's are not read."""
    if is_bundle(prefix):
        return _theirs(prefix, 2, Bundle(prefix).types, [checkpoint_file(prefix), *_shards(prefix)])
    if is_slice_file(prefix):
        return _theirs(prefix, 1, SliceFiles(prefix).types, [prefix])
    return summary(checkpoint_file(prefix))


def _theirs(prefix: str, format: int, types: Mapping[str, TensorType], files: list[str]) -> Summary:
    size = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
    return Summary(prefix, "TensorFlow checkpoint", format, "", size, variables=variables(types))


def _shards(prefix: str) -> list[str]:
    return glob.glob(f"{glob.escape(prefix)}.data-?????-of-?????")


def variables(types: Mapping[str, TensorType]) -> dict[str, VariableSummary]:
    """Values of these types, in the order of their names."""
    return {
        name: VariableSummary(str(type), type.size * type.dtype.size) for name, type in sorted(types.items())
    }
