"""`einsum` as TensorFlow 1.15 composes it: the operations that default seeds are counted by.

Here a sum of products is one operation. TensorFlow brings two operands to matrices, multiplies these and goes
back, with operations that depend on which sizes are known. The steps here are built for their number, and
taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from staticgraph.arrays.array_ops import expand_dims, reshape, shape, transpose
from staticgraph.compiler import ops
from staticgraph.compiler.graph.recording.op_count import op_count
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.reductions import reduce_sum

Sizes = list[Any]  # numbers, and tensors of those that are not known


def has_steps(letters: Sequence[str], result: str, tensors: Sequence[Tensor]) -> bool:
    """Return True if TensorFlow computes this `einsum` by products of two operands."""
    if any(tensor.type.rank != len(axes) for tensor, axes in zip(tensors, letters, strict=True)):
        return False
    together = "".join(letters)
    summed_by_two = all(together.count(axis) < 3 for axis in set(together) - set(result))
    return summed_by_two and all(len(set(axes)) == len(axes) for axes in letters)


def count_of_steps(letters: Sequence[str], result: str, tensors: Sequence[Tensor]) -> int:
    """Return the number of operations by which TensorFlow computes an `einsum`, or 1 if that is not known.

    See `einsum_steps` for the arguments.
    """
    if not has_steps(letters, result, tensors) or set(result) - set("".join(letters)):
        return 1
    graph = tensors[0].graph
    with graph.attempt() as forget:
        before = op_count(graph)
        try:
            einsum_steps(letters, result, tensors)
            count = op_count(graph) - before
        except ValueError:  # shapes that do not fit are told by the operation itself
            count = 1
        forget()
    return count


def einsum_steps(letters: Sequence[str], result: str, tensors: Sequence[Tensor]) -> Tensor:
    """Build the operations by which TensorFlow computes an `einsum`.

    Args:
        letters: The axes of each operand, a letter each.
        result: The axes of the result.
        tensors: The operands.

    Returns:
        The last of the tensors that are built.
    """
    made, axes = tensors[0], letters[0]
    for tensor, more in zip(tensors[1:], letters[1:], strict=True):
        made, axes = _product(made, axes, tensor, more, (set(axes) & set(more)) - set(result))
    if set(axes) - set(result):
        made = reduce_sum(made, axis=[at for at, axis in enumerate(axes) if axis not in result])
        axes = "".join(axis for axis in axes if axis in result)
    return _ordered(made, [axes.index(axis) for axis in result])


def _product(a: Tensor, of_a: str, b: Tensor, of_b: str, summed: Collection[str]) -> tuple[Tensor, str]:
    """Multiply two operands: the axes of both, those of `a`, and those of `b` that are not summed."""
    both = [axis for axis in sorted(of_a) if axis in of_b and axis not in summed]
    alone_a = [axis for axis in sorted(of_a) if axis not in of_b]
    alone_b = [axis for axis in sorted(of_b) if axis not in of_a]
    order_a = "".join([*both, *alone_a, *sorted(summed)])
    order_b = "".join([*both, *sorted(summed), *alone_b])
    a = _ordered(a, [of_a.index(axis) for axis in order_a])
    b = _ordered(b, [of_b.index(axis) for axis in order_b])
    axes = "".join([*both, *alone_a, *alone_b])
    if not summed:
        for _ in alone_b:
            a = expand_dims(a, -1)
        for _ in alone_a:
            b = expand_dims(b, len(both))
        return a * b, axes
    sizes_a = _sizes(a)
    count, terms = len(both), _total(sizes_a[-len(summed) :])
    rows = _total(sizes_a[count : -len(summed)])
    a = _reshaped(a, [*sizes_a[:count], rows, terms])
    sizes_b = _sizes(b)
    columns = _total(sizes_b[count + len(summed) :])
    b = _reshaped(b, [*sizes_b[:count], terms, columns])
    known = [*sizes_a[: count + len(alone_a)], *sizes_b[len(sizes_b) - len(alone_b) :]]
    product: Tensor = ops.batch_matmul(a, b) if both else ops.matmul(a, b)
    return _reshaped(product, known), axes


def _ordered(tensor: Tensor, perm: list[int]) -> Tensor:
    return tensor if perm == list(range(len(perm))) else transpose(tensor, perm)


def _sizes(tensor: Tensor) -> Sizes:
    """The sizes of a tensor; those that are not known are read from its shape."""
    sizes: Sizes = tensor.shape.as_list()
    if None in sizes:
        read = shape(tensor)
        sizes = [read[at] if size is None else size for at, size in enumerate(sizes)]
    return sizes


def _total(sizes: Sizes) -> Any:
    total = 1
    for size in sizes:
        total *= size
    return total


def _reshaped(tensor: Tensor, sizes: Sizes) -> Tensor:
    return tensor if tensor.shape.as_list() == sizes else reshape(tensor, sizes)
