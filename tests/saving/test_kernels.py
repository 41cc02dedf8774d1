"""Machine code in a file: used only where that is asked for, and with the same results as without it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, InvalidFileError, SaveError
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.files import container, graph_file
from staticgraph.runtime.files.code import cpu as kernels
from staticgraph.runtime.session import Session

pytestmark = pytest.mark.takes_long

ROOT = Path(__file__).resolve().parents[2]
SHAPES = [{"x": [1, 8, 8, 1]}, {"x": (2, 8, 8, 1)}]
HOST = f"kernels/{cpu_jit.host().triple}-{cpu_jit.host().cpu}"


@pytest.fixture(autouse=True)
def known_sizes():
    """Sessions compile for the sizes at hand, as the code in files is: so that they add in the same order."""
    with sg.options(open_sizes=False):
        yield


def net(path: Path, **options: Any) -> Path:
    """A small convolutional net with dropout, a loop and a training step."""
    sg.reset_default_graph()
    x = sg.placeholder(sg.float32, [None, 8, 8, 1], name="x")
    y = sg.layers.conv2d(x, 4, 3, padding="same", activation=sg.nn.relu)
    y = sg.layers.dense(sg.nn.dropout(sg.layers.flatten(y), rate=0.5, seed=1), 3)
    y = sg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, sg.tanh(y * 2.0)), [0, y])[1]
    loss = sg.reduce_mean(sg.square(y))
    step = sg.train.AdamOptimizer(0.1).minimize(loss)
    with Session() as session:
        session.run(sg.global_variables_initializer())
        options = {"kernels": "native", "shapes": SHAPES, **options}
        sg.save(path, {"y": y, "loss": loss}, session=session, step=step, **options)
    return path


def results(loaded: Any, rng: np.random.Generator) -> list[Any]:
    """Calls and steps with one image and with two, so often that machine code calls them in the end."""
    made = []
    for count in (1, 2):
        x = rng.normal(size=(count, 8, 8, 1)).astype(np.float32)
        for _ in range(4):
            made += [loaded(x=x), loaded.step(x=x)]
    return [array.tobytes() for outputs in made for array in outputs.values()] + [
        value.tobytes() for value in loaded.variables.values()
    ]


def test_the_results_are_the_same_and_nothing_is_compiled(tmp_path: Path, compiled: list):
    path = net(tmp_path / "net.sg")
    with_code = sg.load(path, trusted=True)
    compiled.clear()
    found = results(with_code, np.random.default_rng(1))
    assert not compiled
    assert found == results(sg.load(path), np.random.default_rng(1))
    assert compiled
    compiled.clear()
    assert with_code(x=np.zeros((3, 8, 8, 1)))["y"].shape == (3, 3)
    assert compiled


def test_without_trust_machine_code_is_not_even_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = net(tmp_path / "net.sg")
    monkeypatch.setattr(kernels, "adopt", lambda *_: pytest.fail("its code was taken"))
    assert sg.load(path)(x=np.zeros((1, 8, 8, 1)))["y"].shape == (1, 3)


@pytest.mark.parametrize("trusted_first", [True, False])
def test_machine_code_is_used_with_trust_and_never_otherwise(tmp_path: Path, trusted_first: bool):
    """A file whose graph doubles and whose machine code triples tells which of the two has run. What a
    trusted file has brought does not reach a file without trust that says the same.
    """
    parts = {}
    for factor in (2.0, 3.0):
        with sg.Graph().as_default():
            x = sg.placeholder(sg.float32, [None], name="x")
            sg.save(tmp_path / "net.sg", {"y": x * factor}, kernels="native", shapes={"x": [4]})
        contents = container.unpack(memoryview((tmp_path / "net.sg").read_bytes()))
        parts[factor] = {name: bytes(data) for name, data in contents.items()}
    doubles = parts[2.0]
    doubles[HOST] = parts[3.0][HOST]
    manifest = container.parse(doubles.pop("manifest.json"), "")
    body = {key: manifest[key] for key in graph_file.BODY}
    container.write(tmp_path / "net.sg", "graph", body, {n: [data] for n, data in doubles.items()})
    ones = np.ones(4, np.float32)
    for trusted in (trusted_first, not trusted_first, trusted_first):
        loads = [sg.load(tmp_path / "net.sg", trusted=trusted)]
        if not trusted:
            loads += [sg.load(tmp_path / "net.sg"), sg.load(tmp_path / "net.sg", mapped=True)]
        for loaded in loads:
            for _ in range(3):  # by Python at first, by machine code later
                assert loaded(x=ones)["y"].tolist() == [3.0 if trusted else 2.0] * 4


def test_a_fresh_process_needs_no_compiler(tmp_path: Path):
    """The compiler is not even imported, and the code is that of the file."""
    path = net(tmp_path / "net.sg")
    x = np.ones((1, 8, 8, 1), np.float32)
    np.save(tmp_path / "wanted.npy", sg.load(path)(x=x)["y"])
    program = """
import sys
import numpy as np
import staticgraph as sg
net, x = sg.load("net.sg", trusted=True), np.ones((1, 8, 8, 1), np.float32)
assert net(x=x)["y"].tobytes() == np.load("wanted.npy").tobytes()
for _ in range(3):
    net(x=x)
unused = ["compile", "passes.pipeline", "codegen.llvm.kernel", "codegen.gemm.gemm", "lower.lower"]
assert not [name for name in unused if f"staticgraph.compiler.{name}" in sys.modules]
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SG_CACHE_DIR": ""}
    command = [sys.executable, "-W", "error", "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_file_may_hold_code_for_several_targets(tmp_path: Path):
    targets = ["native", "x86_64-linux-gnu:haswell", "aarch64-linux-gnu", "arm64-apple-darwin"]
    path = net(tmp_path / "net.sg", kernels=targets, shapes={"x": [1, 8, 8, 1]})
    found = sg.inspect(path).kernels
    assert list(found) == [
        HOST.removeprefix("kernels/"),
        "x86_64-unknown-linux-gnu-haswell",
        "aarch64-unknown-linux-gnu-generic",
        "arm64-apple-darwin-apple-m1",
    ]
    for code in found.values():
        assert [p["signature"] for p in code.programs] == ["predict", "train"]
        assert code.programs[0]["feeds"] == {"x": "float32[1, 8, 8, 1]"}
    beginnings = {
        "x86_64-unknown-linux-gnu-haswell": b"\x7fELF\2\1",
        "arm64-apple-darwin-apple-m1": b"\xcf\xfa\xed\xfe",
    }
    for name, magic in beginnings.items():
        _, entries = kernels._parts(member(path, f"kernels/{name}"))
        objects = [data for symbol, data in entries.items() if not symbol.isdigit()]
        assert objects
        assert all(data.startswith(magic) for data in objects)


def member(path: Path, name: str) -> memoryview:
    return container.unpack(memoryview(path.read_bytes()))[name]


def test_the_code_that_suits_best_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of a model of a processor only on that model, of a family wherever it can run."""
    if not cpu_jit.host().triple.startswith("x86_64") or "+avx2" not in cpu_jit.host().features.split(","):
        pytest.skip("the targets of this test are those of x86-64")
    path = net(
        tmp_path / "net.sg",
        kernels=["x86_64-linux-gnu:x86-64-v3", "aarch64-linux-gnu"],
        shapes={"x": [1, 8, 8, 1]},
    )
    taken = []
    provide = cpu_jit.provide
    monkeypatch.setattr(cpu_jit, "provide", lambda found: (taken.append(found), provide(found)))
    loaded = sg.load(path, trusted=True)
    assert len(taken) == 1
    assert all(data.startswith(b"\x7fELF") for data in taken[0].values() if data)
    x = np.ones((1, 8, 8, 1), np.float32)
    np.testing.assert_allclose(loaded(x=x)["y"], sg.load(path)(x=x)["y"], rtol=1e-5)
    here = cpu_jit.host()
    for other in (replace(here, features="+sse2", cpu="old"), replace(here, triple="x86_64-pc-windows-msvc")):
        monkeypatch.setattr(cpu_jit, "host", lambda other=other: other)
        taken.clear()
        kernels.adopt([bytes(member(path, "kernels/x86_64-unknown-linux-gnu-x86-64-v3"))], {}, None)
        assert not taken


def test_code_of_another_version_is_left_alone(
    tmp_path: Path, compiled: list, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kernels, "layout_version", lambda: "another")
    path = net(tmp_path / "net.sg")
    monkeypatch.undo()
    monkeypatch.setattr(cpu_jit, "provide", lambda _: pytest.fail("code of another version was taken"))
    assert sg.load(path, trusted=True)(x=np.zeros((1, 8, 8, 1)))["y"].shape == (1, 3)


def test_what_only_python_can_tell_is_left_out(tmp_path: Path):
    x = sg.placeholder(sg.float32, [4], name="x")
    count = sg.placeholder(sg.int32, [], name="count")
    found = sg.map_fn(lambda row: sg.reduce_sum(sg.where(row > 0)), sg.reshape(x, [2, 2]), sg.int64)
    outputs = {"found": found, "plain": x * 2.0, "rows": sg.fill([count], 1.0)}
    functions = {name: sg.Signature({name: tensor}) for name, tensor in outputs.items()}
    sg.save(tmp_path / "net.sg", signatures=functions, kernels=["native"])
    [code] = sg.inspect(tmp_path / "net.sg").kernels.values()
    assert [p["signature"] for p in code.programs] == ["plain", "rows"]
    net = sg.load(tmp_path / "net.sg", trusted=True)
    assert net.signatures["found"](x=[1, -1, 1, -1])["found"].tolist() == [0, 0]
    assert net.signatures["rows"](count=2)["rows"].tolist() == [1, 1]


def test_a_loaded_graph_is_saved_with_code_for_other_targets(tmp_path: Path):
    path = net(tmp_path / "net.sg")
    sg.load(path).save(tmp_path / "plain.sg")
    sg.load(tmp_path / "plain.sg").save(tmp_path / "fast.sg", kernels="native", shapes={"x": [2, 8, 8, 1]})
    assert not sg.inspect(tmp_path / "plain.sg").kernels
    [code] = sg.inspect(tmp_path / "fast.sg").kernels.values()
    assert [p["feeds"] for p in code.programs] == [{"x": "float32[2, 8, 8, 1]"}] * 2
    sg.load(path).save(tmp_path / "again.sg", kernels="native", shapes=SHAPES)
    assert (tmp_path / "again.sg").read_bytes() == path.read_bytes()


def test_sizes_must_be_known(tmp_path: Path):
    """Of an input without a rank; and those that are given must fit."""
    with pytest.raises(SaveError, match=r"its input 'x' is .*\[1, 9, 8, 1\] does not fit"):
        net(tmp_path / "net.sg", shapes={"x": [1, 9, 8, 1]})
    anything = sg.placeholder(sg.float32, name="anything")
    with pytest.raises(SaveError, match=r"'anything' is .*, and its sizes are not all known"):
        sg.save(tmp_path / "net.sg", {"y": anything * 2.0}, kernels=["native"])
    with pytest.raises(InvalidArgumentError, match="not known"):
        net(tmp_path / "net.sg", kernels=["pdp11-unix"])
    assert list(tmp_path.iterdir()) == []


def rewritten(path: Path, change: Any) -> None:
    """The file with another text about its machine code, under good checksums."""
    contents = {n: bytes(v) for n, v in container.unpack(memoryview(path.read_bytes())).items()}
    manifest = container.parse(contents.pop("manifest.json"), "")
    head, entries = kernels._parts(memoryview(contents[HOST]))
    change(head, entries)
    text = container.dump(head).encode()
    stored = {"programs.json": text, **entries}
    contents[HOST] = b"".join(
        bytes(memoryview(piece).cast("B"))
        for piece in kernels.safetensors.write(
            {n: (sg.uint8, np.frombuffer(data, np.uint8)) for n, data in stored.items()}
        )
    )
    body = {key: manifest[key] for key in graph_file.BODY}
    container.write(path, "graph", body, {n: [data] for n, data in contents.items()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head, _: head["programs"][0].update(signature="other"), "no signature 'other'"),
        (lambda head, _: head["programs"][0].update(feeds=["w"]), "an input 'w'"),
        (lambda head, _: head["programs"][0].update(reads=["nothing"]), "no operation 'nothing'"),
        (lambda head, _: head["programs"][0].pop("arena"), "has no 'arena'"),
        (lambda head, _: head["programs"][0].update(codes=[]), "no code"),
        (lambda head, _: head["programs"][0]["codes"].append("k0"), "no code for the function k0"),
        (lambda head, _: head["programs"][0]["codes"].append("\ud800"), "an impossible name"),
        (lambda head, _: head["programs"][0].update(codes=head["programs"][0]["codes"][:1]), "no code for"),
        (lambda _, entries: entries.pop("0"), "no code"),
        (lambda head, _: head.pop("target"), "has no 'target'"),
    ],
)
def test_damaged_descriptions_are_refused(tmp_path: Path, change: Any, message: str):
    path = net(tmp_path / "net.sg")
    rewritten(path, change)
    with pytest.raises(InvalidFileError, match=message):
        sg.load(path, trusted=True)
    assert sg.load(path).trains


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a file with machine code of a function and of a training step."""
    with sg.options(open_sizes=False):
        return net(tmp_path_factory.mktemp("trained") / "net.sg", shapes=SHAPES[0]).read_bytes()


def put(field: str, number: int, value: Any) -> Any:
    """A change of one entry of a list of the record of the training step."""
    return lambda told: told[field].__setitem__(number, value)


def drop(*fields: str) -> Any:
    """A change that drops the last entry of these lists."""
    return lambda told: [told[field].pop() for field in fields]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("arguments"), "has 15 arguments, and its step has 16"),
        (drop("reads", "needed"), "has 16 arguments, and its step has 15"),
        (drop("feeds"), "has 16 arguments, and its step has 15"),
        (drop("counters", "advances"), "has 16 arguments, and its step has 15"),
        (drop("results"), "has 15 results, and its step has 16"),
        (lambda told: told["results"].extend([["float32", []]] * 2), "has 18 results, and its step has 16"),
        (lambda told: told.update(fetches=1, results=told["results"][1:]), "returns 1 values, .*signature 2"),
        (lambda told: told.update(checked=True), "has 16 results, and its step has 17"),
        (lambda told: told.update(checked=True, results=[*told["results"], ["int8", []]]), "not bool"),
        (put("arguments", 0, ["float64", [1, 8, 8, 1]]), "has x:0 as float64"),
        (put("arguments", 0, ["float32", [1, 8, 8, 2]]), "has x:0 as float32"),
        (put("arguments", 1, ["float32", [300, 3, 1, 4]]), "has conv2d/kernel:0 as"),
        (put("arguments", 2, ["float64", [4]]), "has conv2d/bias:0 as float64"),
        (put("arguments", -1, ["uint64", [1]]), "the state of a random op as"),
        (put("results", 0, ["float32", [1, 4]]), r"has .*as float32\[1, 4\]"),
        (put("results", 2, ["float32", [3, 3, 1, 3]]), "has conv2d/kernel:0 as"),
        (put("reads", 0, "dense/kernel"), "an operation twice"),
        (put("reads", 0, "x"), "reads x, which is no variable"),
        (put("writes", 0, "x"), "writes x, which is no variable"),
        (put("writes", 1, "conv2d/kernel"), "an operation twice"),
        (put("needed", 0, "loss"), "no operation|no variable"),
        (put("counters", 0, "conv2d/kernel"), "which is no random op"),
        (put("in_place", 0, 0), "overwrites its argument 0"),
        (put("in_place", 0, 15), "overwrites its argument 15"),
        (put("in_place", 0, -2), "overwrites its argument -2"),
        (lambda told: told.update(may_overwrite=False), "overwrites its argument 1"),
        (lambda told: told["draws"].append("conv2d/kernel"), "which is no random op"),
    ],
)  # fmt: skip
def test_a_record_that_contradicts_itself_or_the_graph_is_refused(
    tmp_path: Path, trained: bytes, change: Any, message: str
):
    """Native code would read or write outside the arrays that the session makes by the record."""
    path = tmp_path / "net.sg"
    path.write_bytes(trained)
    rewritten(path, lambda head, _: change(head["programs"][1]))
    with pytest.raises(InvalidFileError, match=message):
        sg.load(path, trusted=True)


def test_code_of_another_layout_is_told_apart():
    """The sources that decide it are there: without one of them, all versions would look alike."""
    assert all((ROOT / "compiler" / name).is_file() for name in kernels._DECIDING)
    assert kernels.layout_version()
