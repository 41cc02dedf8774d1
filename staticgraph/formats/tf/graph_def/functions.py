"""Functions of a GraphDef's library: a call becomes the nodes of the function, under the caller's name.

A node of a function names an input `node:output:1`, the second tensor of the output of that name, and a
parameter of the function by its name alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.ordering import Edge
from staticgraph.formats.tf.graph_def.signatures import signature
from staticgraph.formats.tf.messages.graph import AttrValue, FunctionDef, GraphDef, NameAttrList, NodeDef

_FEWEST, _AS_MANY = (
    4096,
    64,
)  # nodes that calls become at most: so many, and so many more for each in the file


@dataclass(frozen=True, slots=True)
class Body:
    """Result of inlining a call: names that stand for the arguments, nodes, and the edges of the results."""

    params: tuple[str, ...]
    nodes: list[NodeDef]
    results: tuple[Edge, ...]


class Library:
    """The functions of a GraphDef by name."""

    def __init__(self, graph_def: GraphDef) -> None:
        self._functions = {each.signature.name: each for each in graph_def.library.function}
        nodes = len(graph_def.node) + sum(len(each.node_def) for each in graph_def.library.function)
        self._left = _FEWEST + _AS_MANY * nodes

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def body(self, called: NameAttrList, scope: str) -> Body:
        """The nodes of a function, below `scope`. GraphDefError if there is no such function."""
        function = self._functions.get(called.name)
        if function is None:
            raise GraphDefError(f"the GraphDef has no function {called.name!r}")
        self._left -= len(function.node_def) + 1
        if self._left < 0:
            raise GraphDefError("its functions call one another too often")
        names = _Names(function, scope, self._functions)
        nodes = [names.node(node, called.attr) for node in function.node_def]
        params = tuple(f"{scope}/{arg.name}" for arg in function.signature.input_arg)
        results = tuple(names.edge(function.ret[arg.name]) for arg in function.signature.output_arg)
        return Body(params, nodes, results)


class _Names:
    """The names in a function, and what they are in a graph."""

    def __init__(self, function: FunctionDef, scope: str, functions: Mapping[str, FunctionDef]) -> None:
        self._scope = scope
        self._params = {arg.name for arg in function.signature.input_arg}
        self._nodes = {node.name: node for node in function.node_def}
        self._functions = functions

    def node(self, node: NodeDef, attrs: Mapping[str, AttrValue]) -> NodeDef:
        made = NodeDef.FromString(node.SerializeToString())
        made.name = f"{self._scope}/{node.name}"
        made.input[:] = [str(self.edge(text)) for text in node.input]
        for key, value in node.attr.items():
            if value.WhichOneof("value") == "placeholder":
                if value.placeholder not in attrs:
                    raise GraphDefError(f"a function is called without its attribute {value.placeholder!r}")
                made.attr[key].CopyFrom(attrs[value.placeholder])
        return made

    def edge(self, text: str) -> Edge:
        """The input of a node of the function, as one of the graph's."""
        if text.startswith("^"):
            return Edge(f"{self._scope}/{text[1:]}", -1)
        name, *rest = text.split(":")
        if name in self._params and name not in self._nodes:
            return Edge(f"{self._scope}/{name}", 0)
        if name not in self._nodes or len(rest) > 2:
            raise GraphDefError(f"{text!r} is not a value of the function")
        within = rest[1] if len(rest) == 2 else "0"
        if not (within.isascii() and within.isdigit() and len(within) < 6):
            raise GraphDefError(f"{text!r} is not a value of the function")
        first = self._first(self._nodes[name], rest[0]) if rest else 0
        return Edge(f"{self._scope}/{name}", first + int(within))

    def _first(self, node: NodeDef, output: str) -> int:
        """The number of the first tensor of an output."""
        at = 0
        for name, count in self._outputs(node):
            if name == output:
                return at
            at += count
        raise GraphDefError(f"node {node.name!r} ({node.op}) of a function has no output {output!r}")

    def _outputs(self, node: NodeDef) -> Sequence[tuple[str, int]]:
        if node.op in self._functions:
            return [(arg.name, 1) for arg in self._functions[node.op].signature.output_arg]
        told = signature(node.op)
        if told is None:
            raise GraphDefError(
                f"node {node.name!r} of a function is of type {node.op!r}, which is not known"
            )
        found = []
        for argument in told.outputs:
            count = 1
            if argument.number_attr:
                count = node.attr[argument.number_attr].i if argument.number_attr in node.attr else 0
            elif argument.type_list:
                count = len(node.attr[argument.type_list].list.type) if argument.type_list in node.attr else 0
            found.append((argument.name, count))
        return found
