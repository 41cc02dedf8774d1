"""Numerical operations on processors with shorter vectors: AVX2, and 128 bits without multiply-adds.

Operations of linear algebra, sorting, sums by indices, Fourier transforms, special functions and random
numbers are compiled for them in a process of their own, which then has no code of this processor, and are
compared with their meaning.
"""

import subprocess
import sys

import numpy as np
import pytest

from staticgraph.compiler.ops.index import OPS_OF
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.ops.harness import TESTED, assert_same
from tests.ops.test_registry import compiled

pytestmark = pytest.mark.takes_long

FILES = """
arrays.scatter elementwise.complex_numbers elementwise.incomplete elementwise.special fourier.real_rows
fourier.rows fourier.stages fourier.transforms linear_algebra.decompositions linear_algebra.factors
linear_algebra.lapack linear_algebra.matrix_functions linear_algebra.orthogonal ordering.ordered_values
ordering.searching ordering.sorting random_numbers.random random_numbers.rejection reductions.scan
reductions.segment text.distances
"""
NAMES = {name for file in FILES.split() for name in OPS_OF[file].split()}
FAMILY = [op for op in TESTED if op.name in NAMES]

OLD = """
import sys
from dataclasses import replace
from staticgraph.runtime.cpu import jit as cpu_jit

new = cpu_jit.host()
cpu_jit._PER_THREAD.writers.clear()  # they write for the new one
old = replace(new, cpu="", features=sys.argv[1], vector_bytes=int(sys.argv[2]))
cpu_jit.host = lambda: old

from tests.ops.test_vector_widths import check
check(int(sys.argv[3]), int(sys.argv[4]))
"""
PARTS = 6
VECTORS = ("square_svd", "svd", "self_adjoint_eig")  # they are inexact where values are near each other
GAPS = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-10, "complex128": 1e-10}


def check(part: int, parts: int) -> None:
    """Compare one part of the operations with their meanings."""
    for op in FAMILY[part::parts]:
        for use, dtype, meant, array in compiled(op, False):
            if op.name in VECTORS:
                np.testing.assert_allclose(array, meant, 0, GAPS[dtype.name], err_msg=str(use))
            else:
                assert_same(array, dtype.round(meant), dtype, str(use))
    print("compared", len(FAMILY[part::parts]))


@pytest.mark.by_turns("features", "vector_bytes")
@pytest.mark.parametrize(
    "part", [pytest.param(n, marks=[pytest.mark.slow] if n > 1 else []) for n in range(PARTS)]
)
@pytest.mark.parametrize(
    ("features", "vector_bytes"), [("+avx2,+fma,+f16c", 32), ("", 16)], ids=["AVX2", "128 bits"]
)
def test_compiled_equals_meaning(features: str, vector_bytes: int, part: int, monkeypatch):
    if not set(features.split(",")) <= {"", *cpu_jit.host().features.split(",")}:
        pytest.skip("this processor has less")
    monkeypatch.setenv("SG_CACHE_DIR", "")
    command = [sys.executable, "-c", OLD, features, str(vector_bytes), str(part), str(PARTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    count = len(FAMILY[part::PARTS])
    assert count > 10 and done.stdout == f"compared {count}\n"
