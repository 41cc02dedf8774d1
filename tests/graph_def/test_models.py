"""Graphs that TensorFlow 1.15.5 wrote run here, and those that are written here ran there, with the same
results.
"""

from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from tests.graph_def import models

DATA = Path(__file__).parent / "data"
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


def recorded(path: Path) -> list[np.ndarray]:
    with np.load(path) as found:
        return [found[name] for name in found.files]


def check(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, **TOLERANCE)


def told(build):
    with sg.Graph().as_default():
        return build(tf)


def graph_def(path: Path) -> sg.messages.GraphDef:
    return sg.messages.GraphDef.FromString(path.read_bytes())


@pytest.mark.parametrize("build", models.IMPORTED, ids=lambda build: build.__name__)
def test_what_tensorflow_wrote_runs_here(build):
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(graph_def(DATA / "tf" / f"{build.__name__}.pb"), name="")
        theirs = models.run(sg, graph, told_by_them(build))
    check(theirs, recorded(DATA / "tf" / f"{build.__name__}.npz"))


def told_by_them(build):
    with np.load(DATA / "tf" / "names.npz") as names:
        return models.renamed(told(build), names[build.__name__])


@pytest.mark.parametrize("build", models.EXPORTED, ids=lambda build: build.__name__)
def test_what_is_written_here_ran_there(build):
    """The graph is the very one that TensorFlow ran: tools/record_graph_defs.py records it again."""
    with sg.Graph().as_default() as graph:
        model = build(tf)
        found = models.run(sg, graph, model)
        written = graph.as_graph_def()
    assert graph_def(DATA / "ours" / f"{build.__name__}.pb") == written
    check(found, recorded(DATA / "ours" / f"{build.__name__}.npz"))


@pytest.mark.parametrize("build", models.IMPORTED, ids=lambda build: build.__name__)
def test_a_graph_comes_back_as_it_was(build):
    with sg.Graph().as_default() as graph:
        model = build(tf)
        expected = models.run(sg, graph, model)
        written = graph.as_graph_def()
    with sg.Graph().as_default() as again:
        sg.import_graph_def(written, name="")
        check(models.run(sg, again, model), expected)
        assert again.as_graph_def().SerializeToString() == written.SerializeToString()


def test_a_saved_model_that_was_loaded_there(tmp_path):
    with sg.Graph().as_default(), sg.Session() as sess:
        found = models.served(tf, sess, str(tmp_path / "model"))
    for path in (DATA / "ours" / "saved_model").rglob("*.*"):
        assert (
            path.read_bytes()
            == (tmp_path / "model" / path.relative_to(DATA / "ours" / "saved_model")).read_bytes()
        )
    with sg.Graph().as_default(), sg.Session() as sess:
        again = models.load_served(tf, sess, str(tmp_path / "model"))
    check([found], recorded(DATA / "ours" / "saved_model.npz"))
    check([again], [found])


def test_a_frozen_graph_as_text():
    with open(DATA / "tf" / "frozen.pbtxt") as file:
        frozen = sg.messages.text_format.Parse(file.read(), sg.messages.GraphDef())
    with sg.Graph().as_default(), sg.Session() as sess:
        [x, logits] = sg.import_graph_def(frozen, return_elements=["x:0", "logits:0"])
        found = sess.run(logits, {x: told(models.lenet).feeds["x:0"]})
    check([found], recorded(DATA / "tf" / "frozen.npz"))
