"""Files whose structure is changed: seeds of each format, and how a changed message is read.

The seeds are TensorFlow's own files, and models of ONNX with graphs inside of nodes, tensors in files beside
them, sparse tensors and functions.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import DataLossError, GraphError, InvalidFileError, OpError, told
from staticgraph.formats.onnx.proto import ModelProto
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.messages import GraphDef
from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef, SavedModel
from staticgraph.formats.tf.messages.tensor_bundle import BundleEntryProto, BundleHeaderProto
from staticgraph.formats.tf.tensor_bundle.table import read_table, table_bytes
from tests.fuzz_readers.splices import spliced
from tests.fuzz_readers.watch import watched
from tests.onnx import models

TENSORFLOW = Path(__file__).parents[1] / "graph_def" / "data" / "tf"
_FAULTS = (RecursionError, NotImplementedError, MemoryError, AssertionError)  # whatever else they are


@dataclass(frozen=True, slots=True)
class Structure:
    """`read(message, folder)` writes what it needs into the folder and reads it. `seeds`: good messages."""

    read: Callable[[Any, Path], Any]
    seeds: Callable[[], list[Message]]
    errors: tuple[type[Exception], ...]
    runs: int  # of a test

    def attempt(self, message: Message, folder: Path) -> bool:
        """Return True if the reader takes the message. Any exception but its errors goes through."""
        try:
            self.read(message, folder)
        except self.errors as error:
            assert told(error) and not isinstance(error, _FAULTS), error
            return False
        return True


def _graphs(*names: str) -> list[Message]:
    return [GraphDef.FromString((TENSORFLOW / f"{name}.pb").read_bytes()) for name in names]


def _graph_def(message: Message, folder: Path) -> None:
    with sg.Graph().as_default():
        sg.import_graph_def(GraphDef.FromString(message.SerializeToString()), name="")


def _meta_graph(message: Message, folder: Path) -> None:
    (folder / "net.meta").write_bytes(message.SerializeToString())
    with sg.Graph().as_default():
        sg.train.import_meta_graph(str(folder / "net.meta"))


def _saved_model(message: Message, folder: Path) -> None:
    shutil.copytree(TENSORFLOW / "half_plus_two", folder / "saved", dirs_exist_ok=True)
    (folder / "saved" / "saved_model.pb").write_bytes(message.SerializeToString())
    with sg.Graph().as_default(), sg.Session() as session:
        sg.saved_model.loader.load(session, ["serve"], str(folder / "saved"))


class Bundle(Message):
    """The index of a checkpoint as one message: its header, and the entries of its tensors."""

    schema = """
        BundleHeaderProto header = 1
        repeated Bundle.Tensor tensor = 2
    """

    class Tensor(Message):
        """The entry of a tensor, with its name."""

        schema = """
            string name = 1
            BundleEntryProto entry = 2
        """


def _index() -> list[Message]:
    entries = read_table((TENSORFLOW / "meta" / "model-7.index").read_bytes())
    made = Bundle(header=BundleHeaderProto.FromString(entries.pop(b"")))
    for key, value in entries.items():
        made.tensor.add(name=key.decode(), entry=BundleEntryProto.FromString(value))
    return [made]


def _bundle(message: Any, folder: Path) -> None:
    entries = {each.name.encode(): each.entry.SerializeToString() for each in message.tensor}
    entries = {b"": message.header.SerializeToString(), **entries}
    (folder / "model.index").write_bytes(table_bytes(dict(sorted(entries.items()))))
    data = TENSORFLOW / "meta" / "model-7.data-00000-of-00001"
    shutil.copyfile(data, folder / "model.data-00000-of-00001")
    reader = sg.train.NewCheckpointReader(str(folder / "model"))
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


def _onnx(message: Message, folder: Path) -> None:
    (folder / "weights.bin").write_bytes(bytes(16))
    (folder / "net.onnx").write_bytes(message.SerializeToString())
    with sg.Graph().as_default():
        sg.onnx.load(folder / "net.onnx")


def _one(kind: Any, name: str) -> list[Message]:
    return [kind.FromString((TENSORFLOW / name).read_bytes())]


def _models() -> list[Message]:
    """Models with graphs inside of nodes, tensors in other forms, and functions."""
    return [_branches(), _rounds(), _scanned(), _beside(), _sparse(), _called()]


def _floats(name: str) -> Any:
    return models.info(name, "float32", [2])


def _branches() -> ModelProto:
    one = models.tensor("one", np.float32(1))
    add = models.graph([models.node("Add", "x one", "a")], [], [_floats("a")], [one])
    twice = models.graph([models.node("Mul", "x x", "b")], [], [_floats("b")])
    node = models.node("If", "c", "y", then_branch=add, else_branch=twice)
    return models.model([node], [models.info("c", "bool", []), _floats("x")], [_floats("y")])


def _rounds() -> ModelProto:
    """A loop with a branch in its body, whose results are the last ones and the rows of all."""
    same = models.graph([models.node("Identity", "state", "q")], [], [_floats("q")])
    other = models.graph([models.node("Neg", "state", "r")], [], [_floats("r")])
    nodes = [
        models.node("If", "on", "next", then_branch=same, else_branch=other),
        models.node("Identity", "next", "row"), models.node("Identity", "on", "still"),
    ]  # fmt: skip
    given = [models.info("i", "int64", []), models.info("on", "bool", []), _floats("state")]
    body = models.graph(nodes, given, [models.info("still", "bool", []), _floats("next"), _floats("row")])
    loop = models.node("Loop", "count  x", "y rows", body=body)
    return models.model([loop], [_floats("x")], [_floats("y")], [models.tensor("count", np.int64(3))])


def _scanned() -> ModelProto:
    nodes = [models.node("Add", "s r", "t"), models.node("Identity", "t", "u")]
    body = models.graph(nodes, [_floats("s"), _floats("r")], [_floats("t"), _floats("u")])
    scan = models.node("Scan", "zero rows", "y all", body=body, num_scan_inputs=1)
    rows, zero = models.info("rows", "float32", [3, 2]), models.tensor("zero", np.zeros(2, np.float32))
    return models.model([scan], [rows], [_floats("y")], [zero])


def _beside() -> ModelProto:
    """Weights in a file beside the model."""
    made = models.line()
    weights = made.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = 1
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "16")):
        weights.external_data.add(key=key, value=value)
    return made


def _sparse() -> ModelProto:
    made = models.line()
    kept = made.graph.sparse_initializer.add()
    kept.values.CopyFrom(models.tensor("w", np.float32([1, 2, 3])))
    kept.indices.CopyFrom(models.tensor("", np.int64([0, 1, 3])))
    kept.dims.extend([2, 2])
    bias = type(made.graph.initializer[1]).FromString(made.graph.initializer[1].SerializeToString())
    made.graph.ClearField("initializer")
    made.graph.initializer.extend([bias])
    return made


def _called() -> ModelProto:
    """A function of the model's own that calls another one."""
    made = models.model([models.node("Twice", "x", "y", "own")], [_floats("x")], [_floats("y")])
    made.opset_import.add(domain="own", version=1)
    for name, inner in (
        ("Twice", models.node("Once", "a", "b", "own")),
        ("Once", models.node("Relu", "a", "b")),
    ):
        function = made.functions.add(name=name, domain="own")
        function.input.extend(["a"])
        function.output.extend(["b"])
        function.node.extend([inner])
        for domain, version in (("", 21), ("own", 1)):
            function.opset_import.add(domain=domain, version=version)
    return made


_IMPORT = (DataLossError, GraphDefError)
_LOAD = (*_IMPORT, RuntimeError, GraphError, OpError)  # RuntimeError: no graph has the tags asked for

STRUCTURES = {
    "functions": Structure(
        _graph_def, partial(_graphs, "functional_branches", "functional_loops"), _IMPORT, 30
    ),
    "frames": Structure(_graph_def, partial(_graphs, "branches", "loops"), _IMPORT, 30),
    "meta_graph": Structure(_meta_graph, partial(_one, MetaGraphDef, "meta/model-7.meta"), _LOAD, 30),
    "saved_model": Structure(
        _saved_model, partial(_one, SavedModel, "half_plus_two/saved_model.pb"), _LOAD, 20
    ),
    "bundle": Structure(_bundle, _index, (InvalidFileError,), 200),
    "onnx": Structure(_onnx, _models, (InvalidFileError,), 300),
}


def search(name: str, seed: int, runs: int, folder: Path) -> int:
    """Change the structure of the seeds of a format so many times, and read what comes of it.

    Args:
        name: Of `STRUCTURES`.
        seed: Of the random choices.
        runs: How many messages are read.
        folder: Where their files are written.

    Returns:
        How many were taken.

    Raises:
        BaseException: What the reader must not raise, with the message as a note; TooSlow and TooLarge, too.
    """
    structure, chance = STRUCTURES[name], Random(f"{name}{seed}")
    seeds, taken = structure.seeds(), 0
    for _ in range(runs):
        message = spliced(chance.choice(seeds), seeds, chance)
        data = message.SerializeToString()
        try:
            with watched(len(data)):
                taken += structure.attempt(message, folder)
        except BaseException as error:
            error.add_note(f"the message: {data!r}")
            raise
    return taken
