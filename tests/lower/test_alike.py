"""Groups that do the same share a kernel; groups that differ in anything that code depends on do not."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import recording
from staticgraph.compiler.lower import kernel_dedup as alike
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Launch
from staticgraph.compiler.stages import observing
from staticgraph.runtime.cpu.executable import evaluate


def test_convolutions_of_groups_of_channels_are_products(rng):
    """Kernels that differ in the channels that they read are one kernel only if that stays a product."""
    x, w = (sg.placeholder(sg.float32, shape) for shape in ([2, 9, 9, 64], [3, 3, 16, 64]))
    parts = zip(sg.split(x, 4, 3), sg.split(w, 4, 3), strict=True)
    made = sg.concat([sg.nn.conv2d(a, b, [1, 1, 1, 1], "SAME") for a, b in parts], 3)
    seen = []
    with observing(lambda stage, before, after: seen.append(stage)), sg.Session(device="cpu") as session:
        given = {x: rng.normal(size=x.shape.as_list()), w: rng.normal(size=w.shape.as_list())}
        session.executable(sg.gradients(sg.reduce_sum(made * made), [x, w]), given)
    assert seen.count("print_gemm") == 12, seen


@pytest.fixture
def built(monkeypatch):
    """The roots of the groups whose kernels were built."""
    roots = []
    build = alike.build_kernel

    def counting(group, *rest, **named):
        roots.append(group.root.op.name)
        return build(group, *rest, **named)

    monkeypatch.setattr(alike, "build_kernel", counting)
    return roots


def layers(*each):
    """Return a Function of layers, each of the softmax of the one before."""
    build = Builder()
    with recording(build):
        x = build.parameter("x", "float32", (6, 8))
        y = x
        for layer in each:
            y = layer(ops.softmax(y))
        return Function((x,), (y,))


def launches(function):
    program = lower(fuse(function), len(function.results), {})
    return [i for i in program.instructions if isinstance(i, Launch)]


def scaled(by):
    return lambda y: ops.reshape(ops.transpose(ops.reshape(y, shape=(8, 6)), perm=(1, 0)), shape=(6, 8)) * by


def test_equal_layers_are_built_once(built, rng):
    function = layers(*[scaled(3.0)] * 5)
    made = launches(function)
    assert len(made) == 5 and len(built) == 1
    assert len({id(launch.work) for launch in made}) == 1
    assert len({launch.nodes for launch in made}) == 5
    values = [rng.normal(size=(6, 8)).astype(np.float32)]
    expected = interpret(function, dict(zip(function.params, values, strict=True)))
    np.testing.assert_allclose(evaluate(function, values)[0], expected[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (scaled(3.0), scaled(4.0)),
        (scaled(0.0), scaled(-0.0)),
        (lambda y: ops.gather(y, np.arange(6)), lambda y: ops.gather(y, np.arange(6)[::-1].copy())),
        (lambda y: ops.reverse(y, axis=(0,)), lambda y: ops.reverse(y, axis=(1,))),
        (lambda y: ops.exp(y) + ops.reverse(y, axis=(1,)), lambda y: ops.log(y) + ops.reverse(y, axis=(1,))),
    ],
    ids=["factors", "signs of zero", "counted constants", "attributes", "ops"],
)
def test_layers_that_differ(first, second, rng):
    function = layers(first, second, first, second)
    values = [rng.normal(size=(6, 8)).astype(np.float32)]
    expected = interpret(function, dict(zip(function.params, values, strict=True)))
    made = evaluate(function, values)
    np.testing.assert_allclose(made[0], expected[0], rtol=1e-5, atol=1e-7)
    assert (np.signbit(made[0]) == np.signbit(expected[0])).all()


def test_kernels_that_add_other_numbers_to_rows():
    """Constants that count rows are no memory, so kernels with others are others."""
    x = sg.placeholder(sg.int32, [3, 3])
    steps = [np.arange(0, 3 * step, step, dtype=np.int32).reshape(3, 1) for step in (3, 21)]
    sums = [sg.cumsum(sg.cumsum(x + step, axis=1), axis=0) for step in steps]
    value = np.arange(9, dtype=np.int32).reshape(3, 3)
    with sg.Session() as session:
        found = session.run(sums, {x: value})
    for made, step in zip(found, steps, strict=True):
        np.testing.assert_array_equal(made, (value + step).cumsum(1).cumsum(0))
