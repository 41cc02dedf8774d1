"""One node of a model on its way into a graph, and the table of the functions that read nodes.

    @operator("Selu")
    def selu(node: Node, x: Tensor) -> Tensor:
        ...

A reader takes the node and its inputs, None for those that are left out, and gives its outputs, made of
our ops. Where a definition changed with the version of the operator set, the reader looks at `node.version`,
or there are two, and `since` tells from which version on the second one reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError, UnsupportedOnnxError
from staticgraph.formats.onnx.tensors import dtype_of
from staticgraph.formats.onnx.values import known_value


class Nothing:
    """The value of an optional that has none."""


NOTHING = Nothing()
Value = Any  # a Tensor, a tuple of values (a sequence), or NOTHING
Reader = Callable[..., Any]

_READERS: dict[tuple[str, str], list[tuple[int, Reader]]] = {}


class Inner(Protocol):
    """Reader of the graphs inside a node."""

    def subgraph(self, graph: Any, inputs: Sequence[Value]) -> list[Value]: ...

    def find(self, name: str) -> Value: ...

    def repeat(self, times: int) -> None: ...


class Node:
    """A node whose inputs are in the graph already."""

    __slots__ = ("type", "name", "version", "attributes", "outputs", "scope")

    def __init__(
        self,
        type: str,
        name: str,
        version: int,
        attributes: Mapping[str, Any],
        outputs: Sequence[str],
        scope: Inner,
    ) -> None:
        self.type = type
        self.name = name
        self.version = version  # of the operator set that the node's type belongs to
        self.attributes = attributes  # plain values; tensors are Literals
        self.outputs = outputs  # names, empty for those that nobody needs
        self.scope = scope

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or what stands for it where it is not given."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """An attribute that must be given."""
        if name not in self.attributes:
            raise OnnxError(f"it has no attribute {name!r}")
        return self.attributes[name]

    def times(self, count: int) -> range:
        """Count from 0 up to a number that the file tells, where each becomes operations of its own.

        Raises:
            OnnxError: The model would become far too many operations.
        """
        self.scope.repeat(count)
        return range(count)

    def wants(self, index: int) -> bool:
        """Return True if an output has a name, by which other nodes may use it."""
        return index < len(self.outputs) and bool(self.outputs[index])

    def known(self, tensor: Tensor, what: str) -> np.ndarray:
        """The value of a tensor that decides what the node is. UnknownValueError if it is fed."""
        value = known_value(tensor)
        if value is None:
            raise UnknownValueError(f"its {what} must be known while the graph is built", tensor)
        return value

    def ints(self, tensor: Tensor, what: str) -> tuple[int, ...]:
        """Whole numbers of a tensor that decides what the node is. UnknownValueError if it is fed."""
        return tuple(int(n) for n in np.ravel(self.known(tensor, what)))

    def setting(self, name: str, tensor: Tensor | None) -> tuple[int, ...] | None:
        """Whole numbers that older versions have as an attribute, and newer ones as an input."""
        if tensor is not None:
            return self.ints(tensor, name)
        given = self.get(name)
        return None if given is None else tuple(given)

    def shape(self, tensor: Tensor) -> tuple[int | None, ...]:
        """The sizes of a tensor whose rank must be known."""
        if tensor.type.shape is None:
            raise UnknownValueError("the rank of its input must be known while the graph is built", tensor)
        return tensor.type.shape

    def rank(self, tensor: Tensor) -> int:
        """The number of axes, which must be known."""
        return len(self.shape(tensor))

    def sizes(self, tensor: Tensor) -> tuple[int, ...]:
        """The sizes of a tensor, all of which must be known."""
        shape = self.shape(tensor)
        if any(n is None for n in shape):
            raise UnknownValueError(f"its input must have known sizes, and has {tensor.shape}", tensor)
        return tuple(n for n in shape if n is not None)

    def size(self, tensor: Tensor, axis: int) -> int:
        """One size of a tensor, which must be known."""
        n = self.shape(tensor)[axis]
        if n is None:
            raise UnknownValueError(f"the size of axis {axis} of its input must be known", tensor)
        return n

    def axis(self, axis: int, tensor: Tensor, more: int = 0) -> int:
        """An axis counted from the front; `more` axes are allowed than the tensor has."""
        rank = self.rank(tensor) + more
        if not -rank <= axis < max(rank, 1):
            raise OnnxError(f"axis {axis} does not exist: its input has {rank} axes")
        return axis + rank if axis < 0 else axis

    def axes(self, given: Sequence[int] | None, tensor: Tensor) -> tuple[int, ...]:
        """Axes counted from the front, in the order in which they are given; all of them for None."""
        rank = self.rank(tensor)
        return tuple(range(rank)) if given is None else tuple(self.axis(axis, tensor) for axis in given)

    def element_type(self, number: int) -> DType:
        """The element type that an attribute has the number of."""
        return dtype_of(number, "its result")

    def unsupported(self, what: str) -> UnsupportedOnnxError:
        """The error to raise for a form of the operator that does not exist here."""
        return UnsupportedOnnxError(what)


def operator(*types: str, since: int = 1, domain: str = "") -> Callable[[Reader], Reader]:
    """Decorator: the function reads nodes of these types, from a version of the operator set on."""

    def declare(reader: Reader) -> Reader:
        for type in types:
            entries = _READERS.setdefault((domain, type), [])
            entries.append((since, reader))
            entries.sort(key=lambda entry: entry[0])
        return reader

    return declare


def find_reader(domain: str, type: str, version: int) -> Reader | None:
    """The function that reads a type of node in a version of the operator set."""
    found = [reader for since, reader in _READERS.get((domain, type), ()) if since <= version]
    return found[-1] if found else None


def supported() -> list[tuple[str, str]]:
    """All types of nodes that can be read, with their domains."""
    return sorted(_READERS)
