"""Writes the seeds: a few small files of each kind. `python tests/fuzz_readers/make_seeds.py`

They are kept, not made anew by each run: what a reader takes today it is to take tomorrow.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import numpy as np

import staticgraph as sg
from staticgraph.formats.tf.messages import GraphDef, text_format
from staticgraph.formats.tf.messages.example import Example, Feature, FeatureList, SequenceExample
from staticgraph.formats.tf.tensor_bundle import write_bundle
from staticgraph.formats.tf.tensor_bundle.table import read_table, table_bytes
from staticgraph.runtime.files import container

SEEDS = Path(__file__).parent / "seeds"
TENSORFLOW = Path(__file__).parents[1] / "graph_def" / "data" / "tf"
FIRST_FORMAT = TENSORFLOW / "checkpoints" / "v1"
_FEW = [b"one", b"", b"a longer record " * 4]


def main() -> None:
    SEEDS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _graphs(folder)
        _arrays(folder)
    _slope()
    _net()
    _records()
    _examples()


def _graphs(folder: Path) -> None:
    """A variable, its step of training, a loop and a branch, in all the forms that graphs have."""
    with sg.Graph().as_default() as graph, sg.Session() as session:
        x = sg.placeholder(sg.float32, [None, 2], name="x")
        w = sg.Variable(np.array([1, 2], np.float32), name="w")
        y = sg.add(w * x, 3.0, name="y")
        step = w.assign_sub(0.1 * sg.gradients(y, [w])[0])
        session.run(w.initializer)
        _keep("line.pb", graph.as_graph_def().SerializeToString())
        _keep("line.pbtxt", text_format.MessageToString(graph.as_graph_def()).encode())
        prefix = sg.train.Saver().save(session, str(folder / "model"))
        _keep("line.checkpoint", Path(f"{prefix}.index").read_bytes())
        _keep("line.meta", Path(f"{prefix}.meta").read_bytes())
        sg.saved_model.simple_save(session, str(folder / "saved"), {"x": x}, {"y": y})
        _keep("saved_model.pb", (folder / "saved" / "saved_model.pb").read_bytes())

        def body(i: sg.Tensor, z: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
            return i + 1, sg.cond(z > 9, lambda: z * 2.0, lambda: z + 1.0)

        sg.onnx.export({"y": y}, SEEDS / "line.onnx", session=session)
        z = sg.while_loop(lambda i, z: i < 7, body, [0, y[0, 0]])[1]
        sg.save(SEEDS / "loop.sg", {"z": z}, step=step)
        _keep("loop.graph.json", container.unpack(memoryview((SEEDS / "loop.sg").read_bytes()))["graph.json"])
        _keep("loop.pb", graph.as_graph_def().SerializeToString())


def _slope() -> None:
    """The derivative of a loop, as TensorFlow writes it."""
    given = GraphDef.FromString((TENSORFLOW / "drawn_slopes.pb").read_bytes())
    with np.load(TENSORFLOW / "names.npz") as names:
        wanted = str(names["drawn_slopes"][-1]).split(":")[0]
    given = sg.graph_util.extract_sub_graph(given, [wanted])
    for node in given.node:
        node.attr.pop("_class", None)
    _keep("loop_slope.pb", given.SerializeToString())


def _net() -> None:
    """A small network of the kind that models are exchanged for."""
    with sg.Graph().as_default():
        images = sg.placeholder(sg.float32, [None, 6, 6, 1], name="images")
        kernel = sg.constant(np.arange(18, dtype=np.float32).reshape(3, 3, 1, 2))
        found = sg.nn.relu(sg.nn.conv2d(images, kernel, 1, "SAME"))
        made = sg.nn.max_pool(found, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        rows = sg.reshape(sg.transpose(made, [0, 2, 1, 3]), [-1, 18])
        scores = sg.matmul(rows, sg.constant(np.eye(18, 3, dtype=np.float32)))
        is_high = sg.reduce_sum(scores) > 0
        labels = sg.cond(is_high, lambda: sg.argmax(scores, 1), lambda: sg.argmin(scores, 1))
        sg.onnx.export({"labels": labels, "parts": sg.concat([scores, scores], 1)}, SEEDS / "net.onnx")


def _arrays(folder: Path) -> None:
    w, truth = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True, False])
    some = {"w": w, "truth": truth, "pairs": np.array([1 + 2j]), "none": np.zeros((0, 3), np.int8)}
    for suffix in ("safetensors", "npz"):
        sg.save_weights(SEEDS / f"arrays.{suffix}", some)
    np.savez_compressed(SEEDS / "packed.npz", w=np.asfortranarray(w), n=np.int64(7))
    texts = np.array([b"xy", b""], object)
    values = {"a/w": (sg.float32, w), "a/x": (sg.string, texts), "b": (sg.bool, truth)}
    write_bundle(str(folder / "bundle"), values)
    index = (folder / "bundle.index").read_bytes()
    _keep("model.index", index)
    _keep("model.data", (folder / "bundle.data-00000-of-00001").read_bytes())
    _keep("model.block", _first_block(index))
    _keep("tensorflow.v1", FIRST_FORMAT.read_bytes())
    _keep("tensorflow.v1.block", _first_block(table_bytes(read_table(FIRST_FORMAT.read_bytes()))))


def _first_block(table: bytes) -> bytes:
    end = b"\0\0\0\0\1\0\0\0"
    return table[: table.index(end) + len(end)]


def _records() -> None:
    with sg.io.TFRecordWriter(SEEDS / "three.records") as writer:
        for record in _FEW:
            writer.write(record)
    plain = (SEEDS / "three.records").read_bytes()
    _keep("three.records.gz", gzip.compress(plain, mtime=0))
    summary = sg.summary.Summary(value=[{"tag": "loss", "simple_value": 0.5}])
    _keep("summary.event", sg.summary.Event(wall_time=1.5, step=3, summary=summary).SerializeToString())
    _keep("version.event", sg.summary.Event(file_version="brain.Event:2").SerializeToString())


def _examples() -> None:
    label, weights = Feature(int64_list={"value": [3, -1]}), Feature(float_list={"value": [0.5, 1.5]})
    text = Feature(bytes_list={"value": [b"ab"]})
    features = {"feature": {"label": label, "weights": weights, "text": text}}
    _keep("plain.example", Example(features=features).SerializeToString())
    steps = FeatureList(feature=[label, weights])
    sequence = SequenceExample(context=features, feature_lists={"feature_list": {"steps": steps}})
    _keep("sequence.example", sequence.SerializeToString())


def _keep(name: str, data: bytes | memoryview) -> None:
    (SEEDS / name).write_bytes(data)


if __name__ == "__main__":
    main()
