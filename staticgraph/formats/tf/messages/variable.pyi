"""Variables as messages: the names of what belongs to each. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class SaveSliceInfoDef(Message):
    """Which part of a larger variable this one is."""
    full_name: typing.Any
    full_shape: typing.Any
    var_offset: typing.Any
    var_shape: typing.Any
class VariableDef(Message):
    """A variable, by the names of its tensors and operations."""
    variable_name: typing.Any
    initializer_name: typing.Any
    snapshot_name: typing.Any
    save_slice_info_def: typing.Any
    is_resource: typing.Any
    initial_value_name: typing.Any
    trainable: typing.Any
    synchronization: typing.Any
    aggregation: typing.Any
