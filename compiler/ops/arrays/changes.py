"""Changes that updates make to old numbers, and how several of them are put together."""

from __future__ import annotations

import math

from staticgraph.compiler.kernel.expr import Const, Expr, Load, Scalar, identity, walk
from staticgraph.compiler.support.dataclass import dataclass

# Several updates, put together, do what they do one after the other: by this, where they are done by that.
TOGETHER = {
    "add": "add",
    "sub": "add",
    "mul": "mul",
    "div": "mul",
    "minimum": "minimum",
    "maximum": "maximum",
}
_SYMMETRIC = frozenset({"add", "mul", "minimum", "maximum"})


@dataclass(frozen=True, slots=True)
class Change:
    """Change that an update makes: the primitive `op` is applied to the old number and `value`.

    If `op` is None, `value` replaces the old number.
    """

    op: str | None
    value: Expr

    @staticmethod
    def of(old: Load, new: Expr) -> Change | None:
        """The change from `old` to `new`, or None if it is none of those that can be put together."""
        if not any(isinstance(e, Load) and e.buffer == old.buffer for e in walk(new)):
            return Change(None, new)
        match new:
            case Scalar(op, (first, value)) if first is old and op in TOGETHER:
                found = Change(op, value)
            case Scalar(op, (value, last)) if last is old and op in _SYMMETRIC:
                found = Change(op, value)
            case _:
                return None
        is_apart = not any(isinstance(e, Load) and e.buffer == old.buffer for e in walk(found.value))
        return found if is_apart else None

    def together(self, first: Expr, then: Expr) -> Expr:
        """The value that does what `first` and `then` do."""
        return then if self.op is None else Scalar(TOGETHER[self.op], (first, then), then.dtype)

    def applied(self, old: Expr, value: Expr) -> Expr:
        """Return the new value of `old` after the change by `value`."""
        return value if self.op is None else Scalar(self.op, (old, value), value.dtype)

    def neutral(self) -> Const:
        """The value that changes nothing: of zeros the one whose change keeps the sign of a zero."""
        assert self.op is not None
        found = identity(TOGETHER[self.op], self.value.dtype)
        if self.op == "add" and found.dtype.is_floating:
            return Const(math.copysign(0.0, -1.0), found.dtype)
        return found
