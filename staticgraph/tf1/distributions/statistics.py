"""Statistics of samples, and maps of parameters: the functions of `tf.contrib.distributions`."""

from __future__ import annotations

import math
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import float64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.distributions.parameters import checked

_ROUNDINGS = {"lower": sg.ceil, "higher": sg.floor, "nearest": sg.round}


def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> Any:
    """The elements of `x` below which `q` percent of the elements along `axis` lie.

    Args:
        x: A tensor of floating type, with known rank if `axis` is given.
        q: The percentage, a scalar from 0 to 100.
        axis: The axes to look along, an int or a list of them; all by default.
        interpolation: Which element is taken between two: "lower", "higher" or "nearest", the default.
        keep_dims: Keep the axes, with length 1.
        validate_args: Check `q` in each run.
        name: The name scope.

    Returns:
        A tensor of the type of `x`, without the axes that were looked along.

    Raises:
        ValueError: `interpolation` is another word, or `q` is no scalar.

    >>> import staticgraph as sg
    >>> sg.Session().run(sg.distributions.percentile([4.0, 1.0, 3.0, 2.0], 30.0))
    np.float32(2.0)
    """
    rounding = _ROUNDINGS.get(interpolation or "nearest")
    if rounding is None:
        raise misuse(ValueError, f"interpolation={interpolation!r} is none of {sorted(_ROUNDINGS)}")
    with sg.name_scope(name or "percentile", values=[x, q]):
        x, q = sg.convert_to_tensor(x, name="x"), sg.cast(q, float64)
        if q.shape.ndims not in (0, None):
            raise misuse(ValueError, f"q is a percentage, a scalar: its shape is {q.shape}")
        q = checked(q, validate_args, lambda percent: (percent >= 0) & (percent <= 100), "from 0 to 100")
        rows, kept_shape = _along(x, axis, keep_dims)
        count = sg.shape(rows)[-1]
        above = rounding((sg.cast(count, float64) - 1.0) * (1.0 - q / 100.0))
        place = sg.clip_by_value(sg.cast(above, sg.int32), 0, count - 1)
        descending = sg.sort(rows, axis=-1, direction="DESCENDING")
        found = sg.gather(descending, place, axis=-1)
        return found if kept_shape is None else sg.reshape(found, kept_shape)


def _along(x: Any, axis: Any, keep_dims: bool) -> tuple[Any, Any]:
    """Return `x` with the axes to look along as the last one, and the result's shape if axes are kept."""
    if axis is None:
        return sg.reshape(x, [-1]), sg.ones([sg.rank(x)], sg.int32) if keep_dims else None
    rank = x.shape.ndims
    if rank is None:
        raise misuse(
            ValueError, "percentile along an axis needs a tensor of known rank", "set_shape() tells it"
        )
    given = list(axis) if isinstance(axis, list | tuple) else [axis]
    if not all(-rank <= number < rank for number in given):
        raise misuse(ValueError, f"percentile: axis={axis} is not among the {rank} axes of x")
    gone = sorted({number % rank for number in given})
    rest = [number for number in range(rank) if number not in gone]
    sizes = sg.unstack(sg.shape(x), num=rank)
    rows = sg.reshape(sg.transpose(x, rest + gone), sg.stack([*(sizes[i] for i in rest), -1]))
    ones = [1 if i in gone else sizes[i] for i in range(rank)]
    return rows, sg.stack(ones) if keep_dims else None


def softplus_inverse(x: Any, name: str | None = None) -> Any:
    """The number whose softplus is `x`: `log(exp(x) - 1)`, without overflow and without cancellation.

    Args:
        x: A tensor of floating type, of positive numbers.
        name: The name scope.

    >>> import staticgraph as sg
    >>> sg.Session().run(sg.nn.softplus(sg.distributions.softplus_inverse([1.0, 100.0])))
    array([  1., 100.], dtype=float32)
    """
    with sg.name_scope(name or "softplus_inverse", values=[x]):
        x = sg.convert_to_tensor(x, name="x")
        return x + sg.log(-sg.expm1(-x))


def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """A triangular matrix of the elements of a vector, which turn around it clockwise.

    Args:
        x: A tensor of which the last axis has n * (n + 1) / 2 elements, known when the graph is built.
        upper: Fill the upper triangle, not the lower.
        name: The name scope.

    Returns:
        A tensor of shape [..., n, n].

    Raises:
        ValueError: There is no triangle of so many elements.

    >>> import staticgraph as sg
    >>> print(sg.Session().run(sg.distributions.fill_triangular([1, 2, 3, 4, 5, 6])))
    [[4 0 0]
     [6 5 0]
     [3 2 1]]
    """
    with sg.name_scope(name or "fill_triangular", values=[x]):
        x = sg.convert_to_tensor(x, name="x")
        count = x.shape[-1].value
        if count is None:
            raise misuse(ValueError, "fill_triangular needs the number of elements when the graph is built")
        n = (math.isqrt(8 * count + 1) - 1) // 2
        if n * (n + 1) != 2 * count:
            raise misuse(ValueError, f"{count} elements do not fill a triangle: it has n * (n + 1) / 2")
        tail = x[..., n:]
        parts = [x, sg.reverse(tail, [-1])] if upper else [tail, sg.reverse(x, [-1])]
        square = sg.reshape(sg.concat(parts, -1), sg.concat([sg.shape(x)[:-1], [n, n]], 0))
        square.set_shape(x.shape[:-1].concatenate([n, n]))
        return sg.matrix_band_part(square, 0, -1) if upper else sg.matrix_band_part(square, -1, 0)
