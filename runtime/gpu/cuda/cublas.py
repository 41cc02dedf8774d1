"""Products of matrices by cuBLAS.

The library is called through ctypes: CuPy's own binding refuses every call while a stream captures. It knows
column-major matrices only, and a row-major matrix is a column-major one transposed; so `out = a @ b` is asked
for as `out' = b' @ a'`, with the operands in the other order and nothing copied.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import (
    FailedPreconditionError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Precision, Product
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.graphs.order import Span

TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}  # of cudaDataType_t
COMPUTE_FLOAT, COMPUTE_BFLOAT, COMPUTE_TF32, COMPUTE_DOUBLE = 68, 75, 77, 70  # of cublasComputeType_t
_COMPUTE = {
    Precision.FLOAT32: COMPUTE_FLOAT,
    Precision.TF32: COMPUTE_TF32,
    Precision.BFLOAT16: COMPUTE_BFLOAT,
}
DEFAULT_ALGORITHM = -1
# Sums that are split among blocks are added in float32 where the operands have 16 bits.
NO_SHORT_SUMS = 16  # of cublasMath_t
LARGE_WORKSPACE, SMALL_WORKSPACE = 32 << 20, 4 << 20  # as NVIDIA advises: from sm_90 on, and before
LEAST_WORKSPACE = 64 << 10  # four times what NVIDIA says is enough for cuBLAS not to fail
OUT_OF_MEMORY, NOT_SUPPORTED = 3, 15  # of cublasStatus_t
STATUS = {
    1: "it could not be started",
    3: "it found no memory",
    7: "an argument is not valid",
    8: "the GPU does not have what it needs",
    11: "memory could not be reached",
    13: "it could not be run",
    14: "it failed inside",
    15: "it does not do that",
    16: "it has no license",
}
_LARGEST_INT = 2**31 - 1
_POINTER = 8  # bytes

MOST_SHARES = 8  # of the workspace, for products that are done side by side


@dataclass(frozen=True, slots=True)
class Multiply:
    """A prepared call of a matrix product, with the workspaces that it may use.

    `ask` enqueues the product. Its arguments are the addresses of a, b, out, the pointers (if the product has
    them) and the workspace.
    """

    ask: Callable[[int, int, int, int, int], None]
    workspaces: tuple[Span, ...] = ()

    def __call__(self, a: int, b: int, out: int, pointers: int = 0, *, workspace: int = 0) -> None:
        self.ask(a, b, out, pointers, self.workspaces[workspace][0] if self.workspaces else 0)


@dataclass(frozen=True, slots=True)
class CublasOperand:
    """A column-major matrix of a batch: `rows` by `columns` in memory, and read transposed if `transposed`.

    Columns are `leading` elements apart, the matrices of the batch `batch_stride`; the first begins `offset`
    bytes after the address that is given.
    """

    transposed: bool
    rows: int
    columns: int
    leading: int
    batch_stride: int
    offset: int


@dataclass(frozen=True, slots=True)
class Gemm:
    """`out = first @ second`, m by k and k by n, for each of a batch; all column-major."""

    m: int
    n: int
    k: int
    batch: int  # of all axes, where pointers say where the matrices are
    first: CublasOperand  # the second factor of the row-major product
    second: CublasOperand
    out: CublasOperand

    @property
    def largest(self) -> int:
        """The largest number that cuBLAS is told, but for strides of a batch."""
        leading = (operand.leading for operand in (self.first, self.second, self.out))
        return max(self.m, self.n, self.k, self.batch, *leading)


def gemm_arguments(product: Product) -> Gemm:
    """A row-major product, as cuBLAS is asked for it.

    >>> from staticgraph.compiler.graph.dtypes import float32
    >>> a, b, out = Matrix("a", 30), Matrix("b", 30, transposed=True), Matrix("out", 20)
    >>> gemm = gemm_arguments(Product(float32, 10, 20, 30, 1, a, b, out))
    >>> gemm.m, gemm.n, gemm.k, gemm.first.transposed, gemm.first.leading
    (20, 10, 30, True, 30)
    """
    m, n, k, size = product.m, product.n, product.k, product.dtype.size
    return Gemm(
        n,
        m,
        k,
        product.count,
        _operand(product.b, k, n, size),
        _operand(product.a, m, k, size),
        _operand(product.out, m, n, size),
    )


def _operand(matrix: Matrix, rows: int, columns: int, size: int) -> CublasOperand:
    """A matrix of these many rows and columns, as it is meant, in the column-major form of its memory."""
    stored_rows, stored_columns = (rows, columns) if matrix.transposed else (columns, rows)
    leading = matrix.stride
    if stored_columns == 1:
        leading = max(leading, stored_rows)  # nothing is that far apart, but cuBLAS checks it
    if leading < stored_rows:
        raise ValueError(f"the rows of {matrix.buffer} overlap: {stored_rows} elements, {leading} apart")
    return CublasOperand(
        matrix.transposed,
        stored_rows,
        stored_columns,
        max(leading, 1),
        matrix.batch_stride,
        matrix.offset * size,
    )


def compute_type(product: Product) -> int:
    """Return the arithmetic in which matrices are multiplied: float32 for 16 bits."""
    if product.dtype.name == "float64":
        return COMPUTE_DOUBLE
    return _COMPUTE[product.precision] if product.dtype.name == "float32" else COMPUTE_FLOAT


def scalar(dtype: DType, value: float) -> Any:
    """A factor of products of this type, as cuBLAS reads it."""
    return ctypes.c_double(value) if dtype.name == "float64" else ctypes.c_float(value)


def workspace_size(architecture: str) -> int:
    """Bytes of memory that cuBLAS should have on a GPU."""
    return LARGE_WORKSPACE if int(architecture.removeprefix("sm_")) >= 90 else SMALL_WORKSPACE


def library(name: str) -> Any:
    """One of NVIDIA's libraries, by its short name, from a wheel or from where the system has it."""
    from cuda import pathfinder  # comes with CuPy

    hint = 'pip install "staticgraph[cuda13]", or with cuda12 for a driver of CUDA 12, brings it'
    try:
        found = pathfinder.load_nvidia_dynamic_lib(name).abs_path
    except pathfinder.DynamicLibNotFoundError:
        found = None
    if found is None:
        raise FailedPreconditionError(
            f"products on the GPU need the library {name}, which is not here", hint=hint
        )
    return ctypes.CDLL(found)


def check(status: int, what: str) -> None:
    """Raise the error of a call that did not succeed."""
    if status:
        message = f"cuBLAS, asked for {what}: {STATUS.get(status, 'it failed')} (status {status})"
        kinds = {OUT_OF_MEMORY: ResourceExhaustedError, NOT_SUPPORTED: UnimplementedError}
        raise kinds.get(status, OpError)(message)


class Cublas:
    """cuBLAS on a stream. Its work needs `workspace`, which must be memory of the GPU that stays: `size`
    bytes for each of so many `products` that are done side by side.
    """

    def __init__(self, library: Any, stream: int, workspace: int, size: int, products: int = 1) -> None:
        self._library = library
        self.handle = ctypes.c_void_p()  # cublasLt takes it too
        self.stream, self.workspace_size = stream, size
        self.workspace, self._end = workspace, workspace + products * size
        self._place = workspace  # where the workspace of the handle is
        check(library.cublasCreate_v2(ctypes.byref(self.handle)), "a handle")
        check(library.cublasSetStream_v2(self.handle, ctypes.c_void_p(stream)), "work on a stream")
        # After the stream: to set it drops the workspace, and without one memory is allocated in captures.
        self._work_at(workspace)
        check(library.cublasSetMathMode(self.handle, NO_SHORT_SUMS), "exact sums")

    def shares(self, need: int) -> tuple[Span, ...]:
        """Pieces of the workspace that each have so many bytes; none where none are needed."""
        each = -(-need // 256) * 256
        starts = range(self.workspace, self._end - each + 1, each) if each else ()
        return tuple((start, start + each) for start in starts[:MOST_SHARES])

    def _work_at(self, place: int) -> None:
        """Have products use a piece of the workspace: what was asked for before keeps what it had."""
        address, size = ctypes.c_void_p(place), ctypes.c_size_t(self.workspace_size)
        check(self._library.cublasSetWorkspace_v2(self.handle, address, size), "work in a given memory")
        self._place = place

    def multiplication(self, product: Product) -> Multiply:
        """Prepare the call of a product. cuBLAS chooses the algorithm at every call.

        Raises UnimplementedError if cuBLAS has no such dtype.
        """
        gemm = gemm_arguments(product)
        if product.dtype.name not in TYPES:
            raise UnimplementedError(f"cuBLAS does not multiply matrices of {product.dtype.name}")
        if gemm.m == 0 or gemm.n == 0 or gemm.batch == 0:
            return Multiply(lambda *addresses: None)
        strided, small = not product.pointers, gemm.largest <= _LARGEST_INT
        batched = gemm.batch > 1 or not strided
        name = f"cublasGemm{'Strided' if strided else ''}BatchedEx" if batched else "cublasGemmEx"
        call = getattr(self._library, name if small else f"{name}_64")
        integer = ctypes.c_int if small else ctypes.c_int64
        kind = ctypes.c_int(TYPES[product.dtype.name])
        factor, scale = scalar(product.dtype, product.alpha), scalar(product.dtype, int(product.accumulate))

        def described(operand: CublasOperand) -> tuple[Any, ...]:
            stride = (ctypes.c_int64(operand.batch_stride),) if batched and strided else ()
            return kind, integer(operand.leading), *stride

        flags = (ctypes.c_int(gemm.first.transposed), ctypes.c_int(gemm.second.transposed))
        head = (self.handle, *flags, integer(gemm.m), integer(gemm.n), integer(gemm.k), ctypes.byref(factor))
        first, second, result = (described(each) for each in (gemm.first, gemm.second, gemm.out))
        compute = ctypes.c_int(compute_type(product))
        tail = (*((integer(gemm.batch),) if batched else ()), compute, ctypes.c_int(DEFAULT_ALGORITHM))
        at_first, at_second, at_out = gemm.first.offset, gemm.second.offset, gemm.out.offset
        pointer, before = ctypes.c_void_p, ctypes.byref(scale)

        def multiply(a: int, b: int, out: int, pointers: int, workspace: int) -> None:
            if workspace != self._place:
                self._work_at(workspace)
            x, y, z = pointer(b + at_first), pointer(a + at_second), pointer(out + at_out)
            if not strided:
                x, y, z = (pointer(pointers + n * gemm.batch * _POINTER) for n in (1, 0, 2))
            if status := call(*head, x, *first, y, *second, before, z, *result, *tail):
                check(status, str(product))

        # Nobody is told what cuBLAS chooses, nor how much of the workspace that uses.
        return Multiply(multiply, self.shares(self.workspace_size))

    def close(self) -> None:
        """Give the library's memory back."""
        self._library.cublasDestroy_v2(self.handle)
