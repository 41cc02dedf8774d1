"""Tensors and operations of a graph that a run must not be fed, or must not be asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph.compiler.graph.errors import RegionError, misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor

_UNFED, _UNFETCHED = "unfed", "unfetched"


class Feedable:
    """The part of `Graph` that tells what can be fed and fetched.

    What is inside of a loop or branch cannot, since it has no value, or several, in a run.
    """

    attached: dict[Any, Any]

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
