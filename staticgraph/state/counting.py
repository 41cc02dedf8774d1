"""`count_up_to`: a variable that counts, until an end is reached."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import control_dependencies, get_default_graph, name_scope
from staticgraph.building.inputs import identity
from staticgraph.compiler.graph.dtypes import int32, int64
from staticgraph.compiler.graph.errors import OutOfRangeError
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.kinds import host, same_type
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.state.state_ops import assign_add


@host(tf="CountUpTo", type=same_type, dtypes=frozenset({int32, int64}), name="count_below")
def _below(count: Any, *, limit: int) -> Any:
    """A count, while it is below a limit."""
    if count >= limit:
        raise OutOfRangeError(f"Reached limit of {limit}")
    return count


@extension("count_up_to")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """The value of the variable `ref`, which this then makes larger by one.

    OutOfRangeError, while running, where it is `limit` already.

    >>> import staticgraph as sg
    >>> epoch = sg.Variable(0, name="epoch")
    >>> following = sg.count_up_to(epoch, 5)
    >>> with sg.Session() as sess:
    ...     sess.run(epoch.initializer)
    ...     [int(sess.run(following)) for _ in range(3)]
    [0, 1, 2]
    """
    with name_scope(name, "CountUpTo", [ref]) as scope, counted_as(get_default_graph(), 1):
        before = _below(ref, limit=int(limit))
        with control_dependencies([assign_add(ref, before * 0 + 1)]):
            return identity(before, name=scope)
