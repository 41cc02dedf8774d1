"""Products of matrices and tensors: `matmul`, `tensordot` and `einsum`, with TensorFlow 1's names."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters, ascii_lowercase
from typing import Any

import numpy as np

from staticgraph.building.composites import answered_by_operators
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bfloat16, float32
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.recording.op_count import (
    BackwardCount,
    count_backward,
    count_steps,
    counted_as,
)
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.kinds import conjugate
from staticgraph.mathematics.einsum_steps import count_of_steps, einsum_steps, has_steps


@answered_by_operators
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices, or of two batches of them whose leading axes broadcast.

    Either can be transposed or replaced by its adjoint first; None counts as False. `a_is_sparse` and
    `b_is_sparse` change nothing.

    >>> import staticgraph as sg
    >>> x, w = sg.placeholder(sg.float32, [None, 784]), sg.placeholder(sg.float32, [784, 10])
    >>> sg.matmul(x, w)
    <sg.Tensor 'MatMul:0' shape=(?, 10) dtype=float32>
    """
    for which, transposed, adjoint_ in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
        if transposed and adjoint_:
            raise misuse(ValueError, f"matmul: only one of transpose_{which} and adjoint_{which} can be True")
    turned = transpose_a or adjoint_a or False, transpose_b or adjoint_b or False
    with name_scope(name, "MatMul", [a, b]) as scope:
        dtypes = [x.dtype for x in (a, b) if isinstance(x, Tensor)]
        if set(dtypes) == {bfloat16, float32}:
            a, b, dtypes = ops.cast(a, dtype=float32), ops.cast(b, dtype=float32), [float32]
        a = convert_to_tensor(a, dtype=dtypes[0] if dtypes else None, name="a")
        b = convert_to_tensor(b, dtype=a.dtype, name="b")
        if all(x.shape.ndims is None or x.shape.ndims > 2 for x in (a, b)) or max(_ranks(a, b)) > 2:
            a, b = (conjugate(x) if t else x for x, t in ((a, transpose_a), (b, transpose_b)))
            return ops.batch_matmul(a, b, *turned, name=scope)
        a, b = (conjugate(x) if t else x for x, t in ((a, adjoint_a), (b, adjoint_b)))
        return ops.matmul(a, b, *turned, name=scope)


def _ranks(*tensors: Tensor) -> list[int]:
    return [x.shape.ndims or 0 for x in tensors]


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of a matrix and a vector, or of batches of them.

    >>> import staticgraph as sg
    >>> sg.linalg.matvec(sg.ones([2, 3]), sg.ones([3])).shape.as_list()
    [2]
    """
    with name_scope(name, "MatVec", [a, b]):
        column = ops.expand_dims(convert_to_tensor(b), axis=-1)
        return ops.squeeze(matmul(a, column, transpose_a, False, adjoint_a), axis=(-1,))


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products of `a` and `b` over pairs of axes.

    `axes` is a number n, for the last n axes of `a` and the first n of `b`, or two lists of axes. The other
    axes of `a` come first in the result, then those of `b`. The ranks need not be known when the graph is
    built.

    >>> import staticgraph as sg
    >>> a, b = sg.placeholder(sg.float32, [2, 3, 4]), sg.placeholder(sg.float32, [4, 3, 5])
    >>> sg.tensordot(a, b, [[1, 2], [1, 0]])
    <sg.Tensor 'Tensordot:0' shape=(2, 5) dtype=float32>
    """
    with name_scope(name, "Tensordot", [a, b]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, dtype=a.dtype, name="b")
        axes = axes if isinstance(axes, int | np.integer) else _pairs(axes)
        if a.type.rank is None or b.type.rank is None:
            from staticgraph.mathematics.tensor_products import of_unknown_rank  # few programs need it

            return of_unknown_rank(a, b, axes, scope)
        with checked("tensordot"):
            equation = _pairing(a.type.rank, b.type.rank, axes)
        with counted_as(a.graph, _operations(a, b)):
            product = ops.einsum([a, b], equation=equation, name=scope)
        count_backward(product, BackwardCount(4, by_input=4, gates=3))  # of matrices, and back to tensors
        return product


def _operations(a: Tensor, b: Tensor) -> int:
    """Return the number of operations that TensorFlow makes for a `tensordot`: a product of matrices."""
    known = [None not in x.shape.as_list() for x in (a, b)]
    return 3 + sum(4 if each else 16 for each in known) + (0 if all(known) else 1 + sum(known))


def _pairs(axes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the axes of both operands as vectors of one length."""
    with checked("tensordot"):
        require(len(axes) == 2, f"axes is {axes}, and must be a number or two lists of axes")
        of_a, of_b = (np.atleast_1d(np.asarray(each, np.int64)) for each in axes)
        require(len(of_a) == len(of_b), f"axes names {len(of_a)} axes of a and {len(of_b)} of b")
    return of_a, of_b


def _pairing(rank_a: int, rank_b: int, axes: Any) -> str:
    """The equation that sums over pairs of axes."""
    if isinstance(axes, int | np.integer):
        require(0 <= axes <= min(rank_a, rank_b), f"axes is {axes}, the ranks are {rank_a} and {rank_b}")
        axes = np.arange(rank_a - axes, rank_a), np.arange(axes)
    letters_a, letters_b = list(ascii_lowercase[:rank_a]), list(ascii_lowercase[rank_a : rank_a + rank_b])
    for i, j in zip(axes[0].tolist(), axes[1].tolist(), strict=True):
        require(
            -rank_a <= i < rank_a and -rank_b <= j < rank_b,
            f"axes {i} and {j}: the ranks are {rank_a} and {rank_b}",
        )
        letters_b[j] = letters_a[i]
    shared = set(letters_a) & set(letters_b)
    result = [letter for letter in letters_a + letters_b if letter not in shared]
    return f"{''.join(letters_a)},{''.join(letters_b)}->{''.join(result)}"


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Sum of products by Einstein's convention: `einsum("ij,jk->ik", a, b)` is the product of two matrices.

    Each letter is an axis; letters missing after `->` are summed over. Without `->`
    the result has, in the order of the alphabet, the letters that occur once. `...`
    stands for axes that broadcast. With more than two operands they are combined from
    the left. ValueError if a letter occurs twice in one operand or in the result.

    >>> import staticgraph as sg
    >>> q, k = sg.placeholder(sg.float32, [None, 8, 7, 16]), sg.placeholder(sg.float32, [None, 8, 9, 16])
    >>> sg.einsum("bhqd,bhkd->bhqk", q, k).shape.as_list()
    [None, 8, 7, 9]
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise misuse(
            TypeError, f"einsum has no argument {next(iter(kwargs))}; it has equation, the operands and name"
        )

    with name_scope(name, "einsum", list(inputs)):
        if not inputs:
            raise misuse(ValueError, f"einsum({equation!r}) has no operands", "einsum(equation, x, y)")
        first = convert_to_tensor(inputs[0], name="inputs_0")
        rest = [
            convert_to_tensor(x, dtype=first.dtype, name=f"inputs_{i + 1}") for i, x in enumerate(inputs[1:])
        ]
        tensors = [first, *rest]
        with checked("einsum"):
            letters, result = _spelled_out(equation.replace(" ", ""), [x.shape.ndims for x in tensors])
        given, operands = tuple(letters), tuple(tensors)
        with counted_as(first.graph, count_of_steps(given, result, operands)):
            while len(tensors) > 2:
                needed = set(result).union(*letters[2:])
                kept = "".join(dict.fromkeys(a for a in letters[0] + letters[1] if a in needed))
                merged = ops.einsum(tensors[:2], equation=f"{letters[0]},{letters[1]}->{kept}")
                letters, tensors = [kept, *letters[2:]], [merged, *tensors[2:]]
            made: Tensor = ops.einsum(tensors, equation=f"{','.join(letters)}->{result}")
        if len(operands) < 3 and has_steps(given, result, operands):
            count_steps(made, lambda: einsum_steps(given, result, operands))
        return made


def _spelled_out(equation: str, ranks: Sequence[int | None]) -> tuple[list[str], str]:
    """The letters of operands and result: small ones, and capital ones where there were dots."""
    left, arrow, result = equation.partition("->")
    names = left.split(",")
    require(
        len(names) == len(ranks), f"{equation!r} is for {len(names)} operands, and {len(ranks)} were given"
    )
    together = "".join(names)
    used = {a for a in together + result if a != "."}
    require(used <= set(ascii_letters), f"{equation!r} may have letters, commas, dots and ->")
    require(len(used) <= 26, f"{equation!r} has {len(used)} letters, 26 are possible")
    if not arrow:
        result = "..." * ("..." in left) + "".join(sorted(a for a in used if together.count(a) == 1))
    unused = (a for a in ascii_lowercase if a not in used)
    small = str.maketrans({a: next(unused) for a in sorted(used) if a.isupper()})
    names, result = [name.translate(small) for name in names], result.translate(small)
    longest = ""
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        if "..." in name:
            require(rank is not None, "the rank of an operand with ... must be known")
            count = (rank or 0) - len(name) + 3
            require(count >= 0, f"{name!r} needs at least {len(name) - 3} axes, the operand has {rank}")
            dots = "ABCDEFGHIJ"[10 - count :]
            longest = max(longest, dots, key=len)
            names[i] = name.replace("...", dots)
    return names, result.replace("...", longest)
