"""Writes files of the present format into tests/saved, with what their functions give. They must always load.

    python -m tools.record.saved

A file that is there already was written by a version that is out, and is left as it is. A new kind of thing
in files is a new case here, a new format a new folder. `custom_gradient` is of a version whose operations for
custom gradients were others.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import DTYPES
from staticgraph.runtime.files.container import FORMAT
from tools.record import TESTS

FOLDER = TESTS / "saved" / f"format{FORMAT}"
Calls = list[tuple[str, dict[str, Any]]]  # signature and inputs, in order


def training(path: Path) -> Calls:
    """A small convolutional net with Adam, dropout and a step counter, after two steps."""
    images = sg.placeholder(sg.float32, [None, 4, 4, 1], name="images")
    labels = sg.placeholder(sg.int64, [None], name="labels")
    net = sg.layers.conv2d(images, 2, 3, padding="same", activation=sg.nn.relu, name="conv")
    net = sg.nn.dropout(sg.layers.flatten(sg.layers.max_pooling2d(net, 2, 2)), rate=0.25, seed=3)
    scores = sg.layers.dense(sg.layers.batch_normalization(net), 3, name="scores")
    loss = sg.losses.sparse_softmax_cross_entropy(labels, scores)
    step = sg.train.get_or_create_global_step()
    train = sg.train.AdamOptimizer(0.05).minimize(loss, global_step=step)
    rng = np.random.default_rng(0)
    batch = {"images": rng.normal(size=(2, 4, 4, 1)).round(2).tolist(), "labels": [0, 2]}
    functions = {
        "predict": sg.Signature({"probabilities": sg.nn.softmax(scores)}),
        "train": sg.Signature({"loss": loss, "step": step}, step=train),
        "init": sg.Signature(step=sg.global_variables_initializer()),
    }
    sg.set_random_seed(1)
    with sg.Session() as session:
        session.run(functions["init"].step)
        for _ in range(2):
            session.run(train, {f"{name}:0": value for name, value in batch.items()})
        sg.save(path, signatures=functions, resume=True)
    return [("train", batch), ("predict", {"images": batch["images"]}), ("train", batch)]


def dtypes(path: Path) -> Calls:
    """A variable and a constant of every dtype of numbers, read as they are."""
    outputs = {}
    for dtype in (d for d in DTYPES.values() if d is not sg.string):
        values = [[True, False]] if dtype.is_bool else [[1, 2, 3]]
        variable = sg.Variable(sg.cast(values, dtype), name=dtype.name)
        outputs[dtype.name] = sg.cast(variable, sg.float64 if not dtype.is_complex else sg.complex128)
        if dtype.is_complex:
            outputs[dtype.name] = sg.abs(outputs[dtype.name])
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        sg.save(path, outputs)
    return [("predict", {})]


def control_flow(path: Path) -> Calls:
    """A loop in a branch, an array, and a derivative through a loop."""
    x = sg.placeholder(sg.float32, [None], name="x")

    def powers(y: sg.Tensor) -> sg.Tensor:
        return sg.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * y), [0, y])[1]

    branch = sg.cond(sg.reduce_sum(x) > 0, lambda: powers(x), lambda: -x)
    outputs = {"branch": branch, "slope": sg.gradients(powers(x), x)[0]}
    outputs |= {"squares": sg.map_fn(lambda e: e * e, x), "sums": sg.scan(lambda a, e: a + e, x)}
    sg.save(path, outputs)
    return [("predict", {"x": [1.0, 2.0]}), ("predict", {"x": [-1.0, -3.0, 0.5]})]


def strings(path: Path) -> Calls:
    """Strings in, out and in a variable, and results whose size the data decide."""
    words = sg.placeholder(sg.string, [None], name="words")
    long = sg.equal(sg.strings.substr(words, 0, 1), "t")
    kept = sg.Variable(["kept", "zwölf"], name="kept")
    outputs = {"upper": sg.strings.upper(words), "where": sg.where(long), "unique": sg.unique(words)[0]}
    with sg.Session() as session:
        session.run(kept.initializer)
        sg.save(path, {**outputs, "kept": kept})
    return [("predict", {"words": ["one", "two", "one", "three"]})]


def constants(path: Path) -> Calls:
    """A frozen net, whose weights are large constants."""
    x = sg.placeholder(sg.float32, [None, 8], name="x")
    weights = np.random.default_rng(1).normal(size=(8, 40)).astype(np.float32)
    sg.save(path, sg.reduce_sum(sg.tanh(sg.matmul(x, sg.constant(weights))), axis=1))
    return [("predict", {"x": [[0.5] * 8, [-1.0] * 8]})]


def kernels(path: Path) -> Calls:
    """Machine code for two processors."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    targets = ["x86_64-linux-gnu:x86-64-v3", "aarch64-linux-gnu"]
    sg.save(path, [sg.nn.softmax(x), sg.argmax(x, axis=1)], kernels=targets, shapes={"x": [2, 3]})
    return [("predict", {"x": [[1, 2, 3], [3, 2, 1]]})]


CASES: list[Callable[[Path], Calls]] = [training, dtypes, control_flow, strings, constants, kernels]


def plain(value: Any) -> Any:
    """Return the result of a function as JSON; texts for strings."""
    match value:
        case dict():
            return {name: plain(inner) for name, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case None:
            return None
    return _text(np.asarray(value).tolist())


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(inner) for inner in value]
    return value.decode() if isinstance(value, bytes) else value


def main() -> None:
    """Write the files that are missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        path = FOLDER / f"{case.__name__}.sg"
        if path.exists():
            print(f"{path.name} is there already")
            continue
        sg.reset_default_graph()
        calls = case(path)
        net = sg.load(path)
        told = [
            {"signature": name, "inputs": inputs, "outputs": plain(net.signatures[name](inputs))}
            for name, inputs in calls
        ]
        path.with_suffix(".json").write_text(f"{json.dumps(told, indent=1)}\n")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
