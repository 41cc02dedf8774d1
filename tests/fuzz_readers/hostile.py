"""Well-formed files that lie: a graph around one op in each format of graphs, its message changed in places.

Numbers, names, lists and tensors inside the message are changed, and it is sealed again, so that the reader,
the type rules and the compiler get to see what the change says. `draw` gives the same file for the same
number; over numbers, ops and readers come evenly.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import GraphError, OpError
from staticgraph.compiler.graph.opdef import Effect, OpDef
from staticgraph.graph_def.nodes import GraphDefError
from staticgraph.messages import GraphDef, MetaGraphDef, SavedModel
from staticgraph.messages.message import Message
from staticgraph.onnx.errors import UnknownValueError
from staticgraph.onnx.proto import ModelProto
from staticgraph.runtime.saving import archive, container
from staticgraph.runtime.saving.allowed import refusal
from tests.audit.variants import INTEGERS, WORDS, samples
from tests.fuzz_readers.readers import _HEAD, _seal
from tests.ops.harness import TESTED, Use

FORMATS = ("sg", "graph_def", "meta_graph", "saved_model", "onnx", "checkpoint")
# What a reader, and a run, may answer. RuntimeError: a SavedModel has no graph with the tags asked for.
REFUSED = (GraphError, OpError, GraphDefError, UnknownValueError, RuntimeError)
FAULTS = (RecursionError, NotImplementedError, MemoryError, AssertionError)  # whatever else they are
_PLACES = (1, 1, 1, 2, 2, 3)  # changes of one file
_NEAR = (0, 1, 2, 3, 5, 7, 16, 31)


Run = Callable[[Random], Any]  # runs a graph, on feeds of sizes that are chosen


@dataclass(frozen=True, slots=True)
class Seed:
    """A good file: its message, and how the bytes of a changed one are made a file and loaded."""

    message: Any
    load: Callable[[Any, Path], Run]  # gives what runs the graph that was loaded


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file: of which op and format, its changed message."""

    op: str
    format: str
    message: Any
    seed: Seed

    def load(self, folder: Path) -> Run:
        """Load it. What runs the graph comes back. One of `REFUSED` if it is not taken."""
        return self.seed.load(self.message, folder)


def subjects() -> list[OpDef]:
    """The ops that a file may hold."""
    return [op for op in TESTED if refusal(op, {}) is None]


def kind(number: int) -> tuple[str, str]:
    """The op and the format of the file of this number."""
    taken = subjects()
    return taken[number % len(taken)].name, FORMATS[number // len(taken) % len(FORMATS)]


def draw(number: int) -> Hostile | None:
    """The hostile file of this number; None if the op has no form in the format."""
    name, format = kind(number)
    chance = Random(number)
    good = seed(name, format, chance.randrange(3), chance.random() < 0.3)
    if good is None:
        return None
    message = (
        copy.deepcopy(good.message)
        if isinstance(good.message, dict)
        else type(good.message).FromString(good.message.SerializeToString())
    )
    for _ in range(chance.choice(_PLACES)):
        _change(message, chance)
    return Hostile(name, format, message, good)


# Good files


@lru_cache(1 << 14)
def seed(name: str, format: str, sample: int, derived: bool) -> Seed | None:
    """A graph with placeholders for the operands of an op; with `derived` there is its gradient too."""
    op = next(op for op in TESTED if op.name == name)
    uses = samples(op)
    use = uses[sample % len(uses)]
    with sg.Graph().as_default() as graph, sg.Session() as session:
        try:
            made, feeds = _built(use, format, derived)
            session.run(sg.global_variables_initializer())
            return _WRITERS[format](graph, session, made, feeds)
        except (GraphError, OpError, NotImplementedError, TypeError, ValueError, KeyError):
            return None  # the op has no such form


def _built(use: Use, format: str, derived: bool) -> tuple[list[Any], dict[str, np.ndarray]]:
    inputs: list[Any] = []
    feeds = {}
    for n, (array, dtype) in enumerate(use.seen):
        if n == 0 and (use.op.effect is Effect.WRITE or format == "checkpoint"):
            inputs.append(sg.Variable(array, dtype=dtype, name="v"))
            continue
        shape = array.shape if n % 2 else [None] * array.ndim
        inputs.append(sg.placeholder(dtype, shape, name=f"x{n}"))
        feeds[f"x{n}"] = array
    made = [t for t in use.call(inputs) if isinstance(t, sg.Tensor)]
    if derived:
        floating = [t for t in made if t.dtype.is_floating]
        reached = [x for x in inputs if x.dtype.base_dtype.is_floating]
        made += [g for g in sg.gradients(floating, reached) if isinstance(g, sg.Tensor)] if reached else []
    return [sg.identity(t, name=f"y{n}") for n, t in enumerate(made)], feeds


def _resized(array: np.ndarray, shape: list[int | None] | None, chance: Random) -> np.ndarray:
    """Numbers of a sample in the shape that a file asks for, as far as that is small. What it leaves open is
    mostly as in the sample.
    """
    known = array.shape if shape is None or len(shape) == array.ndim else (2,) * len(shape)
    free = tuple(chance.choice(_NEAR) if chance.random() < 0.2 else n for n in known)
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
            known = feeds.get(op.name.rpartition("/")[2], np.ones((), np.float32))
            if tensor.dtype is not sg.string:
                asked = None if tensor.shape.ndims is None else tensor.shape.as_list()
                array = _resized(known, asked, chance)
                given[tensor] = guard[0](array.astype(tensor.dtype.as_numpy_dtype))
        wanted = [t for op in graph.get_operations()[-8:] if op.type != "NoOp" for t in op.outputs]
        with session or sg.Session(graph=graph, memory_limit=MEMORY) as running:
            return running.run([t for t in wanted if t.op.region is None], given, timeout=2.0)

    return run


def _write_sg(graph: sg.Graph, session: sg.Session, made: list[Any], feeds: dict[str, np.ndarray]) -> Seed:
    path = _scratch() / "seed.sg"
    sg.save(path, {f"y{n}": t for n, t in enumerate(made)}, session=session)
    parts = archive.unpack(memoryview(path.read_bytes()))
    manifest = container.parse(parts.pop("manifest.json"), "it")
    body = {key: value for key, value in manifest.items() if key not in _HEAD}
    members = {name: bytes(part) for name, part in parts.items()}
    text = json.loads(members.pop("graph.json"))
    for record in text["operations"]:
        if record["op"] not in ("placeholder", "constant", "variable"):
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
        from staticgraph.train.tensor_bundle import write_bundle

        changed = {}
        for name, value in values.items():
            shape = list(value.shape) or [1]
            shape[chance.randrange(len(shape))] = chance.choice(_NEAR)
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
    "sg": _write_sg, "graph_def": _write_graph_def, "meta_graph": _write_meta,
    "saved_model": _write_saved, "onnx": _write_onnx, "checkpoint": _write_checkpoint,
}  # fmt: skip


@lru_cache(1)
def _scratch() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


# Changes


@dataclass(frozen=True, slots=True)
class _Place:
    """A value inside a message, and how another one is put there."""

    value: Any
    put: Callable[[Any], None]
    name: str = ""


def _change(message: Any, chance: Random) -> None:
    """Change the message in one place: numbers and lists more often than words."""
    places = list(_places(message))
    weights = [_weight(p) for p in places]
    if not places:
        return
    place = chance.choices(places, weights)[0]
    try:
        place.put(_other(place.value, chance))
    except (TypeError, ValueError, OverflowError):  # a message that could not be written
        return


def _weight(place: _Place) -> int:
    match place.value:
        case bool():
            return 3
        case int() | float():
            return 6
        case bytes():
            return 8
        case str():
            return 1
    return 2


def _places(value: Any, put: Callable[[Any], None] | None = None) -> Iterator[_Place]:
    """Every value in a message or in JSON."""
    if isinstance(value, Message):
        for field, inner in value.ListFields():
            if isinstance(inner, Message):
                yield from _places(inner)
            elif isinstance(inner, dict):
                for key in list(inner):
                    if isinstance(inner[key], Message):
                        yield from _places(inner[key])
            elif field.repeated:
                yield _Place(list(inner), _fill(value, field.name))
                for n, item in enumerate(inner):
                    if isinstance(item, Message):
                        yield from _places(item)
                    else:
                        yield _Place(item, _set_item(inner, n))
            else:
                yield _Place(inner, _set_field(value, field.name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in ("where", "device", "name", "trainable", "collections"):
                continue
            yield from _places(inner, _set_item(value, key))
    elif isinstance(value, list):
        if put is not None:
            yield _Place(value, put)
        for n, inner in enumerate(value):
            yield from _places(inner, _set_item(value, n))
    elif put is not None:
        yield _Place(value, put)


def _set_item(owner: Any, key: Any) -> Callable[[Any], None]:
    return lambda value: owner.__setitem__(key, value)


def _set_field(owner: Message, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(owner, name, value)


def _fill(owner: Message, name: str) -> Callable[[Any], None]:
    def put(items: list[Any]) -> None:
        held = getattr(owner, name)
        copies = [type(i).FromString(i.SerializeToString()) if isinstance(i, Message) else i for i in items]
        owner.ClearField(name)
        getattr(owner, name).extend(copies)
        del held

    return put


def _other(value: Any, chance: Random) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return chance.choice([value + 1, value - 1, 2 * value, *_NEAR, *_NEAR, chance.choice(INTEGERS)])
        case float():
            return chance.choice([0.0, -1.0, 2 * value, float("nan"), float("inf"), 1e30])
        case bytes():
            return _other_bytes(value, chance)
        case str():
            if _is_base64(value) and chance.random() < 0.8:
                return base64.b64encode(_other_bytes(base64.b64decode(value), chance)).decode()
            return chance.choice([*WORDS, "x0:0", "x1:0", "x0", "x1", "int32", "float32", "int64", value])
        case list():
            items = list(value)
            match chance.randrange(5):
                case 0 if items:
                    del items[chance.randrange(len(items))]
                case 1 if items:
                    items.insert(chance.randrange(len(items) + 1), chance.choice(items))
                case 2:
                    chance.shuffle(items)
                case 3 if items:
                    items[chance.randrange(len(items))] = chance.choice(items)
                case _ if items and all(type(i) is int for i in items):
                    items.append(chance.choice(_NEAR))
            return items
    return chance.choice([None, 0, 1, -1, [], "x"])


def _is_base64(text: str) -> bool:
    if len(text) < 4 or len(text) % 4:
        return False
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _other_bytes(data: bytes, chance: Random) -> bytes:
    """The content of a tensor with another number in it, or words."""
    if len(data) >= 4 and chance.random() < 0.9:
        width = chance.choice([w for w in (4, 8) if len(data) % w == 0] or [4])
        place = chance.randrange(len(data) // width) * width
        number = chance.choice([*_NEAR, *_NEAR, -1, -2, chance.choice(INTEGERS)])
        word = (number % (1 << 8 * width)).to_bytes(width, "little")
        return data[:place] + word + data[place + width :]
    return chance.choice([b"", data[:-1], data * 2, *(w.encode() for w in WORDS)])
