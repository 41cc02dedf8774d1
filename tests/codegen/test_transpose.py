"""Functions that turn a piece of a panel around while it is packed."""

import ctypes

import numpy as np
import pytest

from staticgraph.compiler.codegen.gemm.register_tile import Stream
from staticgraph.compiler.codegen.gemm.tiles import TilePiece
from staticgraph.compiler.codegen.gemm.transpose import turn
from staticgraph.compiler.codegen.gemm.writer import GemmWriter
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.graph.dtypes import DType, float32, float64
from staticgraph.runtime.cpu import jit as cpu_jit

COUNTS = (1, 3, 7, 8, 9, 15, 16, 17, 26, 32, 47)
MARK = -7.0


def turner(dtype: DType, width: int, count: int | str) -> Code:
    """The function that turns around a piece of `width` lanes; `count` may be a name."""
    w = GemmWriter()
    turn(w, Stream(dtype, 0, "%way"), TilePiece(0, width, width), dtype, "%from", "%to", width, count)
    (code,) = w.calls
    return code


@pytest.mark.parametrize("width, dtype", [(8, float32), (16, float32), (8, float64)])
@pytest.mark.parametrize("known", [True, False])
def test_a_piece_is_turned_around_and_nothing_else_is_written(width: int, dtype: DType, known: bool) -> None:
    for count in COUNTS:
        code = turner(dtype, width, count if known else "%count")
        library = cpu_jit.load([code])  # the code is there as long as this
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 4)
        source = np.arange(width * (count + 2), dtype=dtype.numpy).reshape(width, count + 2)
        target = np.full((count + 2, width), MARK, dtype.numpy)
        places = source.ctypes.data, target[1:].ctypes.data
        function(library[code.name])(*places, count + 2, width, count, width)
        np.testing.assert_array_equal(target[1:-1], source[:, :count].T)
        assert (target[[0, -1]] == MARK).all(), count


def test_all_counts_of_at_least_a_square_share_one_function() -> None:
    codes = {turner(float32, 16, count).name for count in (16, 17, 26, 32, 47)}
    assert len(codes) == 1
    assert turner(float32, 16, 15).name not in codes
    assert turner(float32, 16, 47).text.count("shufflevector") == 64
