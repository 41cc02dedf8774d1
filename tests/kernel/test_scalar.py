import math

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
)
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Local, Scalar, walk
from staticgraph.compiler.kernel.interpret import apply
from staticgraph.compiler.kernel.lower_expressions import approximate
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from staticgraph.compiler.kernel.primitives.instructions import PARTS
from staticgraph.compiler.kernel.scalar import read
from staticgraph.compiler.kernel.verify import dtype_error

DTYPES = (float16, bfloat16, float32, float64, int8, int32, int64, uint8, uint32, bool_)


def operands(name: str, dtype) -> tuple[Local, ...]:
    names = "abc"[: PRIMITIVES[name].arity]
    return tuple(Local(n, bool_ if name == "select" and n == "a" else dtype) for n in names)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_numpy_reading_has_the_dtype_of_the_expression(name: str):
    for dtype in DTYPES:
        built = read(name, *operands(name, dtype))
        if (wrong := dtype_error(built)) is not None:
            assert "does not work on" in wrong
            continue
        sources = tuple(a.dtype for a in built.args)
        ones = tuple(d.round(1)[()] for d in sources)
        with np.errstate(divide="ignore"):  # atanh(1) is infinite
            value = apply(name, ones, sources, built.dtype)
            plain = PRIMITIVES[name].numpy(*ones)
        assert value.dtype == built.dtype.numpy, dtype
        assert np.asarray(plain).dtype == built.dtype.numpy, dtype


def test_every_primitive_works_on_some_dtype():
    for name in PRIMITIVES.keys() - PARTS.keys():  # those are gone before kernels are made
        assert any(dtype_error(read(name, *operands(name, d))) is None for d in DTYPES), name


def test_numbers_beside_expressions_become_constants_of_their_dtype():
    a = Local("a", int32)
    assert (a + 1).args == (a, Const(1, int32))
    assert (1 - a).args == (Const(1, int32), a)
    assert (a < 2).dtype is bool_
    assert scalar.select(a < 2, 0, a).args[1:] == (Const(0, int32), a)


def test_equal_expressions_are_one_object():
    a = Local("a", float32)
    assert scalar.exp(a + 1.0) is scalar.exp(a + 1.0)
    assert Const(0.0, float32) is not Const(-0.0, float32)
    assert Const(math.nan, float32) is Const(math.nan, float32)


def test_dtypes_are_not_mixed():
    with pytest.raises(TypeError, match="add of float32, float64: the dtypes differ"):
        read("add", Local("a", float32), Local("b", float64))


def test_a_tensor_reads_for_itself():
    class Tensor:
        def read_scalar(self, name, args):
            return name, len(args)

    assert scalar.maximum(Tensor(), 1.0) == ("maximum", 2)
    assert scalar.cast(Tensor(), float32) == ("cast", 2)


def test_unknown_names():
    with pytest.raises(AttributeError, match="there is no scalar primitive cube"):
        scalar.cube
    assert isinstance(scalar.and_(Local("p", bool_), Local("q", bool_)), Scalar)


PAIRS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5), (5, 0), (-5, 0)]


@pytest.mark.parametrize("a, b", PAIRS)
def test_integer_division(a: int, b: int):
    found = [
        int(PRIMITIVES[name].numpy(np.int32(a), np.int32(b)))
        for name in ("floordiv", "floormod", "truncdiv", "truncmod")
    ]
    expected = [a // b, a % b, int(a / b), int(math.fmod(a, b))] if b else [0, 0, 0, 0]
    assert found == expected


@pytest.mark.parametrize("a, b", PAIRS[:-2])
def test_floating_division(a: int, b: int):
    found = [
        float(PRIMITIVES[name].numpy(np.float32(a), np.float32(b)))
        for name in ("floordiv", "floormod", "truncdiv", "truncmod")
    ]
    assert found == [a // b, a % b, int(a / b), math.fmod(a, b)]


@pytest.mark.parametrize(
    "a, b, expected", [(2, 10, 1024), (2, -1, 0), (1, -3, 1), (-1, -3, -1), (-1, -2, 1), (0, 0, 1)]
)
def test_integer_powers(a: int, b: int, expected: int):
    assert int(PRIMITIVES["pow"].numpy(np.int32(a), np.int32(b))) == expected


def test_shift_amounts_are_clamped():
    assert int(PRIMITIVES["shl"].numpy(np.int32(1), np.int32(40))) == -(2**31)
    assert int(PRIMITIVES["shr"].numpy(np.int32(-8), np.int32(99))) == -1
    assert int(PRIMITIVES["shr"].numpy(np.int32(8), np.int32(-1))) == 8


def test_nan_wins_in_minimum_and_maximum():
    for name in ("minimum", "maximum"):
        assert math.isnan(PRIMITIVES[name].numpy(np.float32(math.nan), np.float32(1)))


@pytest.mark.parametrize("x", [-2.5, -0.3, 0.1, 1.0, 2.5, 30.0])
def test_digamma_is_the_derivative_of_lgamma(x: float):
    h = 1e-5
    slope = (scalar.lgamma(x + h) - scalar.lgamma(x - h)) / (2 * h)
    assert scalar.digamma(x) == pytest.approx(slope, rel=1e-7)


def test_gamma_functions_at_their_poles_and_limits():
    inf, nan = math.inf, math.nan
    assert [scalar.lgamma(x) for x in (0.0, -1.0, inf, -inf)] == [inf] * 4
    assert [scalar.digamma(x) for x in (0.0, -3.0, inf, -inf)] == [inf] * 4  # as TensorFlow has it
    assert math.isnan(scalar.digamma(nan))


@pytest.mark.parametrize(
    "value, source, dtype, expected",
    [
        (2.9, float32, int32, 2),
        (-2.9, float32, int32, -2),
        (0.5, float32, bool_, True),
        (300, int32, uint8, 44),
        (True, bool_, float64, 1.0),
        (1.00390625, float32, bfloat16, 1.0),
    ],
)
def test_casts(value, source, dtype, expected):
    assert apply("cast", (source.round(value)[()],), (source,), dtype) == expected


@pytest.mark.parametrize(
    "value, source, dtype, expected",
    [
        (1.0, float32, uint32, 0x3F800000),
        (-1, int32, uint32, 2**32 - 1),
        (1.0, bfloat16, uint16, 0x3F80),
    ],
)
def test_bitcasts_keep_the_bits(value, source, dtype, expected):
    bits = apply("bitcast", (source.round(value)[()],), (source,), dtype)
    assert int(bits) == expected
    assert apply("bitcast", (bits,), (dtype,), source) == value


def test_operators_refuse_what_is_no_scalar():
    with pytest.raises((TypeError, ValueError)):
        Expr.__add__(Local("a", float32), "text")


@pytest.mark.parametrize("name", [p.name for p in PRIMITIVES.values() if p.approximation is not None])
def test_the_cost_of_a_function_is_near_the_operations_of_its_formula(name: str):
    operands = tuple(Local(n, float32) for n in "ab"[: PRIMITIVES[name].arity])
    formula = approximate(Scalar(name, operands, float32))
    count = sum(isinstance(e, Scalar) for e in walk(formula))
    # A core begins two operations in a cycle. Longer formulas, other than those of rare functions, may hide
    # behind memory.
    assert count / 2 / 5 < PRIMITIVES[name].cost < count
