"""Elementwise ops where definitions part ways: signs, ties, zeros, infinities, NaN.

The numbers are TensorFlow 1.15's, but where it raises an error at run time: an integer divided by 0 gives 0
here, and so does an integer power with a negative exponent unless the base is 1 or -1.
"""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.autodiff.reverse import vjp
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import as_dtype, bool_, float32, int32
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.runtime.cpu.executable import evaluate

NAN, INF = float("nan"), float("inf")
EDGES = [NAN, -INF, -1e30, -1.0, -0.0, 0.0, 1.0, 6.0, 7.0, 1e30, INF]

VALUES = [
    ("relu", [EDGES], [NAN, 0, 0, 0, 0, 0, 1, 6, 7, 1e30, INF]),
    ("relu6", [EDGES], [NAN, 0, 0, 0, 0, 0, 1, 6, 6, 6, 6]),
    ("elu", [EDGES], [NAN, -1, -1, -0.63212055, 0, 0, 1, 6, 7, 1e30, INF]),
    (
        "softplus",
        [EDGES],
        [NAN, 0, 0, 0.31326163, 0.6931472, 0.6931472, 1.3132616, 6.0024757, 7.000912, 1e30, INF],
    ),
    ("sigmoid", [EDGES], [NAN, 0, 0, 0.26894143, 0.5, 0.5, 0.7310586, 0.99752736, 0.999089, 1, 1]),
    ("sign", [EDGES], [0, -1, -1, -1, 0, 0, 1, 1, 1, 1, 1]),
    ("sqrt", [EDGES], [NAN, NAN, NAN, NAN, 0, 0, 1, 2.4494898, 2.6457512, 1e15, INF]),
    ("lgamma", [EDGES], [NAN, INF, INF, INF, INF, INF, 0, 4.787492, 6.5792513, 6.8077553e31, INF]),
    ("floormod", [[5.5, -5.5, 5.5, -5.5], [2, 2, -2, -2]], [1.5, 0.5, -0.5, -1.5]),
    ("floormod", [[INF, -1, 1], [3, INF, -INF]], [NAN, INF, -INF]),
    ("floor_div", [[5.5, -5.5, 5.5, -5.5, INF, -1], [2, 2, -2, -2, 3, INF]], [2, -3, -3, 2, INF, 0]),
    ("truncatediv", [[5.5, -5.5, 1, -1, 0, INF], [2, 2, 0, 0, 0, -3]], [2, -2, INF, -INF, NAN, -INF]),
    ("round", [[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]], [-2, -2, 0, 0, 2, 2]),
    ("maximum", [[NAN, 1, 0.0], [1, NAN, -0.0]], [NAN, NAN, 0]),
    ("div_no_nan", [[NAN, 1, NAN, 0, 3], [1, NAN, 0, 0, 0]], [NAN, NAN, 0, 0, 0]),
    ("multiply_no_nan", [[NAN, 1, NAN, INF], [1, NAN, 0, 0]], [NAN, NAN, 0, 0]),
    ("pow", [[-2, -2, 0, 0, 0, -2, 2], [2, 0.5, 0, -1, 2, 3, 0]], [4, NAN, 1, INF, 0, -8, 1]),
    ("pow", [[NAN, 1], [0, NAN]], [1, 1]),
    ("atan2", [[0.0, -0.0, 0.0, -0.0], [1, 1, -1, -1]], [0, 0, np.pi, -np.pi]),
    ("xlogy", [[0, 0, 0, 2], [0, NAN, -1, 3]], [0, 0, 0, 2.1972246]),
    ("xdivy", [[0, 0, 2], [0, NAN, 4]], [0, 0, 0.5]),
]
INTEGERS = [
    ("floor_div", "int32", [[-7, 7, -7, 7, 5], [2, -2, -2, 2, 0]], [-4, -4, 3, 3, 0]),
    ("floormod", "int32", [[-7, 7, -7, 7, 5], [2, -2, -2, 2, 0]], [1, -1, -1, 1, 0]),
    ("truncatediv", "int32", [[-7, 7, -7, 7, 5], [2, -2, -2, 2, 0]], [-3, -3, 3, 3, 0]),
    ("truncatediv", "int8", [[-128, -128, -128, 127, -127], [2, 3, -3, -128, 2]], [-64, -42, 42, 0, -63]),
    ("truncatediv", "int64", [[-(2**63), -(2**63)], [7, -2]], [-((2**63) // 7), 2**62]),
    ("truncatemod", "int32", [[-7, 7, -7, 7, 5], [2, -2, -2, 2, 0]], [-1, 1, -1, 1, 0]),
    ("pow", "int64", [[2, -3, 1, -1, 2, 0], [10, 3, -2, -3, -1, 0]], [1024, -27, 1, -1, 0, 1]),
    ("left_shift", "int8", [[1, 1, 1, 100], [3, 100, 7, 1]], [8, -128, -128, -56]),
    ("right_shift", "uint8", [[100, 100, 7], [3, 100, 0]], [12, 0, 7]),
    ("abs", "int32", [[-(2**31), -3]], [-(2**31), 3]),
    ("add", "uint8", [[250, 255], [10, 1]], [4, 0]),
]
# Gradients of the sum of the results, where there are corners.
GRADIENTS = [
    ("relu", [[-1.0, 0.0, 1.0, NAN]], [[0, 0, 1, 0]]),
    ("relu6", [[-1.0, 0.0, 3.0, 6.0, 9.0]], [[0, 0, 1, 0, 0]]),
    ("leaky_relu", [[-1.0, 0.0, 1.0]], [[0.2, 0.2, 1]]),
    ("elu", [[-1.0, 0.0, 1.0]], [[0.36787945, 1, 1]]),
    ("abs", [[-2.0, 0.0, 2.0, NAN]], [[-1, 0, 1, 0]]),
    ("sign", [[-2.0, 0.0, 2.0]], [[0, 0, 0]]),
    ("maximum", [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], [[0, 1, 1], [1, 0, 0]]),
    ("minimum", [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], [[1, 1, 0], [0, 0, 1]]),
    ("pow", [[0.0, -2.0, 2.0], [2.0, 2.0, 2.0]], [[0, -4, 4], [0, 0, 2.7725887]]),
    ("div_no_nan", [[1.0, 1.0], [0.0, 2.0]], [[0, 0.5], [0, -0.25]]),
    ("sqrt", [[0.0, 4.0]], [[INF, 0.25]]),
]


def build(name, arrays, dtype):
    builder = Builder()
    arrays = [np.array(a, dtype) for a in arrays]
    params = [builder.parameter(f"p{i}", dtype, a.shape) for i, a in enumerate(arrays)]
    return builder, params, arrays, getattr(ops, name)(*params)


def check(function, arrays, wanted):
    arguments = dict(zip(function.params, arrays, strict=True))
    for found in (evaluate(function, arrays), interpret(function, arguments)):
        for result, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(result, np.array(expected, result.dtype), rtol=3e-7)


@pytest.mark.parametrize(("name", "arrays", "wanted"), VALUES, ids=[case[0] for case in VALUES])
def test_floating(name, arrays, wanted):
    _, params, arrays, result = build(name, arrays, "float32")
    check(Function(tuple(params), (result,)), arrays, [wanted])


@pytest.mark.parametrize(("name", "dtype", "arrays", "wanted"), INTEGERS, ids=[case[0] for case in INTEGERS])
def test_integers(name, dtype, arrays, wanted):
    _, params, arrays, result = build(name, arrays, dtype)
    check(Function(tuple(params), (result,)), arrays, [wanted])


@pytest.mark.parametrize(("name", "arrays", "wanted"), GRADIENTS, ids=[case[0] for case in GRADIENTS])
def test_gradients(name, arrays, wanted):
    builder, params, arrays, result = build(name, arrays, "float32")
    grads = vjp(builder, [result], [None], params)
    check(Function(tuple(params), tuple(grads)), arrays, wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_cast_saturates(dtype):
    """TensorFlow leaves these to the processor; here every machine gives the same."""
    info = np.iinfo(dtype)
    numbers = np.array([NAN, -INF, INF, -1e30, 1e30, -1.9, 1.9], np.float32)
    x = Builder().parameter("x", "float32", numbers.shape)
    low = max(info.min, -1) if info.min else 0
    wanted = [0, info.min, info.max, info.min, info.max, low, 1]
    check(Function((x,), (ops.cast(x, dtype=as_dtype(dtype)),)), [numbers], [wanted])


@pytest.mark.takes_long
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_vectors_that_are_cast_saturate(source, dtype, rng):
    """As Python's integers do, in all lanes: also beside each end of the integers."""
    info, floating = np.iinfo(dtype), as_dtype(source)
    ends = np.array([info.min, info.max], floating.numpy if floating.size > 2 else np.float32)
    beside = [np.nextafter(ends, end) for end in np.array([-INF, INF], ends.dtype)]
    random = rng.normal(size=53) * 10.0 ** rng.integers(0, 25, 53)
    with np.errstate(over="ignore"):
        numbers = floating.round(np.concatenate([[NAN, INF, -INF, -0.0, 0.5, -0.5], ends, *beside, random]))
    wanted = [0 if x != x else min(max(x, info.min), info.max) for x in map(float, numbers)]
    wanted = np.array([int(x) for x in wanted], dtype)
    x = Builder().parameter("x", source, numbers.shape)
    check(Function((x,), (ops.cast(x, dtype=as_dtype(dtype)),)), [numbers], [wanted])


def test_vectors_are_cast_without_going_through_their_lanes():
    """LLVM's intrinsic for it is one instruction after the other on x86."""
    x = sg.placeholder(sg.float32, [1000])
    with sg.Session(device="cpu") as session:
        code = session.executable(sg.cast(x, sg.int32), {x: np.zeros(1000)}).compiled.codes
    text = "".join(part.text for part in code)
    assert "fptosi <" in text and "fptosi.sat.v" not in text


def test_operators_have_the_names_of_tensorflow():
    with Graph().as_default() as graph:
        x, i = ops.placeholder(float32, (2,), name="x"), ops.placeholder(int32, (2,), name="i")
        b = ops.placeholder(bool_, (2,), name="b")
        made = [x + 1.0, 1.0 - x, x * 2, x / 2, i // 2, i % 2, x**2.0, -x, abs(x), x < 1.0, b & b, b | b, ~b]
        wanted = "add sub mul truediv floordiv mod pow Neg Abs Less and or LogicalNot"
        assert [t.op.name for t in made] == wanted.split()
        assert (i / 2).dtype.name == "float64"
        assert (b ^ b).op.name == "xor"
        inner = [op.name for op in graph.get_operations() if op.name.startswith(("truediv_1/", "xor/"))]
        assert inner == [
            *("truediv_1/Cast", "truediv_1/Cast_1/x", "truediv_1/Cast_1"),
            *("xor/LogicalOr", "xor/LogicalAnd", "xor/LogicalNot"),
        ]
        assert graph.get_operation_by_name("sub").inputs[0].op.name == "sub/x"
