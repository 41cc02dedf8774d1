"""Tests of what users call: most of them interpret their steps, since they do not look at machine code.

Machine code takes two thirds of their time, and has tests of its own. A fifth of them compiles all the same,
by turns (tests/repetitions.py), and so do all with `pytest -m slow`. `@pytest.mark.compiled` is for a test, a
class or a file (`pytestmark`) that looks at what is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from staticgraph.runtime import session
from staticgraph.runtime.backend import Backend
from staticgraph.runtime.gpu.placement import open_backend
from staticgraph.runtime.interpreter import InterpreterBackend
from staticgraph.runtime.switches import Settings
from tests.repetitions import has_turn

FOLDERS = {"api", "compat", "errors", "estimator", "graph_def", "keras", "onnx", "train"}
ONE_IN = 5  # of their tests is compiled; prime to the shares of `takes_long`: a test has its turn both ways


def is_short(tier: str) -> bool:
    """Return True for what `-m` says in a run whose tests are interpreted."""
    return tier == "fast" or "not slow" in tier


def may_be(item: pytest.Item) -> bool:
    """Return True for a test that need not be compiled."""
    folder = item.nodeid.removeprefix("tests/").partition("/")[0]
    return folder in FOLDERS and item.get_closest_marker("compiled") is None


def is_now(item: pytest.Item) -> bool:
    """Return True for a test that is interpreted in this run of pytest."""
    if not is_short(item.config.option.markexpr) or not may_be(item):
        return False
    return not has_turn(item.nodeid, ONE_IN)


def compiled_in(tier: str, items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The tests that count as slow ones in a run with this `-m`, since it compiles them."""
    if "slow" in tier and not is_short(tier):
        yield from filter(may_be, items)


@contextmanager
def interpreting() -> Iterator[None]:
    """Context in which sessions on the processor interpret their steps by NumPy, in place of machine code."""
    with _opening(_interpreted):
        yield


@contextmanager
def compiling() -> Iterator[None]:
    """Context in which sessions compile, as they do outside of tests."""
    with _opening(open_backend):
        yield


def _interpreted(settings: Settings, config: Any) -> Backend:
    return InterpreterBackend() if settings.device == "cpu" else open_backend(settings, config)


@contextmanager
def _opening(function: Any) -> Iterator[None]:
    before, session.open_backend = session.open_backend, function
    try:
        yield
    finally:
        session.open_backend = before
