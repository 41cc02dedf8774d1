"""Records graphs that one library writes and the other reads, in `tests/graph_def/data`.

python -m tools.record.graph_defs              writes ours/*.pb: the models as this library exports them
tf115/bin/python -m tools.record.graph_defs    runs those, and writes what TensorFlow 1.15.5 makes of the
                                               models: its graphs, checkpoints, and all results
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.graph_def import models, nets, structures
from tools.record import TESTS

DATA = TESTS / "graph_def" / "data"


def record_ours() -> None:
    """Write the models as this library exports them."""
    import staticgraph.compat.tf1 as tf

    fresh(DATA / "ours")
    names = {}
    for build in structures.WRITTEN:
        with tf.Graph().as_default() as graph:
            names[build.__name__] = names_of(build(tf))
            (DATA / "ours" / ("%s.pb" % build.__name__)).write_bytes(graph.as_graph_def().SerializeToString())
    np.savez(str(DATA / "ours" / "names.npz"), **names)
    with tf.Graph().as_default(), tf.Session() as sess:
        models.served(tf, sess, str(DATA / "ours" / "saved_model"))


def names_of(told: models.Model) -> Any:
    """The names of operations and tensors of a model, which are others in each library."""
    return np.array([told.init or "", told.step or ""] + told.fetches)


def record_theirs(tf: Any) -> None:
    """Write the models as TensorFlow has them, and the results of both."""
    fresh(DATA / "tf")
    fresh(DATA / "nets")
    builds = [*structures.READ, *structures.ALONE]
    names = {build.__name__: record_model(tf, build, build.__name__) for build in builds}
    with functions():
        for build in structures.FUNCTIONAL:
            name = "functional_" + build.__name__
            names[name] = record_model(tf, build, name)
    import tensorflow  # with its `contrib`

    for build in nets.NETS:
        names[build.__name__] = record_net(tensorflow, build)
    np.savez(str(DATA / "tf" / "names.npz"), **names)
    ours = np.load(str(DATA / "ours" / "names.npz"))
    for build in structures.WRITTEN:
        given = tf.GraphDef.FromString((DATA / "ours" / ("%s.pb" % build.__name__)).read_bytes())
        with tf.Graph().as_default():
            told = models.renamed(build(tf), ours[build.__name__])
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(given, name="")
            save(DATA / "ours" / build.__name__, models.run(tf, graph, told))
    with tf.Graph().as_default(), tf.Session() as sess:
        save(
            DATA / "ours" / "saved_model", [models.load_served(tf, sess, str(DATA / "ours" / "saved_model"))]
        )
    record_files(tf)


def record_model(tf: Any, build: Any, name: str) -> Any:
    """Write a graph and its results; its names."""
    with tf.Graph().as_default() as graph:
        told = build(tf)
        (DATA / "tf" / ("%s.pb" % name)).write_bytes(graph.as_graph_def().SerializeToString())
        save(DATA / "tf" / name, models.run(tf, graph, told))
        return names_of(told)


def record_net(tf: Any, build: Any) -> Any:
    """Write what a net needs of its graph, its feeds and its results; its names."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        told = build(tf)
        wanted = [told.init, told.step, *(name.split(":")[0] for name in told.fetches)]
        part = tf.graph_util.extract_sub_graph(graph.as_graph_def(), [name for name in wanted if name])
        for node in part.node:
            node.attr.pop("_class", None)
        (DATA / "nets" / ("%s.pb" % build.__name__)).write_bytes(part.SerializeToString())
        save(DATA / "nets" / build.__name__, models.run(tf, graph, told))
        np.savez(str(DATA / "nets" / ("%s.feeds.npz" % build.__name__)), **told.feeds)
        return names_of(told)


@contextmanager
def functions() -> Iterator[None]:
    """Loops and branches become calls of functions."""
    from tensorflow.python.ops import control_flow_util

    control_flow_util.ENABLE_CONTROL_FLOW_V2 = True
    yield
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = False


def record_files(tf: Any) -> None:
    """A frozen graph as text, a meta graph with its checkpoint, and a SavedModel."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        told = models.lenet(tf)
        sess.run(told.init)
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["logits"])
        tf.train.write_graph(frozen, str(DATA / "tf"), "frozen.pbtxt")
        save(DATA / "tf" / "frozen", [sess.run("logits:0", {"x:0": told.feeds["x:0"]})])
    with tf.Graph().as_default(), tf.Session() as sess:
        told = models.collected(tf)
        sess.run(told.init)
        sess.run(told.step, told.feeds)
        tf.train.Saver().save(sess, str(DATA / "tf" / "meta" / "model"), global_step=7, write_state=False)
        before = sess.run(told.fetches, told.feeds)
        tf.saved_model.simple_save(
            sess,
            str(DATA / "tf" / "saved_model"),
            {"x": sess.graph.get_tensor_by_name("x:0")},
            {"y": sess.graph.get_tensor_by_name("y:0")},
        )
        sess.run(told.step, told.feeds)
        save(DATA / "tf" / "meta" / "model", before + sess.run(told.fetches, told.feeds))
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        told = structures.recurrent(tf)
        sess.run(told.init)
        outputs = [name.split(":")[0] for name in told.fetches]
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), outputs)
        (DATA / "tf" / "frozen_recurrent.pb").write_bytes(frozen.SerializeToString())
    fresh(DATA / "tf" / "checkpoints")
    with tf.Graph().as_default(), tf.Session() as sess:
        found = structures.partitioned(tf, str(DATA / "tf" / "checkpoints"), sess)
        found["string"] = found["string"].astype("S")
        np.savez(str(DATA / "tf" / "checkpoints" / "values.npz"), **found)
    with tf.Graph().as_default(), tf.Session() as sess:
        os.chdir(str(DATA / "tf"))  # the graph has the path of the file
        Path("words.txt").write_text("one two")
        structures.assets(tf, sess, "half_plus_two", "words.txt")
        Path("words.txt").unlink()


def save(path: Path, values: list) -> None:
    """Write results."""
    np.savez(str(path) + ".npz", *values)


def fresh(folder: Path) -> None:
    """An empty folder."""
    if folder.exists():
        shutil.rmtree(str(folder))
    folder.mkdir(parents=True)


if __name__ == "__main__":
    try:
        import tensorflow.compat.v1 as tf1
    except ImportError:
        record_ours()
    else:
        record_theirs(tf1)
