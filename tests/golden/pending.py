"""Golden cases of public functions that do not exist yet: the function, and what waits for it.

`test_golden.py` checks that each function is still missing: once it exists, its cases leave this list and
must pass.
"""

PENDING = {
    "cond": (
        "nn: cond takes one branch",
        "names: cond",
        "shapes: cond",
        "errors: cond with unlike branches",
        "errors: cond without functions",
    ),
    "while_loop": (
        "nn: while_loop doubles",
        "nn: while_loop until large",
        "names: while_loop",
        "shapes: while_loop",
        "errors: while_loop that changes a shape",
        "errors: while_loop that changes a type",
    ),
    "map_fn": ("nn: map_fn", "shapes: map_fn"),
    "scan": ("nn: scan", "shapes: scan"),
    "foldl": ("nn: foldl",),
    "check_numerics": ("errors: check_numerics",),
    "Assert": ("errors: Assert",),
    "assert_equal": ("errors: assert_equal",),
    "assert_positive": ("errors: assert_positive at build",),
    "assert_rank": ("errors: assert_rank",),
}
