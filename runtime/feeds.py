"""Checks and converts what is fed to a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from numbers import Number
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import as_strings, bfloat16, string
from staticgraph.compiler.graph.errors import FeedError, headline, hint, layout, misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import Shape, TensorType, shape_text
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.runtime.fetches import CONVERSIONS
from staticgraph.runtime.state.memory import empty


def feed_tensors(graph: Graph, feed_dict: Mapping[Any, Any] | None) -> dict[Tensor, Any]:
    """The fed tensors with their values as given. Keys may be tensors, variables, or names."""
    out: dict[Tensor, Any] = {}
    if feed_dict is None:
        return out
    if not isinstance(feed_dict, Mapping):
        raise misuse(
            FeedError,
            f"feed_dict is a {type(feed_dict).__name__}",
            "it must be a dict of tensors and values: feed_dict={x: value}",
        )
    for key, value in feed_dict.items():
        out.update((_tensor(graph, part), each) for part, each in _parts(key, value))
    return out


def _parts(key: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Single keys with their values. A tuple, nested at will, is for several tensors that go together."""
    if hasattr(type(key), "feed_parts"):  # its class, since tensors look for methods in a table
        yield from key.feed_parts(value)
    elif (feed := next((feed for kind, _, feed in CONVERSIONS if isinstance(key, kind)), None)) is not None:
        yield from feed(key, value)
    elif isinstance(key, tuple):
        if not isinstance(value, list | tuple | np.ndarray) or len(value) != len(key):
            text = f"a key of {len(key)} tensors takes {len(key)} values, nested in the same way"
            raise misuse(FeedError, text, f"it is {shown(key)}, and the value {shown(value)}")
        for part, each in zip(key, value, strict=True):
            yield from _parts(part, each)
    else:
        yield key, value


def _tensor(graph: Graph, key: Any) -> Tensor:
    try:
        return graph.as_graph_element(key, allow_operation=False)
    except (KeyError, TypeError, ValueError) as error:
        text = headline(error)
        cure = hint(error) or "the keys of feed_dict are tensors, variables, and names such as 'x:0'"
        raise misuse(FeedError, f"cannot feed {shown(key)}: {text}", cure) from None


RAGGED = "pad the rows to one length, or feed the flat values and the lengths"


class Converter:
    """`convert` for one tensor. What has to be copied always goes into the same memory."""

    __slots__ = ("_tensor", "_dtype", "_memory")

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        # An array of this dtype is taken as it is, if its shape and its place in memory are right.
        self._dtype = None if tensor.dtype in (string, bfloat16) else tensor.dtype.numpy
        self._memory: np.ndarray | None = None

    def __call__(self, value: Any) -> np.ndarray:
        """The value as an array, good until the next call."""
        if type(value) is np.ndarray and value.dtype is self._dtype:
            flags = value.flags
            if flags.c_contiguous and flags.aligned and _fits(self._tensor.type.shape, value.shape):
                return value
        return convert(self._tensor, value, self._place)

    def _place(self, type: TensorType) -> np.ndarray:
        if self._memory is None or self._memory.shape != type.shape:
            self._memory = empty(type)
        return self._memory


def in_order(feeds: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return fed tensors in the order of construction, in which cached runs take them."""
    return tuple(sorted(feeds, key=lambda t: (t.op.id, t.value_index)))


def convert(tensor: Tensor, value: Any, memory: Callable[[TensorType], np.ndarray] = empty) -> np.ndarray:
    """`value` as an array of the tensor's dtype that fits its static shape.

    The same array where it does already; otherwise a copy, in what `memory` returns.
    """
    dtype = tensor.dtype
    if isinstance(value, Tensor) or hasattr(value, "to_tensor"):
        raise _refuse(tensor, value, "is a tensor", "feed a value, such as what run() returned")
    try:
        array = np.asarray(value)
    except NotImplementedError:
        cure = "feed values, such as what run() returned; or stack the tensors in the graph"
        raise _refuse(tensor, value, "holds a tensor", cure) from None
    except UnicodeDecodeError:  # NumPy makes text of bytes that are beside text
        array = np.asarray(value, object)
    except ValueError:
        raise _refuse(tensor, value, "is not an array: its rows differ in length", RAGGED) from None
    if dtype is string:
        return _convert_strings(tensor, value)
    if array.dtype == object:
        array = _numbers(tensor, value, array)
    if array.dtype != dtype.numpy:
        _check_dtype(tensor, array)
    _check_shape(tensor, array, value)
    if dtype is bfloat16:
        return dtype.round(array)
    if array.dtype == dtype.numpy and array.flags.c_contiguous and array.flags.aligned:
        return array if array.dtype is dtype.numpy else array.view(dtype.numpy)
    copy = memory(TensorType(dtype, array.shape))
    with np.errstate(over="ignore"):  # too large for the tensor's dtype: infinity, as in the graph
        np.copyto(copy, array, casting="unsafe")
    return copy


def _numbers(tensor: Tensor, value: Any, objects: np.ndarray) -> np.ndarray:
    """Return an array of numbers for one of Python's objects, which a table of several dtypes has."""
    odd = [each for each in objects.flat if not isinstance(each, Number | np.bool_)]
    if not odd:
        dtype = tensor.dtype
        if dtype.is_integer and any(type(n) is int and not dtype.min <= n <= dtype.max for n in objects.flat):
            raise _outside(tensor, objects)  # as a float64, it may be rounded to the least integer
        with suppress(TypeError, OverflowError):
            array = np.asarray(objects.tolist())
            # Decimals, fractions, and integers of more than 64 bits are no numbers to NumPy.
            return array if array.dtype != object else array.astype(np.float64)
    if odd and odd[0] is None:
        cure = "a missing number is np.nan"
    elif odd and isinstance(odd[0], np.ndarray):
        cure = "its elements are arrays: np.stack(value) makes one array of them"
    else:
        cure = "np.asarray(value, float) tells why"
    raise _refuse(tensor, value, "is not an array of numbers", cure)


def _convert_strings(tensor: Tensor, value: Any) -> np.ndarray:
    try:
        array = as_strings(value)
    except TypeError:
        raise _refuse(tensor, value, "is not of strings", "str(value) makes one") from None
    _check_shape(tensor, array, value)
    return array


def _check_dtype(tensor: Tensor, array: np.ndarray) -> None:
    dtype, kind = tensor.dtype, array.dtype.kind
    if kind in "fc" and dtype.is_integer:
        whole = kind == "f" and bool(np.all(array == np.floor(array)))
        if not whole:
            raise _refuse(
                tensor,
                array,
                f"is {array.dtype}",
                f"convert it first: value.astype(np.{dtype.name}) drops the fractions",
            )
    elif dtype.is_bool and kind in "iu" and ((array == 0) | (array == 1)).all():
        return  # a switch that is fed as 0 or 1
    elif (kind == "c" and not dtype.is_complex) or kind in "USMm" or (kind != "b" and dtype.is_bool):
        raise _refuse(tensor, array, f"is {array.dtype}", "convert it first")
    # As numbers of Python, since the bounds would be rounded to the dtype of an array of floats.
    if (
        dtype.is_integer
        and kind in "iuf"
        and array.size
        and (array.min().item() < dtype.min or array.max().item() > dtype.max)
    ):
        raise _outside(tensor, array)


def _outside(tensor: Tensor, array: np.ndarray) -> FeedError:
    dtype = tensor.dtype
    cure = f"it holds {dtype.min} to {dtype.max}: use a larger type, or clip the values"
    return _refuse(tensor, array, f"has values outside of what {dtype} can hold", cure)


def _fits(shape: Shape | None, given: tuple[int, ...]) -> bool:
    """Return True if an array of the shape `given` fits the static shape of a tensor."""
    if shape is None or shape == given:
        return True
    return len(shape) == len(given) and all(n in (None, m) for n, m in zip(shape, given, strict=True))


def _check_shape(tensor: Tensor, array: np.ndarray, value: Any) -> None:
    shape = tensor.type.shape
    if shape is None or _fits(shape, array.shape):
        return
    if len(shape) == array.ndim + 1:
        cure = "one axis is missing: for a batch of one, feed value[None]"
    elif sorted(n for n in shape if n) == sorted(array.shape) and len(shape) == 2:
        cure = "the axes are exchanged: feed value.T"
    else:
        cure = f"feed an array of shape {shape_text(shape)}" + (", ? being any size" if None in shape else "")
    raise _refuse(tensor, value, f"has shape {list(array.shape)}", cure)


def _refuse(tensor: Tensor, value: Any, why: str, cure: str | None) -> FeedError:
    size = getattr(value, "size", None) or (len(value) if isinstance(value, list | tuple) else 1)
    text = f": {shown(value)}" if size <= 4 else ""
    return FeedError(
        layout(
            f"the value fed to {tensor.name} ({tensor.type}) {why}{text if len(text) <= 60 else ''}",
            user_frame(),
            [(tensor.name, tensor.op.where)],
            cure,
        ),
        tensor.op,
    )
