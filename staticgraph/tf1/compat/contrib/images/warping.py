"""`tf.contrib.image`: images bent by a flow, and flows interpolated between control points by splines."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.sizes import size_of
from staticgraph.compiler.graph.errors import misuse

_LEAST = 1e-10  # of squared distances in a logarithm or a root


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> sg.Tensor:
    """Pixels from other places: the pixel (y, x) of the result is that of the image at (y, x) - flow[y, x].

    Args:
        image: Floats [batch, height, width, channels], two pixels or more in both directions.
        flow: Floats [batch, height, width, 2].
        name: The name of the scope.

    Returns:
        Images of the same shape, bilinear, continued by their edges.
    """
    with sg.name_scope(name):
        image, flow = sg.convert_to_tensor(image), sg.convert_to_tensor(flow)
        batch, height, width, channels = (size_of(image, axis) for axis in range(4))
        if any(isinstance(size, int) and size < 2 for size in (height, width)):
            raise misuse(ValueError, f"dense_image_warp: images have two pixels or more, not {image.shape}")
        rows = sg.cast(sg.range(height), flow.dtype)[:, None]
        columns = sg.cast(sg.range(width), flow.dtype)[None, :]
        y, x = rows - flow[..., 0], columns - flow[..., 1]
        top, down = _cell(y, height, image.dtype)
        left, right = _cell(x, width, image.dtype)
        flat = sg.reshape(image, [batch * height * width, channels])
        begin = (sg.range(batch) * height * width)[:, None, None]

        def pixel(row: Any, column: Any) -> Any:
            return sg.gather(flat, begin + row * width + column)

        above, below = pixel(top, left), pixel(top + 1, left)
        above += right * (pixel(top, left + 1) - above)
        below += right * (pixel(top + 1, left + 1) - below)
        return sg.reshape(above + down * (below - above), [batch, height, width, channels])


def _cell(at: Any, size: Any, dtype: Any) -> tuple[Any, Any]:
    """The index of the pixel before a place, and how far behind it the place is, from 0 to 1."""
    last = sg.cast(size - 2, at.dtype)
    before = sg.minimum(sg.maximum(sg.floor(at), sg.zeros([], at.dtype)), last)
    part = sg.clip_by_value(sg.cast(at - before, dtype), 0.0, 1.0)
    return sg.cast(before, sg.int32), part[..., None]


def interpolate_spline(
    train_points: Any,
    train_values: Any,
    query_points: Any,
    order: int,
    regularization_weight: float = 0.0,
    name: str = "interpolate_spline",
) -> sg.Tensor:
    """Polyharmonic splines through values at scattered points.

    Args:
        train_points: [batch, n, d].
        train_values: [batch, n, k].
        query_points: [batch, m, d].
        order: 1 for linear, 2 for thin plates, 3 for cubic splines, and so on.
        regularization_weight: A weight above 0 lets the spline miss the values for the sake of smoothness.
        name: The name of the scope.

    Returns:
        The values at the query points, [batch, m, k].

    Raises:
        ValueError: d or k is not known.
    """
    with sg.name_scope(name):
        points, values, queries = (
            sg.convert_to_tensor(x) for x in (train_points, train_values, query_points)
        )
        if points.shape[-1].value is None or values.shape[-1].value is None:
            text = f"interpolate_spline: the last sizes of {points.shape} and {values.shape} must be known"
            raise misuse(ValueError, text, "use set_shape")
        count = size_of(points, 1)
        among = _radial(_squared_distances(points, points), order)
        if regularization_weight > 0:
            among += regularization_weight * sg.eye(count, dtype=points.dtype)
        affine = sg.concat([points, sg.ones_like(points[..., :1])], 2)
        corner = sg.zeros_like(sg.matmul(affine, affine, transpose_a=True))
        top = sg.concat([among, affine], 2)
        bottom = sg.concat([sg.transpose(affine, [0, 2, 1]), corner], 2)
        wanted = sg.concat([values, sg.zeros_like(sg.matmul(affine, values, transpose_a=True))], 1)
        solved = sg.matrix_solve(sg.concat([top, bottom], 1), wanted)
        near = _radial(_squared_distances(queries, points), order)
        lifted = sg.concat([queries, sg.ones_like(queries[..., :1])], 2)
        return sg.matmul(near, solved[:, :count]) + sg.matmul(lifted, solved[:, count:])


def _squared_distances(x: Any, y: Any) -> Any:
    of_x, of_y = sg.reduce_sum(sg.square(x), 2)[:, :, None], sg.reduce_sum(sg.square(y), 2)[:, None, :]
    return of_x - 2.0 * sg.matmul(x, y, transpose_b=True) + of_y


def _radial(squared: Any, order: int) -> Any:
    """The radial basis function of a squared distance: r ** order, times log(r) for even orders."""
    least = sg.maximum(squared, _LEAST)
    if order % 2:
        return least ** (0.5 * order)
    if order in (2, 4):  # their values at distance 0 are exact
        return 0.5 * squared ** (order // 2) * sg.log(least)
    return 0.5 * least ** (0.5 * order) * sg.log(least)


def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[sg.Tensor, sg.Tensor]:
    """Bend images so that some points come to lie elsewhere, and the others follow smoothly.

    Args:
        image: Floats [batch, height, width, channels] of known shape.
        source_control_point_locations: (y, x) of points in the images, [batch, points, 2].
        dest_control_point_locations: Where they come to lie, [batch, points, 2].
        interpolation_order, regularization_weight: As for `interpolate_spline`.
        num_boundary_points: How many points on each edge stay where they are.
        name: The name of the scope.

    Returns:
        The images, and the flow [batch, height, width, 2] of `dense_image_warp`.
    """
    with sg.name_scope(name):
        image, source, target = (
            sg.convert_to_tensor(x)
            for x in (image, source_control_point_locations, dest_control_point_locations)
        )
        if not image.shape.is_fully_defined():
            raise misuse(
                ValueError, f"sparse_image_warp: the shape of images must be known, not {image.shape}"
            )
        batch, height, width, _ = image.shape.as_list()
        flows = target - source
        if num_boundary_points > 0:
            fixed = _boundary(height, width, num_boundary_points - 1)
            fixed = np.tile(fixed[None], [batch, 1, 1])
            target = sg.concat([target, sg.constant(fixed, target.dtype)], 1)
            flows = sg.concat([flows, sg.zeros(fixed.shape, target.dtype)], 1)
        grid = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1).reshape(1, -1, 2)
        everywhere = sg.constant(np.tile(grid, [batch, 1, 1]), image.dtype)
        found = interpolate_spline(target, flows, everywhere, interpolation_order, regularization_weight)
        dense = sg.reshape(found, [batch, height, width, 2])
        return dense_image_warp(image, dense), dense


def _boundary(height: int, width: int, between: int) -> np.ndarray:
    """Points on the edges of an image: its corners, and so many on each edge between them."""
    y = np.linspace(0, height - 1, between + 2)
    x = np.linspace(0, width - 1, between + 2)
    ys, xs = np.meshgrid(y, x, indexing="ij")
    on_edge = (xs == 0) | (xs == width - 1) | (ys == 0) | (ys == height - 1)
    return np.stack([ys[on_edge], xs[on_edge]], -1)
