"""Tables of the places at which TensorFlow shows its messages.

They are the root, `tf.train`, and modules like `summary_pb2`.
"""

from staticgraph.tf1.compat.namespace import Area

# TensorFlow's module below `tensorflow.core`, and ours.
_MODULES = {
    "example.example_pb2": "example",
    "example.feature_pb2": "example",
    "framework.attr_value_pb2": "graph",
    "framework.function_pb2": "graph",
    "framework.graph_pb2": "graph",
    "framework.node_def_pb2": "graph",
    "framework.op_def_pb2": "graph",
    "framework.step_stats_pb2": "step_stats",
    "framework.summary_pb2": "summary",
    "framework.tensor_pb2": "tensor",
    "framework.tensor_shape_pb2": "tensor",
    "framework.types_pb2": "types",
    "framework.variable_pb2": "variable",
    "framework.versions_pb2": "graph",
    "protobuf.cluster_pb2": "config",
    "protobuf.config_pb2": "config",
    "protobuf.meta_graph_pb2": "meta_graph",
    "protobuf.rewriter_config_pb2": "config",
    "protobuf.saved_model_pb2": "meta_graph",
    "protobuf.saver_pb2": "meta_graph",
    "protobuf.tensorflow_server_pb2": "config",
    "protobuf.tensor_bundle_pb2": "tensor_bundle",
    "util.event_pb2": "event",
}

_TENSORS = {"MakeNdarray": "make_ndarray", "constant_value": "get_static_value"}

AREAS = {f"core.{theirs}": Area((f"messages.{ours}",)) for theirs, ours in _MODULES.items()} | {
    "contrib.util": Area(
        ("messages.tensors", ".contrib.framework.graph_operations"), {"constant_value": "get_static_value"}
    ),
    "python.framework.tensor_util": Area(("messages.tensors",), _TENSORS),
    "python.summary.summary_iterator": Area(names={"summary_iterator": "train.summary_iterator"}),
}


def _of(module: str, names: str) -> dict[str, str]:
    return {name: f"core.{module}.{name}" for name in names.split()}


ROOT = {
    **_of("framework.attr_value_pb2", "AttrValue NameAttrList"),
    **_of("framework.graph_pb2", "GraphDef NodeDef"),
    **_of("framework.summary_pb2", "HistogramProto Summary SummaryMetadata"),
    **_of("framework.step_stats_pb2", "RunMetadata"),
    **_of("protobuf.config_pb2", "ConfigProto GPUOptions GraphOptions OptimizerOptions RunOptions"),
    **_of("protobuf.meta_graph_pb2", "MetaGraphDef TensorInfo"),
    **_of("framework.variable_pb2", "VariableDef"),
    **_of("util.event_pb2", "Event LogMessage SessionLog"),
    "make_ndarray": "contrib.util.make_ndarray",
    "make_tensor_proto": "contrib.util.make_tensor_proto",
}

TRAIN = {
    **_of("example.example_pb2", "Example SequenceExample"),
    **_of("example.feature_pb2", "BytesList Feature FeatureList FeatureLists Features FloatList Int64List"),
    **_of("protobuf.cluster_pb2", "ClusterDef JobDef ServerDef"),
    **_of("protobuf.saver_pb2", "SaverDef"),
}
