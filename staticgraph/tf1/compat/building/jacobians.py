"""`tensorflow.python.ops.parallel_for.gradients`: matrices of derivatives."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building import nest
from staticgraph.compiler.graph.errors import misuse


def jacobian(output: Any, inputs: Any, use_pfor: bool = True, parallel_iterations: int | None = None) -> Any:
    """Return the derivatives of all elements of `output` by all elements of `inputs`.

    Args:
        output: A tensor.
        inputs: A tensor, or a structure of tensors.
        use_pfor: Accepted, and changes nothing: one loop goes through the elements of `output`.
        parallel_iterations: Accepted, and changes nothing.

    Returns:
        For each input a tensor whose shape is that of `output`, then that of the input; None for an input
        that `output` does not depend on.

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.building.jacobians import jacobian
    >>> x = sg.constant([1.0, 2.0, 3.0])
    >>> sg.Session().run(jacobian(x[:2] ** 2, x)).tolist()
    [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    """
    output = sg.convert_to_tensor(output)
    xs = nest.flatten(inputs)
    whole = sg.shape(output)
    flat = sg.reshape(output, [-1])
    made = _rows(flat, xs, lambda i: flat[i], sg.shape(flat)[0])
    shaped = []
    for x, rows in zip(xs, made, strict=True):
        if rows is not None:
            rows = sg.reshape(rows, sg.concat([whole, sg.shape(rows)[1:]], 0))
            rows.set_shape(output.shape.concatenate(x.shape))
        shaped.append(rows)
    return nest.pack_sequence_as(inputs, shaped)


def batch_jacobian(
    output: Any, inp: Any, use_pfor: bool = True, parallel_iterations: int | None = None
) -> sg.Tensor | None:
    """Return the derivatives of each example of `output` by the same example of `inp`.

    Args:
        output: A tensor [batch, ...]. Each example depends on the example of `inp` at its place alone.
        inp: A tensor [batch, ...].
        use_pfor: Accepted, and changes nothing: one loop goes through the elements of an example.
        parallel_iterations: Accepted, and changes nothing.

    Returns:
        A tensor whose shape is that of `output`, then that of `inp` without the batch; None if `output` does
        not depend on `inp`.

    Raises:
        ValueError: If the two are known to have different numbers of examples.

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.building.jacobians import batch_jacobian
    >>> x = sg.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> sg.Session().run(batch_jacobian(x * x, x)).tolist()
    [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]
    """
    output, inp = sg.convert_to_tensor(output), sg.convert_to_tensor(inp)
    if not output.shape[0].is_compatible_with(inp.shape[0]):
        text = f"batch_jacobian: the shapes {output.shape} and {inp.shape} have unlike numbers of examples"
        raise misuse(ValueError, text)
    whole = sg.shape(output)
    flat = sg.reshape(output, [whole[0], sg.reduce_prod(whole[1:])])
    [rows] = _rows(flat, [inp], lambda i: flat[:, i], sg.shape(flat)[1])
    if rows is None:
        return None
    rank = inp.shape.ndims
    order = [1, 0, *range(2, rank + 1)]
    made: sg.Tensor = sg.reshape(sg.transpose(rows, order), sg.concat([whole, sg.shape(inp)[1:]], 0))
    made.set_shape(output.shape.concatenate(inp.shape[1:]))
    return made


def _rows(flat: sg.Tensor, xs: list[Any], element: Any, count: Any) -> list[Any]:
    """The derivatives of `element(i)` for all i below `count`, by each of the `xs`, stacked; None if none."""
    graph = flat.graph
    with graph.attempt() as forget:
        reached = [slope is not None for slope in sg.gradients(flat, xs)]
        forget()
    found = [x for x, is_reached in zip(xs, reached, strict=True) if is_reached]
    if not found:
        return [None] * len(xs)
    dtypes = [x.dtype.base_dtype for x in found]

    def of_element(i: sg.Tensor) -> list[sg.Tensor]:
        return [sg.convert_to_tensor(slope) for slope in sg.gradients(element(i), found)]

    made = iter(sg.map_fn(of_element, sg.range(count), dtype=dtypes))
    return [next(made) if is_reached else None for is_reached in reached]
