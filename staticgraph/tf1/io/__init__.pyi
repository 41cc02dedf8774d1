"""Records, examples and other encoded things as tensors, and files of them (TF1's `tf.io`). Made by tools/type_stubs.py."""

from staticgraph.formats.tf.graph_def.files import (
    write_graph as write_graph,
)
from staticgraph.tf1.io.base64 import (
    decode_base64 as decode_base64,
    encode_base64 as encode_base64,
)
from staticgraph.tf1.io.decoding import (
    decode_compressed as decode_compressed,
    decode_csv as decode_csv,
    decode_raw as decode_raw,
)
from staticgraph.tf1.io.features import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
)
from staticgraph.tf1.io.parsing import (
    parse_example as parse_example,
    parse_sequence_example as parse_sequence_example,
    parse_single_example as parse_single_example,
    parse_single_sequence_example as parse_single_sequence_example,
)
from staticgraph.tf1.io.readers import (
    FixedLengthRecordReader as FixedLengthRecordReader,
    IdentityReader as IdentityReader,
    ReaderBase as ReaderBase,
    TFRecordReader as TFRecordReader,
    TextLineReader as TextLineReader,
    WholeFileReader as WholeFileReader,
)
from staticgraph.tf1.io.sparse_tensors import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
)
from staticgraph.tf1.io.tensors import (
    parse_tensor as parse_tensor,
    serialize_tensor as serialize_tensor,
)
from staticgraph.tf1.io.tf_record import (
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter,
    tf_record_iterator as tf_record_iterator,
)
from staticgraph.tf1.io.whole_files import (
    matching_files as matching_files,
    read_file as read_file,
    write_file as write_file,
)
from staticgraph.tf1.queue import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    QueueBase as QueueBase,
    RandomShuffleQueue as RandomShuffleQueue,
)
