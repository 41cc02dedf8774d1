"""The namespace `math`: `math_ops`, `reductions`, order and running totals, and some activation functions."""

from staticgraph.compiler.support.lazy_names import lazy_names
from staticgraph.namespaces.public_names import NAMES

_WHOLE = ("math_ops", "reductions", "segments")

# Type checkers read `math.pyi`.
lazy_names(
    __name__,
    {f"staticgraph.mathematics.{module}": NAMES[f"staticgraph.mathematics.{module}"] for module in _WHOLE}
    | {
        "staticgraph.arrays.indexing": "invert_permutation",
        "staticgraph.arrays.sorting": (
            "argmax argmin cumprod cumsum cumulative_logsumexp in_top_k top_k"
        ),
        "staticgraph.linear_algebra.linalg": "l2_normalize",
        "staticgraph.nn.activation": "log_sigmoid sigmoid softplus softsign tanh",
        "staticgraph.nn.bias": "zero_fraction",
        "staticgraph.nn.loss": "log_softmax softmax",
    },
)
