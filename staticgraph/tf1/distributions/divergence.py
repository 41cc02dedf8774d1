"""The divergence of Kullback and Leibler, by a table of formulas for pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, TypeVar

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

Formula = TypeVar("Formula", bound=Callable[..., Any])

_FORMULAS: dict[tuple[type, type], Callable[..., Any]] = {}


class RegisterKL:
    """Decorator: this function gives the divergence between distributions of two classes.

    It is called as `f(distribution_a, distribution_b, name=None)`. ValueError if the pair has one already.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._pair = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Formula) -> Formula:
        if not callable(kl_fn):
            raise misuse(TypeError, f"RegisterKL decorates a function, not {kl_fn!r}")
        if self._pair in _FORMULAS:
            names = " || ".join(cls.__name__ for cls in self._pair)
            raise misuse(ValueError, f"KL({names}) is registered already: {_FORMULAS[self._pair]}")
        _FORMULAS[self._pair] = kl_fn
        return kl_fn


def _formula(a: type, b: type) -> Callable[..., Any] | None:
    """The formula for the nearest base classes; of two that are as near, the one nearer to `a`."""
    pairs = product(enumerate(a.__mro__), enumerate(b.__mro__))
    found = [(i + j, i, _FORMULAS[x, y]) for (i, x), (j, y) in pairs if (x, y) in _FORMULAS]
    return min(found, key=lambda each: each[:2])[2] if found else None


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> sg.Tensor:
    """The mean of `log(p(x) / q(x))` for x drawn from `distribution_a`, with its density p and the other's,
    q.

    NotImplementedError if no formula is known for the two classes; see `RegisterKL`.

    >>> p, q = sg.distributions.Normal(0.0, 1.0), sg.distributions.Normal(1.0, 1.0)
    >>> sg.Session().run(sg.distributions.kl_divergence(p, q))
    np.float32(0.5)
    """
    formula = _formula(type(distribution_a), type(distribution_b))
    if formula is None:
        pair = f"{type(distribution_a).__name__} and {type(distribution_b).__name__}"
        raise misuse(NotImplementedError, f"no divergence is registered for {pair}; RegisterKL adds one")
    with sg.name_scope("KullbackLeibler"):
        return formula(distribution_a, distribution_b, name=name)


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None) -> sg.Tensor:
    """The entropy of `ref` and its divergence from `other`."""
    with sg.name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats)
