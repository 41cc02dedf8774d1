"""Checks of what a graph takes for granted, at once where it is known and else in each run."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.control_flow.assertions": "Assert",
        "staticgraph.debugging.comparisons": (
            "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near "
            "assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive"
        ),
        "staticgraph.debugging.numerics": "assert_all_finite check_numerics",
        "staticgraph.debugging.shapes": (
            "assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_shapes"
        ),
        "staticgraph.debugging.types": (
            "assert_integer assert_proper_iterable assert_same_float_dtype assert_type is_numeric_tensor"
        ),
        "staticgraph.mathematics.math_ops": (
            "is_finite is_inf is_nan is_non_decreasing is_strictly_increasing"
        ),
    },
)
