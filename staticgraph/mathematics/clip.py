"""Clipping by norms, for gradients before `apply_gradients`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from staticgraph.arrays.casts import of_dtype, widened
from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as, op_count, set_op_count
from staticgraph.compiler.graph.shapes import merge
from staticgraph.compiler.graph.tensor import Tensor


def _values(t: Any) -> Tensor:
    return t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """`t * clip_norm / norm` where the L2 norm, over `axes`
    or as a whole, is larger than `clip_norm`; else `t`.

    >>> import staticgraph as sg
    >>> sg.clip_by_norm(sg.placeholder(sg.float32, [2]), 1.0).name
    'clip_by_norm:0'
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        given = _values(t)
        values = widened(given)
        start = op_count(values.graph)
        squares = ops.reduce_sum(values * values, axis=axes, keepdims=True)
        norm = root_of_squares(squares)
        limit = of_dtype(convert_to_tensor(clip_norm, given.dtype), values.dtype)
        scaled = values * limit
        with checked("clip_by_norm"):
            merge(values.type.shape, scaled.type.shape, "t, and t * clip_norm,")
        clipped = identity(of_dtype(scaled / ops.maximum(norm, limit), given.dtype), name=scope)
        set_op_count(values.graph, start + (15 if isinstance(clip_norm, Tensor) else 17))
    return t.with_values(clipped) if isinstance(t, IndexedSlices) else clipped


def root_of_squares(squares: Tensor) -> Tensor:
    """The square root of numbers of at least 0, with the derivative 0 at 0 instead of infinity."""
    positive = squares > 0.0
    return ops.select(positive, ops.sqrt(ops.select(positive, squares, ops.ones_like(squares))), squares)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """The L2 norm of all tensors of a list together; elements that are None are left out.

    TypeError if `t_list` is no list. None if nothing is in it.

    >>> import staticgraph as sg
    >>> sg.global_norm([sg.constant([3.0]), sg.constant([4.0])]).name
    'global_norm/global_norm:0'
    """
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise misuse(TypeError, f"t_list must be a list of tensors, not {t_list!r}")
    given = [t for t in t_list if t is not None]
    if not given:
        return None
    with name_scope(name, "global_norm", given):
        values = [_values(t) for t in given]
        with counted_as(values[0].graph, len(values) + 6):
            halves = [ops.l2_loss(widened(each)) for each in values]
            total = ops.reduce_sum(ops.stack(halves, axis=0))
            return identity(of_dtype(root_of_squares(total * 2.0), values[0].dtype), name="global_norm")


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """All tensors of a list scaled by `clip_norm / max(norm, clip_norm)`, and `norm`, their global norm.

    `use_norm` is taken for the norm where it is known
    already. A norm that is not finite makes all results NaN.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [2])
    >>> gradients = sg.gradients(sg.reduce_sum(x * x), [x])
    >>> clipped, norm = sg.clip_by_global_norm(gradients, 5.0)
    >>> clipped[0].name, norm.name
    ('clip_by_global_norm/clip_by_global_norm/_0:0', 'global_norm/global_norm:0')
    """
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise misuse(TypeError, f"t_list must be a list of tensors, not {t_list!r}")
    norm = global_norm(t_list, name) if use_norm is None else use_norm
    given = [t for t in t_list if t is not None]
    if not given:
        return list(t_list), norm
    with name_scope(name, "clip_by_global_norm", [*given, clip_norm]) as scope:
        limit = convert_to_tensor(clip_norm, norm.dtype) if not hasattr(clip_norm, "dtype") else clip_norm
        scale = limit / ops.maximum(norm, limit)
        count_more(scale.graph, 5)
        scale = ops.select(ops.is_finite(norm), scale, convert_to_tensor(math.nan, norm.dtype))
        clipped = [None if t is None else _scaled(t, scale, f"{scope}_{i}") for i, t in enumerate(t_list)]
    return clipped, norm


def _scaled(t: Any, scale: Tensor, name: str) -> Any:
    values = _values(t)
    factor = scale if scale.dtype is values.dtype else ops.cast(scale, dtype=values.dtype)
    out = identity(values * factor, name=name)
    return t.with_values(out) if isinstance(t, IndexedSlices) else out


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """`t` scaled so that its L2 norm divided by its number of elements is at most `clip_norm`."""
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        given = convert_to_tensor(t)
        values = widened(given)
        count = ops.cast(ops.size_of(values), dtype=values.dtype)
        norm = root_of_squares(ops.reduce_sum(values * values, keepdims=True))
        limit = of_dtype(convert_to_tensor(clip_norm, given.dtype), values.dtype)
        clipped = values * limit / ops.maximum(norm / count, limit)
        return identity(of_dtype(clipped, given.dtype), name=scope)
