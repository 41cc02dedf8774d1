"""Nodes that cannot be carried out from a file: queues, readers, datasets and functions of Python, as
TensorFlow writes them or as they are written here. They do not keep the rest of a graph from being read: what
they give can be fed.

What other nodes do with a handle of such a node, only TensorFlow does either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, string
from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.compiler.graph.opdef import OPS, Effect
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.formats.tf.graph_def.attributes import shape_of_proto
from staticgraph.formats.tf.graph_def.correspondence import OWN
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.graph_def.signatures import Argument, Signature, foreign_signature
from staticgraph.formats.tf.messages.graph import NodeDef
from staticgraph.formats.tf.messages.types import dtype_of

_MOST = 1000  # outputs of a node
_SHAPES = ("_output_shapes", "output_shapes", "shapes")


def _foreign_types(*inputs: TensorType, given: Any, types: tuple[TensorType, ...]) -> Any:
    return types


@host(type=_foreign_types, stateful=True, vars={"input": "*"})
def foreign(*input: Any, given: Any, types: tuple[TensorType, ...]) -> Any:
    """A node, `given` as it stood in a GraphDef, that is not carried out. Its outputs, of these `types`, can
    be fed.

    Raises UnimplementedError if a run needs one that is not.
    """
    whose, where = ("the", "from a file") if given.op.startswith(OWN) else ("TensorFlow's", "here")
    text = f"{given.name} is a node of {whose} type {given.op}, which is not carried out {where}"
    feeds = ", ".join(f"'{given.name}:{at}': ..." for at in range(len(types)))
    hint = f"feed what it gives: feed_dict={{{feeds}}}" if feeds else "run what does without it"
    raise UnimplementedError(text, hint=hint)


@host(type=lambda *inputs, given: TensorType(string, ()), stateful=True, vars={"input": "*"})
def foreign_handle(*input: Any, given: Any) -> Any:
    """The handle that the node `given` by TensorFlow has for other nodes, which is nothing here."""
    return np.array(b"", object)


class Foreign:
    """The nodes of this kind in a GraphDef, and their handles."""

    def __init__(self) -> None:
        self._handles: set[Tensor] = set()

    def knows(self, type: str) -> bool:
        """Return True if TensorFlow has this type, or if Python carries it out here."""
        if not type.startswith(OWN):
            return foreign_signature(type) is not None
        op = OPS.get(type.removeprefix(OWN))
        return op is not None and op.effect in (Effect.HOST, Effect.EFFECT)

    def takes(self, inputs: Sequence[Any]) -> bool:
        """Return True if one of the inputs is a handle."""
        return any(isinstance(each, Tensor) and each in self._handles for each in inputs)

    def add(self, node: NodeDef, name: str, inputs: Sequence[Any]) -> Operation | tuple[Tensor, ...]:
        """The operation that stands for a node."""
        dtypes = _all_dtypes(node)
        shapes = _shapes(node, len(dtypes))
        types = tuple(TensorType(dtype or string, shape) for dtype, shape in zip(dtypes, shapes, strict=True))
        given = [each for each in inputs if isinstance(each, Tensor)]
        kept = NodeDef.FromString(node.SerializeToString())
        kept.name = name
        if dtypes == [None]:
            made = foreign_handle(given, given=kept, name=f"{name}/")
        else:
            made = foreign(given, given=kept, types=types, name=f"{name}/")
        outputs = made if isinstance(made, tuple) else (made,) if isinstance(made, Tensor) else ()
        self._handles |= {o for o, dtype in zip(outputs, dtypes, strict=True) if dtype is None}
        return outputs or made


def _all_dtypes(node: NodeDef) -> list[DType | None]:
    """The dtypes of all outputs of a node; None for handles."""
    if node.op.startswith(OWN):
        return [_dtype(number) for number in node.attr["types"].list.type[:_MOST]]
    told = foreign_signature(node.op)
    assert told is not None
    return [dtype for argument in told.outputs for dtype in _dtypes(node, told, argument)]


def _dtypes(node: NodeDef, told: Signature, argument: Argument) -> list[DType | None]:
    """The dtypes of an output, or of several; None for handles."""
    if argument.type_list:
        return [_dtype(number) for number in node.attr[argument.type_list].list.type[:_MOST]]
    count = node.attr[argument.number_attr].i if argument.number_attr else 1
    if not 0 <= count <= _MOST:
        raise GraphDefError(f"it says that it has {count} outputs")
    dtype = argument.dtype
    if argument.type_attr in node.attr:
        dtype = _dtype(node.attr[argument.type_attr].type)
    elif argument.type_attr in told.attrs:
        default = told.attrs[argument.type_attr].default
        dtype = default if isinstance(default, DType) else None
    if argument.is_ref and dtype is string:  # handles were strings once
        dtype = None
    return [dtype] * count


def _dtype(number: int) -> DType | None:
    try:
        return dtype_of(number)
    except TypeError:
        return None


def _shapes(node: NodeDef, count: int) -> list[Shape | None]:
    """Return the shapes that a node declares for its outputs, or None for each if these are not `count`."""
    for name in _SHAPES:
        if name in node.attr and len(node.attr[name].list.shape) == count:
            return [shape_of_proto(each) for each in node.attr[name].list.shape]
    return [None] * count
