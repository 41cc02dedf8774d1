"""Nets that people trained with TensorFlow 1.15.5: its graphs are read, initialised and trained here, with
the numbers that it had.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1
from tests.graph_def import models
from tests.graph_def.nets import NETS, translated
from tests.graph_def.test_models import DATA, graph_def, recorded

pytestmark = pytest.mark.takes_long

NOT_CARRIED_OUT = {"foreign", "foreign_handle"}


@pytest.mark.parametrize("build", NETS, ids=lambda build: build.__name__)
def test_a_net_is_trained_as_it_was(build: Callable[..., Any]):
    """With open sizes, but for the net whose long loops Python leads: each step asks for its sizes."""
    check(build, open_sizes=build is not translated)


@pytest.mark.slow
def test_a_net_of_long_loops_is_trained_with_open_sizes():
    check(translated, open_sizes=True)


def check(build: Callable[..., Any], open_sizes: bool) -> None:
    name = build.__name__
    with np.load(DATA / "tf" / "names.npz") as names, np.load(DATA / "nets" / f"{name}.feeds.npz") as feeds:
        model = models.renamed(models.Model(dict(feeds), [], None, None, 2), names[name])
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(graph_def(DATA / "nets" / f"{name}.pb"), name="")
        assert not any(op.definition.name in NOT_CARRIED_OUT for op in graph.get_operations())
        found = models.run(sg, graph, model, functools.partial(sg.Session, open_sizes=open_sizes))
    for one, other in zip(found, recorded(DATA / "nets" / f"{name}.npz"), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        largest = max(1.0, float(np.max(np.abs(other), initial=0.0)))
        np.testing.assert_allclose(one, other, rtol=0.0, atol=2e-5 * largest)
