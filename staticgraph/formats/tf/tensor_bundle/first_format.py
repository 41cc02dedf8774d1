"""Checkpoints in TensorFlow's first format: a table of the parts of all tensors, values and all, in one file,
or in several that share the name but for a number.
"""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Iterator, Mapping

import numpy as np

from staticgraph.compiler.graph.errors import InvalidFileError, headline, misuse
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.formats.tf.messages.saved_slices import SavedSlice, SavedSliceMeta, SavedTensorSlices
from staticgraph.formats.tf.messages.tensors import make_ndarray, shape_proto
from staticgraph.formats.tf.messages.types import dtype_of
from staticgraph.formats.tf.messages.wire import DecodeError
from staticgraph.formats.tf.tensor_bundle.slices import Box, box, box_shape, joined
from staticgraph.formats.tf.tensor_bundle.table import is_table, read_table
from staticgraph.runtime.files.arrays.safetensors import Stored


def is_slice_file(prefix: str) -> bool:
    """Return True if the checkpoint of this name is in the first format. The name may be a glob pattern."""
    try:
        for path in _files(prefix)[:1]:
            with open(path, "rb") as file:
                file.seek(max(os.fstat(file.fileno()).st_size - 8, 0))
                return is_table(file.read(8))
    except OSError:
        pass
    return False


def _files(prefix: str) -> list[str]:
    return [prefix] if os.path.isfile(prefix) else sorted(filter(os.path.isfile, glob.glob(prefix)))


class SliceFiles(Mapping[str, Stored]):
    """The tensors of such a checkpoint by name. InvalidFileError for a damaged file."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._told: dict[str, SavedSliceMeta] = {}
        self._parts: dict[str, list[bytes]] = {}
        for path in _files(prefix):
            with open(path, "rb") as file:
                data = file.read()
            try:
                self._add(read_table(data))
            except (InvalidFileError, DecodeError) as error:
                raise self._damaged(headline(error)) from None

    def _add(self, table: dict[bytes, bytes]) -> None:
        told = SavedTensorSlices.FromString(table.pop(b"", b"")).meta
        self._told |= {tensor.name: tensor for tensor in told.tensor}
        for value in table.values():
            self._parts.setdefault(SavedTensorSlices.FromString(value).data.name, []).append(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._told)

    def __len__(self) -> int:
        return len(self._told)

    def __contains__(self, name: object) -> bool:
        return name in self._told

    def __getitem__(self, name: str) -> Stored:
        told = self._told[name]
        shape = tuple(dim.size for dim in told.shape.dim)
        try:
            parts = [
                self._part(told, SavedTensorSlices.FromString(value).data, shape)
                for value in self._parts.get(name, ())
            ]
            return dtype_of(told.type), joined(shape, parts)
        except (InvalidFileError, DecodeError, TypeError) as error:
            raise self._damaged(f"{name!r}: {headline(error)}") from None

    @property
    def types(self) -> dict[str, TensorType]:
        """The types of all tensors."""
        return {name: TensorType(dtype, array.shape) for name, (dtype, array) in self.items()}

    def _part(self, told: SavedSliceMeta, saved: SavedSlice, shape: Shape) -> tuple[Box, np.ndarray]:
        """Return the box of a part, and its values.

        The message of the values leaves out the dtype and the shape: the dtype
        comes from `told`, the shape is that of the box.
        """
        where = box(saved.slice, [size or 0 for size in shape])
        size = math.prod(box_shape(where))
        if size > saved.data.ByteSize():
            raise InvalidFileError(f"a part has fewer values than {list(box_shape(where))}")
        saved.data.dtype = told.type
        saved.data.tensor_shape.CopyFrom(shape_proto(box_shape(where)))
        return where, make_ndarray(saved.data)

    def _damaged(self, what: str) -> InvalidFileError:
        text = f"{self._prefix} is not a usable checkpoint of TensorFlow's: {what}"
        return misuse(InvalidFileError, text, "copy it again from where it came")
