"""The objects of an object-based checkpoint: which holds which, and where their values lie."""

from staticgraph.formats.tf.messages.message import Message


class TrackableObjectGraph(Message):
    """All objects; the first one is the root."""

    schema = """
        repeated TrackableObjectGraph.TrackableObject nodes = 1
    """

    class TrackableObject(Message):
        """One object: the objects that it holds, its values, and the slots of an optimizer."""

        schema = """
            repeated TrackableObjectGraph.TrackableObject.ObjectReference children = 1
            repeated TrackableObjectGraph.TrackableObject.SerializedTensor attributes = 2
            repeated TrackableObjectGraph.TrackableObject.SlotVariableReference slot_variables = 3
        """

        class ObjectReference(Message):
            """An object by its number, and its name in the one that holds it."""

            schema = """
                int32 node_id = 1
                string local_name = 2
            """

        class SerializedTensor(Message):
            """A value: its key in the checkpoint, and the name that a Saver gives it."""

            schema = """
                string name = 1
                string full_name = 2
                string checkpoint_key = 3
                bool optional_restore = 4
            """

        class SlotVariableReference(Message):
            """A slot of an optimizer: the variable that it belongs to, and the one that it is."""

            schema = """
                int32 original_variable_node_id = 1
                string slot_name = 2
                int32 slot_variable_node_id = 3
            """
