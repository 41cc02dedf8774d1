"""Tensors as messages: element type, shape, and values. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class TensorShapeProto(Message):
    """A shape. A size of -1 is unknown."""
    class Dim(Message):
        """One axis."""
        size: typing.Any
        name: typing.Any
    dim: typing.Any
    unknown_rank: typing.Any
class ResourceHandleProto(Message):
    """Resource that a handle refers to."""
    class DtypeAndShape(Message):
        """Element type and shape of a resource."""
        dtype: typing.Any
        shape: typing.Any
    device: typing.Any
    container: typing.Any
    name: typing.Any
    hash_code: typing.Any
    maybe_type_name: typing.Any
    dtypes_and_shapes: typing.Any
class VariantTensorDataProto(Message):
    """A value of a type that only its own code knows."""
    type_name: typing.Any
    metadata: typing.Any
    tensors: typing.Any
class TensorProto(Message):
    """The values of a tensor: in `tensor_content` as they lie in memory, or in the list for their type."""
    dtype: typing.Any
    tensor_shape: typing.Any
    version_number: typing.Any
    tensor_content: typing.Any
    float_val: typing.Any
    double_val: typing.Any
    int_val: typing.Any
    string_val: typing.Any
    scomplex_val: typing.Any
    int64_val: typing.Any
    bool_val: typing.Any
    dcomplex_val: typing.Any
    half_val: typing.Any
    resource_handle_val: typing.Any
    variant_val: typing.Any
    uint32_val: typing.Any
    uint64_val: typing.Any
