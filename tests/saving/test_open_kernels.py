"""Machine code in a file for all sizes that a graph leaves open."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError, NoCompileError, SaveError
from staticgraph.runtime.files import container
from staticgraph.runtime.files.code import cpu as kernels
from tests.saving.test_kernels import HOST, ROOT, rewritten

SIZES = [0, 1, 2, 3, *random.Random(0).sample(range(4, 400), 96)]


def net(path: Path, session: sg.Session | None = None, **options: Any) -> sg.Session:
    """A convolutional net that trains, saved with code for all batch sizes."""
    sg.reset_default_graph()
    x = sg.placeholder(sg.float32, [None, 6, 6, 2], name="x")
    labels = sg.placeholder(sg.int32, [None], name="labels")
    y = sg.layers.conv2d(x, 4, 3, padding="same", activation=sg.nn.relu)
    y = sg.layers.flatten(sg.layers.max_pooling2d(y, 2, 2))
    y = sg.layers.dense(sg.nn.dropout(y, rate=0.5, seed=1), 3, name="logits")
    losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y)
    step = sg.train.AdamOptimizer(0.01).minimize(sg.reduce_sum(losses))
    session = sg.Session(open_sizes=True, device="cpu")
    session.run(sg.global_variables_initializer())
    functions = {
        "predict": sg.Signature({"y": y, "digit": sg.argmax(y, 1)}),
        "train": sg.Signature({"losses": losses}, step=step),
    }
    sg.save(path, signatures=functions, session=session, kernels=["native"], **options)
    return session


@pytest.mark.takes_long
def test_one_file_serves_100_sizes_without_a_compile(tmp_path: Path, rng: np.random.Generator):
    """The bits are those of the session that saved it, training included."""
    with net(tmp_path / "net.sg") as session, sg.options(no_compile=True):
        loaded = sg.load(tmp_path / "net.sg", trusted=True)
        predict, train = loaded.signatures["predict"], loaded.signatures["train"]
        tensors = session.graph.get_tensor_by_name
        ports = [t for f in (predict, train) for t in (*f.inputs.values(), *f.outputs.values())]
        own = {t: tensors(t.name) for t in ports}
        step = session.graph.get_operation_by_name(train.step.name)
        for rows in SIZES:
            x = rng.normal(size=(rows, 6, 6, 2)).astype(np.float32)
            labels = rng.integers(0, 3, rows).astype(np.int32)
            fed = {own[train.inputs["x"]]: x, own[train.inputs["labels"]]: labels}
            wanted = session.run([own[t] for t in predict.outputs.values()], {own[predict.inputs["x"]]: x})
            losses, _ = session.run([own[train.outputs["losses"]], step], fed)
            found = [*predict(x=x).values(), *train(x=x, labels=labels).values()]
            assert [f.tobytes() for f in found] == [w.tobytes() for w in (*wanted, losses)], rows
        assert len(loaded.session.compiles) == 0
        for name, variable in session.graph.variables.items():
            assert session.run(variable).tobytes() == loaded.variables[name].tobytes()


def test_the_file_says_for_which_sizes_its_code_is(tmp_path: Path):
    net(tmp_path / "net.sg")
    [code] = sg.inspect(tmp_path / "net.sg").kernels.values()
    assert code.programs[0] == {"signature": "predict", "feeds": {"x": "float32[n0, 6, 6, 2]"}}


def test_sizes_with_another_guard_have_another_program(tmp_path: Path):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    y = sg.placeholder(sg.float32, [None, 3], name="y")
    sg.save(tmp_path / "sum.sg", {"z": x + y, "last": sg.slice(x, [0, 0], [2, -1])}, kernels=["native"])
    loaded = sg.load(tmp_path / "sum.sg", trusted=True)
    loaded.session.no_compile = True
    for rows, others in ((4, 4), (7, 1), (2, 2), (3, 3), (2, 1), (200, 200)):
        given = {"x": np.full((rows, 3), 1.0, "f4"), "y": np.full((others, 3), 2.0, "f4")}
        made = loaded(given)
        assert made["z"].tolist() == (given["x"] + given["y"]).tolist()
        assert made["last"].tolist() == given["x"][:2].tolist()


def test_one_row_and_none_have_programs_too(tmp_path: Path):
    """Even if they are for nothing else: a scan over many rows begins with two."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    sg.save(tmp_path / "net.sg", {"y": sg.math.cumulative_logsumexp(x)}, kernels=["native"])
    loaded = sg.load(tmp_path / "net.sg", trusted=True)
    loaded.session.no_compile = True
    for rows in (2, 1, 0, 9):
        x = np.linspace(-1, 1, 3 * rows, dtype="f4").reshape(rows, 3)
        np.testing.assert_allclose(loaded(x=x)["y"], np.logaddexp.accumulate(x), rtol=1e-5, atol=1e-6)


def test_a_fresh_process_needs_no_compiler(tmp_path: Path):
    net(tmp_path / "net.sg")
    program = """
import sys
import numpy as np
import staticgraph as sg
net = sg.load("net.sg", trusted=True)
for rows in (1, 5, 0, 5, 64):
    assert net(x=np.ones((rows, 6, 6, 2)))["digit"].shape == (rows,)
unused = ["compile", "capture.capture", "passes.pipeline", "codegen.llvm.kernel", "lower.lower"]
assert not [name for name in unused if f"staticgraph.compiler.{name}" in sys.modules]
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SG_CACHE_DIR": ""}
    command = [sys.executable, "-W", "error", "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_given_sizes_are_known_and_others_are_open(tmp_path: Path):
    x = sg.placeholder(sg.float32, [None, None], name="x")
    shapes = [{"x": [None, 4]}, {"x": [2, 5]}]
    sg.save(tmp_path / "net.sg", {"y": sg.nn.softmax(x)}, kernels=["native"], shapes=shapes)
    [code] = sg.inspect(tmp_path / "net.sg").kernels.values()
    found = [p["feeds"]["x"] for p in code.programs]
    assert {"float32[n0, 4]", "float32[2, 5]"} <= {*found}
    loaded = sg.load(tmp_path / "net.sg", trusted=True)
    loaded.session.no_compile = True
    for shape in ((1, 4), (9, 4), (2, 5)):
        assert loaded(x=np.zeros(shape))["y"].shape == shape
    with pytest.raises(NoCompileError):
        loaded(x=np.zeros((3, 5)))


def test_what_closes_a_size_is_named_with_its_line(tmp_path: Path):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    ones = [1] * 4
    turned = sg.nn.dilation2d(sg.ones([1, 9, 9, 1]), x[:, :, None], ones, ones, "SAME", name="turned")
    message = r"cannot compile predict for all sizes: .*size 0 of x(.|\n)*test_open_kernels.py(.|\n)*"
    with pytest.raises(SaveError, match=message + r"hint: .*shapes=\{'x': \[1, 3\]\}"):
        sg.save(tmp_path / "net.sg", {"y": turned}, kernels=["native"])
    assert list(tmp_path.iterdir()) == []
    sg.save(tmp_path / "net.sg", {"y": turned}, kernels=["native"], shapes={"x": [4, 3]})


def test_checks_and_their_messages(tmp_path: Path):
    """Messages are those of a graph that was compiled here."""
    words = sg.placeholder(sg.int32, [None], name="words")
    table = sg.Variable(np.arange(10, dtype="f4").reshape(5, 2), name="table")
    with sg.Session() as session:
        session.run(table.initializer)
        sg.save(tmp_path / "n.sg", {"y": sg.nn.embedding_lookup(table, words)}, kernels=["native"])
    loaded = sg.load(tmp_path / "n.sg", trusted=True)
    loaded.session.no_compile = True
    assert loaded(words=[1, 4])["y"].tolist() == [[2, 3], [8, 9]]
    for given in ([0, 7], [5]):
        with pytest.raises(sg.errors.InvalidArgumentError, match=f"{max(given)}"):
            loaded(words=given)


def _state(batch: sg.Tensor, x: sg.Tensor) -> sg.Tensor:
    cell = sg.nn.rnn_cell.LSTMCell(5)
    return sg.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(batch, sg.float32))[0]


def _asserted(size: sg.Tensor, x: sg.Tensor) -> sg.Tensor:
    with sg.control_dependencies([sg.Assert(sg.equal(sg.shape(x)[0], sg.shape(size)[0]), ["another shape"])]):
        return x * 2.0


SIZED = {  # what is made of `size` and `x`, the shape of `size`, and that of x in a run of n rows and m steps
    "zero_state": (_state, [], [None, None, 4], lambda n, m: (n, [n, m, 4])),
    "zeros": (lambda size, x: sg.zeros([size, 3]) + x, [], [3], lambda n, m: (n, [3])),
    "reshape": (lambda size, x: sg.reshape(x, size) * 2.0, [2], [None], lambda n, m: ([n, m], [n * m])),
    "range": (lambda size, x: sg.cast(sg.range(size), sg.float32) + x, [], [], lambda n, m: (n, [])),
    "assertion": (_asserted, [None], [None, None], lambda n, m: ([m] * n, [n, m])),
    "mask": (lambda size, x: sg.sequence_mask(sg.cast(x, sg.int32), size), [], [None], lambda n, m: (m, [n])),
}


@pytest.mark.parametrize("name", SIZED)
def test_sizes_that_are_fed_are_open_in_the_file(name: str, tmp_path: Path, rng: np.random.Generator):
    make, size_shape, shape, feeds = SIZED[name]
    size, x = (
        sg.placeholder(d, s, name=n) for n, d, s in (("size", "int32", size_shape), ("x", "float32", shape))
    )
    y = make(size, x)
    with sg.Session(device="cpu", open_sizes=True) as session:
        session.run(sg.global_variables_initializer())
        sg.save(tmp_path / "n.sg", {"y": y}, inputs=[size, x], session=session, kernels=["native"])
        loaded = sg.load(tmp_path / "n.sg", trusted=True)
        loaded.session.no_compile = True
        for n, m in ((3, 4), (7, 2), (1, 1), (0, 2), (5, 0), (64, 30)):
            given, dims = feeds(n, m)
            value = rng.normal(size=dims).astype(np.float32) * 3
            np.testing.assert_array_equal(
                loaded(size=given, x=value)["y"], session.run(y, {size: given, x: value})
            )


def test_without_trust_the_code_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    net(tmp_path / "net.sg")
    monkeypatch.setattr(kernels, "adopt", lambda *_: pytest.fail("its code was taken"))
    loaded = sg.load(tmp_path / "net.sg")
    assert loaded(x=np.zeros((3, 6, 6, 2)))["digit"].shape == (3,)


def _open(change: Any) -> Any:
    def changed(head: Any, _: Any) -> None:
        change(head["programs"][0]["open"], head["programs"][0])

    return changed


def _nested(depth: int) -> Any:
    size: Any = [[["n0"], 1]]
    for _ in range(depth):
        size = [[[["//", size, 2]], 1]]
    return size


HOSTILE = {
    "a symbol of no feed": lambda o, p: p.update(arena=[[["n9"], 4]]),
    "a symbol that is no name": lambda o, p: o.update(shapes=[[[[["n0; x"], 1]], 6, 6, 2]]),
    "a size that is text": lambda o, p: p.update(arena="64"),
    "terms that are none": lambda o, p: p.update(sizes=[[1, 2, 3]]),
    "a factor that is true": lambda o, p: o.update(blocks=[[[["n0"], True]]]),
    "a factor beyond all": lambda o, p: o.update(blocks=[[[["n0"], 10**30]]]),
    "quotients without an end": lambda o, p: p.update(arena=_nested(100)),
    "a division by zero": lambda o, p: p.update(arena=[[[["//", [[["n0"], 1]], 0]], 1]]),
    "terms without an end": lambda o, p: o.update(blocks=[[[["n0"] * 20000, 1]]]),
    "a negative arena": lambda o, p: p.update(arena=-8),
    "an arena beyond all": lambda o, p: p.update(arena=1 << 60),
    "negative scratch memory": lambda o, p: p.update(shared=-1),
    "an argument that is not there": lambda o, p: p.update(in_place=[4000]),
    "more results than there are": lambda o, p: p.update(fetches=50),
    "other axes": lambda o, p: o.update(shapes=[[[[["n0"], 1]], 6, 6]]),
    "another size than the graph's": lambda o, p: o.update(shapes=[[[[["n0"], 1]], 6, 7, 2]]),
    "an open size where the graph has none": lambda o, p: o.update(shapes=[[8, 6, 6, [[["n0"], 1]]]]),
    "a multiple as a size of a feed": lambda o, p: o.update(shapes=[[[[["n0"], 2]], 6, 6, 2]]),
    "fewer feeds": lambda o, p: o.update(shapes=[]),
    "arguments of other shapes": lambda o, p: p["arguments"][0].__setitem__(1, [4, 6, 6, 2]),
    "arguments of another dtype": lambda o, p: p["arguments"][0].__setitem__(0, "int8"),
    "sizes that are values of floats": lambda o, p: o.update(sized=[0], contents=[[[[["n0"], 1]]]]),
    "sizes that are values of no feed": lambda o, p: o.update(sized=[7], contents=[[[[["n0"], 1]]]]),
    "values of no size": lambda o, p: o.update(contents=[[[[["n0"], 1]]]]),
    "a guard of another kind": lambda o, p: o.update(guards=[[[[["n0"], 1]], ">"]]),
    "a guard about nothing": lambda o, p: o.update(guards=[[5, ">="]]),
    "a guard that is a number": lambda o, p: o.update(guards=[5]),
    "unknown fields": lambda o, p: o.update(run="code"),
}  # fmt: skip


@pytest.mark.takes_long
@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_sizes_that_lie_are_refused(tmp_path: Path, change: Any):
    path = tmp_path / "net.sg"
    net(path)
    rewritten(path, _open(change))
    with pytest.raises(InvalidFileError):
        sg.load(path, trusted=True)
    assert sg.load(path)(x=np.zeros((2, 6, 6, 2)))["digit"].shape == (2,)


def test_random_changes_of_the_sizes_are_refused_or_told(tmp_path: Path):
    """No change of what is told of sizes makes `inspect` fail in another way."""
    path = tmp_path / "net.sg"
    net(path)
    good = path.read_bytes()
    chance = random.Random(1)
    for _ in range(60):
        path.write_bytes(good)

        def change(head: Any, _: Any) -> None:
            program = head["programs"][0]
            key = chance.choice(["open", "arena", "sizes", "arguments", "results"])
            text = json.dumps(program[key])
            at = chance.randrange(len(text))
            new = text[:at] + chance.choice('0123456789-[]{}",n') + text[at + 1 :]
            try:
                program[key] = json.loads(new)
            except ValueError:
                program[key] = new

        rewritten(path, change)
        with contextlib.suppress(InvalidFileError):
            sg.inspect(path)


def test_the_record_of_a_program_is_small(tmp_path: Path):
    net(tmp_path / "net.sg")
    head, _ = kernels._parts(container.unpack(memoryview((tmp_path / "net.sg").read_bytes()))[HOST])
    assert max(len(json.dumps(program)) for program in head["programs"]) < 8000
