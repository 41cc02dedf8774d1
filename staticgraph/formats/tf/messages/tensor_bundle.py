"""The index of a checkpoint in TensorFlow's second format: where each tensor lies."""

from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.scalars import Enum


class TensorSliceProto(Message):
    """A part of a tensor: where it begins and ends along each axis."""

    schema = """
        repeated TensorSliceProto.Extent extent = 1
    """

    class Extent(Message):
        """One axis; all of it if there is no length."""

        schema = """
            int64 start = 1
            int64 length = 2 in has_length
        """


class BundleHeaderProto(Message):
    """Properties that all tensors share: the number of shards, the byte order and the version."""

    Endianness = Enum(LITTLE=0, BIG=1)
    schema = """
        int32 num_shards = 1
        enum BundleHeaderProto.Endianness endianness = 2
        VersionDef version = 3
    """


class BundleEntryProto(Message):
    """One tensor: its bytes in one of the data files, and their checksum."""

    schema = """
        enum DataType dtype = 1
        TensorShapeProto shape = 2
        int32 shard_id = 3
        int64 offset = 4
        int64 size = 5
        fixed32 crc32c = 6
        repeated TensorSliceProto slices = 7
    """
