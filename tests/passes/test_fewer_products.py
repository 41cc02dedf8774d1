"""Convolutions by fewer multiplications give the same numbers."""

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.capture.guards import Answers
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.size_contexts import answering
from staticgraph.compiler.graph.sizes import evaluate as evaluate_size
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.passes.pipeline import PIPELINE
from staticgraph.compiler.passes.winograd import _Convolution, fewer_products
from staticgraph.runtime.cpu.executable import evaluate

C = 32  # the fewest channels for which it pays


def convolution(name: str, x: Value, w: Value, counts: tuple[int, int], before: tuple[int, int]) -> Value:
    if name == "conv_spread":
        return ops.conv_spread(x, w, space=counts, dilations=(1, 1), before=before)
    return ops.conv_windows(x, w, counts=counts, strides=(1, 1), dilations=(1, 1), before=before)


def names(function: Function) -> set[str]:
    return {node.op.name for node in function.nodes}


@pytest.mark.takes_long
@pytest.mark.by_turns("kind")
@pytest.mark.parametrize("kind", ["constant", "variable"])
@pytest.mark.parametrize("name", ["conv_windows", "conv_spread"])
@pytest.mark.parametrize(
    ("size", "counts", "before"),
    [
        ((32, 36), (32, 36), (1, 1)),  # SAME
        ((34, 33), (32, 31), (0, 0)),  # VALID, and half a tile over the edge
        ((31, 31), (33, 33), (2, 2)),  # FULL
        ((33, 32), (31, 33), (0, 2)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results(
    name: str,
    kind: str,
    size: tuple[int, int],
    counts: tuple[int, int],
    before: tuple[int, int],
    dtype: str,
    rng: np.random.Generator,
) -> None:
    build = Builder()
    values = rng.normal(size=(1, *size, C)), rng.normal(size=(3, 3, C, C + 1)) / C
    if name == "conv_spread":
        values = values[0], values[1].swapaxes(2, 3)
    x = build.parameter("x", dtype, values[0].shape)
    constant = kind == "constant"
    w = build.constant(values[1], dtype) if constant else build.parameter("w", dtype, values[1].shape)
    params = (x,) if constant else (x, w)
    function = Function(params, (convolution(name, x, w, counts, before),))
    changed = fewer_products(function)
    assert name not in names(changed)
    fed: dict[Any, np.ndarray] = dict(zip(params, (v.astype(dtype) for v in values), strict=False))
    (wanted,) = interpret(function, fed)
    tolerance = {"rtol": 1e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-12}
    for made in (interpret(changed, fed)[0], evaluate(function, list(fed.values()))[0]):
        np.testing.assert_allclose(made, wanted, **tolerance)


@pytest.mark.parametrize(("images", "groups"), [(6, 3), (7, 7), (2, 1)])
def test_so_many_images_at_a_time(
    images: int, groups: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Two have room in the cache."""
    monkeypatch.setattr("staticgraph.compiler.passes.winograd._GROUP", 2 * 16 * 64 * C * 4)
    build = Builder()
    x, w = build.parameter("x", "float32", (images, 16, 16, C)), build.parameter("w", "float32", (3, 3, C, C))
    function = Function((x, w), (convolution("conv_windows", x, w, (16, 16), (1, 1)),))
    changed = fewer_products(function)
    assert [node.attrs["bound"] for node in changed.nodes if node.op.name == "loop"] == [groups] * (
        groups > 1
    )
    values = [rng.normal(size=p.shape).astype("float32") for p in (x, w)]
    (wanted,) = interpret(function, dict(zip((x, w), values, strict=True)))
    for made in (interpret(changed, dict(zip((x, w), values, strict=True))), evaluate(function, values)):
        np.testing.assert_allclose(made[0], wanted, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize(("images", "counts", "before"), [(6, (16, 16), (1, 1)), (4, (15, 13), (0, 2))])
def test_derivative_by_the_filter(
    images: int,
    counts: tuple[int, int],
    before: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
    rng: np.random.Generator,
) -> None:
    """Summed over groups of two images."""
    monkeypatch.setattr("staticgraph.compiler.passes.winograd._GROUP", 2 * 16 * 64 * (C + 1) * 4)
    build = Builder()
    x = build.parameter("x", "float32", (images, 16, 16, C))
    dy = build.parameter("dy", "float32", (images, *counts, C + 1))
    steps = {"strides": (1, 1), "dilations": (1, 1), "before": before}
    function = Function((x, dy), (ops.conv_filter(x, dy, taps=(3, 3), **steps),))
    changed = fewer_products(function)
    assert [node.attrs["bound"] for node in changed.nodes if node.op.name == "loop"] == [images // 2]
    values = [rng.normal(size=p.shape).astype("float32") for p in (x, dy)]
    (wanted,) = interpret(function, dict(zip((x, dy), values, strict=True)))
    for made in (interpret(changed, dict(zip((x, dy), values, strict=True))), evaluate(function, values)):
        np.testing.assert_allclose(made[0], wanted, rtol=1e-4, atol=1e-3)


def test_the_error_is_no_larger(rng: np.random.Generator) -> None:
    """Against float64, beside the direct way."""
    build = Builder()
    x, w = rng.normal(size=(1, 32, 32, 64)).astype("f4"), (rng.normal(size=(3, 3, 64, 64)) / 24).astype("f4")
    at = build.parameter("x", "float32", x.shape)
    function = Function((at,), (convolution("conv_windows", at, build.constant(w), (32, 32), (1, 1)),))
    small = Builder()
    part = small.parameter("x", "float32", (1, 4, 34, 64))  # too few tiles
    direct = Function((part,), (convolution("conv_windows", part, small.constant(w), (2, 32), (0, 0)),))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    wanted = sum(
        padded[:, i : i + 32, j : j + 32].astype(np.float64) @ w[i, j] for i in range(3) for j in range(3)
    )
    error = np.abs(evaluate(function, [x])[0] - wanted)
    rows = [evaluate(direct, [padded[:, i : i + 4]])[0] for i in range(0, 32, 2)]
    direct_error = np.abs(np.concatenate(rows, axis=1) - wanted)
    assert error.mean() <= 1.5 * direct_error.mean()
    assert error.max() <= 2.0 * direct_error.max()


@pytest.mark.parametrize(
    ("x", "w", "counts", "steps"),
    [
        ((1, 32, 32, 8), (3, 3, 8, 64), (32, 32), 1),  # few channels
        ((1, 8, 8, 64), (3, 3, 64, 64), (8, 8), 1),  # few tiles
        ((1, 34, 34, 64), (5, 5, 64, 64), (32, 32), 1),
        ((1, 64, 64, 64), (3, 3, 64, 64), (32, 32), 2),
        ((1, 64, 64, 256), (3, 3, 256, 64), (64, 64), 1),  # an image would not stay in the cache
        ((40, 3, 3, 64), (3, 3, 64, 64), (3, 3), 1),  # half of the tiles lie over the edge
    ],
)
def test_where_it_would_not_pay(
    x: tuple[int, ...], w: tuple[int, ...], counts: tuple[int, int], steps: int
) -> None:
    build = Builder()
    made = ops.conv_windows(
        build.parameter("x", "float32", x),
        build.parameter("w", "float32", w),
        counts=counts,
        strides=(steps, steps),
        dilations=(1, 1),
        before=(1, 1),
    )
    function = Function(tuple(made.node.inputs), (made,))
    assert fewer_products(function) is function or names(fewer_products(function)) == names(function)


def test_equal_layers_share_the_body_of_their_loops(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Work for a group of images is the same in all of them; with another padding it is not."""
    monkeypatch.setattr("staticgraph.compiler.passes.winograd._GROUP", 2 * 16 * 64 * C * 4)
    build = Builder()
    x = h = build.parameter("x", "float32", (4, 16, 16, C))
    filters = [build.parameter(f"w{n}", "float32", (3, 3, C, C)) for n in range(4)]
    for w, before in zip(filters, [(1, 1), (1, 1), (1, 1), (0, 1)], strict=True):
        h = convolution("conv_windows", h, w, (16, 16), before)
    function = Function((x, *filters), (h,))
    loops = [node for node in fewer_products(function).nodes if node.op.name == "loop"]
    bodies = [node.attrs["body"] for node in loops]
    assert [bodies.index(body) for body in bodies] == [0, 0, 0, 3]
    values = [rng.normal(size=p.shape).astype("float32") / 16 for p in function.params]
    (wanted,) = interpret(function, dict(zip(function.params, values, strict=True)))
    np.testing.assert_allclose(evaluate(function, values)[0], wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("images", [6, None])
@pytest.mark.parametrize("name", ["conv_windows", "conv_spread"])
def test_arithmetic_behind_it_is_done_in_the_rounds(
    name: str, images: int | None, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """The result of each group is in the cache then. What is read twice ends it."""
    monkeypatch.setattr("staticgraph.compiler.passes.winograd._GROUP", 2 * 16 * 64 * C * 4)
    build = Builder()
    shape = (symbol("n") if images is None else images, 16, 16, C)
    x, z, w, bias, once = (
        build.parameter(name, "float32", shape)
        for name, shape in (
            ("x", shape), ("z", shape), ("w", (3, 3, C, C)), ("b", (C,)), ("o", (1, 16, 1, C)),
        )
    )  # fmt: skip
    y = ops.tanh((z + (convolution(name, x, w, (16, 16), (1, 1)) + bias) * once) * z)
    function = Function((x, z, w, bias, once), (y * 2.0, ops.exp(y)))
    changed = fewer_products(function)
    (loop,) = (node for node in changed.nodes if node.op.name == "loop")
    assert {"tanh", "multiply", "add"} <= {node.op.name for node in loop.attrs["body"].nodes}
    assert names(changed) >= {"exp", "multiply"} and "tanh" not in names(changed)
    if images is None:
        return  # its numbers: `test_an_open_number_of_images`
    values = [rng.normal(size=p.shape).astype("float32") / 4 for p in function.params]
    fed = dict(zip(function.params, values, strict=True))
    for found in (interpret(changed, fed), evaluate(function, values)):
        for made, wanted in zip(found, interpret(function, fed), strict=True):
            np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("images", "size", "constant", "pays"),
    [
        (1, 8, False, False),  # 16 tiles, for which the larger filter is made in each run
        (2, 8, False, True),
        (None, 8, False, True),  # rather several images than one
        (None, 6, False, False),
        (1, 4, True, True),
        (None, 4, True, True),
        (1, 2, True, False),
    ],
)
def test_how_many_tiles_pay(images: int | None, size: int, constant: bool, pays: bool) -> None:
    build = Builder()
    x = build.parameter("x", "float32", (symbol("n") if images is None else images, size, size, C))
    w = (
        build.constant(np.ones((3, 3, C, C), "f4"))
        if constant
        else build.parameter("w", "float32", (3, 3, C, C))
    )
    params = (x,) if constant else (x, w)
    function = Function(params, (convolution("conv_windows", x, w, (size, size), (1, 1)),))
    assert (fewer_products(function) is not function) is pays


@pytest.mark.takes_long
def test_an_open_number_of_images(rng: np.random.Generator) -> None:
    """Each is a group of its own, in one program for any number of them, with its derivatives."""
    build, images = Builder(), symbol("n")
    at = build.parameter("x", "float32", (images, 16, 16, C)), build.parameter("w", "float32", (3, 3, C, C))
    changed = fewer_products(Function(at, (convolution("conv_windows", *at, (16, 16), (1, 1)),)))
    assert [node.attrs["bound"] for node in changed.nodes if node.op.name == "loop"] == [images]

    x, w = sg.placeholder(sg.float32, [None, 16, 16, C]), sg.placeholder(sg.float32, [3, 3, C, C + 1])
    y = sg.nn.relu(sg.nn.conv2d(x, w, 1, "SAME") + np.linspace(-1, 1, C + 1, dtype="f4"))
    fetches = [y, *sg.gradients(sg.reduce_sum(y * y), [x, w])]
    filters = rng.normal(size=(3, 3, C, C + 1)) / 17
    with sg.Session(open_sizes=True) as session:
        for count in (5, 0, 1, 9):
            values = rng.normal(size=(count, 16, 16, C))
            made = session.run(fetches, {x: values, w: filters})
            with sg.options(passes="-fewer_products"), sg.Session() as closed:
                wanted = closed.run(fetches, {x: values, w: filters})
            for one, other in zip(made, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
        assert len(session.compiles) == 1


@pytest.mark.parametrize("kind", ["mask", "select", "constant"])
@pytest.mark.parametrize("name", ["conv_windows", "conv_spread"])
def test_a_window_without_some_places_is_left_alone(name: str, kind: str, rng: np.random.Generator):
    """Results do not depend on elements at places whose weights are zero, not even by rounding."""
    build = Builder()
    x = build.parameter("x", "float32", (1, 16, 16, C))
    values = rng.normal(size=(3, 3, C, C)).astype(np.float32)
    mask = np.ones((3, 3, 1, 1), np.float32)
    mask[2], mask[1, 2] = 0, 0
    w = build.parameter("w", "float32", values.shape)
    params, masked = (x, w), w * mask
    if kind == "select":
        masked = ops.select(build.constant(np.broadcast_to(mask > 0, w.shape)), w, build.constant(0.0))
    elif kind == "constant":
        params, masked = (x,), build.constant(values * mask)
    function = Function(params, (convolution(name, x, masked, (16, 16), (1, 1)),))
    assert name in names(fewer_products(function))
    image = np.zeros((1, 16, 16, C), np.float32)
    image[:, 8, 8] = 1.0
    (made,) = evaluate(function, [image, values][: len(params)])
    reached = np.abs(made).max((0, 3)) > 0
    assert reached.sum() == 5 and reached[8, 8]


def test_a_place_without_some_channels_is_no_obstacle(rng: np.random.Generator):
    build = Builder()
    x, w = build.parameter("x", "float32", (1, 32, 32, C)), build.parameter("w", "float32", (3, 3, C, C))
    pruned = (rng.uniform(size=(3, 3, C, C)) < 0.5).astype(np.float32)
    function = Function((x, w), (convolution("conv_windows", x, w * pruned, (32, 32), (1, 1)),))
    assert "conv_windows" not in names(fewer_products(function))


@pytest.mark.takes_long
def test_open_height_and_width(rng: np.random.Generator) -> None:
    """One program for all sizes: a run goes one way or the other by its sizes alone, whatever ran before."""
    filters = (rng.normal(size=(3, 3, C, C + 1)) / 17).astype(np.float32)
    shapes = [(2, 16, 16), (3, 5, 5), (0, 9, 9), (1, 1, 1), (2, 17, 30), (3, 0, 8), (1, 200, 300), (2, 7, 64)]
    values = {shape: rng.normal(size=(*shape, C)).astype(np.float32) for shape in shapes}
    x, w = sg.placeholder(sg.float32, [None, None, None, C]), sg.constant(filters)
    y = sg.nn.relu(sg.nn.conv2d(x, w, 1, "SAME") + np.linspace(-1, 1, C + 1, dtype="f4"))
    fetches = [y, *sg.gradients(sg.reduce_sum(y * y), [x, w])]
    made: dict[tuple[int, ...], list[np.ndarray]] = {}
    before = sg.get_num_threads()
    for threads, order in ((1, shapes), (2, shapes[::-1])):
        sg.set_num_threads(threads)
        with sg.Session() as session:
            for shape in order:
                found = session.run(fetches, {x: values[shape]})
                for one, other in zip(found, made.setdefault(shape, found), strict=True):
                    assert one.tobytes() == other.tobytes(), shape
            assert len(session.compiles) == 1
    sg.set_num_threads(before)
    with sg.options(passes="-fewer_products"), sg.Session(open_sizes=False) as closed:
        for shape in shapes:
            wanted = closed.run(fetches, {x: values[shape]})
            for one, other in zip(made[shape], wanted, strict=True):
                scale = np.abs(other).max(initial=1.0)
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * scale)


def test_open_sizes_choose_by_the_same_rules() -> None:
    """As many tiles as pay, few of them over the edges, and an image that stays in the cache."""
    height, width = symbol("h"), symbol("w")
    opened = _Convolution(3, (height, width), C, C, (1, 1), float32, False).pays
    for h, w in [
        (1, 1),
        (2, 2),
        (5, 5),
        (7, 7),
        (8, 8),
        (8, 9),
        (9, 9),
        (64, 64),
        (128, 128),
        (129, 128),
        (0, 9),
    ]:
        closed = _Convolution(3, (h, w), C, C, (1, 1), float32, False).pays
        assert evaluate_size(opened, {"h": h, "w": w}) == closed in (0, 1), (h, w)


def test_memory_is_that_of_the_way_a_run_goes() -> None:
    """An image of 600 by 600 is convolved as it is: the 16 matrices of its tiles would take 184 MB."""
    build, sizes = Builder(), (symbol("h"), symbol("w"))
    x, w = build.parameter("x", "float32", (1, *sizes, C)), build.parameter("w", "float32", (3, 3, C, C))
    with answering(Answers({"h": 600, "w": 600})):
        function = Function((x, w), (convolution("conv_windows", x, w, sizes, (1, 1)),))
        arena = lower(fuse(PIPELINE(function)), 1, {}).arena
    assert evaluate_size(arena, {"h": 600, "w": 600}) < 2 * 600 * 600 * C * 4
    assert evaluate_size(arena, {"h": 16, "w": 16}) > 2 * 16 * 8 * 8 * C * 4
