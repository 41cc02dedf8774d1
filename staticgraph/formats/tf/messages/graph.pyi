"""Graphs as messages: nodes, their attributes, and functions. Made by tools/type_stubs.py."""

import typing

from staticgraph.formats.tf.messages.message import Message

class VersionDef(Message):
    """Which programs may read a graph."""
    producer: typing.Any
    min_consumer: typing.Any
    bad_consumers: typing.Any
class NameAttrList(Message):
    """A function and its attributes."""
    name: typing.Any
    attr: typing.Any
class AttrValue(Message):
    """The value of an attribute, of one of ten kinds."""
    class ListValue(Message):
        """A list of values of one kind."""
        s: typing.Any
        i: typing.Any
        f: typing.Any
        b: typing.Any
        type: typing.Any
        shape: typing.Any
        tensor: typing.Any
        func: typing.Any
    list: typing.Any
    s: typing.Any
    i: typing.Any
    f: typing.Any
    b: typing.Any
    type: typing.Any
    shape: typing.Any
    tensor: typing.Any
    placeholder: typing.Any
    func: typing.Any
class NodeDef(Message):
    """One operation. An input is `node`, `node:1` for its second output, or `^node` for control."""
    class ExperimentalDebugInfo(Message):
        """Nodes that this one was made of."""
        original_node_names: typing.Any
        original_func_names: typing.Any
    name: typing.Any
    op: typing.Any
    input: typing.Any
    device: typing.Any
    attr: typing.Any
    experimental_debug_info: typing.Any
class OpDeprecation(Message):
    """Since when, and why, an op is not to be used."""
    version: typing.Any
    explanation: typing.Any
class OpDef(Message):
    """Definition of an op: inputs, outputs and attributes."""
    class ArgDef(Message):
        """An input or an output."""
        name: typing.Any
        description: typing.Any
        type: typing.Any
        type_attr: typing.Any
        number_attr: typing.Any
        type_list_attr: typing.Any
        is_ref: typing.Any
    class AttrDef(Message):
        """An attribute."""
        name: typing.Any
        type: typing.Any
        default_value: typing.Any
        description: typing.Any
        has_minimum: typing.Any
        minimum: typing.Any
        allowed_values: typing.Any
    name: typing.Any
    input_arg: typing.Any
    output_arg: typing.Any
    attr: typing.Any
    summary: typing.Any
    description: typing.Any
    deprecation: typing.Any
    is_aggregate: typing.Any
    is_stateful: typing.Any
    is_commutative: typing.Any
    allows_uninitialized_input: typing.Any
    control_output: typing.Any
class OpList(Message):
    """Several ops."""
    op: typing.Any
class FunctionDef(Message):
    """A graph with parameters."""
    class ArgAttrs(Message):
        """Attributes of a parameter."""
        attr: typing.Any
    signature: typing.Any
    node_def: typing.Any
    ret: typing.Any
    attr: typing.Any
    control_ret: typing.Any
    arg_attr: typing.Any
class GradientDef(Message):
    """Which function is the gradient of another."""
    function_name: typing.Any
    gradient_func: typing.Any
class FunctionDefLibrary(Message):
    """The functions that a graph calls."""
    function: typing.Any
    gradient: typing.Any
class GraphDef(Message):
    """A graph: all nodes, in any order."""
    node: typing.Any
    library: typing.Any
    version: typing.Any
    versions: typing.Any
