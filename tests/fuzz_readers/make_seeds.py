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
    _pictures()
    _data()
    _keras()


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


def _pictures() -> None:
    """Pictures of few pixels, in each format and with each kind of pixel."""
    from PIL import Image

    chance = np.random.RandomState(0)
    gray = [Image.fromarray(chance.randint(0, 255, (5, 7)).astype(np.uint8)) for _ in range(3)]
    colors = Image.fromarray(chance.randint(0, 255, (5, 7, 3)).astype(np.uint8))
    deep = Image.fromarray(chance.randint(0, 65535, (5, 7)).astype(np.uint16))
    for name, picture in {"gray": gray[0], "colors": colors, "deep": deep}.items():
        picture.save(SEEDS / f"picture.{name}.png")
    for mode in ("1", "P", "LA", "RGBA"):
        colors.convert(mode).save(SEEDS / f"picture.{mode}.png")
    colors.save(SEEDS / "picture.jpg")
    colors.save(SEEDS / "picture.progressive.jpg", progressive=True)
    colors.save(SEEDS / "picture.bmp")
    gray[0].save(SEEDS / "picture.gif", save_all=True, append_images=gray[1:])


def _data() -> None:
    """Texts, tables, and other things that programs decode."""
    _keep("quoted.line", b'1,2.5,"a ""b"""')
    _keep("short.line", b"-7,,x")
    _keep("hello.base64", b"aGVsbG8_aGk")
    _keep("small.number", b"1.5e3")
    _keep("hexadecimal.number", b"0x1f")
    _keep("classes.pattern", rb"(?i)a+[b-d]{2,3}(e|\d)*[[:alpha:]]?$")
    _keep("words.vocabulary", b"one\t1\ntwo\t2\r\n")
    _keep("rows.csv", b"a,b,label\n1,2,x\n3,4,y\n")
    with open(SEEDS / "rows.arrays", "wb") as file:
        np.savez_compressed(file, inputs=np.float32([[1, 2], [3, 4]]), labels=np.array(["x", "y"]))
    _keep("digits.idx", b"\0\0\x08\x02\0\0\0\x02\0\0\0\x03abcdef")
    layers = '[[layer]]\ntype = "dense"\nunits = 2\n\n'
    chosen = '[loss]\ntype = "softmax_cross_entropy"\n\n[optimizer]\ntype = "adam"\n\n[train]\nepochs = 1\n'
    _keep("net.toml", f'[data]\ncsv = "rows.csv"\n\n{layers}{chosen}'.encode())
    with sg.Graph().as_default(), sg.Session() as session, tempfile.TemporaryDirectory() as folder:
        _keep("floats.tensor", session.run(sg.io.serialize_tensor(np.float32([[1, 2]]))))
        _keep("texts.tensor", session.run(sg.io.serialize_tensor(sg.constant(["a", "bc"]))))
        writer = sg.summary.FileWriter(folder)
        kinds = [sg.summary.scalar("loss", 0.5), sg.summary.histogram("rows", [1.0, 2.0, 4.0])]
        kinds += [
            sg.summary.image("x", np.zeros((1, 2, 3, 1), np.uint8)),
            sg.summary.text("t", sg.constant("hi")),
        ]
        writer.add_summary(session.run(sg.summary.merge(kinds)), 3)
        writer.close()
        [path] = Path(folder).iterdir()
        _keep("all.events", path.read_bytes())


def _keras() -> None:
    layers = sg.keras.layers
    with sg.Graph().as_default():
        model = sg.keras.Sequential(
            [layers.Dense(3, activation="relu", input_shape=(2,)), layers.Dropout(0.5)]
        )
        model.compile("adam", "mse")
        model.save(SEEDS / "net.h5")
        _keep("dense.architecture", model.to_json().encode())
        given = layers.Input([4, 2])
        branched = sg.keras.Model(given, layers.add([layers.LSTM(3)(given), layers.GRU(3)(given)]))
        _keep("branched.architecture", branched.to_json().encode())
    tokenizer = sg.keras.preprocessing.text.Tokenizer(oov_token="?")
    tokenizer.fit_on_texts(["the cat", "the dog"])
    _keep("words.tokenizer", tokenizer.to_json().encode())


def _keep(name: str, data: bytes | memoryview) -> None:
    (SEEDS / name).write_bytes(data)


if __name__ == "__main__":
    main()
