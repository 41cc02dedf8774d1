"""Operations whose result depends on what all processes give: sums, parts and copies of their tensors.

All processes run the same ones, in the order in which they were made. Among one process, each gives back what
it takes.
"""

from __future__ import annotations

from typing import Any

from staticgraph.building.conversion import convert_to_tensor
from staticgraph.building.framework import get_default_graph
from staticgraph.building.inputs import group
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import ANY, COMPLEX, FLOATING, float32, int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.control.collectives import COMBINED
from staticgraph.distribute.world import size
from staticgraph.state.variable_lists import global_variables

SHARDED = "sharded_variables"  # the collection of variables of which each process has a part
_COMBINERS = {"sum": "sum", "mean": "sum", "product": "prod", "min": "min", "max": "max"}


def _combiner(op: str, x: Tensor) -> str:
    if op not in _COMBINERS:
        raise misuse(ValueError, f"op is {op!r}, and must be one of {', '.join(_COMBINERS)}")
    if x.dtype not in ANY:
        raise misuse(TypeError, f"{x.name} is {x.dtype.name}, and must be a number or a truth value")
    if x.dtype in COMPLEX and op not in ("sum", "mean"):
        raise misuse(TypeError, f"the {op} of complex numbers is not supported", "op may be sum or mean")
    if op == "mean" and x.dtype not in FLOATING | COMPLEX:
        raise misuse(
            TypeError, f"the mean of {x.dtype.name} is no {x.dtype.name}", "cast it to float32 first"
        )
    return _COMBINERS[op]


def _combined(function: Any, x: Any, op: str, name: str | None) -> Tensor:
    x, workers = convert_to_tensor(x), size()
    combine = _combiner(op, x)
    if x.dtype in COMPLEX:
        real, imag = (_combined(function, part, op, None) for part in (ops.real(x), ops.imag(x)))
        return ops.complex(real, imag, name=name)
    # Not every MPI adds 16 bits of a float or truth values, and Open MPI's sums of small integers saturate.
    narrow = x.dtype not in COMBINED or (x.dtype.size < 4 and combine in ("sum", "prod"))
    wide = ops.cast(x, dtype=float32 if x.dtype in FLOATING else int32) if narrow else x
    made = function(wide, workers=workers, combine=combine, name=name)
    if op == "mean":
        made = made * (1.0 / workers)
    return ops.cast(made, dtype=x.dtype) if narrow else made


def all_reduce(x: Any, op: str = "sum", name: str | None = None) -> Tensor:
    """Combine `x` of all processes, element by element. Each process gets the result.

    Args:
        x: A tensor, of the same shape and dtype in all processes.
        op: "sum", "mean", "product", "min" or "max"; the first two for complex numbers. They have a gradient.
        name: A name of the operation.

    Returns:
        A tensor of the shape and dtype of `x`.

    >>> import staticgraph as sg
    >>> total = sg.distribute.all_reduce(sg.constant([1.0, 2.0]))
    >>> with sg.Session() as sess:
    ...     sess.run(total)
    array([1., 2.], dtype=float32)
    """
    return _combined(ops.all_reduce, x, op, name)


def reduce_scatter(x: Any, op: str = "sum", name: str | None = None) -> Tensor:
    """Combine `x` of all processes, element by element. Each process gets its part of the result.

    Args:
        x: A tensor, of the same shape and dtype in all processes. The first axis is cut into equal parts.
        op: "sum", "mean", "product", "min" or "max"; the first two for complex numbers. They have a gradient.
        name: A name of the operation.

    Returns:
        A tensor with as many rows as `x`, divided by the number of processes.

    >>> import staticgraph as sg
    >>> part = sg.distribute.reduce_scatter(sg.constant([1.0, 2.0]))
    >>> with sg.Session() as sess:
    ...     sess.run(part)
    array([1., 2.], dtype=float32)
    """
    return _combined(ops.reduce_scatter, x, op, name)


def all_gather(x: Any, name: str | None = None) -> Tensor:
    """Concatenate `x` of all processes along the first axis, in the order of their ranks.

    Args:
        x: A tensor, of the same shape and dtype in all processes.
        name: A name of the operation.

    Returns:
        A tensor with as many rows as all processes give.

    >>> import staticgraph as sg
    >>> rows = sg.distribute.all_gather(sg.constant([[1.0, 2.0]]))
    >>> with sg.Session() as sess:
    ...     sess.run(rows)
    array([[1., 2.]], dtype=float32)
    """
    return ops.all_gather(convert_to_tensor(x), workers=size(), name=name)


def broadcast(x: Any, root: int = 0, name: str | None = None) -> Tensor:
    """Give each process `x` of one of them.

    Args:
        x: A tensor, of the same shape and dtype in all processes.
        root: The rank of the process whose `x` it is.
        name: A name of the operation.

    Returns:
        A tensor of the shape and dtype of `x`.

    >>> import staticgraph as sg
    >>> x = sg.distribute.broadcast(sg.constant([1.0, 2.0]))
    >>> with sg.Session() as sess:
    ...     sess.run(x)
    array([1., 2.], dtype=float32)
    """
    return ops.broadcast(convert_to_tensor(x), workers=size(), root=root, name=name)


def all_to_all(x: Any, name: str | None = None) -> Tensor:
    """Send part i of `x` to process i. The result has the parts that were sent here, in the order of ranks.

    Args:
        x: A tensor, of the same shape and dtype in all processes. The first axis is cut into equal parts.
        name: A name of the operation.

    Returns:
        A tensor of the shape and dtype of `x`.

    >>> import staticgraph as sg
    >>> x = sg.distribute.all_to_all(sg.constant([1.0, 2.0]))
    >>> with sg.Session() as sess:
    ...     sess.run(x)
    array([1., 2.], dtype=float32)
    """
    return ops.all_to_all(convert_to_tensor(x), workers=size(), name=name)


def broadcast_variables(variables: Any = None, root: int = 0, name: str | None = None) -> Operation:
    """An operation that gives variables the values that they have in one process.

    Before the first step of an optimizer of this package, that is done by itself.

    Args:
        variables: A list of variables; by default all of the graph, without local ones. Those of which each
            process has a part are left out.
        root: The rank of that process.
        name: A name of the operation.

    Returns:
        The operation.

    >>> import staticgraph as sg
    >>> w = sg.Variable(3.0)
    >>> with sg.Session() as sess:
    ...     sess.run(sg.global_variables_initializer())
    ...     sess.run(sg.distribute.broadcast_variables([w]))
    """
    listed = global_variables() if variables is None else list(variables)
    parts = {v.op for v in get_default_graph().get_collection(SHARDED)}
    listed = [v for v in listed if v.op not in parts]
    if size() == 1:
        return group(*(), name=name or "broadcast_variables")
    return group(
        *(ops.assign(v.handle, broadcast(v, root)).op for v in listed), name=name or "broadcast_variables"
    )
