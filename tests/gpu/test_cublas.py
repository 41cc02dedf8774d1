"""Products as cuBLAS is asked for them: what a library that knows column-major matrices only makes of it."""

import gc
from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import as_dtype, float32, float64, int32
from staticgraph.compiler.graph.errors import OpError, ResourceExhaustedError, UnimplementedError
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Precision, Product
from staticgraph.runtime.gpu.cuda import cublas
from staticgraph.runtime.gpu.cuda.cublas import Cublas, Multiply, gemm_arguments, workspace_size
from staticgraph.runtime.gpu.cuda.cublas_lt import CublasLt, alignment
from staticgraph.runtime.gpu.simulator import product as standin
from tests.gpu.fake_cublas import FakeCublas, FakeCublasLt

DTYPES = ["float32", "float64", "float16", "bfloat16"]
WORKSPACE = 1 << 20


def drawn(rng: np.random.Generator, dtype: str) -> Product:
    """A product of random form: transposed, with gaps between rows and matrices, somewhere in its buffers."""
    m, n, k, batch = (int(rng.integers(1, high)) for high in (8, 8, 8, 4))

    def matrix(name: str, rows: int, columns: int, shared: bool) -> Matrix:
        transposed = name != "out" and bool(rng.integers(2))
        lines, width = (columns, rows) if transposed else (rows, columns)
        stride = width + int(rng.integers(3))
        between = 0 if shared else lines * stride + int(rng.integers(5))
        return Matrix(name, stride, transposed, int(rng.integers(4)), between)

    a, b = (matrix(name, *shape, rng.integers(4) == 0) for name, shape in (("a", (m, k)), ("b", (k, n))))
    alpha = float(rng.choice([1, 0.5, -2])) if dtype in ("float32", "float64") else 1.0
    out = matrix("out", m, n, False)
    return Product(as_dtype(dtype), m, n, k, batch, a, b, out, bool(rng.integers(2)), alpha)


def at(matrix: Matrix, batch: int, row: int, column: int) -> int:
    """Return the place of an element in its buffer."""
    line, place = (column, row) if matrix.transposed else (row, column)
    return matrix.offset + batch * matrix.batch_stride + line * matrix.stride + place


def buffers(rng: np.random.Generator, product: Product) -> list[np.ndarray]:
    """Numbers for its operands. They are whole and so small that every sum of them is exact."""
    shapes = {"a": (product.m, product.k), "b": (product.k, product.n), "out": (product.m, product.n)}
    return [
        rng.integers(-4, 4, 1 + at(matrix, product.batch - 1, rows - 1, columns - 1)).astype(np.float64)
        for matrix in (product.a, product.b, product.out)
        for rows, columns in [shapes[matrix.buffer]]
    ]


def expected(product: Product, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> np.ndarray:
    """`out` afterwards, element by element."""
    result = out.copy()
    for batch, i, j in np.ndindex(product.batch, product.m, product.n):
        place = at(product.out, batch, i, j)
        pairs = ((at(product.a, batch, i, k), at(product.b, batch, k, j)) for k in range(product.k))
        total = product.alpha * sum(a[left] * b[right] for left, right in pairs)
        result[place] = total + (out[place] if product.accumulate else 0)
    return result


def stored(values: np.ndarray, product: Product) -> np.ndarray:
    """The numbers as the card has them."""
    if product.dtype.name == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(product.dtype.numpy)


def on(library: FakeCublas, products: int = 1) -> Cublas:
    return Cublas(library, stream=0x57, workspace=0x1000, size=WORKSPACE, products=products)


def agrees(product: Product, multiply: Multiply, rng: np.random.Generator) -> None:
    """`multiply` leaves in memory what the formula says, and nothing else."""
    numbers = buffers(rng, product)
    memory = [stored(values, product) for values in numbers]
    multiply(*(array.ctypes.data for array in memory))
    wanted = [*numbers[:2], expected(product, *numbers)]
    for name, found, values in zip(product.arguments, memory, wanted, strict=True):
        np.testing.assert_array_equal(found, stored(values, product), err_msg=f"{name} of {product}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_major_product_is_asked_for_in_column_major_terms(dtype):
    rng = np.random.default_rng(len(dtype))
    for _ in range(60):
        product = drawn(rng, dtype)
        agrees(product, on(FakeCublas()).multiplication(product), rng)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_planned_product_is_the_same(dtype):
    rng = np.random.default_rng(10 + len(dtype))
    for _ in range(60):
        product = drawn(rng, dtype)
        library = FakeCublasLt()
        planned = CublasLt(library, on(FakeCublas())).multiplication(product)
        agrees(product, planned, rng)
        assert library.memory == (0, 0, 0x57)


def test_products_that_are_done_side_by_side_have_workspaces_of_their_own():
    product = drawn(np.random.default_rng(5), "float32")
    places = [
        array.ctypes.data
        for array in (stored(each, product) for each in buffers(np.random.default_rng(6), product))
    ]
    planning = FakeCublasLt(workspace=600_000)
    planned = CublasLt(planning, on(FakeCublas(), products=2)).multiplication(product)
    first, second, third = planned.workspaces
    assert first[0] == 0x1000 and first[1] == second[0] and second[1] == third[0]
    assert first[1] - first[0] == 600_064 and third[1] <= 0x1000 + 2 * WORKSPACE
    for which, (start, _) in enumerate(planned.workspaces):
        planned(*places, workspace=which)
        assert planning.memory == (start, 600_000, 0x57)


def test_a_product_that_cublas_plans_itself_may_use_all_of_a_workspace():
    library = FakeCublas()
    blas = on(library, products=2)
    product = drawn(np.random.default_rng(5), "float32")
    places = [
        array.ctypes.data
        for array in (stored(each, product) for each in buffers(np.random.default_rng(6), product))
    ]
    multiply = blas.multiplication(product)
    assert multiply.workspaces == ((0x1000, 0x1000 + WORKSPACE), (0x1000 + WORKSPACE, 0x1000 + 2 * WORKSPACE))
    library.calls.clear()
    for which in (0, 1, 1, 0):
        multiply(*places, workspace=which)
    moves = [given[1:] for name, given in library.calls if name == "cublasSetWorkspace_v2"]
    assert moves == [(WORKSPACE,), (WORKSPACE,)]
    assert [name.startswith("cublasGemm") for name in library.names] == [1, 0, 1, 1, 0, 1]


def test_a_workspace_has_so_many_shares_at_most():
    assert on(FakeCublas()).shares(0) == ()
    assert len(on(FakeCublas()).shares(1)) == cublas.MOST_SHARES


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_matrices_of_several_axes_are_found_by_pointers(dtype):
    rng = np.random.default_rng(20 + len(dtype))
    shapes = {"a": (5, 3), "b": (3, 4), "out": (5, 4)}
    found = [Matrix(name, 60, False, 2, columns, (300 * 2, 300)) for name, (_, columns) in shapes.items()]
    product = Product(as_dtype(dtype), 5, 4, 3, 5, *found, True, axes=(2, 2), pointers="pointers")
    numbers = [rng.integers(-4, 4, 2 * 600).astype(np.float64) for _ in shapes]
    memory = [stored(values, product) for values in numbers]
    pointers = np.array(
        [
            array.ctypes.data + start * product.dtype.size
            for array, matrix in zip(memory, found, strict=True)
            for start in product.starts(matrix)
        ],
        np.uint64,
    )
    library = FakeCublas()
    assert CublasLt(FakeCublasLt(), on(library)).multiplication(product) is None
    on(library).multiplication(product)(*(array.ctypes.data for array in (*memory, pointers)))
    assert library.names[-1] == "cublasGemmBatchedEx"
    wanted = numbers[2].copy()
    for point in range(len(product.points)):
        one = [replace(m, offset=product.starts(m)[point], batch_stride=0, steps=()) for m in found]
        wanted = expected(Product(product.dtype, 5, 4, 3, 1, *one, True), *numbers[:2], wanted)
    np.testing.assert_array_equal(memory[2], stored(wanted, product))
    standin.check(product)
    with pytest.raises(ValueError, match="pointers that lead elsewhere"):
        given = [array.view(np.uint8) for array in (*memory, pointers[::-1].copy())]
        standin.multiply(product, *given)


def test_the_algorithm_is_chosen_once_and_the_descriptors_live_as_long_as_the_product():
    product = drawn(np.random.default_rng(3), "float32")
    library = FakeCublasLt()
    planned = CublasLt(library, on(FakeCublas())).multiplication(product)
    for _ in range(3):
        agrees(product, planned, np.random.default_rng(4))
    assert library.names == ["cublasLtMatmulAlgoGetHeuristic", *["cublasLtMatmul"] * 3]
    assert library.descriptors
    del planned
    gc.collect()
    assert not library.descriptors


def test_what_an_algorithm_may_count_on_is_what_the_operands_have():
    a, b, out = Matrix("a", 64), Matrix("b", 32, offset=4), Matrix("out", 32, offset=3)
    library = FakeCublasLt()
    CublasLt(library, on(FakeCublas())).multiplication(Product(float32, 16, 32, 64, 1, a, b, out))
    # b comes first; sizes are bytes, of the workspace and of what the addresses are multiples of
    assert library.asked == {1: WORKSPACE, 5: 16, 6: 64, 7: 4, 8: 4}


@pytest.mark.parametrize(("dtype", "scheme"), [("float32", None), ("float16", 2), ("bfloat16", 2)])
def test_sums_of_16_bit_numbers_are_rounded_once(dtype, scheme):
    library = FakeCublasLt()
    CublasLt(library, on(FakeCublas())).multiplication(drawn(np.random.default_rng(8), dtype))
    assert library.asked.get(3) == scheme


@pytest.mark.parametrize(
    ("offset", "stride", "size", "expected"),
    [(0, 0, 4, 64), (0, 3, 4, 4), (8, 0, 4, 8), (512, 128, 2, 64), (64, 80, 2, 32)],
)
def test_alignment(offset, stride, size, expected):
    operand = replace(gemm_arguments(drawn(np.random.default_rng(0), "float32")).first, offset=offset)
    assert alignment(replace(operand, batch_stride=stride), size) == expected


def test_a_product_that_the_newer_half_does_not_know_is_left_to_the_other():
    product = drawn(np.random.default_rng(5), "float32")
    assert CublasLt(FakeCublasLt(algorithms=0), on(FakeCublas())).multiplication(product) is None


def test_the_workspace_is_given_after_the_stream():
    library = FakeCublas()
    cublas_ = on(library)
    assert library.calls == [
        ("cublasCreate_v2", ()),
        ("cublasSetStream_v2", (0x57,)),
        ("cublasSetWorkspace_v2", (0x1000, WORKSPACE)),
        ("cublasSetMathMode", (16,)),
    ]
    cublas_.close()
    assert library.calls[-1] == ("cublasDestroy_v2", (0xB1A5,))


@pytest.mark.parametrize(("card", "size"), [("sm_75", 4), ("sm_89", 4), ("sm_90", 32), ("sm_120", 32)])
def test_the_size_of_the_workspace(card, size):
    assert workspace_size(card) == size << 20


@pytest.mark.parametrize(
    ("dtype", "precision", "expected"),
    [
        ("float32", Precision.FLOAT32, 68),
        ("float32", Precision.TF32, 77),
        ("float32", Precision.BFLOAT16, 75),
        ("float16", Precision.TF32, 68),
        ("float64", Precision.TF32, 70),
    ],
)
def test_operands_are_rounded_only_where_that_is_allowed(dtype, precision, expected):
    operands = Matrix("a", 2), Matrix("b", 2), Matrix("out", 2)
    product = Product(as_dtype(dtype), 2, 2, 2, 1, *operands, precision=precision)
    library, rng = FakeCublas(), np.random.default_rng(6)
    agrees(product, on(library).multiplication(product), rng)
    assert library.calls[-1][1][-2] == expected
    planned = FakeCublasLt()
    kept = CublasLt(planned, on(library)).multiplication(product)
    assert [d["compute"] for d in planned.descriptors.values() if "compute" in d] == [expected]
    assert kept is not None


def test_one_row_or_column_may_have_any_stride():
    row = Product(float64, 1, 5, 3, 1, Matrix("a", 1), Matrix("b", 5), Matrix("out", 1))
    assert gemm_arguments(row).second.leading == 3
    assert gemm_arguments(row).out.leading == 5


def test_rows_that_overlap_are_refused():
    overlapping = Product(float32, 2, 5, 3, 1, Matrix("a", 2), Matrix("b", 5), Matrix("out", 5))
    with pytest.raises(ValueError, match="the rows of a overlap: 3 elements, 2 apart"):
        gemm_arguments(overlapping)


def test_sizes_beyond_32_bits_are_asked_of_the_long_functions():
    class Long(FakeCublas):
        def cublasGemmEx_64(self, *arguments):
            return self._record("cublasGemmEx_64", *arguments)

    large = 2**31
    product = Product(float32, 1, large, 1, 1, Matrix("a", 1), Matrix("b", large), Matrix("out", large))
    library = Long()
    on(library).multiplication(product)(0x1000, 0x2000, 0x3000)
    name, arguments = library.calls[-1]
    assert name == "cublasGemmEx_64" and arguments[3:6] == (large, 1, 1)


def test_nothing_is_asked_for_where_the_result_is_empty():
    product = Product(float32, 0, 4, 3, 1, Matrix("a", 3), Matrix("b", 4), Matrix("out", 4))
    library = FakeCublas()
    on(library).multiplication(product)(0, 0, 0)
    assert "cublasGemmEx" not in library.names
    assert CublasLt(FakeCublasLt(), on(library)).multiplication(product) is None


def test_integers_are_not_multiplied():
    product = Product(int32, 2, 2, 2, 1, Matrix("a", 2), Matrix("b", 2), Matrix("out", 2))
    with pytest.raises(UnimplementedError, match="int32"):
        on(FakeCublas()).multiplication(product)


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [(3, ResourceExhaustedError, "no memory"), (15, UnimplementedError, "does not do"), (14, OpError, "14")],
)
def test_a_status_becomes_an_error(status, kind, text):
    class Failing(FakeCublas):
        def cublasGemmEx(self, *arguments):
            return status

    product = Product(float32, 2, 2, 2, 1, Matrix("a", 2), Matrix("b", 2), Matrix("out", 2))
    with pytest.raises(kind, match=text):
        on(Failing()).multiplication(product)(0x1000, 0x2000, 0x3000)


def test_the_library_itself_takes_the_descriptors():
    """The installed library takes the descriptors: they need no GPU."""
    pytest.importorskip("cuda.pathfinder")
    try:
        library = cublas.library("cublasLt")
    except OpError as error:
        pytest.skip(str(error))
    from staticgraph.runtime.gpu.cuda.cublas_lt import _ProductPlan

    for dtype in DTYPES:
        product = drawn(np.random.default_rng(7), dtype)
        gemm = gemm_arguments(product)
        plan = _ProductPlan(library, product)
        plan.operation()
        operands = (gemm.first, gemm.second, gemm.out)
        for operand in operands:
            plan.layout(product.dtype, operand, max(2, gemm.batch))
        plan.preference(WORKSPACE, product.dtype, operands)
