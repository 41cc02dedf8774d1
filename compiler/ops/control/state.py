"""Ops that give variables values: pure functions from the old value, the first input, to the new one.

The compiler takes the result for the variable's value from then on; the session stores what is left at the
end of a run. Updates of some rows are in `variable_rows.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import NUMERIC, bool_
from staticgraph.compiler.graph.opdef import Effect, ops
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.ops.kinds import composite, structural
from staticgraph.compiler.ops.samples import Sample, real

WRITES: dict[str, Any] = {"effect": Effect.WRITE, "differentiable": False}


def _assign_type(ref: TensorType, value: TensorType, validate_shape: bool) -> TensorType:
    if not validate_shape:
        return value
    return TensorType(ref.dtype, merge(ref.shape, value.shape, "the variable and its new value:"))


@composite(
    tf="Assign", type=_assign_type, numpy=lambda ref, value, validate_shape: value, **WRITES,
    samples=[Sample(real(2, 3), real(2, 3)), Sample(real(), real()),
             Sample(real(2), real(3), validate_shape=False)],
    strings=True,
)
def assign(ref: Any, value: Any, *, validate_shape: bool = True) -> Any:
    """`value`; it has the variable's shape unless `validate_shape` is False."""
    return value


_SAME = [Sample(real(2, 3), real(2, 3)), Sample(real(), real()), Sample(real(0, 2), real(0, 2))]


def _update_type(ref: TensorType, value: TensorType) -> TensorType:
    return TensorType(ref.dtype, merge(ref.shape, value.shape, "the variable and what changes it:"))


@composite(tf="AssignAdd", type=_update_type, numpy=np.add, dtypes=NUMERIC, samples=_SAME, **WRITES)
def assign_add(ref: Any, value: Any) -> Any:
    """The variable plus `value`, which has its shape."""
    return ops.add(ref, value)


@composite(tf="AssignSub", type=_update_type, numpy=np.subtract, dtypes=NUMERIC, samples=_SAME, **WRITES)
def assign_sub(ref: Any, value: Any) -> Any:
    """The variable minus `value`, which has its shape."""
    return ops.subtract(ref, value)


# What is known of a variable besides its value


@structural(
    tf="IsVariableInitialized", type=lambda ref: TensorType(bool_, ()), effect=Effect.READ,
    differentiable=False, strings=True,
)
def is_variable_initialized(ref: Any) -> Any:
    """Test if the variable has a value, which the session knows."""
