"""Random tensors, with TensorFlow 1's names and streams: the same seeds give the same numbers.

Every run draws new numbers; a new session begins again. The seeds of an operation follow from
`set_random_seed` and from its `seed` argument, see `get_seed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.building.framework import checked, get_default_graph, get_seed, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float32, int32, int64, string
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.recording.op_count import counted_as, op_count, set_op_count
from staticgraph.compiler.graph.shapes import Dimension, TensorShape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor

# So many operations TensorFlow makes before it draws, to check the size: its default seed counts them.
_CROP_OPERATIONS = 15


def _seeds(seed: int | None) -> dict[str, Any]:
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


def _shape_tensor(shape: Any) -> Tensor:
    """`shape`, a tensor or what describes a static shape, as a tensor."""
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if isinstance(shape, list | tuple):
        shape = [n.value if isinstance(n, Dimension) else n for n in shape]
    empty = hasattr(shape, "__len__") and len(shape) == 0
    return convert_to_tensor(shape, dtype=int32 if empty else None, name="shape")


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of uniform distribution, at least `minval` and less than `maxval`.

    `maxval` is 1 for floating types unless given, and must be given for int32 and int64.

    >>> import staticgraph as sg
    >>> sg.random_uniform([2, 3], -1.0, 1.0)
    <sg.Tensor 'random_uniform:0' shape=(2, 3) dtype=float32>
    """
    dtype = as_dtype(dtype)
    with checked("random_uniform"):
        require(dtype.is_floating or dtype in (int32, int64), f"there are no random numbers of dtype {dtype}")
        require(maxval is not None or dtype.is_floating, f"maxval must be given for {dtype}")
    maxval = 1 if maxval is None else maxval
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        shape = _shape_tensor(shape)
        low = convert_to_tensor(minval, dtype=dtype, name="min")
        high = convert_to_tensor(maxval, dtype=dtype, name="max")
        seeds = _seeds(seed)
        if dtype.is_integer:
            return ops.random_uniform_int(low, high, shape=shape, **seeds, name=scope)
        unit = ops.random_uniform(shape=shape, dtype=dtype, **seeds)
        return ops.add(unit * (high - low), low, name=scope)


def _normal(
    draw: Any,
    default: str,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Tensor:
    dtype = as_dtype(dtype)
    with name_scope(name, default, [shape, mean, stddev]) as scope:
        shape = _shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        drawn = draw(shape=shape, dtype=dtype, **_seeds(seed))
        return ops.add(drawn * stddev, mean, name=scope)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of normal distribution.

    >>> import staticgraph as sg
    >>> sg.random_normal([2, 3], stddev=0.1)
    <sg.Tensor 'random_normal:0' shape=(2, 3) dtype=float32>
    """
    return _normal(ops.random_standard_normal, "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of normal distribution; those two standard deviations or more from the mean are drawn again.

    >>> import staticgraph as sg
    >>> sg.truncated_normal([2, 3])
    <sg.Tensor 'truncated_normal:0' shape=(2, 3) dtype=float32>
    """
    return _normal(ops.truncated_normal, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """`value` with its parts along the first axis in random order.

    >>> import staticgraph as sg
    >>> sg.random_shuffle(sg.constant([1, 2, 3]))
    <sg.Tensor 'RandomShuffle:0' shape=(3,) dtype=int32>
    """
    seeds = _seeds(seed)  # taken before `value` becomes an operation, as in TF1
    value = convert_to_tensor(value, name="value")
    if value.dtype is not string:
        return ops.random_shuffle(value, **seeds, name=name)
    with name_scope(name, "RandomShuffle", [value]), counted_as(value.graph, 1):
        return ops.gather(value, ops.random_shuffle(ops.range(0, ops.shape_of(value)[0], 1, int32), **seeds))


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """For each row of `logits`, `num_samples` classes drawn with the probabilities softmax(logits).

    >>> import staticgraph as sg
    >>> sg.multinomial(sg.constant([[1.0, 2.0]]), 5)
    <sg.Tensor 'multinomial/Multinomial:0' shape=(1, 5) dtype=int64>
    """
    return _categorical(logits, num_samples, output_dtype, seed, name, "multinomial")


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """`multinomial` under its later name."""
    return _categorical(logits, num_samples, dtype, seed, name, "categorical")


def _categorical(
    logits: Any, num_samples: Any, dtype: Any, seed: int | None, name: str | None, default: str
) -> Tensor:
    with name_scope(name, default, [logits]):
        logits = convert_to_tensor(logits, name="logits")
        seeds = _seeds(seed)
        dtype = int64 if dtype is None else as_dtype(dtype)
        return ops.multinomial(logits, num_samples=num_samples, output_dtype=dtype, **seeds)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A box of shape `size` cut from `value` at a place of uniform distribution.

    >>> import staticgraph as sg
    >>> sg.random_crop(sg.placeholder(sg.float32, [28, 28, 1]), [24, 24, 1]).shape.as_list()
    [24, 24, 1]
    """
    with name_scope(name, "random_crop", [value, size]):
        value = convert_to_tensor(value, name="value")
        start = op_count(value.graph)
        if seed is None and get_default_graph().seed is not None:
            seed = start + _CROP_OPERATIONS
        size = convert_to_tensor(size, dtype=int32, name="size")
        sizes = static_value(size)
        with checked("random_crop"):
            require(
                sizes is not None and value.shape.ndims is not None,
                "size, and the rank of value, must be known",
            )
            known = value.shape.as_list()
            require(
                np.shape(sizes) == (len(known),),
                f"size is {sizes}, and value has shape {value.shape}",
                "a size for each axis: -1 is none, take that of the value",
            )
            for n, wanted in zip(known, sizes, strict=True):
                require(
                    n is None or n >= wanted,
                    f"value has shape {value.shape}, from which {sizes} cannot be cut",
                )
        shape = ops.shape_of(value, out_type=int32, name="Shape")
        any_number = random_uniform([len(sizes)], maxval=int32.max, dtype=int32, seed=seed)
        offset = any_number % (shape - size + 1)
        for axis, n in enumerate(sizes):
            value = ops.gather(value, offset[axis] + np.arange(n, dtype=np.int32), axis=axis)
        set_op_count(value.graph, start + _CROP_OPERATIONS + 3)
        return snapshot(value)
