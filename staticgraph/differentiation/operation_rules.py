"""Rules of how many operations a gradient function of TensorFlow 1.15 makes.

A rule says for one op how many operations its gradient function makes, of how many inputs it gives the
cotangents, asked for or not, since an optimizer lets all of them wait for each other, and if the first of
them is rows of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor

Count = tuple[int, int, bool]  # operations, inputs that get a cotangent, if it is rows

_FITTED = 2  # a sum over axes that an operation gave, and a reshape
_FITTED_STATIC = 4  # the same with constants
_REDUCED_SHAPE = 10  # the shape of a result that keeps its axes
_DIVIDED_SHAPE = 3  # how often that fits into the operand's
_LARGE = 1000  # zeros of as many elements are no constant


class Derivatives:
    """Counts of one graph: TensorFlow works out each pair of static shapes once."""

    def __init__(self) -> None:
        self._broadcasts: set[Any] = set()
        self._reductions: set[Any] = set()

    def broadcast(self, op: Operation) -> tuple[int, int, int]:
        """Return the operations that fit the cotangents of two operands: common ones, and those of each."""
        x, y, out = (t.type.shape for t in (*op.tensors[:2], op.outputs[0]))
        if not (op.tensors[0].type.is_static and op.tensors[1].type.is_static):
            return 3, _FITTED, _FITTED
        new = (x, y) not in self._broadcasts
        self._broadcasts.add((x, y))
        return 3 * new, _FITTED_STATIC * (x != out), _FITTED_STATIC * (y != out)

    def reduction(self, op: Operation) -> int:
        """Return the operations that spread the cotangent of a sum over what was added."""
        x, axes = op.tensors[0], op.operands.get("axis")
        rank = x.type.rank
        known: Any = range(rank or 0) if axes is None else static_value(axes)
        if rank is not None and known is not None:
            if np.ndim(known) == 1 and list(known) == list(range(rank)):
                return 4
            if x.type.is_static:
                key = x.type.shape, tuple(np.reshape(known, -1).tolist())
                new = key not in self._reductions
                self._reductions.add(key)
                return 4 + (_REDUCED_SHAPE + 2 + 5) * new
        return 1 + _REDUCED_SHAPE + _DIVIDED_SHAPE + 2


def _zeros_like(x: Tensor) -> int:
    size = x.shape.num_elements()
    return 1 if size is None or size < _LARGE else 3


def equal_shapes(op: Operation) -> bool:
    """Return True if the first two inputs and the output of an operation have one known shape."""
    first, *others = (*op.tensors[:2], op.outputs[0])
    return first.type.is_static and all(t.type.shape == first.type.shape for t in others)


# Rules


def _fixed(operations: int, parts: int = 1) -> Callable[[Derivatives, Operation], Count]:
    return lambda made, op: (operations, parts, False)


def _add(made: Derivatives, op: Operation) -> Count:
    return (0 if equal_shapes(op) else sum(made.broadcast(op))), 2, False


def _subtract(made: Derivatives, op: Operation) -> Count:
    return _add(made, op)[0] + 1, 2, False


def _multiply(made: Derivatives, op: Operation) -> Count:
    same = equal_shapes(op) and op.outputs[0].dtype.name == "float32"
    return 2 + (0 if same else sum(made.broadcast(op))), 2, False


def _power(made: Derivatives, op: Operation) -> Count:
    return 15 + _zeros_like(op.tensors[0]) + sum(made.broadcast(op)), 2, False


def _squared_difference(made: Derivatives, op: Operation) -> Count:
    return _add(made, op)[0] + 5, 2, False


def _batch_matmul(made: Derivatives, op: Operation) -> Count:
    x, y = op.tensors[:2]
    same = x.type.is_static and y.type.is_static and x.type.shape == y.type.shape
    return (2 if same else 17), 2, False


def _sum(made: Derivatives, op: Operation) -> Count:
    return made.reduction(op), 1, False


def _mean(made: Derivatives, op: Operation) -> Count:
    static = op.tensors[0].type.is_static and op.outputs[0].type.is_static
    return made.reduction(op) + (2 if static else 11), 1, False


def _concat(made: Derivatives, op: Operation) -> Count:
    number = len(op.tensors)
    if number == 1:
        return 0, 1, False
    open_at = next((n for n, x in enumerate(op.tensors) if not x.type.is_static), None)
    shapes = number if open_at is None else open_at + 2
    return (2 + shapes + (number + 1 if number <= 16 else 7)), number, False


def _unstacked(made: Derivatives, op: Operation) -> Count:
    return 1, len(op.tensors), False


def _select(made: Derivatives, op: Operation) -> Count:
    return 2 + _zeros_like(op.tensors[-1]), 2, False


def _gather(made: Derivatives, op: Operation) -> Count:
    axis = op.operands.get("axis")
    known = op.attrs.get("axis", 0) if axis is None else static_value(axis)
    first = known is not None and int(known) == 0
    return (13 if first else 55), 1, first


def _unsorted_segment_sum(made: Derivatives, op: Operation) -> Count:
    x, at = op.tensors[0].type.rank, op.tensors[1].type.rank
    return 12 + 2 * ((x or 0) - (at or 0)), 1, False


def _fused_batch_norm(made: Derivatives, op: Operation) -> Count:
    training = op.attrs.get("is_training", True)
    return 4, (5 if training else 3), False


def _resize_nearest(made: Derivatives, op: Operation) -> Count:
    shape = op.tensors[0].type.shape
    return (2 if shape is not None and None not in shape[1:3] else 6), 1, False


def _matrix_set_diag(made: Derivatives, op: Operation) -> Count:
    return (3 if all(t.type.is_static for t in op.tensors[:2]) else 21), 2, False


def _matrix_diag_part(made: Derivatives, op: Operation) -> Count:
    rows, columns = (op.tensors[0].type.shape or (None, None))[-2:]
    return (2 if rows is None or rows != columns else 1), 1, False


def _eigen(made: Derivatives, op: Operation) -> Count:
    return (24 if op.attrs.get("compute_v", True) else 14), 1, False


def _singular_values(made: Derivatives, op: Operation) -> Count:
    if not op.attrs.get("compute_uv", True):
        return 4, 1, False
    rows, columns = (op.tensors[0].type.shape or (None, None))[-2:]
    return (54 if rows == columns else 62), 1, False


_BROADCAST_ALWAYS = _fixed(12, 2)
RULES: dict[str, Callable[[Derivatives, Operation], Count]] = {
    "Add": _add, "AddV2": _add, "BiasAdd": _fixed(1, 2), "Sub": _subtract, "Mul": _multiply, "Pow": _power,
    "Div": _BROADCAST_ALWAYS, "RealDiv": _BROADCAST_ALWAYS, "DivNoNan": _BROADCAST_ALWAYS,
    "Maximum": _fixed(13, 2), "Minimum": _fixed(13, 2), "SquaredDifference": _squared_difference,
    "Abs": _fixed(2), "Square": _fixed(3), "Log": _fixed(2), "Log1p": _fixed(4), "Expm1": _fixed(2),
    "Sin": _fixed(2), "Cos": _fixed(3), "Tan": _fixed(4), "Sign": _fixed(3), "Erf": _fixed(6),
    "Erfc": _fixed(6), "Lgamma": _fixed(2), "Digamma": _fixed(3), "Asin": _fixed(6), "Acos": _fixed(7),
    "Atan": _fixed(5), "Sinh": _fixed(2), "Cosh": _fixed(2), "Softplus": _fixed(2), "Softmax": _fixed(5),
    "LogSoftmax": _fixed(5), "MatMul": _fixed(2, 2), "BatchMatMul": _batch_matmul,
    "BatchMatMulV2": _batch_matmul, "Sum": _sum, "Mean": _mean, "Max": _fixed(19), "Min": _fixed(19),
    "Prod": _fixed(49), "Reshape": _fixed(2), "ExpandDims": _fixed(2), "Squeeze": _fixed(2),
    "Transpose": _fixed(2), "ConcatV2": _concat, "Pack": _unstacked, "StridedSlice": _fixed(2),
    "Slice": _fixed(12), "Select": _select, "SelectV2": _select, "Pad": _fixed(9), "PadV2": _fixed(9),
    "Tile": _fixed(12), "GatherV2": _gather, "GatherNd": _fixed(2), "TopKV2": _fixed(43, 2),
    "Cumprod": _fixed(4), "MatrixInverse": _fixed(3), "SegmentSum": _fixed(2), "SegmentMean": _fixed(16),
    "UnsortedSegmentSum": _unsorted_segment_sum, "AddN": lambda made, op: (0, len(op.tensors), False),
    "Identity": _fixed(0), "PlaceholderWithDefault": _fixed(0), "Conv2D": _fixed(3, 2),
    "Conv3D": _fixed(4, 2), "DepthwiseConv2dNative": _fixed(4, 2), "Conv2DBackpropInput": _fixed(3, 2),
    "AvgPool": _fixed(2), "L2Loss": _fixed(1), "FusedBatchNormV3": _fused_batch_norm,
    "ResizeNearestNeighbor": _resize_nearest, "SoftmaxCrossEntropyWithLogits": _fixed(8, 2),
    "SparseSoftmaxCrossEntropyWithLogits": _fixed(4), "TensorArrayReadV3": _fixed(3),
    "TensorArrayWriteV3": _fixed(3, 2), "Asinh": _fixed(2), "Acosh": _fixed(2), "Atanh": _fixed(5),
    "BesselI0e": _fixed(5), "BesselI1e": _fixed(17), "FloorMod": _fixed(10, 2), "Atan2": _fixed(8, 2),
    "Igamma": _fixed(19, 2), "Igammac": _fixed(21, 2), "Polygamma": _fixed(9), "SegmentMax": _fixed(10),
    "SegmentMin": _fixed(10), "UnsortedSegmentMax": _fixed(25), "UnsortedSegmentMin": _fixed(25),
    "UnsortedSegmentProd": _fixed(34), "Real": _fixed(2), "Imag": _fixed(2), "ComplexAbs": _fixed(6),
    "Angle": _fixed(8), "Complex": _fixed(9, 2), "FFT": _fixed(10), "FFT2D": _fixed(10), "FFT3D": _fixed(10),
    "IFFT": _fixed(13), "IFFT2D": _fixed(13), "IFFT3D": _fixed(13), "RFFT": _fixed(49), "IRFFT": _fixed(44),
    "BroadcastTo": _fixed(4), "Roll": _fixed(2), "MatrixSetDiag": _matrix_set_diag,
    "MatrixDiagPart": _matrix_diag_part, "Print": _fixed(0), "Cholesky": _fixed(33),
    "MatrixDeterminant": _fixed(8), "LogMatrixDeterminant": _fixed(7), "MatrixSolve": _fixed(3, 2),
    "MatrixTriangularSolve": _fixed(6, 2), "SelfAdjointEigV2": _eigen, "Svd": _singular_values,
    "Qr": _fixed(27), "MatrixSquareRoot": _fixed(119), "MatrixExponential": _fixed(199),
    "Cross": _fixed(2, 2), "ExtractImagePatches": _fixed(97), "CropAndResize": _fixed(3, 2),
    "Dilation2D": _fixed(2, 2), "AvgPool3D": _fixed(2), "TanhGrad": _fixed(5, 2),
    "SigmoidGrad": _fixed(6, 2), "ReluGrad": _fixed(4, 2), "Relu6Grad": _fixed(4, 2),
    "EluGrad": _fixed(6, 2), "SeluGrad": _fixed(6, 2), "SqrtGrad": _fixed(5, 2), "RsqrtGrad": _fixed(6, 2),
    "ReciprocalGrad": _fixed(5, 2), "InvGrad": _fixed(5, 2), "LeakyReluGrad": _fixed(4, 2),
}  # fmt: skip
