"""Optimizers of the models that are ready to use: given as such, as a function, or by name."""

from __future__ import annotations

from typing import Any

from staticgraph import train
from staticgraph.compiler.graph.errors import misuse

_BY_NAME = {
    "Adagrad": train.AdagradOptimizer,
    "Adam": train.AdamOptimizer,
    "Ftrl": train.FtrlOptimizer,
    "RMSProp": train.RMSPropOptimizer,
    "SGD": train.GradientDescentOptimizer,
}


def as_optimizer(given: Any, learning_rate: float) -> Any:
    """An optimizer; one that is given by name has this learning rate. ValueError for anything else."""
    if isinstance(given, str):
        if given not in _BY_NAME:
            text = f"Unsupported optimizer name: {given}. Supported names are: {', '.join(_BY_NAME)}"
            raise misuse(ValueError, text)
        return _BY_NAME[given](learning_rate)
    made = given() if callable(given) else given
    if not isinstance(made, train.Optimizer):
        raise misuse(ValueError, f"The given object is not an Optimizer instance. Given: {made!r}")
    return made
