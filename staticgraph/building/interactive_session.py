"""The session of shells and notebooks, which is the default one without a `with`."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.graph import Graph, session_stack
from staticgraph.compiler.graph.opdef import recorders
from staticgraph.runtime.session import Session


class InteractiveSession(Session):
    """A session that is the default one from its construction
    until it is closed: for notebooks and shells.

    >>> sess = sg.InteractiveSession()
    >>> x = sg.constant([1.0, 2.0])
    >>> (x * 2.0).eval()
    array([2., 4.], dtype=float32)
    >>> sess.close()
    """

    def __init__(
        self,
        target: str = "",
        graph: Graph | None = None,
        config: Any = None,
        **switches: Any,
    ) -> None:
        super().__init__(target, graph, config, **switches)
        session_stack().append(self)
        self._records = graph is not None
        if graph is not None:
            recorders().append(graph)

    def close(self) -> None:
        if self in session_stack():
            session_stack().remove(self)
        if self._records and self.graph in recorders():
            recorders().remove(self.graph)
        super().close()
