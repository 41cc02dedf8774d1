"""Variables as messages: the names of what belongs to each."""

from staticgraph.formats.tf.messages.message import Message


class SaveSliceInfoDef(Message):
    """Which part of a larger variable this one is."""

    schema = """
        string full_name = 1
        repeated int64 full_shape = 2
        repeated int64 var_offset = 3
        repeated int64 var_shape = 4
    """


class VariableDef(Message):
    """A variable, by the names of its tensors and operations."""

    schema = """
        string variable_name = 1
        string initializer_name = 2
        string snapshot_name = 3
        SaveSliceInfoDef save_slice_info_def = 4
        bool is_resource = 5
        string initial_value_name = 6
        bool trainable = 7
        int32 synchronization = 8
        int32 aggregation = 9
    """
