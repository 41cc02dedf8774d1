"""A checkpoint in TensorFlow's first format: its tensors, and the parts that they are saved in."""

from staticgraph.formats.tf.messages.message import Message


class SavedSliceMeta(Message):
    """One tensor, and which parts of it are saved."""

    schema = """
        string name = 1
        TensorShapeProto shape = 2
        enum DataType type = 3
        repeated TensorSliceProto slice = 4
    """


class SavedTensorSliceMeta(Message):
    """All tensors of a file."""

    schema = """
        repeated SavedSliceMeta tensor = 1
        VersionDef versions = 2
    """


class SavedSlice(Message):
    """The values of a part."""

    schema = """
        string name = 1
        TensorSliceProto slice = 2
        TensorProto data = 3
    """


class SavedTensorSlices(Message):
    """An entry of the file: what is in it, or one part."""

    schema = """
        SavedTensorSliceMeta meta = 1
        SavedSlice data = 2
    """
