"""Tensors as messages: element type, shape, and values."""

from staticgraph.formats.tf.messages.message import Message


class TensorShapeProto(Message):
    """A shape. A size of -1 is unknown."""

    schema = """
        repeated TensorShapeProto.Dim dim = 2
        bool unknown_rank = 3
    """

    class Dim(Message):
        """One axis."""

        schema = """
            int64 size = 1
            string name = 2
        """


class ResourceHandleProto(Message):
    """Resource that a handle refers to."""

    schema = """
        string device = 1
        string container = 2
        string name = 3
        uint64 hash_code = 4
        string maybe_type_name = 5
        repeated ResourceHandleProto.DtypeAndShape dtypes_and_shapes = 6
    """

    class DtypeAndShape(Message):
        """Element type and shape of a resource."""

        schema = """
            enum DataType dtype = 1
            TensorShapeProto shape = 2
        """


class VariantTensorDataProto(Message):
    """A value of a type that only its own code knows."""

    schema = """
        string type_name = 1
        bytes metadata = 2
        repeated TensorProto tensors = 3
    """


class TensorProto(Message):
    """The values of a tensor: in `tensor_content` as they lie in memory, or in the list for their type."""

    schema = """
        enum DataType dtype = 1
        TensorShapeProto tensor_shape = 2
        int32 version_number = 3
        bytes tensor_content = 4
        repeated float float_val = 5
        repeated double double_val = 6
        repeated int32 int_val = 7
        repeated bytes string_val = 8
        repeated float scomplex_val = 9
        repeated int64 int64_val = 10
        repeated bool bool_val = 11
        repeated double dcomplex_val = 12
        repeated int32 half_val = 13
        repeated ResourceHandleProto resource_handle_val = 14
        repeated VariantTensorDataProto variant_val = 15
        repeated uint32 uint32_val = 16
        repeated uint64 uint64_val = 17
    """
