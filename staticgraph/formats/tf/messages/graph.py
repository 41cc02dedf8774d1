"""Graphs as messages: nodes, their attributes, and functions."""

from staticgraph.formats.tf.messages.message import Message


class VersionDef(Message):
    """Which programs may read a graph."""

    schema = """
        int32 producer = 1
        int32 min_consumer = 2
        repeated int32 bad_consumers = 3
    """


class NameAttrList(Message):
    """A function and its attributes."""

    schema = """
        string name = 1
        map<string, AttrValue> attr = 2
    """


class AttrValue(Message):
    """The value of an attribute, of one of ten kinds."""

    schema = """
        AttrValue.ListValue list = 1 in value
        bytes s = 2 in value
        int64 i = 3 in value
        float f = 4 in value
        bool b = 5 in value
        enum DataType type = 6 in value
        TensorShapeProto shape = 7 in value
        TensorProto tensor = 8 in value
        string placeholder = 9 in value
        NameAttrList func = 10 in value
    """

    class ListValue(Message):
        """A list of values of one kind."""

        schema = """
            repeated bytes s = 2
            repeated int64 i = 3
            repeated float f = 4
            repeated bool b = 5
            repeated enum DataType type = 6
            repeated TensorShapeProto shape = 7
            repeated TensorProto tensor = 8
            repeated NameAttrList func = 9
        """


class NodeDef(Message):
    """One operation. An input is `node`, `node:1` for its second output, or `^node` for control."""

    schema = """
        string name = 1
        string op = 2
        repeated string input = 3
        string device = 4
        map<string, AttrValue> attr = 5
        NodeDef.ExperimentalDebugInfo experimental_debug_info = 6
    """

    class ExperimentalDebugInfo(Message):
        """Nodes that this one was made of."""

        schema = """
            repeated string original_node_names = 1
            repeated string original_func_names = 2
        """


class OpDeprecation(Message):
    """Since when, and why, an op is not to be used."""

    schema = """
        int32 version = 1
        string explanation = 2
    """


class OpDef(Message):
    """Definition of an op: inputs, outputs and attributes."""

    schema = """
        string name = 1
        repeated OpDef.ArgDef input_arg = 2
        repeated OpDef.ArgDef output_arg = 3
        repeated OpDef.AttrDef attr = 4
        string summary = 5
        string description = 6
        OpDeprecation deprecation = 8
        bool is_aggregate = 16
        bool is_stateful = 17
        bool is_commutative = 18
        bool allows_uninitialized_input = 19
        repeated string control_output = 20
    """

    class ArgDef(Message):
        """An input or an output."""

        schema = """
            string name = 1
            string description = 2
            enum DataType type = 3
            string type_attr = 4
            string number_attr = 5
            string type_list_attr = 6
            bool is_ref = 16
        """

    class AttrDef(Message):
        """An attribute."""

        schema = """
            string name = 1
            string type = 2
            AttrValue default_value = 3
            string description = 4
            bool has_minimum = 5
            int64 minimum = 6
            AttrValue allowed_values = 7
        """


class OpList(Message):
    """Several ops."""

    schema = """
        repeated OpDef op = 1
    """


class FunctionDef(Message):
    """A graph with parameters."""

    schema = """
        OpDef signature = 1
        repeated NodeDef node_def = 3
        map<string, string> ret = 4
        map<string, AttrValue> attr = 5
        map<string, string> control_ret = 6
        map<uint32, FunctionDef.ArgAttrs> arg_attr = 7
    """

    class ArgAttrs(Message):
        """Attributes of a parameter."""

        schema = """
            map<string, AttrValue> attr = 1
        """


class GradientDef(Message):
    """Which function is the gradient of another."""

    schema = """
        string function_name = 1
        string gradient_func = 2
    """


class FunctionDefLibrary(Message):
    """The functions that a graph calls."""

    schema = """
        repeated FunctionDef function = 1
        repeated GradientDef gradient = 2
    """


class GraphDef(Message):
    """A graph: all nodes, in any order."""

    schema = """
        repeated NodeDef node = 1
        FunctionDefLibrary library = 2
        int32 version = 3
        VersionDef versions = 4
    """
