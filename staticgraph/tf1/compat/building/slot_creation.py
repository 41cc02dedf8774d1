"""`tensorflow.python.training.slot_creator`: slots for optimizers of a program's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.state.slots import make_slot


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> sg.Variable:
    """Return a slot that begins as a tensor.

    Args:
        primary: The variable or tensor that the slot belongs to.
        val: The first value.
        name: The end of the slot's name.
        colocate_with_primary: Changes nothing: a graph has one device.

    Returns:
        A variable that is not trainable.

    >>> import staticgraph.compat.tf1 as tf
    >>> create_slot(tf.Variable([1.0, 2.0], name="w"), tf.zeros([2]), "speed").name
    'w/speed:0'
    """
    return make_slot(primary, sg.convert_to_tensor(val), name)


def create_slot_with_initializer(
    primary: Any,
    initializer: Callable[..., Any],
    shape: Any,
    dtype: Any,
    name: str,
    colocate_with_primary: bool = True,
) -> sg.Variable:
    """Return a slot that begins as `initializer(shape, dtype=dtype)`; the rest is as for `create_slot`."""
    return make_slot(primary, lambda: initializer(shape, dtype=dtype), name)


def create_zeros_slot(
    primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True
) -> sg.Variable:
    """Return a slot of zeros, of the dtype of `primary` by default."""
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(primary, sg.zeros_initializer(), shape, dtype, name)
    return make_slot(primary, sg.zeros(sg.shape(primary), dtype), name)
