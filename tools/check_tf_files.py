"""Shows that real TensorFlow 1.15 and this library read each other's files: to the same numbers.

    python tools/check_tf_files.py tf115/bin/python

What is written here goes into a temporary folder: graphs (nets and their training, loops, branches, recurrent
nets), a frozen graph, a meta graph with a checkpoint, and a SavedModel. TensorFlow runs them, trains on, and
writes a meta graph, checkpoints in both of its formats and a SavedModel, which are read here. A line per file
says the largest difference; the exit status is 1 if one is too large. `tools/record/__init__.py` says how to
get an environment with TensorFlow 1.15.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402

from tests.graph_def import models, structures  # noqa: E402

LARGEST = 1e-5  # difference, as a part of the largest number of a result


def write_ours(tf: Any, folder: Path) -> None:
    """Write all files with this library."""
    for build in structures.WRITTEN:
        with tf.Graph().as_default() as graph:
            told = build(tf)
            write_graph(folder, build.__name__, graph.as_graph_def(add_shapes=True), told)
            save(folder / build.__name__, models.run(tf, graph, told))
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        told = structures.recurrent(tf)
        sess.run(told.init)
        outputs = [name.split(":")[0] for name in told.fetches]
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), outputs)
        write_graph(folder, "frozen", frozen, told._replace(init=None))
        save(folder / "frozen", sess.run(told.fetches, told.feeds))
    write_files(tf, folder)


def write_files(tf: Any, folder: Path) -> None:
    """Write a meta graph with a checkpoint, and a SavedModel, with either library."""
    with tf.Graph().as_default(), tf.Session() as sess:
        told = models.collected(tf)
        sess.run(told.init)
        sess.run(told.step, told.feeds)
        tf.train.Saver(write_version=2).save(sess, str(folder / "meta"))
        before = sess.run(told.fetches, told.feeds)
        sess.run(told.step, told.feeds)
        save(folder / "meta", before + sess.run(told.fetches, told.feeds))
    with tf.Graph().as_default(), tf.Session() as sess:
        save(folder / "saved_model", [models.served(tf, sess, str(folder / "saved_model"))])


def write_graph(folder: Path, name: str, graph_def: Any, told: models.Model) -> None:
    """Write a graph, and what it is run with."""
    (folder / (name + ".pb")).write_bytes(graph_def.SerializeToString())
    names = np.array([told.init or "", told.step or ""] + told.fetches)
    np.savez(str(folder / (name + ".told")), names=names, steps=told.steps, **told.feeds)


def read_graphs(tf: Any, folder: Path) -> None:
    """Run all graphs in a folder with TensorFlow."""
    for path in sorted(folder.glob("*.pb")):
        with np.load(str(folder / (path.stem + ".told.npz"))) as found:
            feeds = {name: found[name] for name in found.files if name not in ("names", "steps")}
            told = models.Model(feeds, [], None, None, int(found["steps"]))
            told = models.renamed(told, found["names"])
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(tf.GraphDef.FromString(path.read_bytes()), name="")
            show(folder, path.stem, models.run(tf, graph, told))


def read_files(tf: Any, folder: Path) -> None:
    """Restore a checkpoint with its meta graph, train on, and run a SavedModel: with either library."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(str(folder / "meta.meta")).restore(sess, str(folder / "meta"))
        fetches, feeds = ["loss:0", "net/w:0"], {"x:0": models.numbers(4, 3, seed=80)}
        found = sess.run(fetches, feeds)
        sess.run(tf.get_collection("train_op")[0], feeds)
        show(folder, "meta", found + sess.run(fetches, feeds))
    with tf.Graph().as_default(), tf.Session() as sess:
        show(folder, "saved_model", [models.load_served(tf, sess, str(folder / "saved_model"))])


def read_checkpoints(tf: Any, folder: Path) -> None:
    """Read checkpoints of both formats, with variables in parts."""
    with np.load(str(folder / "values.npz")) as found:
        expected = {name: found[name] for name in found.files if name != "string"}
    for name in ("v1", "v2", "parts-?????-of-00001"):
        reader = tf.train.NewCheckpointReader(str(folder / name))
        values = [reader.get_tensor(key) for key in sorted(expected)]
        save(folder / name[:5], [expected[key] for key in sorted(expected)])
        show(folder, name[:5], values)


def save(path: Path, values: list) -> None:
    """Write results."""
    np.savez(str(path) + ".npz", *[np.asarray(value) for value in values])


failed: list[str] = []


def show(folder: Path, name: str, values: list) -> None:
    """Say how far results are from those that were written with a file."""
    with np.load(str(folder / (name + ".npz"))) as found:
        expected = [found[key] for key in found.files]
    largest = 0.0
    for one, other in zip(values, expected):  # noqa: B905
        one = np.asarray(one)
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            largest = np.inf
        elif one.size:
            scale = max(1.0, float(np.max(np.abs(other.astype(np.complex128)))))
            gap = np.abs(one.astype(np.complex128) - other.astype(np.complex128)) / scale
            largest = max(largest, float(np.max(np.where(one == other, 0.0, gap))))
    if not largest <= LARGEST or len(values) != len(expected):
        failed.append(name)
    print("%-24s %-12s %.1e" % (name, folder.name, largest), flush=True)


def inside(folder: Path) -> None:
    """Work in TensorFlow: read our files, and write its own."""
    import tensorflow.compat.v1 as tf

    tf.logging.set_verbosity(tf.logging.ERROR)
    read_graphs(tf, folder / "ours")
    read_files(tf, folder / "ours")
    write_files(tf, folder / "theirs")
    with tf.Graph().as_default(), tf.Session() as sess:
        found = structures.partitioned(tf, str(folder / "theirs"), sess)
        np.savez(str(folder / "theirs" / "values.npz"), **{**found, "string": found["string"].astype("S")})


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("python", help="the Python that has TensorFlow 1.15")
    parser.add_argument("--inside", metavar="FOLDER", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        inside(arguments.inside)
        sys.exit(1 if failed else 0)

    import staticgraph.compat.tf1 as tf

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("ours", "theirs"):
            (folder / part).mkdir()
        write_ours(tf, folder / "ours")
        command = [arguments.python, __file__, arguments.python, "--inside", name]
        done = subprocess.run(command, stderr=subprocess.DEVNULL)
        read_files(tf, folder / "theirs")
        read_checkpoints(tf, folder / "theirs")
    sys.exit(1 if failed or done.returncode else 0)


if __name__ == "__main__":
    main()
