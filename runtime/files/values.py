"""Values of variables on their way into a file and out of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import UninitializedError, layout, misuse
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.parts import Parts, Saved, operations_of, type_of
from staticgraph.runtime.memory import empty
from staticgraph.runtime.state.variables import VariableStore


def collect(variables: Mapping[str, Saved], store: VariableStore) -> dict[str, Stored]:
    """The present values by key. UninitializedError if a variable has none."""
    for op, _ in operations_of(variables):
        if op not in store:
            raise UninitializedError(
                layout(
                    f"cannot save variable {op.name}: it has no value yet",
                    user_frame(),
                    [(op.name, op.where)],
                    "run global_variables_initializer() in this session first, or restore a checkpoint",
                ),
                op,
            )
    found = {}
    for key, saved in variables.items():
        if isinstance(saved, Parts):
            if not saved.is_whole:
                raise misuse(ValueError, f"cannot save {key}: its parts are not the whole of it")
            array = saved.joined([store.stored(op) for op in saved.operations])
        else:
            array = store.stored(saved)
        found[key] = type_of(saved).dtype, array
    return found


def owned(stored: Stored) -> np.ndarray:
    """A copy of a value from a file, in memory that compiled code can use."""
    dtype, array = stored
    if dtype is string:
        return array.copy()
    buffer = empty(TensorType(dtype, array.shape))
    buffer[...] = array
    return buffer


def shared(stored: Stored) -> np.ndarray:
    """A value from a mapped file where it is, if compiled code can use it there; else a copy."""
    dtype, array = stored
    if dtype is string or not array.size or array.ctypes.data % ALIGNMENT:
        return owned(stored)
    return array
