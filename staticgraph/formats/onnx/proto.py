"""The messages of an ONNX file: model, graph, node, attribute, tensor and type, as onnx.proto declares them.

ONNX has names that TensorFlow has too, so these types belong to a package of their own, `onnx`.
"""

from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.scalars import Enum


class _OnnxMessage(Message):
    """A message of the package `onnx`."""

    package = "onnx"


class StringStringEntryProto(_OnnxMessage):
    """A key and its value."""

    schema = """
        string key = 1
        string value = 2
    """


class OperatorSetIdProto(_OnnxMessage):
    """A set of operators by its domain, "" for ONNX's own, and its version."""

    schema = """
        string domain = 1
        int64 version = 2
    """


class TensorShapeProto(_OnnxMessage):
    """A shape. A dimension without a value is unknown."""

    schema = """
        repeated onnx.TensorShapeProto.Dimension dim = 1
    """

    class Dimension(_OnnxMessage):
        """One axis: its size, or a name that equal unknown sizes share."""

        schema = """
            int64 dim_value = 1 in value
            string dim_param = 2 in value
            string denotation = 3
        """


class TypeProto(_OnnxMessage):
    """The type of a value: a tensor, or something made of tensors."""

    schema = """
        onnx.TypeProto.Tensor tensor_type = 1 in value
        onnx.TypeProto.Sequence sequence_type = 4 in value
        onnx.TypeProto.Map map_type = 5 in value
        string denotation = 6
        onnx.TypeProto.Opaque opaque_type = 7 in value
        onnx.TypeProto.SparseTensor sparse_tensor_type = 8 in value
        onnx.TypeProto.Optional optional_type = 9 in value
    """

    class Tensor(_OnnxMessage):
        """Element type and shape; no shape where not even the rank is known."""

        schema = """
            int32 elem_type = 1
            onnx.TensorShapeProto shape = 2
        """

    class SparseTensor(_OnnxMessage):
        """Element type and shape of a sparse tensor."""

        schema = """
            int32 elem_type = 1
            onnx.TensorShapeProto shape = 2
        """

    class Sequence(_OnnxMessage):
        """Any number of values of one type."""

        schema = """
            onnx.TypeProto elem_type = 1
        """

    class Optional(_OnnxMessage):
        """A value, or nothing."""

        schema = """
            onnx.TypeProto elem_type = 1
        """

    class Map(_OnnxMessage):
        """Values by key."""

        schema = """
            int32 key_type = 1
            onnx.TypeProto value_type = 2
        """

    class Opaque(_OnnxMessage):
        """A type that only its own runtime knows."""

        schema = """
            string domain = 1
            string name = 2
        """


class TensorProto(_OnnxMessage):
    """The values of a tensor: in `raw_data` as in memory, in the list for their type, or in a file."""

    DataType = Enum(
        UNDEFINED=0,
        FLOAT=1,
        UINT8=2,
        INT8=3,
        UINT16=4,
        INT16=5,
        INT32=6,
        INT64=7,
        STRING=8,
        BOOL=9,
        FLOAT16=10,
        DOUBLE=11,
        UINT32=12,
        UINT64=13,
        COMPLEX64=14,
        COMPLEX128=15,
        BFLOAT16=16,
        FLOAT8E4M3FN=17,
        FLOAT8E4M3FNUZ=18,
        FLOAT8E5M2=19,
        FLOAT8E5M2FNUZ=20,
        UINT4=21,
        INT4=22,
        FLOAT4E2M1=23,
        FLOAT8E8M0=24,
        UINT2=25,
        INT2=26,
        FLOAT6E2M3=27,
        FLOAT6E3M2=28,
    )
    DataLocation = Enum(DEFAULT=0, EXTERNAL=1)
    schema = """
        repeated int64 dims = 1
        int32 data_type = 2
        onnx.TensorProto.Segment segment = 3
        repeated float float_data = 4
        repeated int32 int32_data = 5
        repeated bytes string_data = 6
        repeated int64 int64_data = 7
        string name = 8
        bytes raw_data = 9
        repeated double double_data = 10
        repeated uint64 uint64_data = 11
        string doc_string = 12
        repeated onnx.StringStringEntryProto external_data = 13
        enum onnx.TensorProto.DataLocation data_location = 14
        repeated onnx.StringStringEntryProto metadata_props = 16
    """

    class Segment(_OnnxMessage):
        """A part of a tensor that is stored in pieces."""

        schema = """
            int64 begin = 1
            int64 end = 2
        """


class SparseTensorProto(_OnnxMessage):
    """The elements of a tensor that are not zero, and where they stand."""

    schema = """
        onnx.TensorProto values = 1
        onnx.TensorProto indices = 2
        repeated int64 dims = 3
    """


class AttributeProto(_OnnxMessage):
    """A constant parameter of a node: the field that `type` tells, or one of the enclosing function."""

    AttributeType = Enum(
        UNDEFINED=0,
        FLOAT=1,
        INT=2,
        STRING=3,
        TENSOR=4,
        GRAPH=5,
        FLOATS=6,
        INTS=7,
        STRINGS=8,
        TENSORS=9,
        GRAPHS=10,
        SPARSE_TENSOR=11,
        SPARSE_TENSORS=12,
        TYPE_PROTO=13,
        TYPE_PROTOS=14,
    )
    schema = """
        string name = 1
        float f = 2
        int64 i = 3
        bytes s = 4
        onnx.TensorProto t = 5
        onnx.GraphProto g = 6
        repeated float floats = 7
        repeated int64 ints = 8
        repeated bytes strings = 9
        repeated onnx.TensorProto tensors = 10
        repeated onnx.GraphProto graphs = 11
        string doc_string = 13
        onnx.TypeProto tp = 14
        repeated onnx.TypeProto type_protos = 15
        enum onnx.AttributeProto.AttributeType type = 20
        string ref_attr_name = 21
        onnx.SparseTensorProto sparse_tensor = 22
        repeated onnx.SparseTensorProto sparse_tensors = 23
    """


class ValueInfoProto(_OnnxMessage):
    """The name of a value, and its type."""

    schema = """
        string name = 1
        onnx.TypeProto type = 2
        string doc_string = 3
        repeated onnx.StringStringEntryProto metadata_props = 4
    """


class NodeProto(_OnnxMessage):
    """One operation. Values are known by name; an empty name is an optional value that is left out."""

    schema = """
        repeated string input = 1
        repeated string output = 2
        string name = 3
        string op_type = 4
        repeated onnx.AttributeProto attribute = 5
        string doc_string = 6
        string domain = 7
        string overload = 8
        repeated onnx.StringStringEntryProto metadata_props = 9
        repeated onnx.NodeDeviceConfigurationProto device_configurations = 10
    """


class TensorAnnotation(_OnnxMessage):
    """Which tensors are the quantization parameters of another one."""

    schema = """
        string tensor_name = 1
        repeated onnx.StringStringEntryProto quant_parameter_tensor_names = 2
    """


class GraphProto(_OnnxMessage):
    """Nodes in an order in which they can run, what goes in, what comes out, and constants by name."""

    schema = """
        repeated onnx.NodeProto node = 1
        string name = 2
        repeated onnx.TensorProto initializer = 5
        string doc_string = 10
        repeated onnx.ValueInfoProto input = 11
        repeated onnx.ValueInfoProto output = 12
        repeated onnx.ValueInfoProto value_info = 13
        repeated onnx.TensorAnnotation quantization_annotation = 14
        repeated onnx.SparseTensorProto sparse_initializer = 15
        repeated onnx.StringStringEntryProto metadata_props = 16
    """


class FunctionProto(_OnnxMessage):
    """An operator that is defined by nodes, with inputs, outputs and attributes by name."""

    schema = """
        string name = 1
        repeated string input = 4
        repeated string output = 5
        repeated string attribute = 6
        repeated onnx.NodeProto node = 7
        string doc_string = 8
        repeated onnx.OperatorSetIdProto opset_import = 9
        string domain = 10
        repeated onnx.AttributeProto attribute_proto = 11
        repeated onnx.ValueInfoProto value_info = 12
        string overload = 13
        repeated onnx.StringStringEntryProto metadata_props = 14
    """


class TrainingInfoProto(_OnnxMessage):
    """Initial values of a model's initializers, and the training step that updates them."""

    schema = """
        onnx.GraphProto initialization = 1
        onnx.GraphProto algorithm = 2
        repeated onnx.StringStringEntryProto initialization_binding = 3
        repeated onnx.StringStringEntryProto update_binding = 4
    """


class ModelProto(_OnnxMessage):
    """A file: a graph, the versions of the operators that it is written in, and functions that it calls."""

    schema = """
        int64 ir_version = 1
        string producer_name = 2
        string producer_version = 3
        string domain = 4
        int64 model_version = 5
        string doc_string = 6
        onnx.GraphProto graph = 7
        repeated onnx.OperatorSetIdProto opset_import = 8
        repeated onnx.StringStringEntryProto metadata_props = 14
        repeated onnx.TrainingInfoProto training_info = 20
        repeated onnx.FunctionProto functions = 25
        repeated onnx.DeviceConfigurationProto configuration = 26
    """


class DeviceConfigurationProto(_OnnxMessage):
    """Devices that nodes may be placed on."""

    schema = """
        string name = 1
        int32 num_devices = 2
        repeated string device = 3
    """


class NodeDeviceConfigurationProto(_OnnxMessage):
    """Distribution of a node over the devices of a configuration."""

    schema = """
        string configuration_id = 1
        repeated onnx.ShardingSpecProto sharding_spec = 2
        int32 pipeline_stage = 3
    """


class ShardingSpecProto(_OnnxMessage):
    """Sharding of a tensor over devices."""

    schema = """
        string tensor_name = 1
        repeated int64 device = 2
        repeated onnx.IntIntListEntryProto index_to_device_group_map = 3
        repeated onnx.ShardedDimProto sharded_dim = 4
    """


class IntIntListEntryProto(_OnnxMessage):
    """A number and a list of numbers."""

    schema = """
        int64 key = 1
        repeated int64 value = 2
    """


class ShardedDimProto(_OnnxMessage):
    """Sharding of one axis."""

    schema = """
        int64 axis = 1
        repeated onnx.SimpleShardedDimProto simple_sharding = 2
    """


class SimpleShardedDimProto(_OnnxMessage):
    """One cut of an axis."""

    schema = """
        int64 dim_value = 1 in dim
        string dim_param = 2 in dim
        int64 num_shards = 3
    """
