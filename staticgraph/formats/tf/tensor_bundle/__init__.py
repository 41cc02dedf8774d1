"""TensorFlow's checkpoints, read and written without it."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.formats.tf.tensor_bundle.bundle import Bundle, is_bundle, write_bundle
from staticgraph.runtime.files.arrays.safetensors import Stored

__all__ = ["Bundle", "is_bundle", "tensors_of", "write_bundle"]


def tensors_of(prefix: str) -> Mapping[str, Stored] | None:
    """The tensors of a checkpoint of TensorFlow's, in either of its formats; None if it is none."""
    if is_bundle(prefix):
        return Bundle(prefix)
    from staticgraph.formats.tf.tensor_bundle.first_format import SliceFiles, is_slice_file  # for old files

    return SliceFiles(prefix) if is_slice_file(prefix) else None
