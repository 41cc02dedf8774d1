"""`restore_v2`: values of a checkpoint that are read when the graph runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse


def restore_v2(
    prefix: Any, tensor_names: Any, shape_and_slices: Any, dtypes: Sequence[Any], name: str | None = None
) -> list[sg.Tensor]:
    """Return tensors that a checkpoint has, each read when it is needed.

    Args:
        prefix: The path of the checkpoint, a text or a tensor.
        tensor_names: The names in the checkpoint, one for each result.
        shape_and_slices: For each name the part to read, as `SaveSliceInfo.spec` has it; "" for all.
        dtypes: The dtypes of the results.
        name: The name of the operation.

    Raises (in a run):
        NotFoundError: There is no such checkpoint, or it has no such name.
        InvalidArgumentError: A part lies outside of what is saved, or a value is of another dtype.
    """
    wanted = [sg.as_dtype(each) for each in dtypes]

    def read(prefix: Any, names: Any, parts: Any) -> list[Any]:
        return _values(prefix, names, parts, wanted)

    operands = [sg.convert_to_tensor(each, sg.string) for each in (prefix, tensor_names, shape_and_slices)]
    return sg.py_func(read, operands, wanted, name=name or "RestoreV2")


def _values(prefix: Any, names: Any, parts: Any, dtypes: Sequence[sg.DType]) -> list[Any]:
    # Few programs read one.
    from staticgraph.formats.tf.checkpoints.checkpoint_reader import NewCheckpointReader
    from staticgraph.runtime.files.values import Part

    reader = NewCheckpointReader(prefix.decode())
    found = []
    for name, text, dtype in zip(names, parts, dtypes, strict=True):
        value = reader.get_tensor(name.decode())
        part = Part.read(text.decode()) if text else None
        if text and (part is None or part.full != value.shape):
            raise misuse(
                sg.errors.InvalidArgumentError, f"{name.decode()} of shape {value.shape} has no part {text!r}"
            )
        if sg.as_dtype(value.dtype) is not dtype:
            raise misuse(
                sg.errors.InvalidArgumentError, f"{name.decode()} is of {value.dtype}, not of {dtype.name}"
            )
        found.append(np.array(value if part is None else value[part.box], order="C"))
    return found
