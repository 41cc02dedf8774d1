"""Graphs with what belongs to them: collections, signatures, and how they are saved. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class Any(Message):
    """A message of any type, as bytes."""
    type_url: typing.Any
    value: typing.Any
class SaverDef(Message):
    """The operations that save and restore."""
    CheckpointFormatVersion: typing.Any
    filename_tensor_name: typing.Any
    save_tensor_name: typing.Any
    restore_op_name: typing.Any
    max_to_keep: typing.Any
    sharded: typing.Any
    keep_checkpoint_every_n_hours: typing.Any
    version: typing.Any
    LEGACY: typing.Any
    V1: typing.Any
    V2: typing.Any
class CollectionDef(Message):
    """The members of one collection."""
    class NodeList(Message):
        """Names of nodes or tensors."""
        value: typing.Any
    class BytesList(Message):
        """Messages as bytes."""
        value: typing.Any
    class Int64List(Message):
        """Whole numbers."""
        value: typing.Any
    class FloatList(Message):
        """Numbers."""
        value: typing.Any
    class AnyList(Message):
        """Messages of any type."""
        value: typing.Any
    node_list: typing.Any
    bytes_list: typing.Any
    int64_list: typing.Any
    float_list: typing.Any
    any_list: typing.Any
class TensorInfo(Message):
    """Which tensor an input or output of a signature is."""
    class CooSparse(Message):
        """The three tensors of a sparse one."""
        values_tensor_name: typing.Any
        indices_tensor_name: typing.Any
        dense_shape_tensor_name: typing.Any
    name: typing.Any
    dtype: typing.Any
    tensor_shape: typing.Any
    coo_sparse: typing.Any
class SignatureDef(Message):
    """Inputs and outputs by name, and what they are for."""
    inputs: typing.Any
    outputs: typing.Any
    method_name: typing.Any
class AssetFileDef(Message):
    """A file that a graph reads."""
    tensor_info: typing.Any
    filename: typing.Any
class MetaGraphDef(Message):
    """A graph with what belongs to it."""
    class MetaInfoDef(Message):
        """Origin and tags of a graph."""
        meta_graph_version: typing.Any
        stripped_op_list: typing.Any
        any_info: typing.Any
        tags: typing.Any
        tensorflow_version: typing.Any
        tensorflow_git_version: typing.Any
        stripped_default_attrs: typing.Any
    meta_info_def: typing.Any
    graph_def: typing.Any
    saver_def: typing.Any
    collection_def: typing.Any
    signature_def: typing.Any
    asset_file_def: typing.Any
class SavedModel(Message):
    """Several graphs that share variables."""
    saved_model_schema_version: typing.Any
    meta_graphs: typing.Any
