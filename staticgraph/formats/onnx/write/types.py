"""Which element types ONNX's operators take, and by which wider type the others are computed.

The standard lets most operators take most types; programs that run models, onnxruntime among them, implement
some of them. A model that is written here keeps to those, so that it runs: `a + b` of bfloat16 becomes
Cast, Add, Cast, which rounds once and gives the same bits.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)

_SINGLE = frozenset({float16, float32})
_FLOATS = _SINGLE | {float64}
_COMMON = _FLOATS | {int32, int64}
_BYTES = _COMMON | {int8, uint8}
_INTEGERS = frozenset({int8, int16, int32, int64, uint8, uint16, uint32, uint64})
_NUMBERS = _FLOATS | _INTEGERS
_ANY = _NUMBERS | {bool_, string}

# By operator. What is not here takes all types.
TAKES: dict[str, frozenset[DType]] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Mod", "Abs", "Sign"), _NUMBERS),
    **dict.fromkeys(("Less", "LessOrEqual", "Greater", "GreaterOrEqual"), _NUMBERS),
    **dict.fromkeys(("Equal", "Tile", "Expand", "Size"), _ANY),
    **dict.fromkeys(("Pad",), _ANY - {int16, uint16}),
    **dict.fromkeys(("Max", "Min"), _NUMBERS - {int16, uint16}),
    **dict.fromkeys(("Neg",), _FLOATS | {int8, int16, int32, int64}),
    **dict.fromkeys(("Pow", "Range"), _COMMON),
    **dict.fromkeys(("ReduceSum", "ReduceProd", "ReduceMean", "CumSum", "Einsum"), _COMMON | {uint64}),
    **dict.fromkeys(("Sqrt", "Exp", "Log", "Sin", "Cos", "Tanh", "Sigmoid", "Reciprocal"), _FLOATS),
    **dict.fromkeys(("Floor", "Ceil", "Round", "Softmax", "LogSoftmax", "IsNaN", "ReduceL2"), _FLOATS),
    **dict.fromkeys(("Relu", "BatchNormalization"), _FLOATS),
    **dict.fromkeys(("IsInf",), frozenset({float32, float64})),
    **dict.fromkeys(("Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"), _FLOATS),
    **dict.fromkeys(("Erf", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign", "Det", "LRN"), _FLOATS),
    **dict.fromkeys(("Conv", "ConvTranspose", "AveragePool"), _FLOATS),
    **dict.fromkeys(("MaxPool",), _FLOATS | {int8, uint8}),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ArgMax", "ArgMin"), _BYTES | {uint64}),
    **dict.fromkeys(("TopK",), _BYTES | {int16, uint64}),
    **dict.fromkeys(("Unique",), _FLOATS | {int8, int64, uint64, string}),
    **dict.fromkeys(("NonZero",), frozenset({float32, int32, int64, uint8, bool_})),
    **dict.fromkeys(("MatMul",), _COMMON | {uint32, uint64}),
    **dict.fromkeys(("Where",), _BYTES | {uint32, uint64, string}),
    **dict.fromkeys(("ScatterND",), frozenset({float32, float64, int32, int64, uint64, bool_, string})),
    **dict.fromkeys(("ReverseSequence",), _ANY),
    **dict.fromkeys(("Trilu",), frozenset({float32, float64, int64, uint64, bool_})),
    **dict.fromkeys(("BitShift",), frozenset({uint8, uint32, uint64})),
}
FIRST_TYPED = {"Where": 1}  # the input that tells the type, where it is not the first one

# Types that hold all values of another, the nearest first.
_WIDER: dict[DType, tuple[DType, ...]] = {
    bfloat16: (float32,),
    float16: (float32,),
    bool_: (uint8, int32),
    int8: (int32, int64, float32),
    int16: (int32, int64, float32),
    uint8: (int32, uint32, int64, float32),
    uint16: (int32, uint32, int64, float32),
    int32: (int64, float64),
    uint32: (int64, float64),
}


def wider(operator: str, dtype: DType) -> DType | None:
    """The type that an operator computes values of `dtype` in: itself where there is need of no other, None
    if there is none.
    """
    takes = TAKES.get(operator)
    if takes is None or dtype in takes:
        return dtype
    return next((wide for wide in _WIDER.get(dtype, ()) if wide in takes), None)
