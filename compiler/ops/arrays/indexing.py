"""Python's indexing of tensors: one strided slice, and a pick for each index that moves."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, DType, int32
from staticgraph.compiler.graph.errors import misuse, require, shown
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import METHODS, method, ops
from staticgraph.compiler.graph.recording.calls import as_tensor
from staticgraph.compiler.graph.recording.op_count import BackwardCount, count_backward, counted_as
from staticgraph.compiler.graph.shapes import Dimension, TensorType, normalize_axis
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.samples import Draw, Sample, real
from staticgraph.compiler.support.dataclass import dataclass

_RULE = (
    "an index is an integer, a slice, `...`, None (a new axis) or an integer tensor of rank 0; "
    "gather takes lists of indices, boolean_mask a mask"
)


def _pick_type(x: TensorType, index: TensorType, axis: int) -> TensorType:
    require(index.rank in (None, 0), "the index must be a number")
    if x.shape is None:
        return x
    axis = normalize_axis(axis, len(x.shape))
    return TensorType(x.dtype, x.shape[:axis] + x.shape[axis + 1 :])


def _pick(x: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    n, i = x.shape[axis], int(index)
    return np.take(x, i, axis) if -n <= i < n else np.zeros_like(x, shape=np.delete(x.shape, axis))


def _in_axis(x: Any, index: Any, axis: int) -> list[Any]:
    n = x.shape[axis]
    return [ops.in_range(index, low=-n, high=n, of="pick", operand="index")]


@composite(
    tf="Pick", type=_pick_type, numpy=_pick, requires=_in_axis, vars={"index": "I"},
    dtypes={"T": ANY, "I": INDEX},
    samples=[Sample(real(3, 4), Draw((), 0, 2, dtype="int32"), axis=0),
             Sample(real(2, 3, 4), Draw((), -3, -1, dtype="int64"), axis=1),
             Sample(real(5), Draw((), -5, 4, dtype="int32"), axis=-1)],
    elements_of=(0,),
)
def pick(x: Any, index: Any, *, axis: int) -> Any:
    """The slice of `x` at one index along `axis`, which may count from the end.

    An index that is out of range is an InvalidArgumentError.
    """
    n = x.shape[axis]
    outside = ops.select(ops.less(index, -n), n, index + n)
    return ops.gather(
        x, ops.select(ops.less(index, 0), outside, index), axis=normalize_axis(axis, len(x.shape))
    )


@dataclass(slots=True)
class _Specification:
    """Arguments of `strided_slice` for a key, and the picks to make after it."""

    begin: list[Any] = field(default_factory=list)
    end: list[Any] = field(default_factory=list)
    strides: list[Any] = field(default_factory=list)
    masks: dict[str, int] = field(default_factory=dict)
    picks: dict[int, Any] = field(default_factory=dict)  # index by position in the key

    def add(self, low: Any, high: Any, step: Any, *masks: str) -> None:
        bit = 1 << len(self.begin)
        for mask in masks:
            self.masks[mask] = self.masks.get(mask, 0) | bit
        self.begin.append(low)
        self.end.append(high)
        self.strides.append(step)

    def has(self, mask: str, i: int) -> bool:
        return bool(self.masks.get(mask, 0) >> i & 1)

    @property
    def trivial(self) -> bool:
        """True if the slice takes everything, and only the picks matter."""
        return all(
            self.has("ellipsis_mask", i)
            or (self.has("begin_mask", i) and self.has("end_mask", i) and isinstance(s, int) and s == 1)
            for i, s in enumerate(self.strides)
        )

    def pick_axes(self) -> list[tuple[int, Any]]:
        """(axis of what is left, index), in an order in which
        each pick leaves the axes of the later ones in place.

        Axes behind an ellipsis are counted from the end, and
        picked from left to right; others from right to left.
        """
        count = len(self.begin)
        ellipsis = next((i for i in range(count) if self.has("ellipsis_mask", i)), count)
        made = [0 if self.has("shrink_axis_mask", i) else 1 for i in range(count)]
        front = [(sum(made[:i]), index) for i, index in self.picks.items() if i < ellipsis]
        back = [(-sum(made[i:]), index) for i, index in self.picks.items() if i > ellipsis]
        return [*reversed(front), *back]


def _specification(key: Any) -> _Specification:
    spec = _Specification()
    for i, part in enumerate(key if isinstance(key, tuple) else (key,)):
        if part is Ellipsis:
            spec.add(0, 0, 1, "ellipsis_mask")
        elif part is None:
            spec.add(0, 1, 1, "new_axis_mask")
        elif isinstance(part, slice):
            open_ends = [m for m, e in (("begin_mask", part.start), ("end_mask", part.stop)) if e is None]
            spec.add(_index(part.start, 0), _index(part.stop, 0), _index(part.step, 1), *open_ends)
        elif _moves(index := _index(part, 0)):
            spec.picks[i] = index
            spec.add(0, 0, 1, "begin_mask", "end_mask")
        else:
            spec.add(
                index,
                METHODS["add"](index, 1) if isinstance(index, Tensor) else _after(index),
                1,
                "shrink_axis_mask",
            )
    return spec


def _index(part: Any, default: int) -> Any:
    if part is None:
        return default
    part = part.to_tensor() if hasattr(part, "to_tensor") else part
    if isinstance(part, Dimension):
        part = int(part)
    if isinstance(part, Tensor | Value):
        if not (part.dtype.is_integer and part.type.rank in (None, 0)):
            raise misuse(TypeError, f"{shown(part)} cannot be an index", _RULE)
        return part
    if isinstance(part, bool | np.bool_) or not hasattr(part, "__index__"):
        raise misuse(TypeError, f"{shown(part)} cannot be an index", _RULE)
    return part.__index__()


def _is_mask(key: Any) -> bool:
    """Return True if a key is one bool tensor or array, which selects slices."""
    if isinstance(key, np.ndarray):
        return key.dtype == np.bool_
    return isinstance(key, Tensor) and key.dtype.is_bool and key.type.rank != 0


def _after(index: Any) -> int:
    return _plain(index) + 1


def _moves(index: Any) -> bool:
    """Return True if an index is known only while the graph runs or, in a user's graph, may be."""
    return (
        static_value(index) is None
        if isinstance(index, Tensor)
        else isinstance(index, Value) and index.constant is None
    )


@method("getitem")
def getitem(x: Any, key: Any) -> Any:
    """`x[key]`, with Python's meaning of each part of `key`; parts may be integer tensors of rank 0.

    A bool tensor or array as the whole key selects the slices at which it is true, as `boolean_mask` does.
    An index that depends on what is fed or on variables picks an element along its axis while the graph runs;
    if it is out of range, the run is an InvalidArgumentError. An end of a slice must be known when the graph
    is compiled.
    """
    x = x.to_tensor() if hasattr(x, "to_tensor") else x
    if _is_mask(key):
        return METHODS["boolean_mask"](x, key)
    spec = _specification(key)
    if isinstance(x, Tensor):
        return _recorded(x, spec)
    if not spec.trivial or not spec.picks:
        entries = ([_plain(e) for e in part] for part in (spec.begin, spec.end, spec.strides))
        begin, end, strides = entries
        x = ops.strided_slice(x, begin=begin, end=end, strides=strides, **spec.masks)
    for axis, index in spec.pick_axes():
        x = pick(x, index, axis=axis)
    return x


def _plain(entry: Any) -> Any:
    return entry if not isinstance(entry, Value) or entry.constant is None else entry.constant.item()


def _recorded(x: Tensor, spec: _Specification) -> Tensor:
    """The operations in TF1's names: constants `stack`, `stack_1` and `stack_2` below `strided_slice`."""
    with x.graph.name_scope("strided_slice") as scope:
        picks = spec.pick_axes()
        if not picks:
            return _sliced(x, spec, scope, scope)
        with counted_as(x.graph, _operations(spec)):
            if not spec.trivial:
                x = _sliced(x, spec, scope, None)
                count_backward(x, BackwardCount(0))
            for axis, index in picks:
                x = pick(x, index, axis=axis, name=scope if (axis, index) == picks[-1] else None)
                count_backward(x, BackwardCount(2 if (axis, index) == picks[-1] else 0))
    return x


def _sliced(x: Tensor, spec: _Specification, scope: str, name: str | None) -> Tensor:
    begin, end, strides = (
        as_tensor(x.graph, part, _dtype(part), f"{scope}stack{suffix}")
        for part, suffix in ((spec.begin, ""), (spec.end, "_1"), (spec.strides, "_2"))
    )
    sliced: Tensor = ops.strided_slice(x, begin=begin, end=end, strides=strides, **spec.masks, name=name)
    return sliced


def _operations(spec: _Specification) -> int:
    """Return how many operations TensorFlow makes for indices that are tensors: it has one slice for all."""
    moving = len(spec.picks)
    bounds = (
        sum(isinstance(e, Tensor) for n, e in enumerate(part) if n not in spec.picks)
        for part in (spec.begin, spec.end)
    )
    packed = sum(1 + len(spec.begin) - moving - tensors for tensors in bounds)
    return 2 * moving + packed + 2


def _dtype(part: list[Any]) -> DType:
    return next((e.dtype for e in part if isinstance(e, Tensor)), int32)
