"""`tf.contrib.image.connected_components`: areas of neighbouring pixels of the same value."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.sizes import size_of
from staticgraph.compiler.graph.errors import misuse


def connected_components(images: Any) -> sg.Tensor:
    """Number the areas of pixels that touch along an edge and have the same value, which is not zero.

    Args:
        images: [batch, height, width] or [height, width], of numbers or conditions.

    Returns:
        Integers of the same shape: from 1 on by their first pixels, over all images; 0 for zeros.

    Raises:
        TypeError: Another rank.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(connected_components([[1, 0, 2], [1, 0, 2], [0, 0, 1]])).tolist()
    [[1, 0, 2], [1, 0, 2], [0, 0, 3]]
    """
    with sg.name_scope("connected_components"):
        given = sg.convert_to_tensor(images, name="images")
        if given.shape.ndims not in (2, 3):
            raise misuse(TypeError, f"images have rank 2 or 3, their shape is {given.shape}")
        values = given if given.shape.ndims == 3 else given[None]
        if values.dtype == sg.bool:
            values = sg.cast(values, sg.int32)
        sizes = [size_of(values, axis) for axis in range(3)]
        is_there = sg.not_equal(values, sg.zeros_like(values))
        total = sizes[0] * sizes[1] * sizes[2]
        own = sg.reshape(sg.range(total), sizes)  # an area is named by its first pixel

        def spread(names: Any) -> Any:
            """The least name among a pixel, its neighbours of the same value, and the pixel of its name."""
            for axis in (1, 2):
                before, after = _without(names, axis, last=True), _without(names, axis, last=False)
                same = sg.equal(_without(values, axis, last=True), _without(values, axis, last=False))
                least = sg.minimum(before, after)
                edge = [[0, 0], [0, 0], [0, 0]]
                forward = sg.pad(sg.where(same, least, after), [*edge[:axis], [1, 0], *edge[axis + 1 :]])
                names = sg.minimum(names, sg.where(_first(own, axis, sizes), names, forward))
                backward = sg.pad(sg.where(same, least, before), [*edge[:axis], [0, 1], *edge[axis + 1 :]])
                names = sg.minimum(names, sg.where(_last(own, axis, sizes), names, backward))
            return sg.gather(sg.reshape(names, [-1]), names)

        def step(names: Any, changed: Any) -> tuple[Any, Any]:
            new = spread(names)
            return new, sg.reduce_any(sg.not_equal(new, names))

        names, _ = sg.while_loop(lambda names, changed: changed, step, (own, sg.constant(True)))
        is_first = sg.logical_and(is_there, sg.equal(names, own))
        numbers = sg.cumsum(sg.reshape(sg.cast(is_first, sg.int32), [-1]))
        found = sg.where(is_there, sg.gather(numbers, names), sg.zeros_like(names))
        return found if given.shape.ndims == 3 else found[0]


def _without(x: Any, axis: int, last: bool) -> Any:
    """A tensor without its last, or first, slice along an axis."""
    part = slice(None, -1) if last else slice(1, None)
    return x[:, part] if axis == 1 else x[:, :, part]


def _place(own: Any, axis: int, sizes: list[Any]) -> Any:
    """The index of each pixel along an axis."""
    return own % sizes[2] if axis == 2 else own // sizes[2] % sizes[1]


def _first(own: Any, axis: int, sizes: list[Any]) -> Any:
    return sg.equal(_place(own, axis, sizes), 0)


def _last(own: Any, axis: int, sizes: list[Any]) -> Any:
    return sg.equal(_place(own, axis, sizes), sizes[axis] - 1)
