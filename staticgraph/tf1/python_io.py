"""Files of records under their older name (TF1's `tf.python_io`)."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.io.tf_record import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]

show_public_names(__name__)
