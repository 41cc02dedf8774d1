"""Products whose algorithm is chosen once, by the newer half of cuBLAS.

To choose is refused or costly while a stream captures, so it is done before: a plan keeps the descriptors
of the operands and the algorithm, and to ask for the product is one call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.runtime.gpu.cuda.cublas import (
    TYPES,
    Cublas,
    CublasOperand,
    Multiply,
    check,
    compute_type,
    gemm_arguments,
    scalar,
)

# Of cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t and cublasLtMatmulPreferenceAttributes_t.
FIRST_TRANSPOSED, SECOND_TRANSPOSED = 3, 4
BATCH_COUNT, BATCH_STRIDE = 5, 6
MOST_WORKSPACE, REDUCTION_SCHEMES, ALIGNMENTS = 1, 3, (5, 6, 7, 8)
_ADDED_AS_COMPUTED = 2  # of cublasLtReductionScheme_t: parts of a sum are not rounded to the result's type


class Heuristic(ctypes.Structure):
    """An algorithm, and what is known of it."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("status", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class CublasLt:
    """cublasLt with the handle, the stream and the workspace of `cublas`."""

    def __init__(self, library: Any, cublas: Cublas) -> None:
        self._library = library
        self._cublas = cublas

    def multiplication(self, product: Product) -> Multiply | None:
        """Prepare the call of a product; None if cublasLt cannot compute it.

        That is the case if it has no algorithm for the product or its dtype, if the matrices are given by
        pointers, or if the product is empty.
        """
        gemm = gemm_arguments(product)
        if product.pointers or product.dtype.name not in TYPES or not gemm.m * gemm.n * gemm.k * gemm.batch:
            return None
        plan = _ProductPlan(self._library, product)
        operation = plan.operation()
        plan.set(operation, "MatmulDesc", FIRST_TRANSPOSED, ctypes.c_int32(gemm.first.transposed))
        plan.set(operation, "MatmulDesc", SECOND_TRANSPOSED, ctypes.c_int32(gemm.second.transposed))
        operands = (gemm.first, gemm.second, gemm.out)
        layouts = [plan.layout(product.dtype, operand, gemm.batch) for operand in operands]
        preference = plan.preference(self._cublas.workspace_size, product.dtype, operands)
        found = self._choose(operation, layouts, preference)
        if found is None:
            return None
        call, pointer, cublas = self._library.cublasLtMatmul, ctypes.c_void_p, self._cublas
        factor, scale = scalar(product.dtype, product.alpha), scalar(product.dtype, int(product.accumulate))
        first, second, result = layouts
        head, before = (cublas.handle, operation, ctypes.byref(factor)), ctypes.byref(scale)
        algorithm = ctypes.byref(found)
        size, stream = ctypes.c_size_t(found.workspace), pointer(cublas.stream)
        at_first, at_second, at_out = (operand.offset for operand in operands)

        def multiply(a: int, b: int, out: int, pointers: int, workspace: int) -> None:
            x, y, z = pointer(b + at_first), pointer(a + at_second), pointer(out + at_out)
            room = pointer(workspace), size, stream
            if status := call(*head, x, first, y, second, before, z, result, z, result, algorithm, *room):
                check(status, str(plan))

        return Multiply(multiply, cublas.shares(found.workspace))

    def _choose(self, operation: Any, layouts: list[Any], preference: Any) -> Heuristic | None:
        """The algorithm that the library thinks best."""
        found, count = Heuristic(), ctypes.c_int()
        asked = operation, *layouts, layouts[-1], preference  # the result is also what is added to it
        results = ctypes.byref(found), ctypes.byref(count)
        status = self._library.cublasLtMatmulAlgoGetHeuristic(self._cublas.handle, *asked, 1, *results)
        return None if status or not count.value or found.status else found


class _ProductPlan:
    """The descriptors of a product, destroyed with it."""

    def __init__(self, library: Any, product: Product) -> None:
        self._library = library
        self._product = product
        self._destroy: list[tuple[Callable[[Any], int], Any]] = []

    def operation(self) -> Any:
        """The descriptor of a product."""
        kind = ctypes.c_int(TYPES["float64" if self._product.dtype.name == "float64" else "float32"])
        return self._made("MatmulDesc", ctypes.c_int(compute_type(self._product)), kind)

    def layout(self, dtype: DType, operand: CublasOperand, batch: int) -> Any:
        """The descriptor of an operand."""
        sizes = (ctypes.c_uint64(operand.rows), ctypes.c_uint64(operand.columns))
        made = self._made(
            "MatrixLayout", ctypes.c_int(TYPES[dtype.name]), *sizes, ctypes.c_int64(operand.leading)
        )
        if batch > 1:
            self.set(made, "MatrixLayout", BATCH_COUNT, ctypes.c_int32(batch))
            self.set(made, "MatrixLayout", BATCH_STRIDE, ctypes.c_int64(operand.batch_stride))
        return made

    def preference(
        self, workspace: int, dtype: DType, operands: tuple[CublasOperand, CublasOperand, CublasOperand]
    ) -> Any:
        """Build the constraints for choosing an algorithm: workspace, reduction schemes and alignments."""
        made = self._made("MatmulPreference")
        self.set(made, "MatmulPreference", MOST_WORKSPACE, ctypes.c_uint64(workspace))
        if dtype.size == 2:
            self.set(made, "MatmulPreference", REDUCTION_SCHEMES, ctypes.c_uint32(_ADDED_AS_COMPUTED))
        first, second, out = (alignment(operand, dtype.size) for operand in operands)
        for attribute, least in zip(ALIGNMENTS, (first, second, out, out), strict=True):
            self.set(made, "MatmulPreference", attribute, ctypes.c_uint32(least))
        return made

    def set(self, descriptor: Any, kind: str, attribute: int, value: Any) -> None:
        """Set an attribute of a descriptor."""
        setter = getattr(self._library, f"cublasLt{kind}SetAttribute")
        room = ctypes.c_size_t(ctypes.sizeof(value))
        check(setter(descriptor, attribute, ctypes.byref(value), room), f"attribute {attribute} of a {kind}")

    def _made(self, kind: str, *arguments: Any) -> Any:
        made = ctypes.c_void_p()
        create = getattr(self._library, f"cublasLt{kind}Create")
        check(create(ctypes.byref(made), *arguments), f"a {kind}")
        self._destroy.append((getattr(self._library, f"cublasLt{kind}Destroy"), made))
        return made

    def __str__(self) -> str:
        return str(self._product)

    def __del__(self) -> None:
        for destroy, made in self._destroy:
            destroy(made)


def alignment(operand: CublasOperand, size: int) -> int:
    """The largest power of two by which every matrix of a batch begins, in bytes, up to that of a buffer."""
    together = operand.offset | (operand.batch_stride * size) | ALIGNMENT
    return together & -together
