"""Machine code in a file of functions with host ops: of each stage, for all sizes that data may decide."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.runtime.files import container
from staticgraph.runtime.files.code import cpu as kernels
from tests.saving.test_kernels import HOST, ROOT, rewritten

pytestmark = [pytest.mark.takes_long, pytest.mark.compiled]
ROWS = (5, 1, 0, 2, 100, 37, 3)


def functions() -> dict[str, sg.Signature]:
    """Functions whose shapes data decide: by where, unique and ids of segments."""
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    ids = sg.placeholder(sg.int32, [None], name="ids")
    words = sg.placeholder(sg.string, [None], name="words")
    w = sg.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="w")
    kept = sg.boolean_mask(x, sg.reduce_sum(x, 1) > 0)
    y = sg.matmul(kept, w)
    loss = sg.reduce_sum(sg.square(y))
    values, places = sg.unique(ids)
    step = sg.train.GradientDescentOptimizer(0.001).minimize(loss)
    noisy = sg.boolean_mask(x, sg.random_uniform(sg.shape(x)[:1], seed=3) > 0.5)
    drawn = sg.random_uniform([sg.reduce_sum(sg.cast(x > 0, sg.int32))], seed=1)  # as many as data say
    numbers = sg.strings.to_number(words)
    made = {
        "mask": {"y": y, "count": sg.shape(kept)[0]},
        "where": {"places": sg.where(x > 0), "doubled": sg.where(x > 0) * 2},
        "unique": {"values": values, "sums": sg.unsorted_segment_sum(x, places, sg.size(values))},
        "segments": {"sums": sg.segment_sum(x, ids) * 2.0},
        "two": {"y": sg.boolean_mask(kept, kept[:, 0] > 0) * 2.0},
        "text": {"told": sg.strings.as_string(sg.reduce_sum(kept)), "y": kept + 1.0},
        "noisy": {"y": noisy * 3.0, "drawn": drawn, "some": sg.boolean_mask(drawn, drawn > 0.5)},
        "words": {"y": sg.boolean_mask(numbers, numbers > 0) * 2.0},
        "parts": dict(zip("abc", sg.dynamic_partition(x * 2.0, sg.floormod(ids, 3), 3), strict=True)),
    }
    return {
        "train": sg.Signature({"loss": loss}, step=step),
        **{name: sg.Signature(outputs) for name, outputs in made.items()},
    }


def saved(path: Path, names: tuple[str, ...] = (), **options: Any) -> Path:
    """The file of these functions, of all by default."""
    sg.reset_default_graph()
    made = functions()
    with sg.Session(device="cpu") as session:
        session.run(sg.global_variables_initializer())
        chosen = {name: made[name] for name in names or made}
        sg.save(path, signatures=chosen, session=session, kernels=["native"], **options)
    return path


def test_no_data_needs_a_compile(tmp_path: Path, rng: np.random.Generator):
    """Results have the bits of a session that compiles, in whatever order sizes come."""
    path = saved(tmp_path / "net.sg")
    fast, plain = sg.load(path, trusted=True), sg.load(path)
    fast.session.no_compile = True
    for rows in (*ROWS, *ROWS):
        given = {
            "x": rng.normal(size=(rows, 3)).astype(np.float32),
            "ids": np.sort(rng.integers(0, 6, rows)).astype(np.int32),
            "words": [f"{number:.3f}" for number in rng.normal(size=rows)],
        }
        for name, function in fast.signatures.items():
            fed = {label: given[label] for label in function.inputs}
            found, wanted = function(fed), plain.signatures[name](fed)
            for label, value in wanted.items():
                np.testing.assert_array_equal(
                    found[label], value, f"{name}, {label}, {rows} rows", strict=True
                )
    assert fast.variables["w"].tobytes() == plain.variables["w"].tobytes()
    assert not fast.session.compiles


def test_declared_sizes_and_those_of_shapes_are_known(tmp_path: Path):
    x = sg.placeholder(sg.float32, [4], name="x")
    free = sg.placeholder(sg.float32, [None], name="free")
    made = {"declared": sg.boolean_mask(x, x > 0) * 2.0, "given": sg.boolean_mask(free, free > 0) * 2.0}
    made_of = {name: sg.Signature({"y": t}) for name, t in made.items()}
    sg.save(
        tmp_path / "net.sg", signatures=made_of, kernels=["native"], shapes=[{"free": [4]}, {"free": [6]}]
    )
    [code] = sg.inspect(tmp_path / "net.sg").kernels.values()
    found = {str(program["feeds"]) for program in code.programs if program["signature"] == "given"}
    assert {"{'free:0': 'float32[4]'}", "{'free:0': 'float32[6]'}"} <= found
    net = sg.load(tmp_path / "net.sg", trusted=True)
    net.session.no_compile = True
    assert net.signatures["declared"](x=[1, -1, 2, -1])["y"].tolist() == [2, 4]
    for rows in (4, 6):
        assert net.signatures["given"](free=np.ones(rows))["y"].tolist() == [2] * rows
    with pytest.raises(sg.errors.NoCompileError):
        net.signatures["given"](free=np.ones(5))


def test_a_fresh_process_needs_no_compiler(tmp_path: Path):
    saved(tmp_path / "net.sg", ("mask", "unique"))
    program = """
import sys
import numpy as np
import staticgraph as sg
net = sg.load("net.sg", trusted=True)
for rows in (1, 5, 0, 5, 64):
    assert net(x=np.ones((rows, 3)))["y"].shape == (rows, 2)
    fed = {"x": np.ones((rows, 3)), "ids": np.arange(rows)}
    assert net.signatures["unique"](fed)["sums"].shape == (rows, 3)
unused = ["compile", "capture.capture", "passes.pipeline", "codegen.llvm.kernel", "lower.lower"]
assert not [name for name in unused if f"staticgraph.compiler.{name}" in sys.modules]
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SG_CACHE_DIR": ""}
    command = [sys.executable, "-W", "error", "-c", program]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_checks_and_their_messages(tmp_path: Path):
    """Of a stage with known sizes, too, and of one behind a host op."""
    x = sg.placeholder(sg.float32, [None], name="x")
    i = sg.placeholder(sg.int32, [2], name="i")
    picked = sg.gather(sg.boolean_mask(x, x > 0), i)
    sg.save(
        tmp_path / "net.sg", {"y": picked, "z": sg.where(sg.gather([0, 1, 1], i) > 0)}, kernels=["native"]
    )
    net = sg.load(tmp_path / "net.sg", trusted=True)
    assert net(x=[1, -1, 2], i=[1, 0])["y"].tolist() == [2, 1]
    for _ in range(3):
        with pytest.raises(
            sg.errors.InvalidArgumentError, match=r"gather: indices\[1\] = 2 is not in \[0, 2\)"
        ):
            net(x=[1, -1, 2], i=[1, 2])


def test_other_checks_than_those_of_the_file_are_compiled(tmp_path: Path):
    """A session that looks for NaN does not take code that does not."""
    path = saved(tmp_path / "net.sg", ("mask",))
    with sg.options(check_nan=True):
        net = sg.load(path, trusted=True)
        assert net(x=np.ones((2, 3)))["y"].shape == (2, 2)
    assert net.session.compiles


def test_it_is_saved_again_with_the_same_bytes(tmp_path: Path):
    path = saved(tmp_path / "net.sg")
    sg.load(path).save(tmp_path / "again.sg", kernels=["native"])
    assert (tmp_path / "again.sg").read_bytes() == path.read_bytes()


def _run(**new: Any) -> Callable[[Any, Any], None]:
    return lambda head, _: head["runs"][0].update(new)


def _stage(**new: Any) -> Callable[[Any, Any], None]:
    return lambda head, _: head["runs"][0]["stages"][1].update(new)


def _program(**new: Any) -> Callable[[Any, Any], None]:
    return lambda head, _: head["programs"][0].update(new)


HOSTILE = {
    "a run of no function": _run(signature="other"),
    "a run of a number": _run(signature=5),
    "a run of other inputs": _run(feeds=["w"]),
    "a run of inputs that are none": _run(feeds=[5]),
    "an op that is compiled is forced": _run(forced=["MatMul"]),
    "an op that is not there is forced": _run(forced=["nothing"]),
    "stages that are none": _run(stages=[5]),
    "no stages": _run(stages=[]),
    "unknown fields": _run(code="x"),
    "runs that are none": lambda head, _: head.update(runs=5),
    "no runs": lambda head, _: head.pop("runs"),
    "a stage of tensors that are not there": _stage(tensors=["nothing:0"]),
    "a stage of other tensors": _stage(tensors=["w:0"]),
    "a stage with fewer tensors": _stage(tensors=[]),
    "a stage of targets that are not there": _stage(targets=["nothing"]),
    "a stage with other feeds": _stage(feeds=["x:0", "x:0"]),
    "a stage with more feeds": _stage(feeds=["x:0"] * 50),
    "a stage with feeds of another type": _stage(feeds=["boolean_mask/Where:0", "x:0"]),
    "a stage with feeds that are not there": _stage(feeds=["x:9", "x:0"]),
    "a count of what decides none": _stage(feeds=["x:0", "count of x"]),
    "a count of nothing": _stage(feeds=["x:0", "count of nothing"]),
    "tensors before it that are none": _stage(early=[["x"]]),
    "numbers before it": _stage(early=[5]),
    "a stage before itself": _stage(tensors=["MatMul:0"], early=[["MatMul:0"]]),
    "a program of no stage": _program(stage=[0, 9]),
    "a program of a negative stage": _program(stage=[0, -1]),
    "a program of no run": _program(stage=[7, 0]),
    "a program of a stage of text": _program(stage="00"),
    "a program of half a stage": _program(stage=[0]),
    "results for an op that does not take them": _program(captured=[["MatMul", 0]]),
    "results without end": _program(captured=[["boolean_mask/Where", n] for n in range(9)]),
    "a result of another op": _program(captured=[["boolean_mask/Where", "x:0"]]),
    "results of no op": _program(captured=[["nothing", 0]]),
    "fewer results": _program(captured=[]),
    "results that are numbers": _program(captured=[5]),
    "results that are half": _program(captured=[["boolean_mask/Where"]]),
    "no results": lambda head, _: head["programs"][0].pop("captured"),
}


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return saved(tmp_path_factory.mktemp("staged") / "net.sg", ("mask",)).read_bytes()


def test_records_that_lie_are_refused(tmp_path: Path, masked: bytes):
    path = tmp_path / "net.sg"
    for what, change in HOSTILE.items():
        path.write_bytes(masked)
        rewritten(path, change)
        with pytest.raises(InvalidFileError):
            sg.load(path, trusted=True)
            pytest.fail(f"{what} was taken")
        assert sg.load(path)(x=np.ones((2, 3)))["count"] == 2, what


def test_random_changes_of_the_stages_are_refused_or_told(tmp_path: Path, masked: bytes):
    """Changed names and numbers of stages are refused, or the run is right all the same."""
    path = tmp_path / "net.sg"
    head, _ = kernels._parts(container.unpack(memoryview(masked))[HOST])
    names = [
        "x:0",
        "boolean_mask/Where:0",
        "MatMul:0",
        "MatMul",
        "boolean_mask/Where",
        "w",
        0,
        1,
        "count of x",
    ]
    chance = random.Random(1)
    for _ in range(40):
        path.write_bytes(masked)

        def change(head: Any, _: Any) -> None:
            stage = chance.choice(head["runs"][0]["stages"])
            row = stage[chance.choice([*stage])]
            if row and chance.random() < 0.7:
                row[chance.randrange(len(row))] = chance.choice(names)
            else:
                row.append(chance.choice(names))

        rewritten(path, change)
        try:
            net = sg.load(path, trusted=True)
        except InvalidFileError:
            continue
        assert net(x=np.ones((2, 3)))["count"] == 2
    assert len(head["runs"]) == 1
