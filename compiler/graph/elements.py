"""Elements of a graph, its tensors and operations, by name; and which of them a run may be fed or fetch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph.compiler.graph.errors import (
    OtherGraphError,
    RegionError,
    UnknownNameError,
    counted,
    misuse,
    shown,
)
from staticgraph.compiler.graph.tensor import Operation, Tensor

_UNFED, _UNFETCHED = "unfed", "unfetched"


class Elements:
    """The part of `Graph` that finds elements, and tells which can be fed and fetched.

    What is inside of a loop or branch cannot, since it has no value, or several, in a run.
    """

    attached: dict[Any, Any]
    _by_name: dict[str, Operation]

    def get_operation_by_name(self, name: str) -> Operation:
        """KeyError if there is none of that name."""
        if not isinstance(name, str):
            raise misuse(TypeError, f"operation names are strings, not {type(name).__name__}")
        if name not in self._by_name:
            hint = self._nearest(name) or "get_operations() lists what there is"
            raise misuse(UnknownNameError, f"the graph has no operation {name!r}", hint)
        return self._by_name[name]

    def has_operation(self, name: str) -> bool:
        """Return True if an operation of that name exists."""
        return name in self._by_name

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor `operation:index`. KeyError if
        there is none, ValueError if the form is another.
        """
        if not isinstance(name, str):
            raise misuse(TypeError, f"tensor names are strings, not {type(name).__name__}")
        op_name, colon, index = name.rpartition(":")
        if not colon or not index.isdigit():
            hint = f"its first output is {name}:0"
            raise misuse(ValueError, f"{name!r} is an operation's name: a tensor's is operation:index", hint)
        op = self.get_operation_by_name(op_name)
        if int(index) >= len(op.outputs):
            text = f"operation {op_name!r} has {counted(len(op.outputs), 'output')}, so there is no {name!r}"
            hint = "outputs are numbered from 0"
            raise misuse(UnknownNameError, text, hint, made=[("it", op.where)])
        return op.outputs[int(index)]

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation that `obj` is or names."""
        if not isinstance(obj, Tensor | Operation) and hasattr(obj, "to_tensor"):
            obj = obj.to_tensor()
        if isinstance(obj, str):
            if ":" in obj and allow_tensor:
                return self.get_tensor_by_name(obj)
            if allow_operation:
                return self.get_operation_by_name(obj)
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if obj.graph is not self:
                owner = obj if isinstance(obj, Operation) else obj.op
                hint = "make it, and the session that runs it, in one graph: see Graph.as_default"
                text = f"{obj} is not an element of this graph"
                raise misuse(OtherGraphError, text, hint, made=[("it", owner.where)])
            return obj
        kinds = " or ".join(w for w, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok)
        raise misuse(TypeError, f"{shown(obj)} of type {type(obj).__name__} is not a {kinds}")

    def _nearest(self, name: str) -> str:
        from staticgraph.compiler.support.nearest import nearest_name

        close = nearest_name(name, self._by_name)
        return f"did you mean {close!r}?" if close else ""

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Refuse runs that feed `tensor`."""
        self.attached.setdefault(_UNFED, set()).add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return False if a run must not feed `tensor`."""
        return tensor.op.region is None and tensor not in self.attached.get(_UNFED, ())

    def prevent_fetching(self, op: Operation) -> None:
        """Refuse runs that fetch `op` or one of its tensors."""
        self.attached.setdefault(_UNFETCHED, set()).add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Return False if a run must not fetch a tensor or operation."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op.region is None and op not in self.attached.get(_UNFETCHED, ())

    def check_run(self, fetches: Iterable[Tensor | Operation], feeds: Iterable[Tensor]) -> None:
        """RegionError, a ValueError, unless all may be fetched and fed.

        Unlike TensorFlow, a run gives the last value of a tensor inside of a loop.
        """
        for fetch in fetches:
            op = fetch.op if isinstance(fetch, Tensor) else fetch
            if op in self.attached.get(_UNFETCHED, ()) or (fetch is op and op.region is not None):
                self._refuse(f"Operation {op.name!r} has been marked as not fetchable", op)
        for tensor in feeds:
            if not self.is_feedable(tensor):
                self._refuse(f"Tensor {tensor.name!r} may not be fed", tensor.op)

    def _refuse(self, text: str, op: Operation) -> None:
        if op.region is not None:
            text = f"{text}: it is part of a loop or branch"
        raise misuse(RegionError, text, made=[(op.name, op.where)])
