"""Upper bound of a loop's trip count, if it is clear before the loop begins.

Such a loop counts up by one, to a number that no iteration changes.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.support.dataclass import dataclass

# Comparisons that hold while there are rounds, with the counter on the left: how many rounds more than the
# difference there are. The others say the same of the counter on the right.
_BELOW = {"less": 0, "less_equal": 1}
_ABOVE = {"greater": "less", "greater_equal": "less_equal"}


@dataclass(frozen=True, slots=True)
class RoundCount:
    """At most `end - start + more` rounds, or none if that is negative."""

    start: Tensor | int
    end: Tensor | int
    more: int


def round_count(loop: Operation) -> RoundCount | None:
    """The most rounds of a loop in terms of tensors outside of all loops and branches, or None."""
    tests = [loop.attrs["cond"].results[0]]
    for test in tests:
        op = _plain(test).op
        if op.definition.name == "logical_and":
            tests += op.tensors
        elif (found := _by_test(loop, op)) is not None:
            return found
    return None


def _by_test(loop: Operation, test: Operation) -> RoundCount | None:
    """The number of rounds for which a condition of the loop holds."""
    cond, body = loop.attrs["cond"], loop.attrs["body"]
    name = test.definition.name
    if name not in _BELOW and name not in _ABOVE:
        return None
    counter, end = (_plain(t) for t in (test.tensors if name in _BELOW else test.tensors[::-1]))
    if counter not in cond.params or counter.dtype is not int32:
        return None
    place = cond.params.index(counter)
    start, last = _outside(loop.tensors[place]), _outside(end)
    if start is None or last is None or not _counts(body, place):
        return None
    return RoundCount(start, last, _BELOW[_ABOVE.get(name, name)])


def _counts(body: Region, place: int) -> bool:
    """Return True if each iteration adds one to the number that the loop carries at `place`."""
    added = _plain(body.results[place]).op
    if added.definition.name != "add":
        return False
    terms = [_plain(t) for t in added.tensors]
    other = [t for t in terms if t is not body.params[place]]
    return len(other) == 1 and static_value(other[0]) == 1


def _plain(tensor: Tensor) -> Tensor:
    while tensor.op.definition.name == "identity":
        tensor = tensor.op.tensors[0]
    return tensor


def _outside(tensor: Tensor) -> Tensor | int | None:
    value = static_value(tensor)
    if value is not None:
        return int(value)
    return tensor if tensor.op.region is None else None
