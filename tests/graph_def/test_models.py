"""Graphs that TensorFlow 1.15.5 wrote run here, and those that are written here ran there, with the same
results.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.runtime.interpreter import InterpreterBackend
from tests.graph_def import models, structures
from tests.graph_def.slopes import SLOPES

DATA = Path(__file__).parent / "data"
TOLERANCE = 2e-6  # of the largest number of a result, where that is more than one


def recorded(path: Path) -> list[np.ndarray]:
    with np.load(path) as found:
        return [found[name] for name in found.files]


def check(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        largest = max(1.0, float(np.max(np.abs(other), initial=0.0)))
        np.testing.assert_allclose(one, other, rtol=0.0, atol=TOLERANCE * largest)


def interpreted(graph):
    session = sg.Session(graph=graph)
    session.backend = InterpreterBackend()
    return session


def told(build):
    with sg.Graph().as_default():
        return build(tf)


@cache
def ours(build):
    """A model that is built and run here: the names of its parts, its results, and its graph as written."""
    with sg.Graph().as_default() as graph:
        model = build(tf)
        found = models.run(sg, graph, model)
        return model, found, graph.as_graph_def().SerializeToString()


def returned(build, written: bytes):
    """Results of a model whose graph was written here and is read again."""
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(sg.messages.GraphDef.FromString(written), name="")
        return models.run(sg, graph, ours(build)[0])


def graph_def(path: Path) -> sg.messages.GraphDef:
    return sg.messages.GraphDef.FromString(path.read_bytes())


@pytest.mark.takes_long
@pytest.mark.parametrize("build", structures.READ, ids=lambda build: build.__name__)
def test_what_tensorflow_wrote_runs_here(build):
    """One in three is compiled, the others are interpreted: what is read is asked for here, and the same
    graphs are compiled as they are built here.
    """
    compiled = structures.READ.index(build) % 3 == 0
    check_theirs(build, build.__name__, sg.Session if compiled else interpreted)


@pytest.mark.slow
@pytest.mark.parametrize("build", structures.READ, ids=lambda build: build.__name__)
def test_what_tensorflow_wrote_is_compiled_here(build):
    check_theirs(build, build.__name__)


@pytest.mark.parametrize("build", structures.FUNCTIONAL, ids=lambda build: build.__name__)
def test_loops_and_branches_that_call_functions(build):
    check_theirs(build, f"functional_{build.__name__}")


@pytest.mark.takes_long
@pytest.mark.parametrize(
    ("name", "feeds", "steps"),
    [("raw_nodes", structures.RAW_FEEDS, 0), ("sparse_nodes", structures.SPARSE_FEEDS, 2)],
)
def test_nodes_that_only_tensorflow_makes(name, feeds, steps):
    with np.load(DATA / "tf" / "names.npz") as names:
        check_model(models.renamed(models.Model(feeds, [], None, None, steps), names[name]), name)


def check_theirs(build, name, session=sg.Session):
    with np.load(DATA / "tf" / "names.npz") as names:
        check_model(models.renamed(told(build), names[name]), name, session)


def check_model(model, name, session=sg.Session):
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(graph_def(DATA / "tf" / f"{name}.pb"), name="")
        theirs = models.run(sg, graph, model, session)
    check(theirs, recorded(DATA / "tf" / f"{name}.npz"))


@pytest.mark.takes_long
@pytest.mark.parametrize("build", structures.WRITTEN, ids=lambda build: build.__name__)
def test_what_is_written_here_ran_there(build):
    """The graph is the very one that TensorFlow ran: tools/record/graph_defs.py records it again."""
    _, found, written = ours(build)
    assert not any(node.op.startswith("sg.") for node in sg.messages.GraphDef.FromString(written).node)
    assert (DATA / "ours" / f"{build.__name__}.pb").read_bytes() == written
    check(found, recorded(DATA / "ours" / f"{build.__name__}.npz"))


@pytest.mark.takes_long(2)
@pytest.mark.parametrize("build", SLOPES, ids=lambda build: build.__name__)
def test_derivatives_of_loops_come_back(build):
    """TensorFlow's nodes for a derivative through loops, branches and tensor arrays run here as well."""
    found = returned(build, (DATA / "ours" / f"{build.__name__}.pb").read_bytes())
    check(found, recorded(DATA / "ours" / f"{build.__name__}.npz"))


@pytest.mark.takes_long(2)
@pytest.mark.parametrize(
    "build", [build for build in structures.READ if build not in SLOPES], ids=lambda build: build.__name__
)
def test_a_graph_comes_back_and_gives_the_same(build):
    _, expected, written = ours(build)
    check(returned(build, written), expected)


@pytest.mark.parametrize("build", models.EXPORTED, ids=lambda build: build.__name__)
def test_a_graph_comes_back_as_it_was(build):
    """Other models have operations that become several nodes, and are several when they come back."""
    _, _, written = ours(build)
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(sg.messages.GraphDef.FromString(written), name="")
        assert graph.as_graph_def().SerializeToString() == written


def test_loops_and_branches_come_back_node_by_node():
    for build in (structures.loops, structures.branches, structures.assigned):
        with sg.Graph().as_default() as graph:
            build(tf)
            written = graph.as_graph_def()
        with sg.Graph().as_default() as again:
            sg.import_graph_def(written, name="")
            assert {(node.name, node.op) for node in again.as_graph_def().node} == {
                (node.name, node.op) for node in written.node
            }


def test_a_frozen_recurrent_net():
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(graph_def(DATA / "tf" / "frozen_recurrent.pb"), name="")
        assert not any(op.definition.name == "variable" for op in graph.get_operations())
        with np.load(DATA / "tf" / "names.npz") as names:
            model = models.renamed(told(structures.recurrent), names["recurrent"])
        found = models.run(sg, graph, model._replace(init=None))
    check(found, recorded(DATA / "tf" / "recurrent.npz"))


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
