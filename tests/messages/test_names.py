"""Places at which TensorFlow's programs look for messages and for what reads and writes them."""

import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.formats.tf import messages
from staticgraph.formats.tf.messages import types
from staticgraph.tf1.compat.areas import TREE

ROOT = """
    AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto LogMessage MetaGraphDef
    NameAttrList NodeDef OptimizerOptions RunMetadata RunOptions SessionLog Summary SummaryMetadata TensorInfo
"""
TRAIN = """
    BytesList ClusterDef Example Feature FeatureList FeatureLists Features FloatList Int64List JobDef SaverDef
    SequenceExample ServerDef
"""
SUMMARY = "Event SessionLog Summary SummaryDescription TaggedRunMetadata"


@pytest.mark.parametrize(
    "path, names", [("", ROOT), ("train", TRAIN), ("summary", SUMMARY), ("compat.v1", ROOT)]
)
def test_messages(path: str, names: str):
    for name in names.split():
        assert TREE.lookup(f"{path}.{name}".lstrip(".")) is getattr(messages, name)


@pytest.mark.parametrize(
    "path, found",
    [
        ("core.example.feature_pb2.Feature", messages.Feature),
        ("core.framework.summary_pb2.Summary", messages.Summary),
        ("core.framework.graph_pb2.GraphDef", messages.GraphDef),
        ("core.framework.types_pb2.DT_HALF", types.DT_HALF),
        ("core.protobuf.config_pb2.ConfigProto", messages.ConfigProto),
        ("core.protobuf.rewriter_config_pb2.RewriterConfig", messages.RewriterConfig),
        ("core.util.event_pb2.Event", messages.Event),
        ("make_tensor_proto", messages.make_tensor_proto),
        ("contrib.util.make_ndarray", messages.make_ndarray),
        ("python.framework.tensor_util.MakeNdarray", messages.make_ndarray),
        ("train.SummaryWriter", sg.summary.FileWriter),
        ("summary.FileWriterCache", sg.summary.FileWriterCache),
        ("train.summary_iterator", sg.summary.summary_iterator),
        ("python.summary.summary_iterator.summary_iterator", sg.summary.summary_iterator),
        ("train.write_graph", sg.io.write_graph),
        ("python_io.TFRecordWriter", sg.io.TFRecordWriter),
        ("python.lib.io.tf_record.tf_record_iterator", sg.io.tf_record_iterator),
    ],
)
def test_other_names(path: str, found: object):
    value = tf
    for name in path.split("."):
        value = getattr(value, name)
    assert value is found
