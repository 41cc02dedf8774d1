"""Checkpoints: the values of variables by name in one file, without a graph.

A checkpoint with the prefix `model-100` is the file `model-100.index`, the name by which TensorFlow's users
ask whether a checkpoint exists; `manifest.json` and `weights.safetensors` are its members.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.errors import InvalidArgumentError, NotFoundError, layout
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType, compatible
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.runtime.saving import container, safetensors
from staticgraph.runtime.saving.nearest import nearest
from staticgraph.runtime.saving.safetensors import Stored
from staticgraph.runtime.saving.values import collect, owned
from staticgraph.runtime.session import Session

_WEIGHTS = "weights.safetensors"


def checkpoint_file(prefix: str | os.PathLike[str]) -> str:
    """The file of the checkpoint with this prefix."""
    return f"{os.fspath(prefix)}.index"


def write(prefix: str, variables: Mapping[str, Operation], session: Session) -> None:
    """Save the values that `variables` have in `session`, each under its key."""
    with session.held() as store:
        tensors = collect(variables, store)
        container.write(checkpoint_file(prefix), "checkpoint", {}, {_WEIGHTS: safetensors.write(tensors)})


def restore(prefix: str, variables: Mapping[str, Operation], session: Session, reshape: bool = False) -> None:
    """Set `variables` in `session`, all of them or none, from the values under their keys.

    NotFoundError for a key that the checkpoint lacks, InvalidArgumentError for a value of another dtype or
    shape; with `reshape`, the same number of elements is enough. InvalidFileError for a damaged file.
    """

    def take(_: dict[str, Any], members: dict[str, memoryview]) -> dict[str, Stored]:
        found = safetensors.read(members[_WEIGHTS], _WEIGHTS)
        fitting = {key: _fitting(prefix, key, op, found, reshape) for key, op in variables.items()}
        return {key: (dtype, owned((dtype, array))) for key, (dtype, array) in fitting.items()}

    values = container.read(checkpoint_file(prefix), "checkpoint", {}, (_WEIGHTS,), take)
    with session.held() as store:
        for key, op in variables.items():
            store.commit(op, values[key][1])


def _fitting(prefix: str, key: str, op: Operation, found: dict[str, Stored], reshape: bool) -> Stored:
    """The value for a variable, in its shape."""
    if key not in found:
        close = nearest(key, found)
        listed = ", ".join([*found][:5]) + (", ..." if len(found) > 5 else "")
        hint = (
            f"it has {close!r}: Saver({{{close!r}: variable}}) restores that" if close else f"it has {listed}"
        )
        raise NotFoundError(
            layout(f"Key {key} not found in checkpoint {prefix}", user_frame(), [(op.name, op.where)], hint),
            op,
        )
    dtype, array = found[key]
    type = op.outputs[0].type
    if reshape and type.is_static and type.size == array.size:
        array = array.reshape(type.static_shape)
    if dtype is not type.dtype or not compatible(array.shape, type.shape):
        stored = TensorType(dtype, array.shape)
        raise InvalidArgumentError(
            layout(
                f"variable {op.name} is {type}, and {key} in checkpoint {prefix} is {stored}",
                user_frame(),
                [(op.name, op.where)],
                "the checkpoint is of another model; restore the rest with Saver(var_list)",
            ),
            op,
        )
    return dtype, array
