"""Graphs with what belongs to them: collections, signatures, and how they are saved."""

from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.scalars import Enum


class Any(Message):
    """A message of any type, as bytes."""

    schema = """
        string type_url = 1
        bytes value = 2
    """


class SaverDef(Message):
    """The operations that save and restore."""

    CheckpointFormatVersion = Enum(LEGACY=0, V1=1, V2=2)
    schema = """
        string filename_tensor_name = 1
        string save_tensor_name = 2
        string restore_op_name = 3
        int32 max_to_keep = 4
        bool sharded = 5
        float keep_checkpoint_every_n_hours = 6
        enum SaverDef.CheckpointFormatVersion version = 7
    """


class CollectionDef(Message):
    """The members of one collection."""

    schema = """
        CollectionDef.NodeList node_list = 1 in kind
        CollectionDef.BytesList bytes_list = 2 in kind
        CollectionDef.Int64List int64_list = 3 in kind
        CollectionDef.FloatList float_list = 4 in kind
        CollectionDef.AnyList any_list = 5 in kind
    """

    class NodeList(Message):
        """Names of nodes or tensors."""

        schema = """
            repeated string value = 1
        """

    class BytesList(Message):
        """Messages as bytes."""

        schema = """
            repeated bytes value = 1
        """

    class Int64List(Message):
        """Whole numbers."""

        schema = """
            repeated int64 value = 1
        """

    class FloatList(Message):
        """Numbers."""

        schema = """
            repeated float value = 1
        """

    class AnyList(Message):
        """Messages of any type."""

        schema = """
            repeated Any value = 1
        """


class TensorInfo(Message):
    """Which tensor an input or output of a signature is."""

    schema = """
        string name = 1 in encoding
        enum DataType dtype = 2
        TensorShapeProto tensor_shape = 3
        TensorInfo.CooSparse coo_sparse = 4 in encoding
    """

    class CooSparse(Message):
        """The three tensors of a sparse one."""

        schema = """
            string values_tensor_name = 1
            string indices_tensor_name = 2
            string dense_shape_tensor_name = 3
        """


class SignatureDef(Message):
    """Inputs and outputs by name, and what they are for."""

    schema = """
        map<string, TensorInfo> inputs = 1
        map<string, TensorInfo> outputs = 2
        string method_name = 3
    """


class AssetFileDef(Message):
    """A file that a graph reads."""

    schema = """
        TensorInfo tensor_info = 1
        string filename = 2
    """


class MetaGraphDef(Message):
    """A graph with what belongs to it."""

    schema = """
        MetaGraphDef.MetaInfoDef meta_info_def = 1
        GraphDef graph_def = 2
        SaverDef saver_def = 3
        map<string, CollectionDef> collection_def = 4
        map<string, SignatureDef> signature_def = 5
        repeated AssetFileDef asset_file_def = 6
    """

    class MetaInfoDef(Message):
        """Origin and tags of a graph."""

        schema = """
            string meta_graph_version = 1
            OpList stripped_op_list = 2
            Any any_info = 3
            repeated string tags = 4
            string tensorflow_version = 5
            string tensorflow_git_version = 6
            bool stripped_default_attrs = 7
        """


class SavedModel(Message):
    """Several graphs that share variables."""

    schema = """
        int64 saved_model_schema_version = 1
        repeated MetaGraphDef meta_graphs = 2
    """
