"""Graphs with nodes that only TensorFlow carries out: they are read, and what such nodes give is fed."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.formats.tf.graph_def import own_nodes
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.messages import GraphDef, text_format
from tests.graph_def import models, structures
from tests.graph_def.test_models import DATA, check, graph_def, recorded


def read(text: str) -> sg.Graph:
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(text_format.Parse(text, GraphDef()), name="")
    return graph


@pytest.fixture
def pipelines() -> sg.Graph:
    with sg.Graph().as_default() as graph:
        sg.import_graph_def(graph_def(DATA / "tf" / "pipelines.pb"), name="")
    return graph


def test_nets_behind_pipelines_are_trained_by_feeding(pipelines: sg.Graph):
    with np.load(DATA / "tf" / "names.npz") as names:
        fed = models.Model(structures.PIPELINE_FEEDS, [], None, None, 2)
        model = models.renamed(fed, names["pipelines"])
    check(models.run(sg, pipelines, model), recorded(DATA / "tf" / "pipelines.npz"))


def test_what_a_node_gives_has_its_types_and_shapes(pipelines: sg.Graph):
    told = {name: pipelines.get_tensor_by_name(name) for name in structures.PIPELINE_FEEDS}
    assert [(each.dtype, each.type.shape) for each in told.values()] == [
        (sg.float32, (None, 3)),
        (sg.int32, (None,)),
        (sg.float32, None),
        (sg.int32, None),
    ]


@pytest.mark.parametrize(
    ("fetch", "message"),
    [
        ("IteratorGetNext", "IteratorGetNext is a node of TensorFlow's type IteratorGetNext, which is not"),
        ("IteratorGetNext:1", r"hint: feed what it gives: feed_dict=\{'IteratorGetNext:0': \.\.\., 'It"),
        ("MakeIterator", "hint: run what does without it"),
        ("PyFunc:0", "batch is a node of TensorFlow's type QueueDequeueManyV2"),
    ],
)
def test_a_run_says_which_node_it_cannot_do_without(pipelines: sg.Graph, fetch: str, message: str):
    with sg.Session(graph=pipelines) as sess, pytest.raises(UnimplementedError) as raised:
        sess.run(fetch)
    raised.match(message.replace("\n", r"\s+"))


def test_they_go_back_to_tensorflow_where_they_need_no_functions(pipelines: sg.Graph):
    theirs = {node.name: node for node in graph_def(DATA / "tf" / "pipelines.pb").node}
    ours = {node.name: node for node in pipelines.as_graph_def().node}
    for name in ("batch", "IteratorV2", "IteratorGetNext", "MakeIterator"):
        assert ours[name].op == theirs[name].op
        assert list(ours[name].input) == list(theirs[name].input)
        assert dict(ours[name].attr) == dict(theirs[name].attr)
    assert list(own_nodes(pipelines)) == ["MapDataset"]


_TABLE = """
node { name: "table" op: "MutableHashTableV2"
       attr { key: "key_dtype" value { type: DT_STRING } }
       attr { key: "value_dtype" value { type: DT_INT64 } } }
node { name: "key" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
node { name: "default" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } } }
node { name: "same" op: "Identity" input: "table" attr { key: "T" value { type: DT_RESOURCE } } }
node { name: "found" op: "LookupTableFindV2" input: "same" input: "key" input: "default"
       attr { key: "Tin" value { type: DT_STRING } } attr { key: "Tout" value { type: DT_INT64 } } }
node { name: "y" op: "Neg" input: "found" attr { key: "T" value { type: DT_INT64 } } }
"""


def test_what_takes_the_handle_of_such_a_node_is_one_of_them():
    with sg.Session(graph=read(_TABLE)) as sess:
        np.testing.assert_array_equal(sess.run("y:0", {"found:0": [1, 2]}), [-1, -2])
        with pytest.raises(UnimplementedError, match=r"found is a node of .* type LookupTableFindV2"):
            sess.run("y:0", {"key:0": ["a"], "default:0": [0]})


@pytest.mark.parametrize("count", [-1, 1 << 40])
def test_a_node_of_too_many_outputs_is_refused(count: int):
    text = f"""
    node {{ name: "a" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_STRING }} }} }}
    node {{ name: "split" op: "SparseSplit" input: "a" attr {{ key: "num_split" value {{ i: {count} }} }} }}
    """
    with pytest.raises(GraphDefError, match=f"it says that it has {count} outputs"):
        read(text)


def test_types_that_nobody_has_are_refused():
    with pytest.raises(GraphDefError, match="node 'a' is of type 'Foo1'"):
        read('node { name: "a" op: "Foo1" }')


def test_a_net_that_was_trained_from_a_dataset_is_restored_and_trained_on_by_feeding(tmp_path):
    """Nodes that Python carries out here, in a file of our own."""
    with sg.Graph().as_default(), sg.Session() as sess:
        data = sg.data.Dataset.from_tensors(np.ones((2, 3), np.float32)).repeat()
        x = data.make_one_shot_iterator().get_next()
        y = sg.py_func(lambda a: 2.0 * a, [x], sg.float32, name="doubled")
        queue = sg.FIFOQueue(2, sg.float32, [[]], name="queue")
        w = sg.get_variable("w", [3, 1])
        out = sg.add(sg.matmul(sg.ensure_shape(y, [None, 3]), w), queue.dequeue(name="next"), name="out")
        sg.train.GradientDescentOptimizer(1.0).minimize(sg.reduce_sum(out), name="step")
        sess.run(w.initializer)
        before = sess.run(w)
        sg.train.Saver().save(sess, str(tmp_path / "model"))
    with sg.Graph().as_default(), sg.Session() as sess:
        sg.train.import_meta_graph(str(tmp_path / "model.meta")).restore(sess, str(tmp_path / "model"))
        fed = {"doubled:0": np.full((1, 3), 2.0, np.float32), "next:0": 1.0}
        np.testing.assert_allclose(
            sess.run("out:0", fed), 2.0 * before.sum(0, keepdims=True) + 1.0, rtol=1e-6
        )
        sess.run("step", fed)
        np.testing.assert_allclose(sess.run("w:0"), before - 2.0, rtol=1e-6)
        with pytest.raises(
            UnimplementedError, match=r"sg.iterator_get_next, which is not carried out\s+from"
        ):
            sess.run("doubled:0")
