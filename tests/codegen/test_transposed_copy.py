"""Copies whose source and result run along different indices are done in squares of registers."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.gemm.transposed_copy import TransposedCopy, emit, transposed_copy
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32
from staticgraph.compiler.kernel.expr import Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, Store
from tests.codegen.contraction_cases import processor
from tests.codegen.native import launch, stored

SHAPES = [(16, 16), (37, 61), (8, 600), (1100, 9), (530, 515)]


def copy_of(shape: tuple[int, ...], axes: tuple[int, ...], dtype: DType = float32) -> TransposedCopy | None:
    """The copy that a transposition is, if it is one in squares."""
    at = tuple(Index(f"i{d}", n) for d, n in enumerate(shape))
    out = tuple(at[axis] for axis in axes)
    buffers = {"x": Buffer(dtype, shape), "y": Buffer(dtype, tuple(i.extent for i in out), written=True)}
    return transposed_copy(out, Store("y", out, Load("x", at, dtype)), buffers)


@pytest.mark.parametrize(
    ("shape", "axes", "is_one"),
    [
        ((30, 40), (1, 0), True),
        ((3, 30, 40), (0, 2, 1), True),
        ((20, 3, 40), (2, 1, 0), True),
        ((30, 40, 5), (1, 0, 2), False),  # neighbours stay neighbours
        ((5, 30, 40), (1, 2, 0), False),  # vectors would be short
        ((500, 1, 3), (2, 1, 0), False),
        ((30, 40), (0, 1), False),
    ],
)
def test_it_is_one_if_another_index_runs_along_memory(shape, axes, is_one):
    assert (copy_of(shape, axes) is not None) == is_one


@pytest.mark.takes_long
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("name", ["uint8", "float16", "float32", "float64", "bool"])
def test_every_element_arrives(name: str, vector_bytes: int, rng: np.random.Generator):
    dtype = as_dtype(name)
    for shape in SHAPES:
        x = stored(dtype, (rng.random(shape) * 100).astype(dtype.numpy))
        y = np.ones((shape[1] + 2, shape[0]), x.dtype)  # with a row before and one after, which stay
        c = copy_of(shape, (1, 0), dtype)
        assert c is not None
        launch(emit(c, processor(vector_bytes)), [x.ctypes.data, y[1:].ctypes.data])
        np.testing.assert_array_equal(y[1:-1], x.T)
        assert (y[[0, -1]] == 1).all()


def test_a_part_of_an_array_and_several_outer_indices(rng: np.random.Generator):
    x = sg.placeholder(sg.float32, [3, 20, 4, 50])
    value = rng.standard_normal(x.shape).astype("f")
    for axes in ((3, 2, 1, 0), (0, 3, 2, 1), (2, 3, 0, 1), (1, 3, 0, 2)):
        made = [sg.transpose(x, axes), sg.transpose(x[1:, :, :, 7:], axes)]
        for found, source in zip(
            sg.Session().run(made, {x: value}), (value, value[1:, :, :, 7:]), strict=True
        ):
            np.testing.assert_array_equal(found, source.transpose(axes))
