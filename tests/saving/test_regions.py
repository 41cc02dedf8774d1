"""Loops, branches, arrays and effects are saved with what is inside them, and forged ones are refused."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, InvalidFileError, SaveError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import regions_of
from staticgraph.runtime.files import container
from staticgraph.runtime.files.loaded import load
from staticgraph.saved.saving import save
from tests.saving.nets import again
from tests.saving.test_damage import VALUES, forge, named, places, refused


def nested(x: sg.Tensor) -> Any:
    def inner(i: sg.Tensor, y: sg.Tensor) -> Any:
        return sg.while_loop(lambda k, z: k < i, lambda k, z: (k + 1, z * x + 1.0), [0, y])[1]

    return sg.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, inner(i, y)), [0, x])[1]


def row_sums(x: sg.Tensor) -> Any:
    array = sg.TensorArray(sg.float32, size=3)
    last = sg.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, a.write(i, sg.reduce_sum(x) * sg.cast(i, sg.float32))),
        [0, array],
    )[1]
    return last.stack()


def slope(x: sg.Tensor) -> Any:
    return sg.gradients(nested(x), x)[0]


def asserted(x: sg.Tensor) -> Any:
    with sg.control_dependencies([sg.Assert(sg.reduce_all(x > -9.0), ["too small:", x])]):
        return sg.Print(x, [x], "x is ") + sg.cond(x[0] > 0, lambda: sg.Print(x, [x], "positive "), lambda: x)


PROGRAMS: dict[str, Callable[[sg.Tensor], Any]] = {
    "loop in loop": nested,
    "branches": lambda x: sg.cond(sg.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x - 1.0),
    "branch that gives what is around it": lambda x: sg.cond(x[0] > 0, lambda: x, lambda: -x),
    "nested branches": lambda x: sg.case(
        [(x[0] < -1, lambda: x), (x[0] < 1, lambda: x * x)], default=lambda: x + 1.0
    ),
    "numbered branches": lambda x: sg.switch_case(
        sg.cast(x[0], sg.int32), [lambda: x, lambda: x * 3.0, lambda: nested(x)]
    ),
    "map": lambda x: sg.map_fn(lambda e: e * e + 1.0, x),
    "scan": lambda x: sg.scan(lambda a, e: a * 0.5 + e, x),
    "array": row_sums,
    "derivative": slope,
    "rounds": lambda x: sg.while_loop(lambda y: sg.reduce_sum(y) < 9, lambda y: y + 1.0, [x]),
    "effects": asserted,
}


@pytest.mark.takes_long
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_has_regions_computes_the_same(tmp_path: Path, program: Callable[[sg.Tensor], Any], capfd: Any):
    x = sg.placeholder(sg.float32, [None], name="x")
    y = program(x)
    save(tmp_path / "net.sg", {"y": y})
    net, same = again(tmp_path / "net.sg")
    assert same
    with sg.Session() as session:
        for values in ([0.5, 0.25, -0.1], [1.5, 2.0], [-2.0, 0.5]):
            wanted = session.run(y, {x: values})
            printed = capfd.readouterr()
            np.testing.assert_array_equal(net(x=values)["y"], wanted)
            assert capfd.readouterr() == printed


def test_names_lines_and_regions_are_kept(tmp_path: Path):
    x = sg.placeholder(sg.float32, [None], name="x")
    nested(x)
    save(tmp_path / "net.sg", {"y": "while/Exit_1:0"})
    before = sg.get_default_graph()
    after = load(tmp_path / "net.sg").graph
    for op in after.get_operations():
        old = before.get_operation_by_name(op.name)
        assert str(op) == str(old) and op.where.short == old.where.short
        owners = [None if o.region is None else o.region.owner.name for o in (op, old)]
        assert owners[0] == owners[1]
        for new_region, old_region in zip(regions_of(op), regions_of(old), strict=True):
            for kind in ("params", "results"):
                pairs = [[t.name for t in getattr(r, kind)] for r in (new_region, old_region)]
                assert pairs[0] == pairs[1]
    with after.as_default():  # as elsewhere, what is inside cannot be used outside
        inside = next(t for op in after.get_operations() if op.region for t in op.outputs)
        with pytest.raises(sg.errors.RegionError):
            sg.identity(inside)


def test_variables_and_random_numbers_inside(tmp_path: Path):
    v = sg.Variable(1.0, name="v")
    step = sg.placeholder_with_default(1.0, [], name="step")
    up = sg.cond(step > 0, lambda: v.assign_add(step), lambda: v.assign_sub(1.0))
    noise = sg.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y + sg.random_uniform([2], seed=4)), [0, sg.zeros([2])]
    )[1]
    path = tmp_path / "net.sg"
    with sg.Session() as session:
        session.run(v.initializer)
        session.run(noise)
        save(path, {"up": up, "noise": noise})
        wanted = [session.run({"up": up, "noise": noise}) for _ in range(3)]
    net = load(path)
    for each in wanted:
        np.testing.assert_equal(net(), each)
    assert net.variables["v"] == 4
    assert net(step=-1.0)["up"] == 3


def test_what_is_inside_is_no_output(tmp_path: Path):
    inside = []
    sg.cond(sg.constant(True), lambda: inside.append(sg.constant(1.0, name="one")) or inside[0], lambda: 2.0)
    with pytest.raises(SaveError, match="the output cond/one:0 is part of a loop or branch"):
        save(tmp_path / "net.sg", inside[0])


@pytest.mark.parametrize(
    "make, why",
    [
        (
            lambda x: sg.Print(x, [x], first_n=2),
            r"cannot save Print \(Print\): its first is of type Countdown",
        ),
        (
            lambda x: sg.cond(x > 0, lambda: sg.py_func(abs, [x], sg.float32), lambda: x),
            "its func is of type",
        ),
        (lambda x: printed(x, "file:///tmp/file.txt"), "its stream is '.*file.txt'"),
        (lambda x: sg.io.write_file("made", "text") and x, "write_file reaches out of the graph"),
    ],
)
def test_python_and_other_files_are_refused(tmp_path: Path, make: Callable[[sg.Tensor], Any], why: str):
    x = sg.placeholder(sg.float32, [], name="x")
    with pytest.raises(SaveError, match=why):
        y = make(x)
        with sg.control_dependencies([op for op in x.graph.get_operations() if op.type == "WriteFile"]):
            save(tmp_path / "net.sg", sg.identity(y))


def printed(x: sg.Tensor, stream: str) -> sg.Tensor:
    with sg.control_dependencies([sg.print(x, output_stream=stream)]):
        return sg.identity(x)


def test_an_assertion_fails_after_loading_too(tmp_path: Path):
    x = sg.placeholder(sg.float32, [1], name="x")
    save(tmp_path / "net.sg", asserted(x))
    with pytest.raises(InvalidArgumentError, match=r"assertion failed: \[too small:\] \[-10\]"):
        load(tmp_path / "net.sg")(x=[-10])


# Forged files


@pytest.fixture
def intact(tmp_path: Path) -> Path:
    """A loop with a branch in its body, and an effect."""
    with Graph().as_default():
        x = sg.placeholder(sg.float32, [], name="x")

        def body(i: sg.Tensor, y: sg.Tensor) -> Any:
            return i + 1, sg.cond(y > 9, lambda: y * x, lambda: y + 1.0)

        made = sg.while_loop(lambda i, y: i < 5, body, [0, x], name="loop")[1]
        with sg.control_dependencies([sg.print("y is", made)]):
            save(tmp_path / "net.sg", sg.identity(made, name="y"))
    return tmp_path / "net.sg"


def first(graph: dict, op: str, region: int | None = None) -> dict:
    return next(o for o in graph["operations"] if o["op"] == op and region in (None, o.get("region")))


def body(graph: dict) -> list:
    """Return the body of the loop: its number, params and results."""
    return first(graph, "while_region")["attrs"]["body"]["region"]


def branches(graph: dict) -> list:
    return [each["region"] for each in first(graph, "branch_region")["attrs"]["branches"]]


def stop_carrying(graph: dict) -> None:
    body(graph)[2].pop()


def deep(graph: dict) -> None:
    graph["regions"] += [None, *range(4, 1000)]


REGIONS: dict[str, tuple[Callable[[dict], Any], str]] = {
    "no regions": (lambda g: g.pop("regions"), "is in region [01], which is not before it"),
    "a region in itself": (lambda g: g["regions"].__setitem__(0, 0), "which is not before it"),
    "a region in a later one": (lambda g: g["regions"].__setitem__(0, 1), "which is not before it"),
    "a region of the wrong kind": (lambda g: g["regions"].__setitem__(0, "1"), "int or null"),
    "deep nesting": (deep, "nested too deeply"),
    "a region that nothing has": (lambda g: g["regions"].append(None), "is not a part of an operation"),
    "an operation in a region that is not there": (
        lambda g: named(g, "x").update(region=99),
        "is in region 99",
    ),
    "an operation in region -1": (lambda g: named(g, "x").update(region=-1), "is in region -1"),
    "an operation in a region that is closed": (
        lambda g: named(g, "y").update(region=1),
        "comes after 'loop/While', which it is a part of",
    ),
    "a use of what is inside": (
        lambda g: named(g, "y").update(inputs=[body(g)[2][1]]),
        "is not in the loop or branch",
    ),
    "a control input that is inside": (
        lambda g: named(g, "y").update(after=[body(g)[2][1].partition(":")[0]]),
        "is not in the loop or branch",
    ),
    "a branch that uses the other": (
        lambda g: first(g, "add", 3).update(inputs=[branches(g)[0][2][0], branches(g)[0][2][0]]),
        "is not in the loop or branch",
    ),
    "a result of another region": (
        lambda g: branches(g)[1].__setitem__(2, branches(g)[0][2]),
        "which is a part of another region",
    ),
    "a result that is not there": (lambda g: branches(g)[1][2].__setitem__(0, "z:0"), "no operation 'z'"),
    "a region twice": (
        lambda g: branches(g)[1].__setitem__(0, branches(g)[0][0]),
        "is a region that is a part of another operation too",
    ),
    "a region that is a number": (
        lambda g: first(g, "while_region")["attrs"]["body"].update(region=1),
        "must be list",
    ),
    "a region of two parts": (lambda g: body(g).pop(), "not a number, params and results"),
    "a loop without a body": (lambda g: first(g, "while_region")["attrs"].pop("body"), "has no body"),
    "a loop whose body is a number": (
        lambda g: first(g, "while_region")["attrs"].update(body=1),
        "operands and attributes do not fit",
    ),
    "a region for another op": (
        lambda g: first(g, "placeholder")["attrs"].update(shape={"region": [0, [], []]}),
        "the attributes of 'x' are not those of placeholder",
    ),
    "params that are none": (lambda g: body(g)[1].__setitem__(0, "x:0"), "are not the region_parameter"),
    "a param twice": (lambda g: body(g)[1].__setitem__(0, body(g)[1][1]), "are not the region_parameter"),
    "fewer params": (lambda g: body(g)[1].pop(), "are not the region_parameter"),
    "a param outside": (
        lambda g: first(g, "region_parameter").pop("region"),
        "is a param and in no region",
    ),
    "fewer results": (stop_carrying, "not possible: the body gives"),
    "a result of another dtype": (lambda g: body(g)[2].reverse(), "not possible: the body gives"),
    "a condition that is a number": (
        lambda g: first(g, "while_region")["attrs"]["cond"]["region"][2].__setitem__(0, "x:0"),
        "must be one truth value",
    ),
    "two conditions": (
        lambda g: first(g, "while_region")["attrs"]["cond"]["region"][2].append("x:0"),
        "operands and attributes do not fit",
    ),
    "a loop that is given less": (
        lambda g: first(g, "while_region").update(inputs=["x:0"]),
        "not possible: the loop gets",
    ),
    "a capture that is missing": (
        lambda g: first(g, "branch_region")["inputs"].pop(),
        "does not have what its region captures",
    ),
    "a number that chooses nothing": (
        lambda g: first(g, "branch_region")["inputs"].__setitem__(0, "x:0"),
        "chooses no branch",
    ),
    "branches with other results": (lambda g: branches(g)[1].__setitem__(2, []), "branches give"),
    "no branches": (
        lambda g: first(g, "branch_region")["attrs"].update(branches=[]),
        "there are no branches",
    ),
    "a compiled loop": (lambda g: first(g, "while_region").update(op="loop"), "an op of the compiler's"),
    "a print to a file": (
        lambda g: first(g, "print_line")["attrs"].update(stream="/etc/passwd"),
        "its stream is '/etc/passwd'",
    ),
    "a print to a number": (lambda g: first(g, "print_line")["attrs"].update(stream=1), "its stream is 1"),
    "a call": (lambda g: named(g, "x").update(op="py_func"), "py_func reaches out"),
    "a file that is written": (
        lambda g: named(g, "x").update(op="write_file"),
        "reaches out|does not know",
    ),
}


@pytest.mark.parametrize("change, match", REGIONS.values(), ids=REGIONS)
def test_a_forged_loop_is_refused(intact: Path, change: Callable[[dict], Any], match: str):
    refused(forge(intact, change), match)


@pytest.mark.takes_long
def test_any_value_in_any_place_of_a_loop_is_refused_or_fits(intact: Path):
    parts = {n: bytes(v) for n, v in container.unpack(memoryview(intact.read_bytes())).items()}
    manifest = json.loads(parts["manifest.json"])
    kept = {k: manifest[k] for k in ("signatures", "counters")}
    graph = json.loads(parts["graph.json"])
    references = [t for op in graph["operations"] for t in op.get("inputs", ())]
    chance, outcomes = random.Random(5), set()
    for place in list(places(graph)) * 2:
        forged = json.loads(parts["graph.json"])
        owner = forged
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = chance.choice([*VALUES, 1, 2, 3, *references])
        members = {
            "graph.json": json.dumps(forged).encode(),
            "weights.safetensors": parts["weights.safetensors"],
        }
        container.write(intact, "graph", kept, {n: [p] for n, p in members.items()})
        try:
            load(intact)
        except InvalidFileError:
            outcomes.add("refused")
        else:
            outcomes.add("loaded")
    assert outcomes == {"refused", "loaded"}
