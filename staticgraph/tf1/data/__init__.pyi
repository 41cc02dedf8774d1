"""Input pipelines (TF1's `tf.data`). Made by tools/type_stubs.py."""

from staticgraph.tf1.data import (
    experimental as experimental,
)
from staticgraph.tf1.data.dataset import (
    Dataset as Dataset,
)
from staticgraph.tf1.data.file_datasets import (
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    TFRecordDataset as TFRecordDataset,
    TextLineDataset as TextLineDataset,
)
from staticgraph.tf1.data.iterators import (
    Iterator as Iterator,
    get_output_classes as get_output_classes,
    get_output_shapes as get_output_shapes,
    get_output_types as get_output_types,
    make_initializable_iterator as make_initializable_iterator,
    make_one_shot_iterator as make_one_shot_iterator,
)
from staticgraph.tf1.data.options import (
    Options as Options,
)
