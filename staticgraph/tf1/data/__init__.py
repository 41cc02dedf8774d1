"""Input pipelines (TF1's `tf.data`)."""

from typing import Any

from staticgraph.compiler.support.lazy_names import export_names
from staticgraph.tf1.data import experimental
from staticgraph.tf1.data.dataset import *
from staticgraph.tf1.data.file_datasets import *
from staticgraph.tf1.data.iterators import *
from staticgraph.tf1.data.options import *


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The element types, nested as the elements are."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The static shapes, nested as the elements are."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """`Tensor` or `SparseTensor`, nested as the elements are."""
    return dataset_or_iterator.output_classes


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """`dataset.make_one_shot_iterator()`."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """`dataset.make_initializable_iterator()`."""
    return dataset.make_initializable_iterator(shared_name)


export_names(__name__, "experimental")
