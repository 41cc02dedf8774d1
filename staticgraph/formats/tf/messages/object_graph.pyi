"""The objects of an object-based checkpoint: which holds which, and where their values lie. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class TrackableObjectGraph(Message):
    """All objects; the first one is the root."""
    class TrackableObject(Message):
        """One object: the objects that it holds, its values, and the slots of an optimizer."""
        class ObjectReference(Message):
            """An object by its number, and its name in the one that holds it."""
            node_id: typing.Any
            local_name: typing.Any
        class SerializedTensor(Message):
            """A value: its key in the checkpoint, and the name that a Saver gives it."""
            name: typing.Any
            full_name: typing.Any
            checkpoint_key: typing.Any
            optional_restore: typing.Any
        class SlotVariableReference(Message):
            """A slot of an optimizer: the variable that it belongs to, and the one that it is."""
            original_variable_node_id: typing.Any
            slot_name: typing.Any
            slot_variable_node_id: typing.Any
        children: typing.Any
        attributes: typing.Any
        slot_variables: typing.Any
    nodes: typing.Any
