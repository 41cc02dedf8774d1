"""Arrays as messages, and messages that are no arrays. `tests/golden` compares bytes with TensorFlow."""

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import DTYPES
from staticgraph.formats.tf.messages import (
    DecodeError,
    TensorProto,
    TensorShapeProto,
    make_ndarray,
    make_tensor_proto,
)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 2)])
def test_every_type_there_and_back(name: str, shape: tuple[int, ...]):
    dtype = DTYPES[name]
    array = np.arange(np.prod(shape)).reshape(shape).astype("S" if name == "string" else dtype.numpy)
    if name == "string":
        array = array.astype(object)
    again = make_ndarray(TensorProto.FromString(make_tensor_proto(array, dtype).SerializeToString()))
    assert again.dtype == dtype.numpy and again.shape == shape
    np.testing.assert_array_equal(again, array)


def test_an_array_of_a_message_can_be_changed():
    array = make_ndarray(make_tensor_proto([1.0, 2.0]))
    array[0] = 5


def test_zero_bytes_at_the_end_of_strings_are_kept():
    assert make_ndarray(make_tensor_proto([b"a\0", "b"])).tolist() == [b"a\0", b"b"]


def test_a_message_is_taken_as_it_is():
    made = make_tensor_proto(1)
    assert make_tensor_proto(made) is made


def test_content_of_a_damaged_file():
    shape = TensorShapeProto(dim=[{"size": 3}])
    for proto in (
        TensorProto(dtype=1, tensor_shape=shape, tensor_content=b"1234"),
        TensorProto(dtype=7, tensor_shape=shape, tensor_content=b"123"),
        TensorProto(dtype=1, tensor_shape=shape, float_val=[1.0] * 4),
        TensorProto(dtype=1, tensor_shape={"dim": [{"size": -3}]}, float_val=[1.0]),
        TensorProto(dtype=1, tensor_shape={"dim": [{"size": 2**40}, {"size": 2**40}]}, float_val=[1.0]),
    ):
        with pytest.raises(DecodeError):
            make_ndarray(proto)
    for number in (0, 13, 20, 999):
        with pytest.raises(TypeError, match="is not an element type here"):
            make_ndarray(TensorProto(dtype=number))


def test_numbers_of_a_list_are_cut_to_their_type():
    proto = TensorProto(dtype=4, tensor_shape={"dim": [{"size": 2}]}, int_val=[300, -1])
    assert make_ndarray(proto).tolist() == [44, 255]


def test_types_of_references_are_those_of_their_elements():
    assert make_ndarray(TensorProto(dtype=101, float_val=[2.5])).tolist() == 2.5


def test_the_error_names_the_line():
    with pytest.raises(TypeError, match=r"test_tensors\.py"):
        make_tensor_proto(1.5, "int32")
    with pytest.raises(ValueError, match="3 for the 2 places"):
        make_tensor_proto([1, 2, 3], shape=[2])
