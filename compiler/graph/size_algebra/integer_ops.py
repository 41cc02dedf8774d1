"""Integer ops of open sizes, which give open sizes again.

    n = shape(x)[0]
    halves = reshape(x[: n // 2 * 2], [n // 2, 2, 4])

An array of open sizes is an array of objects. Sums, products and comparisons of such arrays are NumPy's. A
quotient, for example, is not: the reference of `floor_div` asks for the kind of its numbers, so the op has a
meaning `of_sizes` besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.graph.open_sizes import greater, lesser
from staticgraph.compiler.graph.size_contexts import is_comparing
from staticgraph.compiler.graph.sizes import AnySize, bounds, terms_of

_MOST_DEGREE = 6  # of a product of sizes: one of more is a power
_ROOM = 7  # bits that a factor of a size leaves for the size: numbers with larger factors wrap around


def _wraps(size: AnySize, dtype: DType) -> bool:
    """Return True if numbers of a dtype may wrap around where a size is exact.

    Numbers such as `n * 1103515245 + 12345` of int32, and those of less than 32 bits, are taken for no sizes.
    `n * 64` is a size if it fits for the sizes at hand, which is a guard then. Raises Undecided if there are
    none.
    """
    least, most = bounds(size)
    if dtype.min <= least and most <= dtype.max:
        return False
    if dtype.size < 4 or (least < 0 and dtype.min == 0):
        return True
    most_factor = int(dtype.max) >> _ROOM
    if any(abs(f) > most_factor or len(m) > _MOST_DEGREE for m, f in terms_of(size).items()):
        return True
    return not (size >= int(dtype.min) and size <= int(dtype.max))


def lesser_of(a: AnySize, b: AnySize) -> AnySize:
    """Return what `minimum` makes of two sizes."""
    return min(a, b) if is_comparing() else lesser(a, b)


def greater_of(a: AnySize, b: AnySize) -> AnySize:
    """Return what `maximum` makes of two sizes."""
    return max(a, b) if is_comparing() else greater(a, b)


def of_sizes(op: OpDef, values: Sequence[np.ndarray], attrs: Mapping[str, Any], dtype: DType) -> Any:
    """Return what an op makes of arrays, some of which are of open sizes.

    Args:
        op: An op that has a reference, and whose result consists of whole numbers or truth values.
        values: Its inputs. An array of open sizes has the dtype object.
        attrs: Its attributes.
        dtype: The dtype of its result.

    Returns:
        The result, or None if it does not consist of sizes, or may wrap around.

    Raises:
        Undecided: A comparison has no answer.
    """
    assert op.reference is not None
    if not any(value.dtype == object for value in values):
        return op.reference(*values, **attrs)
    try:
        if op.of_sizes is None:
            made = op.reference(*values, **attrs)
        else:
            made = np.frompyfunc(partial(op.of_sizes, **attrs), len(values), 1)(*values)
    except (TypeError, ValueError):  # NumPy cannot do this with objects
        return None
    if dtype.is_integer and any(_wraps(size, dtype) for size in np.ravel(made).tolist()):
        return None
    return made
