"""Runs of tests, each in a session of its own."""

from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg


def initialized(session: sg.Session) -> None:
    """Give all variables their initial values."""
    session.run(sg.global_variables_initializer())


def run(fetches: Any, feeds: Any = None) -> Any:
    """Return what a run gives after all variables have their initial values."""
    with sg.Session() as session:
        initialized(session)
        return session.run(fetches, feeds)


def evaluated(fetches: Any, feeds: Any = None) -> Any:
    """Return what a run without variables gives."""
    with sg.Session() as session:
        return session.run(fetches, feeds)


def computed(function: Callable[..., Any], *arrays: np.ndarray, **options: Any) -> Any:
    """Return what a function of tensors gives for arrays, which are fed to a graph of its own."""
    with sg.Graph().as_default(), sg.Session(**options) as session:
        fed = [sg.placeholder(array.dtype, array.shape) for array in arrays]
        return session.run(function(*fed), dict(zip(fed, arrays, strict=True)))
