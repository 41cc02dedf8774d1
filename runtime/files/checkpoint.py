"""Checkpoints: the values of variables by name in one file, without a graph.

A checkpoint with the prefix `model-100` is the file `model-100.index`, the name by which TensorFlow's users
ask whether a checkpoint exists; `manifest.json` and `weights.safetensors` are its members.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import InvalidArgumentError, NotFoundError, layout
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType, compatible
from staticgraph.compiler.support.nearest import nearest_name
from staticgraph.runtime.files import container
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.values import Parts, Saved, collect, first_of, owned, type_of
from staticgraph.runtime.session import Session

NO_MORE: Mapping[str, Stored] = MappingProxyType({})
_WEIGHTS = "weights.safetensors"
_MOST_LISTED = 5  # keys in a message


def checkpoint_file(prefix: str | os.PathLike[str]) -> str:
    """The file of the checkpoint with this prefix."""
    return f"{path_of(prefix, 'prefix')}.index"


def write(prefix: str, variables: Mapping[str, Saved], session: Session, more: Mapping[str, Stored]) -> None:
    """Save the values that `variables` have in `session`, each under its key, and `more` values."""
    with session.held() as store:
        tensors = {**collect(variables, store), **more}
        container.write(checkpoint_file(prefix), "checkpoint", {}, {_WEIGHTS: safetensors.write(tensors)})


def restore(prefix: str, variables: Mapping[str, Saved], session: Session, reshape: bool) -> None:
    """Set `variables` in `session`, all of them or none, from the values under their keys.

    NotFoundError for a key that the checkpoint lacks, InvalidArgumentError for a value of another dtype or
    shape; with `reshape`, the same number of elements is enough. InvalidFileError for a damaged file.
    """

    def take(_: dict[str, Any], members: dict[str, memoryview]) -> dict[str, np.ndarray]:
        return chosen(prefix, variables, safetensors.read(members[_WEIGHTS], _WEIGHTS), reshape)

    values = container.read(checkpoint_file(prefix), "checkpoint", {}, (_WEIGHTS,), take)
    commit(variables, values, session)


def arrays(prefix: str) -> dict[str, Stored]:
    """Copies of all values of a checkpoint, by key."""

    def take(_: dict[str, Any], members: dict[str, memoryview]) -> dict[str, Stored]:
        found = safetensors.read(members[_WEIGHTS], _WEIGHTS)
        return {key: (stored[0], owned(stored)) for key, stored in found.items()}

    return container.read(checkpoint_file(prefix), "checkpoint", {}, (_WEIGHTS,), take)


def chosen(
    prefix: str, variables: Mapping[str, Saved], found: Mapping[str, Stored], reshape: bool
) -> dict[str, np.ndarray]:
    """Copies of the values for the variables, from what a checkpoint has; the errors of `restore`."""
    fitting = _fitting(prefix, variables, found, reshape)
    return {key: owned(stored) for key, stored in fitting.items()}


def commit(variables: Mapping[str, Saved], values: Mapping[str, np.ndarray], session: Session) -> None:
    """Set the variables in a session, at once."""
    with session.held() as store:
        for key, saved in variables.items():
            if isinstance(saved, Parts):
                for op, (_, box) in zip(saved.operations, saved.boxes, strict=True):
                    store.commit(op, owned((saved.type.dtype, values[key][box])))
            else:
                store.commit(saved, values[key])


def _fitting(
    prefix: str, variables: Mapping[str, Saved], found: Mapping[str, Stored], reshape: bool
) -> dict[str, Stored]:
    """The values for the variables, in their shapes. What does not fit is all told at once."""
    missing = {key: saved for key, saved in variables.items() if key not in found}
    if missing:
        raise _missing(prefix, missing, found)
    types = {key: type_of(saved) for key, saved in variables.items()}
    fitting = {key: _reshaped(types[key], found[key]) if reshape else found[key] for key in variables}
    unlike = [key for key in variables if not _fits(types[key], fitting[key])]
    if unlike:
        texts = [
            f"variable {_name(key, variables[key])} is {types[key]}, "
            f"and {key} in checkpoint {prefix} is {_type(found[key])}"
            for key in unlike
        ]
        op = first_of(variables[unlike[0]])
        hint = "the checkpoint is of another model; restore the rest with Saver(var_list)"
        raise InvalidArgumentError(layout(_some(texts, "\n"), user_frame(), [(op.name, op.where)], hint), op)
    return fitting


def _missing(prefix: str, missing: Mapping[str, Saved], found: Mapping[str, Stored]) -> NotFoundError:
    (key, saved), *others = missing.items()
    op = first_of(saved)
    close = nearest_name(key, found)
    hint = f"it has {_some([*found], ', ')}"
    if close:
        hint = f"it has {close!r}: Saver({{{close!r}: variable}}) restores that"
    keys = f"Keys {_some([*missing], ', ')}" if others else f"Key {key}"
    text = f"{keys} not found in checkpoint {prefix}"
    return NotFoundError(layout(text, user_frame(), [(op.name, op.where)], hint), op)


def _reshaped(type: TensorType, stored: Stored) -> Stored:
    """The value in the variable's shape, where it has the right number of elements."""
    dtype, array = stored
    return (dtype, array.reshape(type.static_shape)) if type.is_static and type.size == array.size else stored


def _fits(type: TensorType, stored: Stored) -> bool:
    dtype, array = stored
    return dtype is type.dtype and compatible(array.shape, type.shape)


def _name(key: str, saved: Saved) -> str:
    return key if isinstance(saved, Parts) else saved.name


def _type(stored: Stored) -> TensorType:
    return TensorType(stored[0], stored[1].shape)


def _some(items: Sequence[str], separator: str) -> str:
    """The first items, and that there are more."""
    return separator.join([*items[:_MOST_LISTED], *(["..."] if len(items) > _MOST_LISTED else [])])
