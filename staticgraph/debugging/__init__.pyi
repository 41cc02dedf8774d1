"""Checks of what a graph takes for granted, at once where it is known and else in each run. Made by tools/type_stubs.py."""

from staticgraph.control_flow.assertions import (
    Assert as Assert,
)
from staticgraph.debugging.comparisons import (
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
)
from staticgraph.debugging.numerics import (
    assert_all_finite as assert_all_finite,
    check_numerics as check_numerics,
)
from staticgraph.debugging.shapes import (
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_scalar as assert_scalar,
    assert_shapes as assert_shapes,
)
from staticgraph.debugging.types import (
    assert_integer as assert_integer,
    assert_proper_iterable as assert_proper_iterable,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_type as assert_type,
    is_numeric_tensor as is_numeric_tensor,
)
from staticgraph.mathematics.math_ops import (
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
)
