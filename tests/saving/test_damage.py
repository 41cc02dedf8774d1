"""Files that are cut short, edited, or made to do harm give one error, or are what they were."""

import json
import random
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import InvalidFileError, NotFoundError
from staticgraph.compiler.graph.graph import Graph, get_default_graph
from staticgraph.runtime.files import container
from staticgraph.runtime.files.loaded import load
from staticgraph.saved.saving import save
from tests.saving.nets import line


@pytest.fixture
def intact(tmp_path) -> Path:
    return line(tmp_path / "net.sg")


def refused(path: Path, match: str | None = None) -> str:
    """The message, which must be one of ours that names the file."""
    with pytest.raises(InvalidFileError, match=match) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path} is not a usable graph file: ")
    return str(caught.value)


@pytest.mark.takes_long
def test_every_truncation_is_noticed(intact):
    data = line(intact, outputs={"y": "y:0"}, step=None).read_bytes()
    for length in range(len(data)):
        intact.write_bytes(data[:length])
        refused(intact)


def test_what_comes_after_the_end_is_noticed(intact):
    intact.write_bytes(intact.read_bytes() + b"\0")
    refused(intact, "cut short, or changed at its end")


def test_every_changed_bit_is_noticed(intact):
    """The checksums see any change of the contents, the comparison of headers any other."""
    data = bytearray(intact.read_bytes())
    chance = random.Random(1)
    for _ in range(500):
        position, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        data[position] ^= bit
        intact.write_bytes(data)
        refused(intact)
        data[position] ^= bit
    intact.write_bytes(data)
    load(intact)


def test_every_byte_of_the_headers_is_looked_at(intact):
    data = bytearray(intact.read_bytes())
    members = container.unpack(memoryview(bytes(data)))
    inside = {
        i
        for view in members.values()
        for start in [bytes(data).index(bytes(view))]
        for i in range(start, start + len(view))
    }
    for position in set(range(len(data))) - inside:
        data[position] ^= 0xFF
        intact.write_bytes(data)
        refused(intact)
        data[position] ^= 0xFF


# Files that are whole, but were not written by us


def forge(path: Path, change, member: str = "graph.json") -> Path:
    """Rewrite one JSON member with new checksums, as someone who knows the format could."""
    parts = {n: bytes(v) for n, v in container.unpack(memoryview(path.read_bytes())).items()}
    manifest = json.loads(parts.pop("manifest.json"))
    if member == "manifest.json":
        change(manifest)
    elif member == "graph.json":
        graph = json.loads(parts[member])
        change(graph)
        parts[member] = json.dumps(graph).encode()
    else:
        parts[member] = change(parts[member])
    body = {k: v for k, v in manifest.items() if k in ("signatures", "counters")}
    container.write(path, manifest["kind"], body, {n: [p] for n, p in parts.items()})
    return path


def named(graph: dict, name: str) -> dict:
    return next(o for o in graph["operations"] if o["name"] == name)


def first(graph: dict, op: str) -> dict:
    """The first operation of a kind; the first placeholder is x."""
    return next(o for o in graph["operations"] if o["op"] == op)


def source(graph: dict, op: str, dtype: str, shape: list) -> None:
    """Make the first placeholder or variable another one."""
    first(graph, op).update(outputs=[[dtype, shape]], attrs={"dtype": {"dtype": dtype}, "shape": shape})


def value(graph: dict, value: dict) -> None:
    """Change the first constant."""
    first(graph, "constant")["attrs"]["value"] = value


# What is wrong -> how the graph is changed, and a part of the message.
GRAPHS = {
    "unknown op": (
        lambda g: first(g, "placeholder").update(op="os.system"),
        "which this version does not know",
    ),
    "op of the compiler": (
        lambda g: first(g, "placeholder").update(op="parameter"),
        "parameter is an op of the compiler's",
    ),
    "a cycle": (lambda g: named(g, "mul").update(inputs=["y:0", "x:0"]), "no operation 'y' before"),
    "itself as input": (lambda g: named(g, "mul").update(inputs=["mul:0", "x:0"]), "no operation 'mul'"),
    "no such output": (lambda g: named(g, "mul").update(inputs=["x:1", "x:0"]), "no tensor 'x:1'"),
    "output -1": (lambda g: named(g, "mul").update(inputs=["x:-1", "x:0"]), "no tensor 'x:-1'"),
    "too many inputs": (
        lambda g: named(g, "mul").update(inputs=["x:0"] * 3),
        "has 3 inputs, and multiply takes 2",
    ),
    "too few inputs": (lambda g: named(g, "mul").update(inputs=["x:0"]), "has 1 inputs"),
    "shapes that do not fit": (
        lambda g: source(g, "placeholder", "float32", [4, 3]),
        "do not broadcast",
    ),
    "another output type": (lambda g: named(g, "mul").update(outputs=[["float64", [2]]]), "gives float32"),
    "another output shape": (
        lambda g: named(g, "mul").update(outputs=[["float32", [7]]]),
        r"not float32\[7\]",
    ),
    "no outputs": (lambda g: named(g, "mul").update(outputs=[]), "not nothing"),
    "mixed dtypes": (
        lambda g: source(g, "placeholder", "int32", []),
        "cannot be",
    ),
    "attribute missing": (lambda g: first(g, "placeholder")["attrs"].pop("dtype"), "has no dtype"),
    "attribute unknown": (
        lambda g: named(g, "mul").update(attrs={"__class__": 1}),
        "'__class__' that multiply has not",
    ),
    "attribute of another kind": (
        lambda g: first(g, "placeholder")["attrs"].update(dtype=[1]),
        "the attributes of 'x'|not possible|gives",
    ),
    "attribute of no kind": (
        lambda g: first(g, "placeholder")["attrs"].update(shape={"pickle": "gASV"}),
        "of no known form",
    ),
    "unknown dtype": (
        lambda g: first(g, "placeholder")["attrs"].update(dtype={"dtype": "object"}),
        "unknown dtype: 'object'",
    ),
    "negative size": (lambda g: first(g, "placeholder").update(outputs=[["float32", [-1]]]), "impossible"),
    "huge sizes": (
        lambda g: first(g, "placeholder").update(outputs=[["float32", [2**40, 2**40]]]),
        "impossible",
    ),
    "high rank": (lambda g: first(g, "placeholder").update(outputs=[["float32", [1] * 33]]), "impossible"),
    "a bool for a size": (
        lambda g: first(g, "placeholder").update(outputs=[["float32", [True]]]),
        "must be int",
    ),
    "deep nesting": (
        lambda g: first(g, "placeholder")["attrs"].update(shape=json.loads("[" * 50 + "]" * 50)),
        "too deeply",
    ),
    "a huge integer": (lambda g: first(g, "placeholder")["attrs"].update(shape=[10**40]), "too large"),
    "a name twice": (lambda g: g["operations"].insert(1, g["operations"][0]), "two operations with the name"),
    "a line break in a name": (
        lambda g: first(g, "placeholder").update(name="x\ny"),
        "not a name for an operation",
    ),
    "a colon in a name": (
        lambda g: first(g, "placeholder").update(name="x:0"),
        "not a name for an operation",
    ),
    "an unknown field": (
        lambda g: first(g, "placeholder").update(code="print()"),
        "'code', which this version does not know",
    ),
    "a field of another kind": (
        lambda g: first(g, "placeholder").update(inputs="x:0"),
        "must be list, not str",
    ),
    "operations as an object": (lambda g: g.update(operations={}), "must be list, not dict"),
    "an operation as a number": (lambda g: g["operations"].insert(0, 7), "must be dict, not int"),
    "a place that is none": (
        lambda g: first(g, "placeholder").update(where=["/etc/passwd"]),
        "not a file, a line and a function",
    ),
    "escape codes in a place": (
        lambda g: first(g, "placeholder").update(where=["\x1b[2J", 1, "f"]),
        "cannot be shown",
    ),
    "a control input that is none": (
        lambda g: named(g, "mul").update(after=["nothing"]),
        "no operation 'nothing'",
    ),
    "a write to what is no variable": (
        lambda g: g["operations"][-1]["inputs"].__setitem__(0, g["operations"][-1]["inputs"][1]),
        "needs a variable",
    ),
    "a read of what is no variable": (
        lambda g: named(g, "w/read").update(inputs=["x:0"], outputs=[["float32", [None, 2]]]),
        "needs a variable",
    ),
    "no variables": (lambda g: g.update(variables=[]), "are not the same"),
    "a variable that is none": (lambda g: g["variables"][0].update(name="x"), "are not the same"),
    "a variable of another dtype": (
        lambda g: source(g, "variable", "int32", [2]),
        "cannot be|gives|the value of 'w'",
    ),
    "gradients of more than there is": (
        lambda g: first(g, "seed").update(op="symbolic_gradients", attrs={"ys": 1, "seeds": 1, "xs": 9}),
        "not possible",
    ),
    "two values": (
        lambda g: g["variables"][0].update(text={"array": ["string", [], "AAAAAAAAAAA="]}),
        "has two values",
    ),
    "strings that are none": (
        lambda g: g["variables"].append({**g["variables"][0], "name": "v", "text": {"float": "nan"}}),
        "the text of 'v' is of no known form",
    ),
    "a value that is said to be missing": (
        lambda g: g["variables"][0].update(empty=True),
        "are not the same",
    ),
    "an array of another size": (
        lambda g: value(g, {"array": ["float32", [1000], ""]}),
        "whose size is not that of its type",
    ),
    "an array that is no base64": (
        lambda g: value(g, {"array": ["float32", [], "%%"]}),
        "not base64",
    ),
    "weights that are not there": (
        lambda g: value(g, {"weights": "../w"}),
        "has no '../w'",
    ),
}


@pytest.mark.parametrize("change, match", GRAPHS.values(), ids=GRAPHS)
def test_a_forged_graph_is_refused(intact, change, match):
    refused(forge(intact, change), match)


MANIFESTS = {
    "an input that is none": (
        lambda m: m["signatures"]["predict"]["inputs"]["x"].update(tensor="nothing:0"),
        "no operation 'nothing'",
    ),
    "an input of another type": (
        lambda m: m["signatures"]["predict"]["inputs"]["x"].update(shape=[7]),
        "of another type than x:0",
    ),
    "another structure": (
        lambda m: m["signatures"]["predict"].update(structure="one"),
        "not how the 2 outputs",
    ),
    "a step that is none": (
        lambda m: m["signatures"]["train"].update(step="nothing"),
        "no operation 'nothing'",
    ),
    "a counter of what is not random": (lambda m: m["counters"].update(mul=1), "cannot have the counter 1"),
    "counters that are none": (lambda m: m.update(counters=[]), "must be dict, not list"),
    "no signatures": (lambda m: m.pop("signatures"), "has no 'signatures'"),
    "signatures that are none": (lambda m: m["signatures"].clear(), "it has no signatures"),
    "a signature without a name": (
        lambda m: m["signatures"].update({"\n": m["signatures"]["predict"]}),
        "not a name",
    ),
    "nothing to do": (
        lambda m: m["signatures"]["predict"].update(outputs={}, structure="none"),
        "not how the 0 outputs",
    ),
}


@pytest.mark.parametrize("change, match", MANIFESTS.values(), ids=MANIFESTS)
def test_a_forged_manifest_is_refused(intact, change, match):
    refused(forge(intact, change, "manifest.json"), match)


VALUES = [
    None,
    True,
    0,
    -1,
    2**63 - 1,
    0.5,
    "",
    "x:0",
    [],
    [None],
    [[1]],
    {},
    {"dtype": "int32"},
    {"float": "nan"},
]


def places(value, path=()):
    """The paths to everything inside a JSON value."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*path, key))


@pytest.mark.takes_long
def test_any_value_in_any_place_is_refused_or_fits(intact):
    """One part of the graph's JSON after the other is exchanged, with checksums that are right."""
    parts = {n: bytes(v) for n, v in container.unpack(memoryview(intact.read_bytes())).items()}
    manifest = json.loads(parts["manifest.json"])
    body = {k: manifest[k] for k in ("signatures", "counters")}
    chance, outcomes = random.Random(3), set()
    for place in places(json.loads(parts["graph.json"])):
        graph = json.loads(parts["graph.json"])
        owner = graph
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = chance.choice(VALUES)
        members = {
            "graph.json": json.dumps(graph).encode(),
            "weights.safetensors": parts["weights.safetensors"],
        }
        container.write(intact, "graph", body, {n: [p] for n, p in members.items()})
        try:
            load(intact)
        except InvalidFileError:
            outcomes.add("refused")
        else:
            outcomes.add("loaded")
    assert outcomes == {"refused", "loaded"}


def packed(path: Path, members: dict[str, bytes]) -> Path:
    path.write_bytes(b"".join(container.pack({n: [p] for n, p in members.items()})))
    return path


def test_other_members_are_refused(intact):
    members = {n: bytes(v) for n, v in container.unpack(memoryview(intact.read_bytes())).items()}
    manifest = members.pop("manifest.json")
    assert "no manifest" in refused(packed(intact, members))
    assert "members" in refused(packed(intact, {"manifest.json": manifest, **members, "../../evil": b"x"}))
    assert "members" in refused(
        packed(intact, {"manifest.json": manifest, "graph.json": members["graph.json"]})
    )
    swapped = {**members, "graph.json": members["graph.json"] + b" "}
    assert "checksum of graph.json" in refused(packed(intact, {"manifest.json": manifest, **swapped}))
    assert "kind None" in refused(packed(intact, {"manifest.json": b"{}"}))
    assert "not valid JSON" in refused(packed(intact, {"manifest.json": b"\xff"}))


@pytest.mark.parametrize("name", ["kernels/../../evil", "kernels/", "kernels/a/b", "kernels/\n", "other/x"])
def test_further_members_have_plain_names(intact, name):
    members = {n: bytes(v) for n, v in container.unpack(memoryview(intact.read_bytes())).items()}
    manifest = json.loads(members.pop("manifest.json"))
    body = {key: manifest[key] for key in ("signatures", "counters")}
    container.write(intact, "graph", body, {n: [data] for n, data in [*members.items(), (name, b"x")]})
    refused(intact, "its members are not")
    container.write(intact, "graph", body, {n: [data] for n, data in [*members.items(), ("kernels/a", b"x")]})
    assert load(intact).trains


def test_overlapping_members_and_false_sizes_are_refused(intact):
    """In the directory every size and place can be claimed; the headers follow from them, and differ."""
    data = bytearray(intact.read_bytes())
    start = data.index(b"PK\x01\x02")
    places = [i for i in range(start, len(data) - 4) if data[i : i + 4] == struct.pack("<HH", 1, 24)]
    assert len(places) == 3
    for place in places:
        for number in (0, 1, 2**31, 2**63, 2**64 - 1):
            for offset in (4, 12, 20):
                forged = bytearray(data)
                old = struct.unpack_from("<Q", data, place + offset)[0]
                struct.pack_into("<Q", forged, place + offset, number)
                if number != old:
                    intact.write_bytes(forged)
                    refused(intact)


def test_a_file_of_a_later_format_says_who_wrote_it(intact, monkeypatch):
    monkeypatch.setattr(container, "FORMAT", 2)
    line(intact)
    monkeypatch.undo()
    assert "its format is 2, written by 'staticgraph" in refused(intact)


def test_files_of_other_kinds(tmp_path):
    path = tmp_path / "net.sg"
    for content, match in (
        (b"", "it is empty"),
        (b"\x89PNG\r\n", "another kind"),
        (b"PK\x03\x04" * 99, "cut short"),
    ):
        path.write_bytes(content)
        refused(path, match)
    refused(tmp_path, "a folder")
    refused(Path("/dev/null"), "a device")


def test_a_missing_file_is_not_found(intact):
    with pytest.raises(NotFoundError, match=r"there is no file .*nett.sg[^$]*has net.sg"):
        load(intact.with_name("nett.sg"))
    with pytest.raises(NotFoundError, match=r"the folder .*nowhere does not exist either"):
        load(intact.parent / "nowhere" / "net.sg")


def test_nothing_changes_where_loading_fails(intact):
    x = sg.constant(1.0)
    before = get_default_graph().get_operations()
    forge(intact, GRAPHS["unknown op"][0])
    refused(intact)
    assert get_default_graph().get_operations() == before == [x.op]


def test_refusing_takes_little_memory(tmp_path):
    """Even where a file of 1 MB claims much, and where its graph would compute a large constant."""
    graph = Graph()
    path = tmp_path / "big.sg"
    with graph.as_default():
        rows = ops.fill(1.0, dims=[1000, 1000])
        save(path, sg.reshape(rows, ops.shape_of(rows, out_type=sg.int32)))

    def enlarge(record):
        for op in record["operations"]:
            text = json.dumps(op).replace("[1000, 1000]", "[16000000, 16000000]")
            op.clear()
            op.update(json.loads(text))
        dims = next(
            o
            for o in record["operations"]
            if o.get("attrs", {}).get("value", {}).get("array", [0])[0] == "int32"
        )
        dims["attrs"]["value"]["array"][2] = "ACT0AAAk9AA="

    tracemalloc.start()
    load(path)
    forge(
        forge(
            path,
            lambda m: m["signatures"]["predict"]["outputs"]["Reshape"].update(shape=[16_000_000] * 2),
            "manifest.json",
        ),
        enlarge,
    )
    net = load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert next(iter(net.outputs.values())).type.shape == (16_000_000, 16_000_000)
    assert peak < 16 << 20


def test_values_of_the_file_are_copied(intact):
    """The file may be replaced or removed while the graph is in use."""
    net = load(intact)
    intact.write_bytes(b"")
    np.testing.assert_array_equal(net.variables["w"], [1, 2])
    np.testing.assert_array_equal(net(x=[[1, 1]], target=[[0, 0]])["y"], [[4, 5]])
