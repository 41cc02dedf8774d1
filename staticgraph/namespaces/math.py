"""The namespace `math`: `math_ops`, `reductions`, order and running totals, and some activation functions."""

from staticgraph.arrays.indexing import invert_permutation
from staticgraph.arrays.sorting import argmax, argmin, cumprod, cumsum, cumulative_logsumexp, in_top_k, top_k
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.linear_algebra.linalg import l2_normalize
from staticgraph.mathematics.math_ops import *  # noqa: F403
from staticgraph.mathematics.math_ops import __all__ as _elementwise
from staticgraph.mathematics.reductions import *  # noqa: F403
from staticgraph.mathematics.reductions import __all__ as _reductions
from staticgraph.mathematics.segments import *  # noqa: F403
from staticgraph.mathematics.segments import __all__ as _segments
from staticgraph.nn.activation import log_sigmoid, sigmoid, softplus, softsign, tanh
from staticgraph.nn.bias import zero_fraction
from staticgraph.nn.loss import log_softmax, softmax

__all__ = [
    "argmax", "argmin", "cumprod", "cumsum", "cumulative_logsumexp", "in_top_k", "invert_permutation",
    "l2_normalize", "log_sigmoid", "log_softmax", "sigmoid", "softmax", "softplus", "softsign", "tanh",
    "top_k", "zero_fraction",
    *_elementwise, *_reductions, *_segments,
]

show_public_names(__name__)
