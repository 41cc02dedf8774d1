"""One node of a GraphDef on its way into a graph, and the table of those that are read in their own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import GraphError, NotFoundError
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.compiler.support.lazy_names import LazyTable
from staticgraph.formats.tf.graph_def.index import READERS_OF
from staticgraph.formats.tf.graph_def.signatures import Argument, Signature


class GraphDefError(GraphError, ValueError):
    """A GraphDef cannot be imported."""


class UnknownOpError(NotFoundError, GraphDefError):
    """A GraphDef has a node of a type that there is no op for."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node whose inputs are in the graph already. `name` is the one that it gets there."""

    graph: Graph
    name: str
    signature: Signature
    inputs: tuple[Any, ...]  # tensors, as a rule
    attrs: Mapping[str, Any]  # all of the signature's

    @property
    def type(self) -> str:
        return self.signature.type

    @property
    def out(self) -> str:
        """The name to give to the operation that stands for the node: it is taken as it is."""
        return f"{self.name}/"

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The inputs, all of which must be tensors."""
        for tensor in self.inputs:
            if not isinstance(tensor, Tensor):
                raise GraphDefError(f"it needs the value of {tensor}, which depends on what is fed")
        return self.inputs

    def arguments(self) -> list[tuple[Argument, list[Any]]]:
        """The inputs by the signature's: one tensor each, or as many as an attribute says."""
        rest, found = list(self.inputs), []
        for argument in self.signature.inputs:
            count = 1
            if argument.number_attr:
                count = self.attrs[argument.number_attr]
            elif argument.type_list:
                count = len(self.attrs[argument.type_list])
            if not 0 <= count <= len(rest):
                break
            taken, rest = rest[:count], rest[count:]
            found.append((argument, taken))
        if len(found) < len(self.signature.inputs) or rest:
            wanted = " ".join(argument.name for argument in self.signature.inputs) or "none"
            raise GraphDefError(
                f"it has {len(self.inputs)} inputs, which are not those of {self.type}: {wanted}"
            )
        return found


def constant(values: Any, dtype: DType, name: str | None = None) -> Tensor:
    """A constant of the default graph."""
    return ops.constant(value=Literal.of(np.asarray(values), dtype), name=name)


def several(node: Node, *tensors: Tensor) -> Any:
    """Tensors as the outputs of one operation, which has the name of the node."""
    return ops.identity_n(list(tensors), name=node.out)


Reader = Callable[[Node], Any]

# How nodes are read that are no single operation of ours, by type. What comes back are the outputs: a tensor,
# a tuple of them, or an operation without outputs.
READERS: LazyTable[Reader] = LazyTable()
READERS.found_in("staticgraph", READERS_OF)


def reads(*types: str) -> Callable[[Reader], Reader]:
    """Decorator: the function reads nodes of these types."""

    def declare(reader: Reader) -> Reader:
        READERS.update(dict.fromkeys(types, reader))
        return reader

    return declare
