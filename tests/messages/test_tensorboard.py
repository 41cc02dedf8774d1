"""The real TensorBoard shows what is written, asked over its HTTP endpoints."""

import json
import struct
import warnings

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.formats.tf.messages import RunMetadata
from staticgraph.formats.tf.messages.text_format import Parse

# A part of TensorBoard that it imports when it first shows a text.
pytestmark = pytest.mark.filterwarnings("ignore:html5lib's sanitizer is deprecated:DeprecationWarning")

STEPS = 3


def write(folder) -> list[str]:
    """Summaries of some steps and a graph; the names of its operations."""
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, [None, 4], name="x")
        with sg.variable_scope("net"):
            sg.layers.dense(x, 3, activation=sg.nn.relu)
        step = sg.Variable(0, name="step", trainable=False)
        following = step.assign_add(1)
        sg.summary.scalar("loss", 1.0 / sg.cast(following, sg.float32))
        sg.summary.histogram("weights", sg.random_normal([100], seed=1))
        sg.summary.image("digit", sg.random_uniform([2, 4, 5, 3], seed=2))
        sg.summary.audio("sound", sg.random_uniform([1, 100], seed=3), 8000, 1)
        sg.summary.text("note", sg.constant("*begins*"))
        merged = sg.summary.merge_all()
    with sg.summary.FileWriter(folder, graph) as writer, sg.Session(graph=graph) as sess:
        sess.run(step.initializer)
        for at in range(STEPS):
            writer.add_summary(sess.run(merged), at)
        stats = {
            "dev_stats": [{"device": "/cpu:0", "node_stats": [{"node_name": "x", "op_end_rel_micros": 5}]}]
        }
        writer.add_run_metadata(RunMetadata(step_stats=stats), "profile", 1)
    return [op.name for op in graph.get_operations()]


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A function that asks TensorBoard, and the names of the graph's operations."""
    folder = str(tmp_path_factory.mktemp("events"))
    names = write(folder)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"tensorboard\.")  # its own, when they are imported
        pytest.importorskip("tensorboard")
        from tensorboard import default, program
        from tensorboard.backend.application import TensorBoardWSGIApp
        from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
        from werkzeug.test import Client

        server = program.TensorBoard(plugins=default.get_plugins())
        server.configure(logdir=folder, load_fast="false", reload_interval=0)
        runs = plugin_event_multiplexer.EventMultiplexer()
        runs.AddRunsFromDirectory(folder)
        runs.Reload()
        data = data_provider.MultiplexerDataProvider(runs, folder)
        client = Client(TensorBoardWSGIApp(server.flags, server.plugin_loaders, data, None, runs))

    def ask(path: str) -> bytes:
        answer = client.get(f"/data/{path}")
        assert answer.status_code == 200, answer.data
        return answer.data

    return ask, names


@pytest.fixture
def ask(board):
    return board[0]


@pytest.mark.takes_long
def test_scalars(ask):
    assert json.loads(ask("runs")) == ["."]
    assert list(json.loads(ask("plugin/scalars/tags"))["."]) == ["loss"]
    found = json.loads(ask("plugin/scalars/scalars?run=.&tag=loss"))
    assert [(step, value) for _, step, value in found] == [(0, 1.0), (1, 0.5), (2, float(np.float32(1 / 3)))]


def test_histograms(ask):
    found = json.loads(ask("plugin/histograms/histograms?run=.&tag=weights"))
    assert [step for _, step, _ in found] == list(range(STEPS))
    for _, _, buckets in found:
        assert sum(count for _, _, count in buckets) == 100
        assert all(left < right for left, right, _ in buckets)


def test_images(ask):
    assert sorted(json.loads(ask("plugin/images/tags"))["."]) == ["digit/image/0", "digit/image/1"]
    found = json.loads(ask("plugin/images/images?run=.&tag=digit/image/1&sample=0"))
    assert [image["step"] for image in found] == list(range(STEPS))
    png = ask(f"plugin/images/individualImage?{found[0]['query']}")
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", png[16:24]) == (5, 4)


def test_sounds(ask):
    (found, *_) = json.loads(ask("plugin/audio/audio?run=.&tag=sound/audio&sample=0"))
    assert found["contentType"] == "audio/wav"
    assert ask(f"plugin/audio/individualAudio?{found['query']}")[:4] == b"RIFF"


def test_texts(ask):
    found = json.loads(ask("plugin/text/text?run=.&tag=note"))
    assert [text["text"] for text in found] == ["<p><em>begins</em></p>"] * STEPS


def test_graphs(board):
    ask, names = board
    found = Parse(ask("plugin/graphs/graph?run=.&conceptual=false"), sg.messages.GraphDef())
    assert [node.name for node in found.node] == names
    product = next(node for node in found.node if node.op == "MatMul")
    assert product.name.startswith("net/dense/") and list(product.input) == ["x", "net/dense/kernel/read"]


def test_run_metadata(ask):
    info = json.loads(ask("plugin/graphs/info"))["."]
    assert info["run_graph"] and info["tags"]["profile"]["profile"]
    found = Parse(ask("plugin/graphs/run_metadata?run=.&tag=profile"), RunMetadata())
    assert found.step_stats.dev_stats[0].node_stats[0].op_end_rel_micros == 5
