"""The messages of an ONNX file: model, graph, node, attribute, tensor and type, as onnx.proto declares them.

ONNX has names that TensorFlow has too, so these types belong to a package of their own, `onnx`.
 Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class _OnnxMessage(Message):
    """A message of the package `onnx`."""
class StringStringEntryProto(_OnnxMessage):
    """A key and its value."""
    key: typing.Any
    value: typing.Any
class OperatorSetIdProto(_OnnxMessage):
    """A set of operators by its domain, "" for ONNX's own, and its version."""
    domain: typing.Any
    version: typing.Any
class TensorShapeProto(_OnnxMessage):
    """A shape. A dimension without a value is unknown."""
    class Dimension(_OnnxMessage):
        """One axis: its size, or a name that equal unknown sizes share."""
        dim_value: typing.Any
        dim_param: typing.Any
        denotation: typing.Any
    dim: typing.Any
class TypeProto(_OnnxMessage):
    """The type of a value: a tensor, or something made of tensors."""
    class Tensor(_OnnxMessage):
        """Element type and shape; no shape where not even the rank is known."""
        elem_type: typing.Any
        shape: typing.Any
    class SparseTensor(_OnnxMessage):
        """Element type and shape of a sparse tensor."""
        elem_type: typing.Any
        shape: typing.Any
    class Sequence(_OnnxMessage):
        """Any number of values of one type."""
        elem_type: typing.Any
    class Optional(_OnnxMessage):
        """A value, or nothing."""
        elem_type: typing.Any
    class Map(_OnnxMessage):
        """Values by key."""
        key_type: typing.Any
        value_type: typing.Any
    class Opaque(_OnnxMessage):
        """A type that only its own runtime knows."""
        domain: typing.Any
        name: typing.Any
    tensor_type: typing.Any
    sequence_type: typing.Any
    map_type: typing.Any
    denotation: typing.Any
    opaque_type: typing.Any
    sparse_tensor_type: typing.Any
    optional_type: typing.Any
class TensorProto(_OnnxMessage):
    """The values of a tensor: in `raw_data` as in memory, in the list for their type, or in a file."""
    DataType: typing.Any
    DataLocation: typing.Any
    class Segment(_OnnxMessage):
        """A part of a tensor that is stored in pieces."""
        begin: typing.Any
        end: typing.Any
    dims: typing.Any
    data_type: typing.Any
    segment: typing.Any
    float_data: typing.Any
    int32_data: typing.Any
    string_data: typing.Any
    int64_data: typing.Any
    name: typing.Any
    raw_data: typing.Any
    double_data: typing.Any
    uint64_data: typing.Any
    doc_string: typing.Any
    external_data: typing.Any
    data_location: typing.Any
    metadata_props: typing.Any
    UNDEFINED: typing.Any
    FLOAT: typing.Any
    UINT8: typing.Any
    INT8: typing.Any
    UINT16: typing.Any
    INT16: typing.Any
    INT32: typing.Any
    INT64: typing.Any
    STRING: typing.Any
    BOOL: typing.Any
    FLOAT16: typing.Any
    DOUBLE: typing.Any
    UINT32: typing.Any
    UINT64: typing.Any
    COMPLEX64: typing.Any
    COMPLEX128: typing.Any
    BFLOAT16: typing.Any
    FLOAT8E4M3FN: typing.Any
    FLOAT8E4M3FNUZ: typing.Any
    FLOAT8E5M2: typing.Any
    FLOAT8E5M2FNUZ: typing.Any
    UINT4: typing.Any
    INT4: typing.Any
    FLOAT4E2M1: typing.Any
    FLOAT8E8M0: typing.Any
    UINT2: typing.Any
    INT2: typing.Any
    FLOAT6E2M3: typing.Any
    FLOAT6E3M2: typing.Any
    DEFAULT: typing.Any
    EXTERNAL: typing.Any
class SparseTensorProto(_OnnxMessage):
    """The elements of a tensor that are not zero, and where they stand."""
    values: typing.Any
    indices: typing.Any
    dims: typing.Any
class AttributeProto(_OnnxMessage):
    """A constant parameter of a node: the field that `type` tells, or one of the enclosing function."""
    AttributeType: typing.Any
    name: typing.Any
    f: typing.Any
    i: typing.Any
    s: typing.Any
    t: typing.Any
    g: typing.Any
    floats: typing.Any
    ints: typing.Any
    strings: typing.Any
    tensors: typing.Any
    graphs: typing.Any
    doc_string: typing.Any
    tp: typing.Any
    type_protos: typing.Any
    type: typing.Any
    ref_attr_name: typing.Any
    sparse_tensor: typing.Any
    sparse_tensors: typing.Any
    UNDEFINED: typing.Any
    FLOAT: typing.Any
    INT: typing.Any
    STRING: typing.Any
    TENSOR: typing.Any
    GRAPH: typing.Any
    FLOATS: typing.Any
    INTS: typing.Any
    STRINGS: typing.Any
    TENSORS: typing.Any
    GRAPHS: typing.Any
    SPARSE_TENSOR: typing.Any
    SPARSE_TENSORS: typing.Any
    TYPE_PROTO: typing.Any
    TYPE_PROTOS: typing.Any
class ValueInfoProto(_OnnxMessage):
    """The name of a value, and its type."""
    name: typing.Any
    type: typing.Any
    doc_string: typing.Any
    metadata_props: typing.Any
class NodeProto(_OnnxMessage):
    """One operation. Values are known by name; an empty name is an optional value that is left out."""
    input: typing.Any
    output: typing.Any
    name: typing.Any
    op_type: typing.Any
    attribute: typing.Any
    doc_string: typing.Any
    domain: typing.Any
    overload: typing.Any
    metadata_props: typing.Any
    device_configurations: typing.Any
class TensorAnnotation(_OnnxMessage):
    """Which tensors are the quantization parameters of another one."""
    tensor_name: typing.Any
    quant_parameter_tensor_names: typing.Any
class GraphProto(_OnnxMessage):
    """Nodes in an order in which they can run, what goes in, what comes out, and constants by name."""
    node: typing.Any
    name: typing.Any
    initializer: typing.Any
    doc_string: typing.Any
    input: typing.Any
    output: typing.Any
    value_info: typing.Any
    quantization_annotation: typing.Any
    sparse_initializer: typing.Any
    metadata_props: typing.Any
class FunctionProto(_OnnxMessage):
    """An operator that is defined by nodes, with inputs, outputs and attributes by name."""
    name: typing.Any
    input: typing.Any
    output: typing.Any
    attribute: typing.Any
    node: typing.Any
    doc_string: typing.Any
    opset_import: typing.Any
    domain: typing.Any
    attribute_proto: typing.Any
    value_info: typing.Any
    overload: typing.Any
    metadata_props: typing.Any
class TrainingInfoProto(_OnnxMessage):
    """Initial values of a model's initializers, and the training step that updates them."""
    initialization: typing.Any
    algorithm: typing.Any
    initialization_binding: typing.Any
    update_binding: typing.Any
class ModelProto(_OnnxMessage):
    """A file: a graph, the versions of the operators that it is written in, and functions that it calls."""
    ir_version: typing.Any
    producer_name: typing.Any
    producer_version: typing.Any
    domain: typing.Any
    model_version: typing.Any
    doc_string: typing.Any
    graph: typing.Any
    opset_import: typing.Any
    metadata_props: typing.Any
    training_info: typing.Any
    functions: typing.Any
    configuration: typing.Any
class DeviceConfigurationProto(_OnnxMessage):
    """Devices that nodes may be placed on."""
    name: typing.Any
    num_devices: typing.Any
    device: typing.Any
class NodeDeviceConfigurationProto(_OnnxMessage):
    """Distribution of a node over the devices of a configuration."""
    configuration_id: typing.Any
    sharding_spec: typing.Any
    pipeline_stage: typing.Any
class ShardingSpecProto(_OnnxMessage):
    """Sharding of a tensor over devices."""
    tensor_name: typing.Any
    device: typing.Any
    index_to_device_group_map: typing.Any
    sharded_dim: typing.Any
class IntIntListEntryProto(_OnnxMessage):
    """A number and a list of numbers."""
    key: typing.Any
    value: typing.Any
class ShardedDimProto(_OnnxMessage):
    """Sharding of one axis."""
    axis: typing.Any
    simple_sharding: typing.Any
class SimpleShardedDimProto(_OnnxMessage):
    """One cut of an axis."""
    dim_value: typing.Any
    dim_param: typing.Any
    num_shards: typing.Any
