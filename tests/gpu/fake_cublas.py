"""cuBLAS and cublasLt as far as `runtime/gpu` calls them, on memory of the host: column-major, as they are.

What it is given is what ctypes would hand to the library, and it is read by the library's own rules: sizes,
leading dimensions and strides are elements, and a matrix that does not fit in its leading dimension is an
error. Every call is recorded by name.
"""

import ctypes
from typing import Any

import numpy as np

SUCCESS, INVALID_VALUE, NOT_SUPPORTED = 0, 7, 15
STORED = {0: np.float32, 1: np.float64, 2: np.float16, 14: np.uint16}  # cudaDataType_t
COMPUTED = {75: np.float32, 68: np.float32, 77: np.float32, 70: np.float64}  # cublasComputeType_t
ALGORITHM = 4711


def number(argument: Any) -> Any:
    """Return an argument as a library sees it: an integer, an address, or a number behind a pointer."""
    if hasattr(argument, "_obj"):
        return argument._obj.value
    return getattr(argument, "value", argument) or 0


def wide(stored: np.ndarray, kind: int, compute: int) -> np.ndarray:
    """The numbers, in the type of the arithmetic; 14 is bfloat16."""
    values = (stored.astype(np.uint32) << 16).view(np.float32) if kind == 14 else stored
    return values.astype(COMPUTED[compute])


def matrix(address: int, kind: int, rows: int, columns: int, leading: int) -> np.ndarray:
    """A column-major matrix in memory."""
    item = np.dtype(STORED[kind]).itemsize
    count = (columns - 1) * leading + rows
    flat = np.frombuffer((ctypes.c_ubyte * (count * item)).from_address(address), STORED[kind])
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (item, leading * item))


def gemm(
    flags: tuple[int, int],
    sizes: tuple[int, int, int],
    kind: int,
    compute: int,
    alpha: float,
    beta: float,
    operands: list[tuple[int, int, int]],
    batch: int,
) -> int:
    """`C = alpha op(A) op(B) + beta C` of each of a batch; operands are (address, leading, stride)."""
    m, n, k = sizes
    shapes = [(k, m) if flags[0] else (m, k), (n, k) if flags[1] else (k, n), (m, n)]
    if any(leading < max(1, rows) for (_, leading, _), (rows, _) in zip(operands, shapes, strict=True)):
        return INVALID_VALUE
    item = np.dtype(STORED[kind]).itemsize
    for index in range(batch):
        a, b, c = (
            matrix(address + index * stride * item, kind, *shape, leading)
            for (address, leading, stride), shape in zip(operands, shapes, strict=True)
        )
        left, right = (wide(each, kind, compute) for each in (a, b))
        result = alpha * ((left.T if flags[0] else left) @ (right.T if flags[1] else right))
        result = result + beta * wide(c, kind, compute) if beta else result
        if kind == 14:
            bits = result.astype(np.float32).view(np.uint32)
            c[...] = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16  # to the nearest, ties to even
        else:
            c[...] = result
    return SUCCESS


class FakeCublas:
    """libcublas."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def cublasCreate_v2(self, handle: Any) -> int:
        handle._obj.value = 0xB1A5
        return self._record("cublasCreate_v2")

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        return self._record("cublasSetStream_v2", stream)

    def cublasSetWorkspace_v2(self, handle: Any, place: Any, size: Any) -> int:
        return self._record("cublasSetWorkspace_v2", place, size)

    def cublasSetMathMode(self, handle: Any, mode: Any) -> int:
        return self._record("cublasSetMathMode", mode)

    def cublasDestroy_v2(self, handle: Any) -> int:
        return self._record("cublasDestroy_v2", handle)

    def cublasGemmEx(self, *arguments: Any) -> int:
        self._record("cublasGemmEx", *arguments)
        _, ta, tb, m, n, k, alpha, a, at, la, b, bt, lb, beta, c, ct, lc, compute, algorithm = map(
            number, arguments
        )
        assert at == bt == ct and algorithm == -1
        operands = [(a, la, 0), (b, lb, 0), (c, lc, 0)]
        return gemm((ta, tb), (m, n, k), at, compute, alpha, beta, operands, 1)

    def cublasGemmStridedBatchedEx(self, *arguments: Any) -> int:
        self._record("cublasGemmStridedBatchedEx", *arguments)
        (
            _,
            ta,
            tb,
            m,
            n,
            k,
            alpha,
            a,
            at,
            la,
            sa,
            b,
            bt,
            lb,
            sb,
            beta,
            c,
            ct,
            lc,
            sc,
            batch,
            compute,
            algorithm,
        ) = map(number, arguments)
        assert at == bt == ct and algorithm == -1
        operands = [(a, la, sa), (b, lb, sb), (c, lc, sc)]
        return gemm((ta, tb), (m, n, k), at, compute, alpha, beta, operands, batch)

    def cublasGemmBatchedEx(self, *arguments: Any) -> int:
        self._record("cublasGemmBatchedEx", *arguments)
        (_, ta, tb, m, n, k, alpha, a, at, la, b, bt, lb, beta, c, ct, lc, batch, compute, algorithm) = map(
            number, arguments
        )
        assert at == bt == ct and algorithm == -1
        places = [(ctypes.c_uint64 * batch).from_address(pointers) for pointers in (a, b, c)]
        for addresses in zip(*places, strict=True):
            operands = [(each, leading, 0) for each, leading in zip(addresses, (la, lb, lc), strict=True)]
            if status := gemm((ta, tb), (m, n, k), at, compute, alpha, beta, operands, 1):
                return status
        return SUCCESS

    def _record(self, name: str, *arguments: Any) -> int:
        self.calls.append((name, tuple(map(number, arguments))))
        return SUCCESS


class FakeCublasLt:
    """libcublasLt: descriptors are dictionaries, and it knows one algorithm, or none."""

    # Bytes of each attribute, as in cublasLt.h.
    SIZES = {  # noqa: RUF012
        "MatmulDesc": {3: 4, 4: 4},
        "MatrixLayout": {5: 4, 6: 8},
        "MatmulPreference": {1: 8, 3: 4, 5: 4, 6: 4, 7: 4, 8: 4},
    }

    def __init__(self, algorithms: int = 1, workspace: int = 0) -> None:
        self.algorithms, self.workspace = algorithms, workspace
        self.descriptors: dict[int, dict[Any, int]] = {}
        self.names: list[str] = []
        self.asked: dict[Any, int] = {}  # the preference of the last choice
        self._next = 0x1000

    def __getattr__(self, name: str) -> Any:
        kind = name.removeprefix("cublasLt")
        for verb in ("SetAttribute", "Create", "Destroy"):
            if kind.endswith(verb) and kind.removesuffix(verb) in self.SIZES:
                act = getattr(self, "_" + verb.lower())
                return lambda *arguments: act(kind.removesuffix(verb), *arguments)
        raise AttributeError(name)

    def _create(self, kind: str, made: Any, *arguments: Any) -> int:
        self._next += 8
        made._obj.value = self._next
        fields = {"MatmulDesc": ("compute", "scale"), "MatrixLayout": ("kind", "rows", "columns", "leading")}
        named = zip(fields.get(kind, ()), map(number, arguments), strict=True)
        self.descriptors[self._next] = dict(named)
        return SUCCESS

    def _setattribute(self, kind: str, descriptor: Any, attribute: int, value: Any, size: Any) -> int:
        if self.SIZES[kind].get(attribute) != number(size) or ctypes.sizeof(value._obj) != number(size):
            return INVALID_VALUE
        self.descriptors[number(descriptor)][attribute] = number(value)
        return SUCCESS

    def _destroy(self, kind: str, descriptor: Any) -> int:
        del self.descriptors[number(descriptor)]
        return SUCCESS

    def cublasLtMatmulAlgoGetHeuristic(
        self,
        handle: Any,
        operation: Any,
        a: Any,
        b: Any,
        c: Any,
        d: Any,
        preference: Any,
        wanted: int,
        found: Any,
        count: Any,
    ) -> int:
        self.names.append("cublasLtMatmulAlgoGetHeuristic")
        assert wanted == 1 and ctypes.sizeof(found._obj) == 96
        self.asked = dict(self.descriptors[number(preference)])
        found._obj.algorithm[0], found._obj.workspace = ALGORITHM, self.workspace
        count._obj.value = self.algorithms
        return SUCCESS if self.algorithms else NOT_SUPPORTED

    def cublasLtMatmul(
        self,
        handle: Any,
        operation: Any,
        alpha: Any,
        a: Any,
        a_layout: Any,
        b: Any,
        b_layout: Any,
        beta: Any,
        c: Any,
        c_layout: Any,
        d: Any,
        d_layout: Any,
        algorithm: Any,
        workspace: Any,
        size: Any,
        stream: Any,
    ) -> int:
        self.names.append("cublasLtMatmul")
        self.memory = number(workspace), number(size), number(stream)
        assert algorithm._obj.algorithm[0] == ALGORITHM and number(c) == number(d)
        how = self.descriptors[number(operation)]
        layouts = [self.descriptors[number(each)] for each in (a_layout, b_layout, d_layout)]
        flags = how[3], how[4]
        m, n = layouts[2]["rows"], layouts[2]["columns"]
        k = layouts[0]["rows" if flags[0] else "columns"]
        told = [(layout["rows"], layout["columns"]) for layout in layouts]
        assert told == [(k, m) if flags[0] else (m, k), (n, k) if flags[1] else (k, n), (m, n)]
        operands = [
            (number(address), layout["leading"], layout.get(6, 0))
            for address, layout in zip((a, b, d), layouts, strict=True)
        ]
        (batch,) = {layout.get(5, 1) for layout in layouts}
        kind = layouts[0]["kind"]
        return gemm(flags, (m, n, k), kind, how["compute"], number(alpha), number(beta), operands, batch)
