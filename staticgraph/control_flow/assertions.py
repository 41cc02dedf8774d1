"""`Assert`: what a graph takes for granted, checked in each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.building.framework import graph_of, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import get_static_value
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32, string
from staticgraph.compiler.graph.errors import DtypeError, InvalidArgumentError, misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.text.summaries import first_elements

SUMMARIZE = 3  # elements of each tensor, where a caller does not say how many


def Assert(
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that fails with InvalidArgumentError unless all of `condition` is True.

    The error shows `data`, a list of texts and tensors: of each tensor the first `summarize` elements, 3 by
    default, all if it is negative. It is checked where the operation is run, so let something depend on it,
    as below; inside a loop or branch it is checked in each round.

    >>> x = sg.placeholder(sg.float32, [None])
    >>> with sg.control_dependencies([sg.Assert(sg.reduce_all(x > 0), ["x must be positive:", x])]):
    ...     y = sg.log(x)
    >>> with sg.Session() as sess:
    ...     sess.run(y, {x: [1.0, -1.0]})
    Traceback (most recent call last):
    ...
    staticgraph.compiler.graph.errors.InvalidArgumentError: Assert/Assert (Assert): assertion failed: ...
    """
    most = SUMMARIZE if summarize is None else summarize
    with graph_of([condition, *listed("Assert", data)]).as_default(), name_scope(name, "Assert"):
        condition = convert_to_tensor(condition, name="Condition")
        shown, tensors = showing(data, most)
        with counted_as(condition.graph, _operations(condition, data)):
            return ops.assert_true(condition, tensors, shown=shown, summarize=most, name="Assert")


def _operations(condition: Tensor, data: Sequence[Any]) -> int:
    """Return the number of operations that TensorFlow makes for an assertion, beyond what `showing` makes: a
    branch, unless all data are of the host.
    """
    tensors = [item for item in data if isinstance(item, Tensor)]
    others = [item for item in data if not isinstance(item, Tensor)]
    constants = sum(2 if isinstance(item, str | bytes) else 1 for item in others)
    if all(item.dtype in (string, int32) for item in tensors):
        return 1 + constants
    return 9 + len({condition, *tensors}) + constants


def listed(what: str, data: Any) -> Sequence[Any]:
    """`data` of the function `what`; TypeError unless it is a list or the like."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        text = f"{what}(data): a list of texts and tensors is needed, not {data!r}"
        raise misuse(DtypeError, text, "data=[x]")
    return data


def showing(data: Sequence[Any], summarize: int) -> tuple[tuple[str | None, ...], list[Tensor]]:
    """Return the texts in `data`, with None in place of every other item, and those items as tensors."""
    shown: list[str | None] = []
    tensors = []
    for item in data:
        text = constant_text(item, summarize)
        shown.append(text)
        if text is None:
            tensors.append(convert_to_tensor(item, name="data"))
    return tuple(shown), tensors


def constant_text(item: Any, summarize: int) -> str | None:
    """Return the text of strings that are known already, and None for anything else.

    A known text needs no tensor: loops and branches take no strings.
    """
    if isinstance(item, str):
        return item
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    if isinstance(item, Tensor) and item.dtype is string:
        known = get_static_value(item)
        return None if known is None else first_elements(known, summarize)
    return None


def check(
    condition: Tensor, known: Any, data: Sequence[Any], summarize: int | None, message: str | None
) -> Operation:
    """An assertion that fails now if `known`, what is known of the condition already, is False."""
    parts = [message, *data] if message else list(data)
    if known is not None and not np.all(known):
        raise misuse(InvalidArgumentError, "\n".join(map(_known_text, parts)))
    return Assert(condition, parts, summarize=summarize)


def _known_text(item: Any) -> str:
    value = get_static_value(item) if isinstance(item, Tensor) else item
    return str(item if value is None else value).rstrip()
