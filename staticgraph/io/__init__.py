"""Records, examples and other encoded things as tensors, and files of them (TF1's `tf.io`)."""

from staticgraph.formats.tf.graph_def import write_graph
from staticgraph.io.base64 import decode_base64, encode_base64
from staticgraph.io.decoding import decode_compressed, decode_csv, decode_raw
from staticgraph.io.features import FixedLenFeature, FixedLenSequenceFeature, SparseFeature, VarLenFeature
from staticgraph.io.parsing import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from staticgraph.io.readers import (
    FixedLengthRecordReader,
    IdentityReader,
    ReaderBase,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from staticgraph.io.tensors import parse_tensor, serialize_tensor
from staticgraph.io.tf_record import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from staticgraph.io.whole_files import matching_files, read_file, write_file
from staticgraph.tf1.queue import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue

__all__ = [
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "IdentityReader",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "ReaderBase",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordReader",
    "TFRecordWriter",
    "TextLineReader",
    "VarLenFeature",
    "WholeFileReader",
    "decode_base64",
    "decode_compressed",
    "decode_csv",
    "decode_raw",
    "encode_base64",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
    "write_graph",
]
