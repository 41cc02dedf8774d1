"""From real numbers to whole ones. Gradients do not pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.kinds import elementwise
from staticgraph.compiler.ops.samples import reals


@elementwise(
    tf="Floor", numpy=np.floor, dtypes=FLOATING, primitive="floor", differentiable=False, samples=reals(-9, 9)
)
def floor(x: Any) -> Any:
    """The largest whole number that is not above x.

    >>> sg.Session().run(sg.floor([-1.5, 1.5]))
    array([-2.,  1.], dtype=float32)
    """
    return scalar.floor(x)


@elementwise(
    tf="Ceil", numpy=np.ceil, dtypes=FLOATING, primitive="ceil", differentiable=False, samples=reals(-9, 9),
)
def ceil(x: Any) -> Any:
    """The smallest whole number that is not below x.

    >>> sg.Session().run(sg.ceil([-1.5, 1.5]))
    array([-1.,  2.], dtype=float32)
    """
    return scalar.ceil(x)


@elementwise(
    tf="Rint", numpy=np.rint, dtypes=FLOATING, primitive="rint", differentiable=False, samples=reals(-9, 9),
)
def rint(x: Any) -> Any:
    """The nearest whole number; halves go to the even one.

    >>> sg.Session().run(sg.rint([0.5, 1.5, 2.6]))
    array([0., 2., 3.], dtype=float32)
    """
    return scalar.rint(x)


@elementwise(tf="Round", numpy=np.round, dtypes=FLOATING, differentiable=False, samples=reals(-9, 9))
def round_(x: Any) -> Any:
    """The nearest whole number; halves go to the even one: 0.5 gives 0, 1.5 and 2.5 give 2."""
    return scalar.rint(x)
