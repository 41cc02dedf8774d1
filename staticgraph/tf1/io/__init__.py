"""Records, examples and other encoded things as tensors, and files of them (TF1's `tf.io`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.formats.tf.graph_def.files": "write_graph",
        "staticgraph.tf1.io.base64": "decode_base64 encode_base64",
        "staticgraph.tf1.io.decoding": "decode_compressed decode_csv decode_raw",
        "staticgraph.tf1.io.features": "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature",
        "staticgraph.tf1.io.parsing": (
            "parse_example parse_sequence_example parse_single_example parse_single_sequence_example"
        ),
        "staticgraph.tf1.io.readers": (
            "FixedLengthRecordReader IdentityReader ReaderBase TextLineReader TFRecordReader WholeFileReader"
        ),
        "staticgraph.tf1.io.sparse_tensors": (
            "deserialize_many_sparse serialize_many_sparse serialize_sparse"
        ),
        "staticgraph.tf1.io.tensors": "parse_tensor serialize_tensor",
        "staticgraph.tf1.io.tf_record": (
            "tf_record_iterator TFRecordCompressionType TFRecordOptions TFRecordWriter"
        ),
        "staticgraph.tf1.io.whole_files": "matching_files read_file write_file",
        "staticgraph.tf1.queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    },
)
