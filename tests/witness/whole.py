"""Derivatives as operations that tell what is differentiated by what, and nothing of how.

    gradients(loss, [w, b])    ->    Gradients(loss, seed, w, b): two results

Nothing is decided when the graph is built: if an x is reached, and by which way, is found by whom carries the
operation out. A function whose gradient the program gives has that gradient as a region of the graph, outside
of loops and branches too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.differentiation import backward, custom_gradient, gradient_functions
from staticgraph.differentiation.backward import Received


class Whole:
    """One operation for all derivatives of one call of `gradients`; stands in for `backward.Backward`."""

    def __init__(
        self,
        ys: Sequence[Tensor],
        seeds: Callable[[], Sequence[Tensor]],
        xs: Sequence[Tensor],
        stops: Sequence[Tensor],
        gate: bool,
        colocated: bool,
    ) -> None:
        inputs = [*ys, *seeds(), *xs, *stops]
        made = ops.symbolic_gradients(inputs, ys=len(ys), seeds=len(ys), xs=len(xs))
        self._found = dict(zip(xs, made if isinstance(made, tuple) else (made,), strict=False))

    def by(self, x: Tensor) -> Received | None:
        """Return the derivative by `x`: always one, which is zeros if nothing reaches `x`."""
        return Received([self._found[x]])

    spread = None


@contextmanager
def whole_derivatives() -> Iterator[None]:
    """Context in which `gradients` makes one operation, and gradients that a program gives are regions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backward, "Backward", Whole)
        traced = partial(gradient_functions._traced, name=None)
        patch.setattr(custom_gradient, "with_gradient", traced)
        yield
