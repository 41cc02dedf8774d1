"""Element types beside what names them: NumPy's types, strings and other things."""

import numpy as np

from tests.golden.runner import answer, error

NAMES = (
    "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "bool", "complex64", "complex128", "string",
)
OTHERS = [
    *(np.dtype(kind) for kind in "efdbhilBHILFD?OSU"), np.float16, np.float32, np.float64, np.int32, np.int64,
    np.uint8, np.bool_, np.complex64, float, bool, "float32", "float", "double", "half", "int64", "bfloat16",
    "no type", "", None, object(), [1], (2, 3), 1.5, np.array(1.0), np.array([1, 2], np.int32),
]


def equal(tf):
    types = [getattr(tf, name) for name in NAMES]
    return [[bool(each == other) for other in OTHERS] for each in types]


def unequal(tf):
    types = [getattr(tf, name) for name in NAMES]
    return [[bool(each != other) for other in OTHERS] for each in types]


def of_arrays(tf):
    arrays = [np.zeros(2, kind) for kind in ("f4", "f8", "i4", "u1", "?")]
    tensors = [tf.constant(array) for array in arrays]
    return [[bool(t.dtype == a.dtype) for a in arrays] for t in tensors]


def found(tf):
    """In a tuple and in a list; as a key of a dictionary, beside types of its own kind."""
    types = [getattr(tf, name) for name in NAMES]
    return [
        [each in (np.float32, np.dtype("i8"), "string") for each in types],
        [each in [np.float64, tf.int32] for each in types],
        [{tf.float32: 1, tf.string: 2}.get(each, 0) for each in types],
    ]


CASES = [
    answer("equal", equal),
    answer("unequal", unequal),
    answer("of arrays", of_arrays),
    answer("found", found),
    answer("compatible", lambda tf: [getattr(tf, n).is_compatible_with(np.float32) for n in NAMES]),
    error("compatible with no type", lambda tf: tf.float32.is_compatible_with(1.5)),
    answer("limits", lambda tf: [[float(x) for x in t.limits] for t in (tf.float32, tf.uint8, tf.int16)]),
    answer("numbers", lambda tf: [getattr(tf, n).as_datatype_enum for n in NAMES]),
    answer("types of numbers", lambda tf: [tf.as_dtype(getattr(tf, n).as_datatype_enum).name for n in NAMES]
           + [tf.as_dtype(103).base_dtype.name, tf.float32 == 1, tf.int32 == 1, tf.as_dtype(19) == tf.half]),
    answer("types of numbers that are floats", lambda tf: [tf.as_dtype(n).name for n in (1.0, 2.0, 14.0)]),
    error("type of a fraction", lambda tf: tf.as_dtype(1.5)),
    error("type of zero", lambda tf: tf.as_dtype(0.0)),
    answer("quantized", lambda tf: [getattr(tf, n).is_quantized for n in NAMES]),
]
