"""Good files of every format: a graph around one op, its message, and how a changed one is loaded and run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import GraphError, OpError
from staticgraph.formats.onnx.proto import ModelProto
from staticgraph.formats.tf.messages import GraphDef, MetaGraphDef, SavedModel
from staticgraph.runtime.files import container
from tests.fuzz_readers.changes import NEAR
from tests.fuzz_readers.graphs import built
from tests.fuzz_readers.readers import _HEAD, _seal

MEMORY = 1 << 29  # bytes that a run may take

Run = Callable[[Random], Any]  # runs a graph, on feeds of sizes that are chosen


@dataclass(frozen=True, slots=True)
class Seed:
    """A good file: its message, and how the bytes of a changed one are made a file and loaded."""

    message: Any
    load: Callable[[Any, Path], Run]  # gives what runs the graph that was loaded


@lru_cache(1 << 14)
def seed(name: str, format: str, sample: int, derived: bool) -> Seed | None:
    """A file of a graph around an op; with its gradient if `derived`. None if there is no such form."""
    with sg.Graph().as_default() as graph, sg.Session() as session:
        try:
            made, feeds = built(name, sample, format == "checkpoint", derived)
            session.run(sg.global_variables_initializer())
            return _WRITERS[format](graph, session, made, feeds)
        except (GraphError, OpError, NotImplementedError, TypeError, ValueError, KeyError):
            return None


def _resized(array: np.ndarray, shape: list[int | None] | None, chance: Random) -> np.ndarray:
    """Numbers of a sample in the shape that a file asks for, as far as that is small. What it leaves open is
    mostly as in the sample.
    """
    known = array.shape if shape is None or len(shape) == array.ndim else (2,) * len(shape)
    free = tuple(chance.choice(NEAR) if chance.random() < 0.2 else n for n in known)
    wanted = free if shape is None else tuple(n if m is None else m for n, m in zip(free, shape, strict=True))
    if np.prod(wanted, dtype=np.float64) > 1 << 20:
        raise sg.errors.ResourceExhaustedError(None, None, "a feed would be too large")
    return np.resize(array, wanted) if array.size else np.ones(wanted, array.dtype)


guard: list[Callable[[np.ndarray], np.ndarray]] = [np.array]  # what becomes of arrays that are fed
MEMORY = 1 << 29  # bytes that a run may take


def _run_in(graph: sg.Graph, feeds: dict[str, np.ndarray], session: sg.Session | None = None) -> Run:
    def run(chance: Random) -> Any:
        placeholders = [op for op in graph.get_operations() if op.type.startswith("Placeholder")]
        given = {}
        for op in placeholders:
            [tensor] = op.outputs
            if op.type == "PlaceholderWithDefault" and chance.random() > 0.5:
                continue
            texts = tensor.dtype is sg.string
            known = feeds.get(
                op.name.rpartition("/")[2], np.array(b"x") if texts else np.ones((), np.float32)
            )
            asked = None if tensor.shape.ndims is None else tensor.shape.as_list()
            array = _resized(known, asked, chance)
            if texts:
                given[tensor] = array.astype(bytes).astype(object)
            elif array.dtype.kind != "S":
                given[tensor] = guard[0](array.astype(tensor.dtype.as_numpy_dtype))
        wanted = [t for op in graph.get_operations()[-8:] if op.type != "NoOp" for t in op.outputs]
        with session or sg.Session(graph=graph, memory_limit=MEMORY) as running:
            return running.run([t for t in wanted if t.op.region is None], given, timeout=2.0)

    return run


def _write_sg(graph: sg.Graph, session: sg.Session, made: list[Any], feeds: dict[str, np.ndarray]) -> Seed:
    path = _scratch() / "seed.sg"
    sg.save(path, {f"y{n}": t for n, t in enumerate(made)}, session=session)
    parts = container.unpack(memoryview(path.read_bytes()))
    manifest = container.parse(parts.pop("manifest.json"), "it")
    body = {key: value for key, value in manifest.items() if key not in _HEAD}
    members = {name: bytes(part) for name, part in parts.items()}
    text = json.loads(members.pop("graph.json"))
    for record in text["operations"]:
        if record["op"] not in ("placeholder", "placeholder_with_default", "constant", "variable"):
            record["outputs"] = [[dtype, None] for dtype, _ in record["outputs"]]
    for port in body["signatures"][next(iter(body["signatures"]))]["outputs"].values():
        port["shape"] = None

    def load(message: Any, folder: Path) -> Run:
        changed = json.dumps(message, separators=(",", ":")).encode()
        _seal(
            folder / "net.sg",
            "graph",
            body,
            {"graph.json": [changed], **{k: [v] for k, v in members.items()}},
        )
        net = sg.load(folder / "net.sg")
        return _run_in(net.graph, feeds, net.session)

    return Seed(text, load)


def _write_graph_def(
    graph: sg.Graph, session: sg.Session, made: list[Any], feeds: dict[str, np.ndarray]
) -> Seed:
    def load(message: GraphDef, folder: Path) -> Run:
        given = GraphDef.FromString(message.SerializeToString())
        with sg.Graph().as_default() as read:
            sg.import_graph_def(given, name="")
        return _run_in(read, feeds)

    return Seed(graph.as_graph_def(), load)


def _write_meta(graph: sg.Graph, session: sg.Session, made: list[Any], feeds: dict[str, np.ndarray]) -> Seed:
    def load(message: MetaGraphDef, folder: Path) -> Run:
        (folder / "net.meta").write_bytes(message.SerializeToString())
        with sg.Graph().as_default() as read:
            sg.train.import_meta_graph(str(folder / "net.meta"))
        return _run_in(read, feeds)

    return Seed(sg.train.export_meta_graph(), load)


def _write_saved(graph: sg.Graph, session: sg.Session, made: list[Any], feeds: dict[str, np.ndarray]) -> Seed:
    folder = _scratch() / f"saved{len(list(_scratch().iterdir()))}"
    ports = [graph.get_tensor_by_name(f"{name}:0") for name in feeds]
    sg.saved_model.simple_save(
        session, str(folder), {t.op.name: t for t in ports}, {t.op.name: t for t in made}
    )

    def load(message: SavedModel, folder: Path) -> Run:
        (folder / "saved_model.pb").write_bytes(message.SerializeToString())
        with sg.Graph().as_default() as read:
            running = sg.Session(graph=read, memory_limit=MEMORY)
            sg.saved_model.loader.load(running, ["serve"], str(folder))
        return _run_in(read, feeds, running)

    return Seed(SavedModel.FromString((folder / "saved_model.pb").read_bytes()), load)


def _write_onnx(graph: sg.Graph, session: sg.Session, made: list[Any], feeds: dict[str, np.ndarray]) -> Seed:
    def load(message: ModelProto, folder: Path) -> Run:
        (folder / "net.onnx").write_bytes(message.SerializeToString())
        net = sg.onnx.load(folder / "net.onnx")
        return _run_in(net.graph, feeds)

    return Seed(sg.onnx.export({f"y{n}": t for n, t in enumerate(made)}, session=session), load)


def _write_checkpoint(
    graph: sg.Graph, session: sg.Session, made: list[Any], feeds: dict[str, np.ndarray]
) -> Seed:
    """The values of the graph's variables, of other shapes and dtypes than it has."""
    values = {v.op.name: np.asarray(session.run(v)) for v in sg.global_variables()}

    def load(message: MetaGraphDef, folder: Path) -> Run:
        chance = Random(message.SerializeToString())
        from staticgraph.formats.tf.tensor_bundle import write_bundle

        changed = {}
        for name, value in values.items():
            shape = list(value.shape) or [1]
            shape[chance.randrange(len(shape))] = chance.choice(NEAR)
            array = np.resize(value, shape) if value.size else np.ones(shape, value.dtype)
            changed[name] = (sg.as_dtype(value.dtype), array)
        write_bundle(str(folder / "model"), changed)
        with sg.Graph().as_default() as read:
            sg.train.import_meta_graph(MetaGraphDef.FromString(message.SerializeToString()))
            running = sg.Session(graph=read, memory_limit=MEMORY)
            try:
                saver = sg.train.Saver() if sg.global_variables() else None
            except ValueError as error:  # two variables of one name
                raise GraphError(str(error)) from None
            if saver is not None:
                saver.restore(running, str(folder / "model"))
        return _run_in(read, feeds, running)

    return Seed(sg.train.export_meta_graph(), load)


_WRITERS = {
    "sg": _write_sg,
    "graph_def": _write_graph_def,
    "meta_graph": _write_meta,
    "saved_model": _write_saved,
    "onnx": _write_onnx,
    "checkpoint": _write_checkpoint,
}


@lru_cache(1)
def _scratch() -> Path:
    return Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
