"""Comparisons of corresponding elements, and questions about single numbers. All give bool."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, FLOATING, REAL
from staticgraph.compiler.graph.opdef import method
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.kinds import predicate
from staticgraph.compiler.ops.samples import reals


@predicate(
    tf="Equal", numpy=np.equal, dtypes=ANY, strings=True, primitive="eq", commutes=True, samples=reals(),
)
def equal(x: Any, y: Any) -> Any:
    """Return x == y, element by element. NaN equals nothing.

    >>> sg.Session().run(sg.equal([1, 2, 3], [1, 5, 3]))
    array([ True, False,  True])
    """
    return scalar.eq(x, y)


@predicate(
    tf="NotEqual", numpy=np.not_equal, dtypes=ANY, strings=True, primitive="ne", commutes=True,
    samples=reals(),
)
def not_equal(x: Any, y: Any) -> Any:
    """Return x != y, element by element.

    >>> sg.Session().run(sg.not_equal([1, 2, 3], [1, 5, 3]))
    array([False,  True, False])
    """
    return scalar.ne(x, y)


@method("lt")
@predicate(tf="Less", numpy=np.less, dtypes=REAL, primitive="lt", samples=reals())
def less(x: Any, y: Any) -> Any:
    """Return x < y, element by element.

    >>> sg.Session().run(sg.less([1, 2, 3], 2))
    array([ True, False, False])
    """
    return scalar.lt(x, y)


@method("le")
@predicate(tf="LessEqual", numpy=np.less_equal, dtypes=REAL, primitive="le", samples=reals())
def less_equal(x: Any, y: Any) -> Any:
    """Return x <= y, element by element.

    >>> sg.Session().run(sg.less_equal([1, 2, 3], 2))
    array([ True,  True, False])
    """
    return scalar.le(x, y)


@method("gt")
@predicate(tf="Greater", numpy=np.greater, dtypes=REAL, primitive="gt", samples=reals())
def greater(x: Any, y: Any) -> Any:
    """Return x > y, element by element.

    >>> sg.Session().run(sg.greater([1, 2, 3], 2))
    array([False, False,  True])
    """
    return scalar.gt(x, y)


@method("ge")
@predicate(tf="GreaterEqual", numpy=np.greater_equal, dtypes=REAL, primitive="ge", samples=reals())
def greater_equal(x: Any, y: Any) -> Any:
    """Return x >= y, element by element.

    >>> sg.Session().run(sg.greater_equal([1, 2, 3], 2))
    array([False,  True,  True])
    """
    return scalar.ge(x, y)


@predicate(tf="IsNan", numpy=np.isnan, dtypes=FLOATING, samples=reals())
def is_nan(x: Any) -> Any:
    """Test each element for NaN.

    >>> sg.Session().run(sg.is_nan([1.0, np.nan, np.inf]))
    array([False,  True, False])
    """
    return scalar.ne(x, x)


@predicate(tf="IsInf", numpy=np.isinf, dtypes=FLOATING, samples=reals())
def is_inf(x: Any) -> Any:
    """Test each element for infinity, of either sign.

    >>> sg.Session().run(sg.is_inf([1.0, np.nan, -np.inf]))
    array([False, False,  True])
    """
    return scalar.eq(scalar.abs(x), math.inf)


@predicate(tf="IsFinite", numpy=np.isfinite, dtypes=FLOATING, samples=reals())
def is_finite(x: Any) -> Any:
    """Test if each element is finite: neither infinite nor NaN.

    >>> sg.Session().run(sg.is_finite([1.0, np.nan, np.inf]))
    array([ True, False, False])
    """
    return scalar.lt(scalar.abs(x), math.inf)
